package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
