package analyze

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

func analyze(t *testing.T, f *fake) *Result {
	t.Helper()
	r, err := Analyze(f.input())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatalf("a result must have a JSON form: %v", err)
	}
	return r
}

func TestKnownTruth(t *testing.T) {
	r := analyze(t, newFake(1, 0.005, 30))
	for _, c := range []struct {
		arm     string
		percent float64
		verdict Verdict
	}{{"kvm", 9, Costs}, {"lxc", 0, None}, {"jail", -10, Gains}, {"native-again", 0, None}} {
		for _, metric := range []string{"time", "rate"} { // both directions mean the same cost
			got := r.find(metric, c.arm)
			if math.Abs(got.OverheadPercent-c.percent) > 0.7 || got.Verdict != c.verdict || got.N != 30 {
				t.Errorf("%s of %s: %+.2f %%, %s, n %d; want %+.0f %%, %s, 30",
					metric, c.arm, got.OverheadPercent, got.Verdict, got.N, c.percent, c.verdict)
			}
			if got.CILow > got.Ratio || got.CIHigh < got.Ratio || math.Abs(got.MeanRatio-got.Ratio) > 0.01 {
				t.Errorf("%s of %s: interval %v … %v around %v, mean %v",
					metric, c.arm, got.CILow, got.CIHigh, got.Ratio, got.MeanRatio)
			}
			if got.Control != (c.arm == "native-again") {
				t.Errorf("%s: control is %v", c.arm, got.Control)
			}
		}
	}
	if len(r.TrialSpread) != 2 || r.TrialSpread[0].Pairs != 30 || r.TrialSpread[0].Percent < 0.8 ||
		r.TrialSpread[0].Percent > 2.5 {
		t.Errorf("spread of trials %+v, want about 1.4 %%", r.TrialSpread)
	}
	if got := ids(r.Findings); !reflect.DeepEqual(got, []string{"faster-than-baseline"}) {
		t.Errorf("findings %v", r.Findings)
	}
	if got := r.find("time", "jail").Findings; !reflect.DeepEqual(got, []string{"faster-than-baseline"}) {
		t.Errorf("findings of the comparison: %v", got)
	}
	f := newFake(1, 0.005, 30)
	for arm := range f.Arms[:2] {
		f.Arms[arm].System = "lxc"
	}
	if got := analyze(t, f).Findings; len(got) > 0 {
		t.Errorf("findings beside a baseline that is no bare machine: %v", got)
	}
	if len(r.Arms) != 5 || len(r.Arms[0].Metrics) != 2 || r.Arms[0].Metrics[0].N != 30 {
		t.Errorf("arms %+v", r.Arms)
	}
}

// An effect smaller than what one trial shows by itself is claimed when there
// are enough blocks, and none without any A/A pairs.
func TestSmallEffectIsClaimed(t *testing.T) {
	f := newFake(2, 0.05, 100)
	r := analyze(t, f)
	if c := r.find("time", "kvm"); c.PHolm > 0.001 || r.TrialSpread[0].Percent < c.OverheadPercent || c.Verdict != Costs {
		t.Errorf("beside a spread of %+v: %+v", r.TrialSpread[0], c)
	}
	f = newFake(2, 0.005, 30)
	f.drop(func(o dataset.Observation) bool { return o.Arm == control })
	r = analyze(t, f)
	if c := r.find("time", "kvm"); c.HasControl || c.Verdict != NotResolved || c.CILow < 1.05 {
		t.Errorf("without a control: %+v", c)
	}
	if got := ids(r.Findings); !reflect.DeepEqual(got, []string{"no-control"}) {
		t.Errorf("findings without a control: %v", got)
	}
}

func TestOrderOfObservationsDoesNotMatter(t *testing.T) {
	f := newFake(3, 0.02, 20)
	f.each(0, kvm, func(o *dataset.Observation) { o.Guest = o.Block / 4 })
	want := analyze(t, f)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(f.obs), func(i, j int) { f.obs[i], f.obs[j] = f.obs[j], f.obs[i] })
	if got := analyze(t, f); !reflect.DeepEqual(got, want) {
		t.Error("shuffled observations gave another result")
	}
}

func TestFewPairs(t *testing.T) {
	for n, want := range map[int32]struct{ ratio, interval bool }{0: {false, false}, 1: {true, false}, 2: {true, true}} {
		f := newFake(4, 0.01, 10)
		f.drop(func(o dataset.Observation) bool { return o.Arm == kvm && o.Block >= n })
		for b := int(n); b < 10; b++ {
			f.Failures = append(f.Failures, dataset.Failure{Workload: "cpu", Arm: "kvm", Block: b, Fault: fault.Guest,
				Text: "panic"})
		}
		r := analyze(t, f)
		c := r.find("time", "kvm")
		if c.N != int(n) || c.Dropped != 10-int(n) || (c.Ratio > 0) != want.ratio || (c.Interval != nil) != want.interval ||
			c.Verdict != NotResolved {
			t.Errorf("%d pairs: %+v", n, c)
		}
	}
	f := newFake(4, 0.01, 10)
	f.obs = nil
	if r := analyze(t, f); len(r.Comparisons) != 0 || r.Blocks != 0 {
		t.Errorf("nothing observed: %+v", r)
	}
}

// Values of one block are averaged before pairing, so N stays the blocks.
func TestSeveralValuesInABlock(t *testing.T) {
	f := newFake(5, 0.01, 20)
	want := analyze(t, f).find("time", "kvm")
	f.obs = append(f.obs, f.obs...)
	got := analyze(t, f).find("time", "kvm")
	if got.N != 20 || math.Abs(got.CILow-want.CILow) > 1e-12 || math.Abs(got.CIHigh-want.CIHigh) > 1e-12 {
		t.Errorf("repeated values changed %+v to %+v", want, got)
	}
}

func TestOwnBaseline(t *testing.T) {
	f := newFake(6, 0.005, 30)
	f.Arms[jail].Baseline = "kvm"
	c := analyze(t, f).find("time", "jail")
	if want := 100 * (0.9/1.09 - 1); c.Baseline != "kvm" || math.Abs(c.OverheadPercent-want) > 0.7 {
		t.Errorf("against %s: %+.2f %%, want kvm, %+.2f %%", c.Baseline, c.OverheadPercent, want)
	}
}

// The JSON names are a contract with the reports.
func TestJSONNames(t *testing.T) {
	r := analyze(t, newFake(7, 0.005, 10))
	raw, _ := json.Marshal(r.find("time", "kvm"))
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`workload metric unit better baseline arm n ratio ci_low ci_high overhead_percent
		baseline_min baseline_mean baseline_max arm_min arm_mean arm_max spread control verdict p_value p_holm
		family baseline_control has_control units scope df phi farther_percent equivalence_p equivalence_p_holm mean_ratio mean_low mean_high`) {
		if _, ok := got[name]; !ok {
			t.Errorf("no %q in %s", name, raw)
		}
	}
}

func TestRefused(t *testing.T) {
	failing := errors.New("disk gone")
	for name, c := range map[string]struct {
		change func(*fake, *dataset.Set)
		kind   fault.Kind
	}{
		"no baseline": {func(_ *fake, in *dataset.Set) { in.Baseline = "x" }, fault.Campaign},
		"unknown control": {func(_ *fake, in *dataset.Set) { in.Controls = map[string]string{"x": "native"} },
			fault.Campaign},
		"control of nothing": {func(_ *fake, in *dataset.Set) { in.Controls = map[string]string{"kvm": "x"} },
			fault.Campaign},
		"control of itself": {func(_ *fake, in *dataset.Set) { in.Controls = map[string]string{"kvm": "kvm"} },
			fault.Campaign},
		"arm twice":      {func(_ *fake, in *dataset.Set) { in.Arms[1].Name = "native" }, fault.Campaign},
		"arm's baseline": {func(_ *fake, in *dataset.Set) { in.Arms[2].Baseline = "x" }, fault.Campaign},
		"better":         {func(_ *fake, in *dataset.Set) { in.Metrics[0].Better = "" }, fault.Campaign},
		"alpha":          {func(_ *fake, in *dataset.Set) { in.Alpha = 1 }, fault.Campaign},
		"delta":          {func(_ *fake, in *dataset.Set) { in.Delta = math.NaN() }, fault.Campaign},
		"NaN":            {func(f *fake, _ *dataset.Set) { f.obs[3].Value = math.NaN() }, fault.Internal},
		"infinity":       {func(f *fake, _ *dataset.Set) { f.obs[3].Value = math.Inf(-1) }, fault.Internal},
		"metric index":   {func(f *fake, _ *dataset.Set) { f.obs[3].Metric = 2 }, fault.Internal},
		"arm index":      {func(f *fake, _ *dataset.Set) { f.obs[3].Arm = -1 }, fault.Internal},
		"block":          {func(f *fake, _ *dataset.Set) { f.obs[3].Block = -1 }, fault.Internal},
		"store fails": {func(_ *fake, in *dataset.Set) {
			in.Observations = func(yield func(dataset.Observation, error) bool) {
				yield(dataset.Observation{}, fault.Hostf("%w", failing))
			}
		}, fault.Host},
	} {
		f := newFake(8, 0.01, 5)
		in := f.input()
		c.change(f, &in)
		_, err := Analyze(in)
		if err == nil || fault.KindOf(err) != c.kind {
			t.Errorf("%s: got %v (%v), want fault %v", name, err, fault.KindOf(err), c.kind)
		}
		if name == "store fails" && !errors.Is(err, failing) {
			t.Errorf("%v lost its cause", err)
		}
	}
}

func TestLive(t *testing.T) {
	f := newFake(9, 0.05, 40)
	f.drop(func(o dataset.Observation) bool { return o.Arm == lxc && o.Block >= 5 })
	live, err := Live(f.input())
	if err != nil || len(live) != 6 {
		t.Fatalf("%d live estimates, %v; want 3 arms, 2 metrics", len(live), err)
	}
	for _, l := range live {
		if (l.N >= 10) != (l.High > 0) || l.Ratio <= 0 || (l.High > 0 && (l.Low > l.Ratio || l.High < l.Ratio)) {
			t.Errorf("live %+v", l)
		}
	}
}

// Whatever is observed, the result has a JSON form: no NaN, no infinity.
func TestAnyValuesGiveJSON(t *testing.T) {
	extremes := []float64{0, -1, math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, 1e-200, 1e200, 1, 2}
	r := rand.New(rand.NewPCG(13, 1))
	for range 200 {
		f := newFake(r.Uint64(), 0.05, 1+r.IntN(20))
		f.Precision = float64(r.IntN(2)) * 0.02
		only := r.IntN(2) * 2 // half of the inputs have positive values only
		for i := range f.obs {
			o := &f.obs[i]
			o.Guest = o.Block / int32(1+r.IntN(5))
			if r.IntN(4) == 0 {
				o.Value = extremes[only+r.IntN(len(extremes)-only)]
				if only > 0 {
					o.Value = max(o.Value, math.SmallestNonzeroFloat64)
				}
			}
		}
		f.drop(func(dataset.Observation) bool { return r.IntN(6) == 0 })
		for _, name := range []string{model.ProbeClockDiff, model.ProbeWorkloadBytes, model.ProbeDeviceBytes,
			model.ProbeThrottled, model.ProbeGuestCPU, model.ProbeGuestGroupCPU, model.ProbeCapPeriods} {
			f.probes(name, kvm, func(int) float64 { return extremes[r.IntN(len(extremes))] })
		}
		for _, c := range analyze(t, f).Comparisons {
			if c.Interval != nil && (c.CILow > c.Ratio || c.CIHigh < c.Ratio) || c.P < 0 || c.P > c.PHolm {
				t.Fatalf("%+v", c)
			}
		}
		if _, err := Widths(f.input()); err != nil {
			t.Fatal(err)
		}
		live, err := Live(f.input())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(live); err != nil {
			t.Fatal(err)
		}
	}
}
