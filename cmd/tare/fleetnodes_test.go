package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fleet/machinetest"
)

// temporalMachines is a fleet over Temporal of machines with namespaces of their own, on which workers run. config is
// ssh's configuration for them.
func temporalMachines(t *testing.T, arms string, machines ...machinetest.Machine) (f *durableFleet, config string) {
	t.Helper()
	var names []string
	for _, m := range machines {
		names = append(names, m.Name)
	}
	f = newDurableFleet(t, arms, 2, names...)
	for i := range machines {
		m := &machines[i]
		m.Reaches = f.addresses
		m.Prepare += fmt.Sprintf("\nmkdir etc/fleet\ncp %s usr/local/bin/tare\ncp %s/token etc/fleet\n"+
			"sed '/^dir:/d' %[2]s/f.yaml >etc/fleet/f.yaml\n", binary, f.dir)
	}
	config = machinetest.Start(t, machines...)
	for _, name := range names {
		f.start(t, "worker of "+name, "ssh", "-F", config, name,
			"exec /usr/local/bin/tare fleet worker /etc/fleet/f.yaml --name "+name)
	}
	return f, config
}

// said fails unless a command ended with a status and said all that is wanted.
func said(t *testing.T, r result, status int, want ...string) {
	t.Helper()
	for _, w := range want {
		if all := r.stdout + r.stderr; r.status != status || !strings.Contains(all, w) {
			t.Fatalf("status %d, want %d and %q:\n%s", r.status, status, w, all)
		}
	}
}

// TestLiveTemporalImage: a machine without the userland image gets it from the collector, to which a second run sends
// none of it.
func TestLiveTemporalImage(t *testing.T) {
	f, config := temporalMachines(t, "native", machinetest.Machine{Name: "bare", Userland: machinetest.This})
	said(t, f.begin(t, "--wait", "--poll", "500ms"), 0, "chunks of the userland image were sent to the collector",
		"bare: done: 16 trials")
	if log := onMachine(t, config, "bare", "ls /var/lib/tare/images"); !strings.Contains(log, "bookworm-base-") {
		t.Errorf("the images of the machine are %s", log)
	}
	r := tare(t, f.dir, "fleet", "run", "f.yaml", "--run", "second", "--wait", "--poll", "500ms")
	if said(t, r, 0, "bare: done: 16 trials"); strings.Contains(r.stdout, "chunks") {
		t.Errorf("the image is sent again: %s", r.stdout)
	}
	fleetIn(t, f.dir)(0, "fetch f.yaml", "bare: fetched")
	eachTrialOnce(t, filepath.Join(f.dir, "f", "bare", "f.tare"))
}

// TestLiveTemporalHealth: doctor --measure measures machines over Temporal and names one that does not answer; one that
// takes another time than before is offline for the next run. The checks are not among the fleet's runs.
func TestLiveTemporalHealth(t *testing.T) {
	f, _ := temporalMachines(t, "native", machinetest.Machine{Name: "node", Userland: machinetest.This,
		Images: filepath.Join(defaultStateDir(), "images")})
	file, err := os.ReadFile(filepath.Join(f.dir, "f.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.dir, "f.yaml", strings.Replace(string(file), "node: ", "node: , lost: ", 1))
	checks := filepath.Join(f.dir, "f", "health", "node")
	if err := os.MkdirAll(checks, 0o755); err != nil {
		t.Fatal(err)
	}
	storedRunOf(t, filepath.Join(checks, "20260101T000000Z.tare"), 1, 1.05, "boot", 1) // takes milliseconds
	f.eventually(t, "Temporal has no run")
	doctor := func() result {
		return tare(t, f.dir, "fleet", "doctor", "f.yaml", "--measure", "--patience", "15s", "--poll", "500ms")
	}
	r := doctor()
	for begin := time.Now(); strings.Contains(r.stdout, "no coordinator") && time.Since(begin) < time.Minute; {
		time.Sleep(100 * time.Millisecond)
		r = doctor()
	}
	said(t, r, exitHost, "node: done: 48 trials", "node: offline: it takes",
		"lost: not measured: its worker did not answer", "1 of 2 machines failed: lost")
	said(t, tare(t, f.dir, "fleet", "run", "f.yaml"), exitHost, "node: offline: it takes")
	if runs, _ := filepath.Glob(filepath.Join(f.dir, "collected", "f", "node", "*")); len(runs) > 0 {
		t.Errorf("among the fleet's runs: %v", runs)
	}
}

// TestLiveTemporalCancel: a cancelled run ends its trial, removes its guests and leaves its file at the collector;
// resume completes it, with each trial once and no secret in it.
func TestLiveTemporalCancel(t *testing.T) {
	f, config := temporalMachines(t, "native", machinetest.Machine{Name: "node", Userland: machinetest.This,
		Images: filepath.Join(defaultStateDir(), "images")})
	// A worker says every ten seconds how far it is, so the run must take longer on a fast machine, too.
	write(t, f.dir, "c.yaml", "name: c\narms: [native]\nworkloads: [{name: sysbench-cpu, size: 12000}]\n"+
		"blocks: {min: 8, max: 8}\nrecreate_every: 2\n")
	f.begin(t)
	f.eventually(t, "node: measuring: block ")
	check := fleetIn(t, f.dir)
	check(0, "cancel f.yaml", "tare fleet status says when")
	f.eventually(t, "node: cancelled")
	left := func() string {
		return leftOn(t, config, "node", "tare") + onMachine(t, config, "node", "pgrep -x tare-agent || true")
	}
	nothingToCollect(t, left)
	check(0, "fetch f.yaml", "node: fetched") // what it has measured until then
	check(0, "resume f.yaml", "node: ")
	f.eventually(t, "node: done: 16 trials")
	check(0, "fetch f.yaml", "node: fetched")
	run := filepath.Join(f.dir, "f", "node", "f.tare")
	eachTrialOnce(t, run)
	noSecret(t, run, config)
	nothingToCollect(t, left)
}

// TestLiveTemporalMachines: six machines are measured over Temporal, two at a time, and the one on which something was
// planted is found, with what is different about it.
func TestLiveTemporalMachines(t *testing.T) {
	images := filepath.Join(defaultStateDir(), "images")
	machines := []machinetest.Machine{{Name: "planted", Userland: machinetest.This, Images: images, Prepare: burning}}
	for i := range 5 {
		machines = append(machines, machinetest.Machine{Name: fmt.Sprint("node", i+1), Userland: machinetest.This,
			Images: images})
	}
	f, _ := temporalMachines(t, "native, runc", machines...)
	said(t, f.begin(t, "--wait", "--poll", "1s"), 0, "run f on 6 machines is in progress", "planted: done: ",
		"node5: done: ")
	check := fleetIn(t, f.dir)
	check(0, "fetch f.yaml", "planted: fetched")
	check(0, "show f.yaml --all", "6 machines in 1 group", "Odd: planted. runc on sysbench-cpu", "spectre_v2")
}
