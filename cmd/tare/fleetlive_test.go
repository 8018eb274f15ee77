package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fleet/machinetest"
	"github.com/tare-bench/tare/internal/store"
)

// burning is a runc whose guests have a process beside the workload that takes half of their CPU.
const burning = `
mv usr/sbin/runc usr/sbin/runc.real
cat >usr/sbin/runc <<'END'
#!/bin/sh
case " $* " in *" run "*) (while :; do :; done) </dev/null >/dev/null 2>&1 & esac
exec /usr/sbin/runc.real "$@"
END
chmod 755 usr/sbin/runc
echo "Vulnerable: no microcode" >etc/planted
mount --bind etc/planted sys/devices/system/cpu/vulnerabilities/spectre_v2
`

// fleetOfMachines writes a fleet's file of a campaign with these arms, and returns a function that runs tare fleet.
func fleetOfMachines(t *testing.T, config, arms, machines string) (dir string,
	check func(status int, args string, want ...string)) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "c.yaml", "name: c\narms: ["+arms+"]\nworkloads: [{name: sysbench-cpu, size: 150}]\n"+
		"blocks: {min: 8, max: 8}\nrecreate_every: 2\n")
	write(t, dir, "f.yaml", "name: f\ncampaign: c.yaml\nbusy: 2\nssh_config: "+config+"\nmachines: {"+machines+"}\n")
	return dir, fleetIn(t, dir)
}

// fleetIn returns a function that runs tare fleet in a folder, and fails unless it ends with a status and says all that
// is wanted.
func fleetIn(t *testing.T, dir string) (check func(status int, args string, want ...string)) {
	return func(status int, args string, want ...string) {
		t.Helper()
		r := tare(t, dir, strings.Fields("fleet "+args)...)
		all := strings.Join(strings.Fields(r.stdout+r.stderr), " ")
		for _, w := range want {
			if r.status != status || !strings.Contains(all, w) {
				t.Fatalf("fleet %s: status %d, want %d and %q:\n%s%s", args, r.status, status, w, r.stdout, r.stderr)
			}
		}
	}
}

// TestFleetOfMachines: machines with other userlands and limits are measured, and the one on which something was
// planted is found, with what is different about it.
func TestFleetOfMachines(t *testing.T) {
	live(t)
	images := filepath.Join(defaultStateDir(), "images")
	config := machinetest.Start(t,
		machinetest.Machine{Name: "plain", Userland: machinetest.This, Images: images},
		machinetest.Machine{Name: "capped", Userland: machinetest.This, Images: images,
			Limits: cgroup.Limits{CPUCap: 1.5}},
		machinetest.Machine{Name: "small", Userland: machinetest.This, Images: images,
			Limits: cgroup.Limits{MemoryBytes: 3 << 30}},
		machinetest.Machine{Name: "trixie", Userland: "trixie", Images: images},
		machinetest.Machine{Name: "noble", Userland: "noble", Images: images},
		machinetest.Machine{Name: "planted", Userland: machinetest.This, Images: images, Prepare: burning},
	)
	_, check := fleetOfMachines(t, config, "native, runc", "plain: , capped: , small: , trixie: , noble: , planted: ")
	check(0, "doctor f.yaml", "plain: ", "native, lxc, runc")
	check(0, "run f.yaml --wait --poll 1s", "noble: complete", "planted: complete")
	check(0, "fetch f.yaml", "planted: fetched")
	check(0, "show f.yaml --all", "6 machines in 1 group", "Odd: planted. runc on sysbench-cpu", "spectre_v2")
}

// TestFleetBareMachine: a machine that has nothing but busybox and sshd gets the userland image, and says what else it
// needs.
func TestFleetBareMachine(t *testing.T) {
	live(t)
	config := machinetest.Start(t, machinetest.Machine{Name: "bare", Userland: machinetest.BusyBox})
	_, check := fleetOfMachines(t, config, "native", "bare: ")
	const lacks = "data volumes with ext4 cannot be made on this host: this host has no mkfs.ext4, and the tools tree " +
		"is not built"
	check(3, "doctor f.yaml", "bare: ", "systems: native, ", "cannot measure the campaign: campaign.yaml:1:1: "+lacks)
	check(3, "run f.yaml --wait --poll 1s", "1 of 1 machines failed: bare", "chunks of the userland image were copied",
		"bare: ended with exit status 2 (tare fleet resume tries again): ", lacks)
	_, check = fleetOfMachines(t, config, "native, runc", "bare: ")
	check(3, "run f.yaml --wait --poll 1s --run second", "bare: ended with exit status 2", "runc")
}

// onMachine runs a script on a machine and returns what it prints.
func onMachine(t *testing.T, config, machine, script string) string {
	t.Helper()
	cmd := exec.Command("ssh", "-F", config, machine, script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, stderr.Bytes())
	}
	return string(out)
}

// leftOn is what tare gc would remove on a machine.
func leftOn(t *testing.T, config, machine, program string) string {
	t.Helper()
	return onMachine(t, config, machine, program+" gc --dry-run")
}

// eachTrialOnce fails unless each trial of 8 blocks was done once.
func eachTrialOnce(t *testing.T, path string) {
	t.Helper()
	r, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	done := map[string]int{}
	for trial, err := range r.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Status == store.Done {
			done[fmt.Sprint(trial.Arm, " in block ", trial.Block)]++
		}
	}
	for what, times := range done {
		if times != 1 {
			t.Errorf("%s: %s was done %d times", path, what, times)
		}
	}
	if len(done) != 2*8 { // with the control
		t.Errorf("%s: %d trials were done, not 16", path, len(done))
	}
}

// noSecret fails if a run file has something of the way to the machine in it.
func noSecret(t *testing.T, path, config string) {
	t.Helper()
	run, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(filepath.Dir(config), "user"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := append(strings.Split(strings.TrimSpace(string(key)), "\n"), config, "SSH_CONNECTION", "IdentityFile")
	for _, s := range secrets {
		if bytes.Contains(run, []byte(s)) {
			t.Errorf("%s has %.20q in it", path, s)
		}
	}
}
