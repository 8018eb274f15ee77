package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
)

// stalling makes a run of one guest in which the arms' trials are that often
// three times as slow.
func stalling(seed uint64, blocks int, share map[string]float64, better string) dataset.Set {
	r := rand.New(rand.NewPCG(seed, 80))
	in := dataset.Set{Baseline: "native", Controls: map[string]string{"control": "native"},
		Metrics: []dataset.Metric{{Workload: "cpu", Name: "m", Unit: "x", Better: better, Primary: true}}}
	var obs []dataset.Observation
	for _, name := range []string{"native", "control", "kvm"} {
		in.Arms = append(in.Arms, dataset.Arm{Name: name})
		for b := range blocks {
			ln := 0.05 * r.NormFloat64()
			if r.Float64() < share[name] {
				ln += math.Log(3)
			}
			if better == "higher" {
				ln = -ln
			}
			obs = append(obs, dataset.Observation{Arm: int32(len(in.Arms) - 1), Block: int32(b), Guest: int32(b / 5),
				Value: math.Exp(ln)})
		}
	}
	in.Observations = stream(obs)
	return in
}

func TestTails(t *testing.T) {
	for _, better := range []string{"lower", "higher"} {
		r, err := Analyze(stalling(1, 400, map[string]float64{"native": 0.01, "control": 0.01, "kvm": 0.1}, better))
		if err != nil || len(r.Tails) != 1 {
			t.Fatalf("%+v, %v", r.Tails, err)
		}
		tail := r.Tails[0]
		if tail.N != 400 || tail.BaselineN != 800 || math.Abs(tail.Share-0.1) > 0.04 ||
			math.Abs(tail.BaselineShare-0.01) > 0.01 || tail.Factor < 1.25 || tail.Factor > 1.5 {
			t.Errorf("%s: %+v", better, tail)
		}
		if !tail.More || tail.Low <= 0.04 || tail.High >= 0.16 || tail.Difference <= tail.Low ||
			math.Abs(tail.Size-3) > 0.1 || math.Abs(tail.BaselineSize-3) > 0.2 {
			t.Errorf("%s: %+v", better, tail)
		}
		for name, p := range map[string]*Percentile{"p95": tail.P95, "p99": tail.P99, "baseline p95": tail.BaselineP95,
			"baseline p99": tail.BaselineP99} {
			if p == nil || p.Low > p.Value || p.High < p.Value {
				t.Fatalf("%s %s: %+v", better, name, p)
			}
		}
		// Of a metric of which more is better the costly side is the low one.
		if arm, base := tail.P95.Value, tail.BaselineP95.Value; better == "lower" && (arm < 2.5 || base > 1.2) ||
			better == "higher" && (arm > 0.4 || base < 0.8) {
			t.Errorf("%s: p95 %v, of the baseline %v", better, arm, base)
		}
		// The stalls are no part of the typical trial.
		if c := r.find("m", "kvm"); math.Abs(c.OverheadPercent) > 2.5 || c.MeanRatio < 1.06 {
			t.Errorf("%s: %+v", better, c)
		}
	}
	r, err := Analyze(stalling(2, 40, nil, "lower"))
	if err != nil || len(r.Tails) != 1 || r.Tails[0].P95 != nil || r.Tails[0].BaselineP95 == nil ||
		r.Tails[0].BaselineP99 != nil || r.Tails[0].Size != 0 {
		t.Errorf("few trials: %+v, %v", r.Tails, err)
	}
}

// Where the baseline and its control stall differently, nothing is claimed.
func TestTailsNeedTwins(t *testing.T) {
	r, err := Analyze(stalling(3, 100, map[string]float64{"control": 0.15, "kvm": 0.3}, "lower"))
	if err != nil || r.Tails[0].PHolm > 0.001 || r.Tails[0].More {
		t.Errorf("%+v, %v", r.Tails, err)
	}
}

// How often an arm that stalls as its baseline is said to stall more often (1 %
// is promised), and how often one that stalls in 10 % of its trials is found.
func TestSimTails(t *testing.T) {
	const runs = 1000
	var wrong, found int
	for seed := range uint64(runs) {
		for stalls, count := range map[float64]*int{0.03: &wrong, 0.1: &found} {
			if stalls == 0.1 && seed%4 > 0 {
				continue
			}
			r, err := Analyze(stalling(seed, 60, map[string]float64{"native": 0.03, "control": 0.03, "kvm": stalls}, "lower"))
			if err != nil {
				t.Fatal(err)
			}
			if r.Tails[0].More {
				*count++
			}
		}
	}
	within(t, "runs with a false claim of stalls", float64(wrong)/runs, 0, 0.01)
	within(t, "stalls in 10 % of 60 trials found", float64(found)/(runs/4), 0.15, 1)
}

func TestWindows(t *testing.T) {
	of := func(guests ...int32) (s series) {
		for i, e := range guests {
			s = append(s, point{block: int32(i), guest: e})
		}
		return s
	}
	for _, c := range []struct {
		s    series
		want []int
	}{
		{nil, nil}, {of(1, 1), []int{2}}, {of(1, 1, 2, 2, 3, 3, 4, 4), []int{4, 4}}, {of(1, 1, 1, 2, 2, 2), []int{3, 3}},
		{of(1, 1, 1, 1, 2, 2), []int{6}},
	} {
		var sizes []int
		for _, w := range c.s.windows(3) {
			sizes = append(sizes, len(w))
		}
		if !slices.Equal(sizes, c.want) {
			t.Errorf("%v: %v, want %v", c.s, sizes, c.want)
		}
	}
}
