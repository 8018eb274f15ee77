package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fleet/machinetest"
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
func fleetOfMachines(t *testing.T, config, arms, machines string) func(status int, args string, want ...string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "c.yaml", "name: c\narms: ["+arms+"]\nworkloads: [{name: sysbench-cpu, size: 150}]\n"+
		"blocks: {min: 8, max: 8}\nrecreate_every: 2\n")
	write(t, dir, "f.yaml", "name: f\ncampaign: c.yaml\nbusy: 2\nssh_config: "+config+"\nmachines: {"+machines+"}\n")
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
	tools, images := []string{"runc"}, filepath.Join(defaultStateDir(), "images")
	config := machinetest.Start(t,
		machinetest.Machine{Name: "plain", Userland: machinetest.This, Images: images},
		machinetest.Machine{Name: "capped", Userland: machinetest.This, Images: images,
			Limits: cgroup.Limits{CPUCap: 1.5}},
		machinetest.Machine{Name: "small", Userland: machinetest.This, Images: images,
			Limits: cgroup.Limits{MemoryBytes: 3 << 30}},
		machinetest.Machine{Name: "trixie", Userland: "trixie", Images: images, Tools: tools},
		machinetest.Machine{Name: "noble", Userland: "noble", Images: images, Tools: tools},
		machinetest.Machine{Name: "planted", Userland: machinetest.This, Images: images, Prepare: burning},
	)
	check := fleetOfMachines(t, config, "native, runc", "plain: , capped: , small: , trixie: , noble: , planted: ")
	check(0, "doctor f.yaml", "plain: ", "native, runc")
	check(0, "run f.yaml --wait --poll 1s", "noble: ended", "planted: ended")
	check(0, "fetch f.yaml", "planted: fetched")
	check(0, "show f.yaml --all", "6 machines in 1 group", "Odd: planted. runc on sysbench-cpu", "spectre_v2")
}

// TestFleetBareMachine: a machine that has nothing but busybox and sshd gets the userland image, and says what else it
// needs.
func TestFleetBareMachine(t *testing.T) {
	live(t)
	config := machinetest.Start(t, machinetest.Machine{Name: "bare", Userland: machinetest.BusyBox})
	check := fleetOfMachines(t, config, "native", "bare: ")
	check(0, "doctor f.yaml", "bare: ")
	check(0, "run f.yaml --wait --poll 1s", "chunks of the userland image were copied", "bare: ended with exit status 3")
	check = fleetOfMachines(t, config, "native, runc", "bare: ")
	check(0, "run f.yaml --wait --poll 1s --run second", "bare: ended with exit status 2", "runc")
}
