package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// Arms of a run: native, its control and lxc, alone and four at once.
const (
	cNative = iota
	cControl
	cLXC
	cNativeFour
	cControlFour
	cLXCFour
)

// fourAtOnce makes a Set of known truth: natively four take twice the time
// each; under lxc, which costs 3 % alone, 2.2 times, the last guest 10 % more
// than the others.
func fourAtOnce(blocks int, cv float64) *fake {
	four := []dataset.Member{{Flavor: "f", Share: 1}, {Flavor: "f", Share: 1}, {Flavor: "f", Share: 1},
		{Flavor: "f", Share: 1}}
	f := &fake{Set: dataset.Set{
		Baseline: "native",
		Controls: map[string]string{"native-control": "native", "native-control@four": "native@four"},
		Arms: []dataset.Arm{
			{Name: "native", System: "native", Flavor: "f", Scenario: "solo"},
			{Name: "native-control", System: "native", Flavor: "f", Scenario: "solo"},
			{Name: "lxc", System: "lxc", Flavor: "f", Scenario: "solo"},
			{Name: "native@four", System: "native", Flavor: "f", Scenario: "four", Baseline: "native@four", Alone: "native",
				Members: four},
			{Name: "native-control@four", System: "native", Flavor: "f", Scenario: "four", Baseline: "native@four",
				Members: four},
			{Name: "lxc@four", System: "lxc", Flavor: "f", Scenario: "four", Baseline: "native@four", Alone: "lxc",
				Members: four},
		},
		Metrics: []dataset.Metric{
			{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
			{Workload: "cpu", Name: "rate", Unit: "1/s", Better: "higher"},
		},
		Probes:  []dataset.Probe{{Workload: "cpu", Name: model.ProbeBarrierSkew, Unit: "s"}},
		Planned: blocks,
	}}
	r := rand.New(rand.NewPCG(5, 6))
	for b := range blocks {
		drift := math.Exp(0.01 * r.NormFloat64())
		add := func(arm, member int, times float64) {
			t := 10 * times * drift * math.Exp(cv*r.NormFloat64())
			f.obs = append(f.obs, dataset.Observation{Metric: 0, Arm: int32(arm), Block: int32(b), Member: int32(member),
				Value: t},
				dataset.Observation{Metric: 1, Arm: int32(arm), Block: int32(b), Member: int32(member), Value: 1000 / t})
		}
		add(cNative, 0, 1)
		add(cControl, 0, 1)
		add(cLXC, 0, 1.03)
		for m := range 4 {
			add(cNativeFour, m, 2)
			add(cControlFour, m, 2)
			add(cLXCFour, m, 1.03*2.2*map[bool]float64{false: 1, true: 1.1}[m == 3])
			f.probe = append(f.probe, dataset.Observation{Arm: cLXCFour, Block: int32(b), Member: int32(m),
				Value: float64(m-1) * 1e-4})
		}
	}
	return f
}

func near(got, want, within float64) bool { return math.Abs(got/want-1) <= within }

func (r *Result) isolationOf(t *testing.T, arm, metric string) Isolation {
	t.Helper()
	i := slices.IndexFunc(r.Isolation, func(i Isolation) bool { return i.Arm == arm && i.Metric == metric })
	if i < 0 {
		t.Fatalf("no isolation of %s by %s", arm, metric)
	}
	return r.Isolation[i]
}

func TestIsolation(t *testing.T) {
	r, err := Analyze(fourAtOnce(20, 0.002).input())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Isolation) != 4 { // two arms, two metrics; the control's are noise
		t.Fatalf("%d", len(r.Isolation))
	}
	mean := 2.2 * math.Pow(1.1, 0.25) // over the four, geometrically
	for _, metric := range []string{"time", "rate"} {
		lxc, native := r.isolationOf(t, "lxc@four", metric), r.isolationOf(t, "native@four", metric)
		if !near(lxc.Ratio, mean, 0.005) || lxc.Baseline != "lxc" || lxc.CILow > mean || lxc.CIHigh < mean || lxc.N != 20 ||
			lxc.Verdict != Costs {
			t.Errorf("%s: slowdown %+v", metric, lxc.Comparison)
		}
		if !near(native.Ratio, 2, 0.005) || native.NativeArm != "" || native.Excess != 0 {
			t.Errorf("%s: natively %+v", metric, native)
		}
		if lxc.NativeArm != "native@four" || !near(lxc.Native, 2, 0.005) || !near(lxc.Excess, mean/2, 0.005) ||
			lxc.ExcessLow > mean/2 || lxc.ExcessHigh < mean/2 {
			t.Errorf("%s: beside native %+v", metric, lxc)
		}
		if lxc.Guests != 4 || len(lxc.Members) != 4 || !near(lxc.Members[3].Slowdown, 2.42, 0.005) ||
			!near(lxc.Members[0].Slowdown, 2.2, 0.005) {
			t.Errorf("%s: members %+v", metric, lxc.Members)
		}
		x := 1 / 1.1
		if want := (3 + x) * (3 + x) / (4 * (3 + x*x)); !near(lxc.Jain, want, 0.0005) || lxc.JainWorst > lxc.Jain {
			t.Errorf("%s: Jain %v, worst %v, want %v", metric, lxc.Jain, lxc.JainWorst, want)
		}
		if !near(lxc.Unfairness, 1.1, 0.01) || lxc.UnfairnessWorst < lxc.Unfairness || lxc.Lost != 0 || lxc.Trials != 80 {
			t.Errorf("%s: unfairness %+v", metric, lxc)
		}
		if lxc.SkewMax != 2e-4 || lxc.SkewMedian != 1e-4 || lxc.SkewP99 > 2e-4 {
			t.Errorf("%s: skew %v %v %v", metric, lxc.SkewMedian, lxc.SkewP99, lxc.SkewMax)
		}
	}
	// The cost is that beside the same guests.
	if c := r.find("time", "lxc@four"); c.Baseline != "native@four" || !near(c.Ratio, 1.03*mean/2, 0.005) {
		t.Errorf("cost %+v", c)
	}
	if c := r.find("time", "lxc"); c.Baseline != "native" || !near(c.Ratio, 1.03, 0.005) {
		t.Errorf("cost alone %+v", c)
	}
	pairs := map[string]int{}
	for _, s := range r.TrialSpread {
		pairs[s.Scenario] += s.Pairs
	}
	if pairs["solo"] != 40 || pairs["four"] != 40 { // of two metrics
		t.Errorf("A/A pairs %v", pairs)
	}
}

// TestLostMembers: who did not finish got nothing, and that is in the index.
func TestLostMembers(t *testing.T) {
	f := fourAtOnce(10, 0)
	f.drop(func(o dataset.Observation) bool { return o.Arm == cLXCFour && o.Member == 0 })
	for b := range 10 {
		f.Failures = append(f.Failures, dataset.Failure{Workload: "cpu", Arm: "lxc@four", Block: b, Member: 0,
			Fault: fault.Guest, Text: "killed"})
	}
	r, err := Analyze(f.input())
	if err != nil {
		t.Fatal(err)
	}
	lxc := r.isolationOf(t, "lxc@four", "time")
	x := 1 / 1.1
	if want := (2 + x) * (2 + x) / (4 * (2 + x*x)); !near(lxc.Jain, want, 1e-9) {
		t.Errorf("Jain %v, want %v", lxc.Jain, want)
	}
	if lxc.Lost != 10 || lxc.Trials != 40 || lxc.Members[0].Lost != 10 || lxc.Members[0].Slowdown != 0 ||
		!near(lxc.Unfairness, 1.1, 1e-9) {
		t.Errorf("%+v", lxc)
	}
	// All lost: there is no figure, and no nonsense.
	f.drop(func(o dataset.Observation) bool { return o.Arm == cLXCFour })
	if r, err = Analyze(f.input()); err != nil {
		t.Fatal(err)
	}
	if lxc = r.isolationOf(t, "lxc@four", "time"); lxc.N != 0 || lxc.Ratio != 0 || lxc.Jain != 0 || lxc.Lost != 10 {
		t.Errorf("%+v", lxc)
	}
}

// TestCapAccuracy: a quarter of a CPU takes 4.1 times as long as a whole one,
// in a mix and between arms.
func TestCapAccuracy(t *testing.T) {
	mix := []dataset.Member{{Flavor: "quarter", Share: 0.25}, {Flavor: "quarter", Share: 0.25},
		{Flavor: "whole", Share: 1}}
	f := &fake{Set: dataset.Set{
		Baseline: "native", Controls: map[string]string{},
		Arms: []dataset.Arm{
			{Name: "native", System: "native", Flavor: "whole", Scenario: "mixed", Members: mix},
			{Name: "lxc", System: "lxc", Flavor: "whole", Scenario: "solo", Baseline: "lxc"},
			{Name: "lxc-quarter", System: "lxc", Flavor: "quarter", Scenario: "solo", Baseline: "lxc"},
		},
		Metrics: []dataset.Metric{{Workload: "cpu", Name: "rate", Unit: "1/s", Better: "higher", Primary: true}},
	}}
	f.Arms[1].Size.VCPUs, f.Arms[2].Size.VCPUs, f.Arms[2].Size.CPUCap = 1, 1, 0.25
	for b := range 6 {
		for i, v := range []float64{1 / 4.1, 1 / 4.1, 1} {
			f.obs = append(f.obs, dataset.Observation{Block: int32(b), Member: int32(i), Value: v * (1 + 0.001*float64(b))})
		}
		f.obs = append(f.obs, dataset.Observation{Arm: 1, Block: int32(b), Value: 1},
			dataset.Observation{Arm: 2, Block: int32(b), Value: 1 / 3.9})
	}
	r, err := Analyze(f.input())
	if err != nil || len(r.CapAccuracy) != 2 {
		t.Fatalf("%+v, %v", r.CapAccuracy, err)
	}
	for i, want := range []CapAccuracy{
		{System: "native", Scenario: "mixed", Arm: "native", Against: "native", Estimate: claim.Between(4.1, 0, 0)},
		{System: "lxc", Scenario: "solo", Arm: "lxc-quarter", Against: "lxc", Estimate: claim.Between(3.9, 0, 0)},
	} {
		got := r.CapAccuracy[i]
		if got.System != want.System || got.Scenario != want.Scenario || got.Arm != want.Arm || got.Against != want.Against ||
			got.Flavor != "quarter" ||
			got.Reference != "whole" || got.Ideal != 4 || got.N != 6 || !near(got.Ratio, want.Ratio, 1e-9) {
			t.Errorf("%+v", got)
		}
	}
	// Of a mix, each got what its share is: that is fair.
	if iso := r.isolationOf(t, "native", "rate"); iso.Jain < 0.999 || iso.Ratio != 0 {
		t.Errorf("%+v", iso)
	}
}
