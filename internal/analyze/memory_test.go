package analyze

import (
	"reflect"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// TestMemory: guests of one arm and flavor are one row; what the host lost is
// over their number; who cannot be measured has only a time.
func TestMemory(t *testing.T) {
	guest := func(arm, flavor string, start, pss, host float64) dataset.Guest {
		g := dataset.Guest{Arm: arm, System: arm, Flavor: model.Flavor{Name: flavor, MemoryBytes: 100}, Start: start}
		if pss > 0 {
			g.Values = map[string]float64{store.MemoryPSS: pss, store.MemoryCharged: 2 * pss, store.MemoryHost: host,
				store.MemoryAfter: pss + 1}
		}
		return g
	}
	in := dataset.Set{
		Baseline: "native",
		Arms:     []dataset.Arm{{Name: "native", System: "native", Flavor: "s"}, {Name: "kvm", System: "kvm", Flavor: "s"}},
		Metrics:  []dataset.Metric{{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}},
		Guests: []dataset.Guest{guest("native", "s", 1, 10, 30), guest("kvm", "s", 4, 50, -20),
			guest("native", "s", 3, 14, 10),
			guest("kvm", "quarter", 5, 60, 61), guest("ssh", "s", 0.5, 0, 0)},
		Probes: []dataset.Probe{{Workload: "cpu", Name: model.ProbeGuestMemory, Unit: "B"}},
		ProbeObservations: func(yield func(dataset.Observation, error) bool) {
			_ = yield(dataset.Observation{Arm: 1, Value: 70}, nil) &&
				yield(dataset.Observation{Arm: 1, Block: 1, Value: 80}, nil)
		},
	}
	res, err := Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	one := func(v float64) Range { return Range{1, v, v, v} }
	want := []Memory{
		{Arm: "native", System: "native", Flavor: "s", Size: 100, Guests: 2, Start: Range{2, 1, 2, 3},
			Idle: Range{2, 10, 12, 14}, Charged: Range{2, 20, 24, 28}, HostEach: 20, After: Range{2, 11, 13, 15}},
		{Arm: "kvm", System: "kvm", Flavor: "s", Size: 100, Guests: 1, Start: one(4), Idle: one(50), Charged: one(100),
			HostEach: -20, After: one(51),
			Working: []WorkingMemory{{"cpu", Range{2, 70, 75, 80}}}},
		{Arm: "kvm", System: "kvm", Flavor: "quarter", Size: 100, Guests: 1, Start: one(5), Idle: one(60), Charged: one(120),
			HostEach: 61, After: one(61)},
		{Arm: "ssh", System: "ssh", Flavor: "s", Size: 100, Guests: 1, Start: one(0.5)},
	}
	if !reflect.DeepEqual(res.Memory, want) {
		t.Errorf("%+v", res.Memory)
	}
	// The same where the arms take part in pairs only.
	for i, a := range in.Arms {
		in.Arms[i].Name, in.Arms[i].Of, in.Arms[i].Scenario, in.Arms[i].Paired = a.Name+"@pair", a.Name, "pair", true
	}
	in.Baseline = "native@pair"
	if res, err = Analyze(in); err != nil || !reflect.DeepEqual(res.Memory, want) {
		t.Errorf("in pairs: %+v, %v", res, err)
	}
	if a, b := one(1), (Range{2, 2, 2.5, 3}); a.Overlaps(b) || b.Overlaps(a) || !b.Overlaps(Range{2, 3, 4, 5}) {
		t.Error("which ranges overlap")
	}
}
