package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
)

// TestRemote: a remote machine is not frozen, and late reports of its steps do
// not count as an error of its clock.
func TestRemote(t *testing.T) {
	b := newBench(t, yaml)
	b.other.Change = func(c *system.Capabilities) { c.Remote, c.SameKernel, c.HostMount, c.Freeze = true, false, true, "" }
	b.other.Behave = func(argv []string) fake.Behaviour {
		x := good(argv)
		x.GuestTook = x.Took + 300*time.Millisecond
		return x
	}
	if s, err := b.run(t.Context()); err != nil || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, e := range b.other.Events() {
		if strings.HasPrefix(e, "freeze") || strings.HasPrefix(e, "thaw") {
			t.Error(e)
		}
	}
	seen := 0
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Arm != "other" {
			continue
		}
		seen++
		diff, there := trial.Probes[model.ProbeClockDiff]
		if e := trial.Probes[model.ProbeClockError]; !there || math.Abs(diff) > 0.1 || e <= 0 || e > 0.1 {
			t.Errorf("the clocks differ by %v ± %v s, there %v", diff, e, there)
		}
	}
	if seen == 0 {
		t.Error("no trials")
	}
}
