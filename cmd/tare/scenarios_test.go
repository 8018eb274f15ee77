package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const scenarioCampaign = `
name: scenarios
seed: 3
flavors:
  whole: {vcpus: 1, memory: 128MiB, disk: 64MiB, network: bridged}
  quarter: {vcpus: 1, memory: 128MiB, disk: 64MiB, cpu_cap: 25%, network: bridged}
arms: [native, runc]
scenarios:
  - solo
  - {name: fit, guests: [2, 4], slowdown: 50}
  - {name: crowd, guests: 3x}
  - {name: mixed, mix: [{flavor: whole}, {flavor: quarter, guests: 2}]}
  - {name: noisy-cpu, neighbours: [cpu]}
  - {name: noisy-memory, neighbours: [memory]}
  - {name: noisy-bandwidth, neighbours: [memory-bandwidth]}
  - {name: noisy-cache, neighbours: [page-cache]}
  - {name: noisy-disk, neighbours: [disk]}
  - {name: noisy-dirty, neighbours: [dirty-pages]}
  - {name: noisy-fork, neighbours: [fork]}
  - {name: noisy-network, neighbours: [network]}
workloads: [sysbench-cpu]
trial_time: 300ms
blocks: 2
`

// TestScenarios runs one scenario of each kind with real guests: each kind has its
// figures, neighbours stress to the end, and the memory of guests is known.
func TestScenarios(t *testing.T) {
	live(t)
	dir := t.TempDir()
	write(t, dir, "s.yaml", scenarioCampaign)
	r := tare(t, dir, "run", "--yes", "s.yaml", "--out", "s.tare")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, want := range []string{"cap: flavor quarter of runc@mixed takes", "density: ", " guests of runc ",
		"noisy-network", "host lost", "at work"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the table has no %q:\n%s", want, r.stdout)
		}
	}
	e := exported(t, filepath.Join(dir, "s.tare"))
	duets := 0
	failed := map[string]bool{} // arms with a failed trial, which is allowed if memory is short
	for _, trial := range e.Trials {
		switch {
		case trial.Status == "duet":
			duets++
		case trial.Status != "done":
			failed[trial.Arm] = true
			t.Logf("block %d: %s, guest %d (%s): %s", trial.Block, trial.Arm, trial.Member, trial.Role, trial.Error)
			if trial.Arm != "runc@noisy-memory" && trial.Arm != "native@noisy-memory" &&
				trial.Arm != "native-control@noisy-memory" {
				t.Errorf("%s is not done", trial.Arm)
			}
		case trial.Role == "" && (trial.Metrics["time"] <= 0 ||
			(trial.Probes["barrier_skew"] != 0) != strings.Contains(trial.Arm, "@")):
			t.Errorf("%+v", trial)
		}
	}
	if duets != 6 { // native, its control and runc in two blocks
		t.Errorf("%d trials in duets", duets)
	}
	seen := map[string]int{}
	for _, i := range e.Isolation {
		if i.Metric != "time" {
			continue
		}
		seen[i.Arm] = i.Guests
		if !failed[i.Arm] && (i.Ratio <= 0 || i.SkewMax <= 0 || i.Guests > 1 &&
			(i.Jain <= 0 || i.Jain > 1.000001 || i.Unfairness < 1)) {
			t.Errorf("%+v", i)
		}
	}
	for _, arm := range []string{"native", "runc"} {
		for scenario, guests := range map[string]int{"fit-2": 2, "fit-4": 4, "mixed": 3, "noisy-cpu": 1, "noisy-memory": 1,
			"noisy-bandwidth": 1, "noisy-cache": 1, "noisy-disk": 1, "noisy-dirty": 1, "noisy-fork": 1, "noisy-network": 1} {
			if name := arm + "@" + scenario; seen[name] != guests {
				t.Errorf("%s has %d guests, not %d", name, seen[name], guests)
			}
		}
	}
	weighed := map[string]bool{}
	for _, m := range e.Memory {
		weighed[fmt.Sprint(m.Arm, " ", m.Flavor)] = m.Idle.Min > 100<<10 && m.Idle.Max < 128<<20 && m.After.Min > 100<<10 &&
			m.After.Max < 128<<20 && m.Start.Min > 0
	}
	if !weighed["native whole"] || !weighed["runc whole"] || !weighed["runc quarter"] || len(weighed) != 4 {
		t.Errorf("memory: %+v", e.Memory)
	}
	nothingLeft(t)
}

// TestRoom: guests are created as long as the host has the memory, and the limit that
// broke is reported.
func TestRoom(t *testing.T) {
	live(t)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "s.yaml", fmt.Sprintf(`
name: room
seed: 5
flavors: {small: {vcpus: 1, memory: 128MiB, disk: 64MiB}}
arms: [native, runc]
workloads: [{name: sysbench-cpu, size: 200}]
scenarios:
  - solo
  - {name: roomy, guests: [2, 3], memory_left: 1MiB}
  - {name: tight, guests: [2, 4], memory_left: %dMiB}
blocks: 1
`, info.Totalram*uint64(info.Unit)>>20-1))
	r := tare(t, dir, "run", "--yes", "s.yaml", "--out", "s.tare")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, want := range []string{"density: 3 guests of runc fit with 1.000 MiB", "; 2 do not: "} {
		if !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), want) {
			t.Errorf("the table has no %q:\n%s", want, r.stdout)
		}
	}
	nothingLeft(t)
}
