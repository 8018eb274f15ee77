package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// joules gives an arm's trials, which last so many seconds, the energy of the processors and the numbers of
// counters at fault, by block.
func (f *fake) joules(arm int, packages, faults func(block int) float64, seconds float64) {
	f.probes(model.ProbeEnergyPackage, arm, packages)
	f.probes(model.ProbeEnergyFaults, arm, faults)
	f.probes(model.ProbeEnergyTime, arm, constant(seconds))
}

// energetic is a run whose native trials take 100 J on average, 30 of them of the memory, in 2 s; kvm's
// take 20 % more.
func energetic(blocks int) *fake {
	f := newFake(21, 0.01, blocks)
	for arm, cost := range []float64{native: 1, control: 1, kvm: 1.2} {
		r := rand.New(rand.NewPCG(uint64(arm), 3))
		f.joules(arm, func(int) float64 { return 70 * cost * math.Exp(0.01*r.NormFloat64()) }, constant(0), 2)
		f.probes(model.ProbeEnergyDRAM, arm, func(int) float64 { return 30 * cost * math.Exp(0.01*r.NormFloat64()) })
	}
	f.Sizes = []store.Size{{Workload: "cpu", Size: 400, Unit: "events"}}
	f.Events = []dataset.Event{{Kind: store.EventPower, Text: "19.5 W: before the first guest"},
		{Kind: store.EventPower, Text: "20.5 W: and when the run was resumed"}, {Kind: store.EventPower, Text: "none"}}
	return f
}

func TestEnergyIsComparedLikeAMetric(t *testing.T) {
	r := analyze(t, energetic(40))
	c := r.find(Energy, "kvm")
	if c.Unit != "J" || c.Family != FamilyEnergy || c.Verdict != Costs || c.CILow > 1.2 || c.CIHigh < 1.2 {
		t.Errorf("kvm costs %.3f (%.3f … %.3f) %s, %s of %s; want 1.2", c.Ratio, c.CILow, c.CIHigh, c.Unit, c.Verdict,
			c.Family)
	}
	i := slices.IndexFunc(r.Energy, func(u EnergyUse) bool { return u.Arm == "native" })
	if i < 0 {
		t.Fatalf("native has no energy: %+v", r.Energy)
	}
	u := r.Energy[i]
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 0.01 }
	if !near(u.Joules, 100) || !near(u.Watts, 50) || !near(u.PerUnit, 0.25) || u.RestWatts != 20 || u.N != 40 {
		t.Errorf("native takes %+v; want 100 J, 50 W, 0.25 J per event, 20 W at rest", u)
	}
}

func TestEnergyBelongsToAGuestAlone(t *testing.T) {
	f := energetic(20)
	for i := range f.Arms {
		f.Arms[i].Scenario = "noisy"
	}
	if r := analyze(t, f); len(r.Energy) > 0 || slices.ContainsFunc(r.Comparisons,
		func(c Comparison) bool { return c.Metric == Energy }) {
		t.Errorf("the energy of several guests is attributed to one: %+v", r.Energy)
	}
}

// An arm whose counters cannot be believed takes the energy of the others with it.
func TestEnergyIsLeftOutAsAWhole(t *testing.T) {
	f := energetic(20)
	f.joules(lxc, constant(0), constant(1), 2)
	if r := analyze(t, f); len(r.Energy) > 0 || !slices.Contains(ids(r.Findings), "no-energy") {
		t.Errorf("energy %+v, findings %v", r.Energy, ids(r.Findings))
	}
}
