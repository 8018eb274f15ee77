package run

import (
	"testing"

	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
)

// TestCounters: what the kernel of a guest counts during the timed steps is a probe, what it counts before them is not,
// and the host's kernel says nothing about a guest that shares it.
func TestCounters(t *testing.T) {
	b := newBench(t, yaml)
	b.other.Change = func(c *system.Capabilities) { c.SameKernel = false }
	behave := func(argv []string) fake.Behaviour {
		x := good(argv)
		x.Counts = map[string]int64{wire.SwappedIn: 1 << 20, wire.SwappedOut: 2 << 20, "unknown": 1}
		if argv[0] == "count" {
			x.Counts[wire.SwappedOut] = 3 << 20
		}
		return x
	}
	b.native.Behave, b.other.Behave = behave, behave
	if s, err := b.run(t.Context()); err != nil || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	seen := map[string]int{}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		seen[trial.Arm]++
		in, told := trial.Probes[model.ProbeGuestSwapIn]
		out := trial.Probes[model.ProbeGuestSwapOut]
		if own := trial.Arm == "other"; told != own || own && (in != 1<<20 || out != 3<<20) {
			t.Errorf("%s: %v B read from swap (told: %v), %v B written", trial.Arm, in, told, out)
		}
		if _, host := trial.Probes[model.ProbeHostSwapOut]; !host {
			t.Errorf("%s: nothing about the host's swap", trial.Arm)
		}
	}
	if seen["native"] == 0 || seen["other"] == 0 {
		t.Errorf("trials: %v", seen)
	}
}

func TestCountsGoBackwards(t *testing.T) {
	values := map[string]float64{}
	addCounts(values, map[string]int64{wire.SwappedIn: 5, wire.SwappedOut: 5}, map[string]int64{wire.SwappedIn: 4})
	if len(values) > 0 {
		t.Errorf("%v", values)
	}
	addCounts(nil, nil, nil) // a trial without readings
}
