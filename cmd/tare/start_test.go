package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/tare-bench/tare/internal/model"
)

const startCampaign = `
name: start
seed: 6
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 64MiB}
arms:
  - native
  - runc
  - {system: docker, if_usable: true}
  - {system: uml, if_usable: true}
workloads: [start]
scenarios: [solo, {name: at-once, guests: 3}]
blocks: 2
`

// TestStartPhases: the phases of real starts add up to the whole, also those that a guest's own clock tells
// or that a daemon shares, and what was tare's own is not among them.
func TestStartPhases(t *testing.T) {
	live(t)
	dir := t.TempDir()
	r := alone(t, dir, "run", "--yes",
		write(t, dir, "start.yaml", startCampaign), "--out", filepath.Join(dir, "start.tare"))
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	starts := map[string]int{}
	for _, trial := range exported(t, filepath.Join(dir, "start.tare")).Trials {
		if trial.Status == "discarded" {
			continue
		}
		whole, p := trial.Metrics["time"], trial.Probes
		if trial.Status != "done" || whole <= 0 {
			t.Errorf("%s: %s %s %v", trial.Arm, trial.Status, trial.Error, trial.Metrics)
			continue
		}
		starts[trial.Arm]++
		var sum float64
		for _, phase := range model.StartPhases {
			sum += p[phase]
		}
		if math.Abs(sum-whole) > p[model.ProbeStartError]+1e-6 {
			t.Errorf("%s: phases of %v s add up to %v s: %v", trial.Arm, whole, sum, p)
		}
		if own := p[model.ProbeStartOwn]; (own > 0) != (trial.Arm != "docker" && trial.Arm != "docker@at-once") {
			t.Errorf("%s: tare's own is %v s", trial.Arm, own)
		}
		if p[model.ProbeGuestGroupCPU] <= 0 {
			t.Errorf("%s: CPU time %v s", trial.Arm, p[model.ProbeGuestGroupCPU])
		}
	}
	for _, arm := range []string{"native", "runc", "native-control"} {
		if starts[arm] != 2 || starts[arm+"@at-once"] != 6 {
			t.Errorf("starts: %v", starts)
		}
	}
	nothingLeft(t)
}
