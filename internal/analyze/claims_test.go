package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// several is a run of arms with known costs by workload; each block has 3 blocks
// a guest.
func several(seed uint64, cv float64, blocks int, costs map[string][]float64, arms ...string) dataset.Set {
	r := rand.New(rand.NewPCG(seed, 70))
	in := dataset.Set{Baseline: "native", Controls: map[string]string{"control": "native"}}
	for _, name := range append([]string{"native", "control"}, arms...) {
		in.Arms = append(in.Arms, dataset.Arm{Name: name, System: name, Emulated: name == "tcg"})
	}
	var obs []dataset.Observation
	for w := range len(costs[arms[0]]) {
		in.Metrics = append(in.Metrics, dataset.Metric{Workload: fmt.Sprint("w", w), Name: "time", Unit: "s", Better: "lower",
			Primary: true})
		for b := range blocks {
			for a, arm := range in.Arms {
				cost := 1.0
				if of := costs[arm.Name]; of != nil {
					cost = of[w]
				}
				obs = append(obs, dataset.Observation{Metric: int32(w), Arm: int32(a), Block: int32(b), Guest: int32(b / 3),
					Value: cost * math.Exp(cv*r.NormFloat64())})
			}
		}
	}
	in.Observations = stream(obs)
	return in
}

func TestAnswers(t *testing.T) {
	r, err := Analyze(several(1, 0.01, 30, map[string][]float64{"kvm": {1.1, 1.3, 1, 0.8}, "lxc": {1, 1, 1, 1},
		"tcg": {9, 9, 9, 9}}, "kvm", "lxc", "tcg"))
	if err != nil || len(r.Answers) != 3 {
		t.Fatalf("%+v, %v", r.Answers, err)
	}
	kvm, lxc, tcg := r.Answers[0], r.Answers[1], r.Answers[2]
	if kvm.Arm != "kvm" || kvm.Workloads != 4 || len(kvm.Costs) != 2 || kvm.Costs[0].Workload != "w1" ||
		kvm.Costs[1].Workload != "w0" ||
		len(kvm.Gains) != 1 || kvm.Gains[0].Workload != "w3" || !reflect.DeepEqual(kvm.None, []string{"w2"}) ||
		len(kvm.Open) != 0 || kvm.Scope != ScopeGuests {
		t.Errorf("kvm %+v", kvm)
	}
	if c := kvm.Costs[0]; math.Abs(c.Percent-30) > 2 || c.Low >= c.Percent || c.High <= c.Percent ||
		math.Abs(c.Ratio-1.3) > 0.02 || c.Metric != "time" {
		t.Errorf("the largest cost %+v", c)
	}
	if len(lxc.None) != 4 || lxc.AtMostPercent <= 0 || lxc.AtMostPercent > 2 ||
		len(lxc.Costs)+len(lxc.Gains)+len(lxc.Open) > 0 {
		t.Errorf("lxc %+v", lxc)
	}
	if !tcg.Emulated || r.find("time", "tcg").Family != FamilyEmulated {
		t.Errorf("tcg %+v", tcg)
	}
	// What is not resolved says at most how much.
	r, err = Analyze(several(2, 0.1, 12, map[string][]float64{"lxc": {1, 1}}, "lxc"))
	if err != nil {
		t.Fatal(err)
	}
	open := r.Answers[0]
	var most float64
	for _, c := range open.Open {
		most = max(most, math.Abs(c.Low), math.Abs(c.High))
	}
	if len(open.Open) != 2 || open.AtMostPercent < 3 || math.Abs(open.AtMostPercent-most) > 1e-9 ||
		open.Open[0].High-open.Open[0].Low < open.Open[1].High-open.Open[1].Low {
		t.Errorf("open %+v", open)
	}
}

func TestRankings(t *testing.T) {
	r, err := Analyze(several(3, 0.01, 30, map[string][]float64{"slow": {1.5}, "quick": {0.8}, "like": {1}, "twin": {1.5},
		"tcg": {20}}, "slow", "quick", "like", "twin", "tcg"))
	if err != nil || len(r.Rankings) != 1 {
		t.Fatalf("%+v, %v", r.Rankings, err)
	}
	got := r.Rankings[0]
	places := map[int]int{}
	for _, p := range got.Places {
		places[p.Rank] = len(p.Arms)
	}
	if got.Workload != "w0" || !reflect.DeepEqual(places, map[int]int{1: 1, 2: 2, 4: 2}) ||
		got.Places[0].Arms[0] != "quick" {
		t.Errorf("%+v", got)
	}
	// Without a control nothing is told apart.
	in := several(3, 0.01, 30, map[string][]float64{"slow": {1.5}}, "slow")
	in.Controls, in.Arms[1].Baseline = nil, "control"
	if r, err = Analyze(in); err != nil || len(r.Rankings) != 1 || len(r.Rankings[0].Places) != 1 {
		t.Errorf("without a control: %+v, %v", r.Rankings, err)
	}
}

// The families, and among which p-values are adjusted.
func TestFamilies(t *testing.T) {
	f := fourAtOnce(20, 0.005)
	f.probes(model.ProbeGuestGroupCPU, cNative, func(b int) float64 { return 1 + 0.001*float64(b%7) })
	f.probes(model.ProbeGuestGroupCPU, cControl, func(b int) float64 { return 1 + 0.001*float64(b%5) })
	f.probes(model.ProbeGuestGroupCPU, cLXC, func(b int) float64 { return 1.1 + 0.001*float64(b%3) })
	r, err := Analyze(f.input())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Comparisons {
		want := FamilyPrimary
		switch {
		case c.Control:
			want = FamilyControl
		case c.Arm == "lxc@four":
			want = FamilyBeside
		case c.Metric == CPUTime:
			want = FamilyCPUTime
		case !c.Primary:
			want = FamilySecondary
		}
		if c.Family != want {
			t.Errorf("%s of %s: %s, want %s", c.Metric, c.Arm, c.Family, want)
		}
	}
	if c := r.find(CPUTime, "lxc"); c.Unit != "s" || c.Primary || c.Verdict != Costs ||
		math.Abs(c.OverheadPercent-9.8) > 0.3 {
		t.Errorf("CPU time %+v", c)
	}
	for _, i := range r.Isolation {
		if i.Family != FamilyIsolation {
			t.Errorf("isolation of %s: %s", i.Arm, i.Family)
		}
	}
}

// CPU time that is not positive, or a metric that has the name already.
func TestNoCPUTime(t *testing.T) {
	f := newFake(1, 0.01, 10)
	for arm := range costs {
		f.probes(model.ProbeGuestGroupCPU, arm, func(b int) float64 { return float64(b % 2 * arm) })
	}
	r := analyze(t, f)
	for _, c := range r.Comparisons {
		if c.Metric == CPUTime {
			t.Errorf("%+v", c)
		}
	}
	f = newFake(1, 0.01, 10)
	f.Metrics[1].Name = CPUTime
	f.probes(model.ProbeGuestGroupCPU, kvm, constant(1))
	if r = analyze(t, f); len(r.Comparisons) != 8 {
		t.Errorf("%d comparisons", len(r.Comparisons))
	}
}

// Several metrics of one workload are of the same trials: one placebo.
func TestPlacebosAreWorkloads(t *testing.T) {
	f := newFake(3, 0.05, 30)
	f.Metrics = append(f.Metrics, dataset.Metric{Workload: "cpu", Name: "again", Unit: "s", Better: "lower",
		Primary: true})
	for _, o := range slices.Clone(f.obs) {
		if o.Metric == 0 {
			o.Metric = 2
			f.obs = append(f.obs, o)
		}
	}
	in := f.input()
	a, err := read(&in)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.estimateAll(a.all()); err != nil {
		t.Fatal(err)
	}
	for class, want := range map[Family]int{FamilyPrimary: 1, FamilySecondary: 1} {
		if got := a.placebos[group{"", class}].W; got != want {
			t.Errorf("%s: %d placebos", class, got)
		}
	}
}
