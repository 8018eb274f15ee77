package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/histogram"
)

// served is how an arm answers requests: lognormally around 100 µs, its guests with a standard deviation of 3 %, and a
// share of the requests only after 20 ms more.
type served struct {
	name  string
	cost  float64 // of all requests
	sleep float64 // share
}

// serving makes a run of 32 blocks, with other guests every four, of n requests a trial.
func serving(seed uint64, n int, arms ...served) dataset.Set {
	r := rand.New(rand.NewPCG(seed, 14))
	in := dataset.Set{Baseline: "native", Controls: map[string]string{"control": "native"}, Planned: 32,
		Metrics: []dataset.Metric{{Workload: "web", Name: "time", Unit: "s", Better: "lower", Primary: true},
			{Workload: "web", Name: "latency", Unit: "s", Better: "lower"}}}
	arms = append([]served{{"native", 1, 0}, {"control", 1, 0}}, arms...)
	var obs []dataset.Observation
	for ai, arm := range arms {
		in.Arms = append(in.Arms, dataset.Arm{Name: arm.name})
		guest := 0.0
		for b := range int32(in.Planned) {
			if b%4 == 0 {
				guest = 0.03 * r.NormFloat64()
			}
			h, sum := &histogram.Histogram{}, 0.0
			for range n {
				s := 100e-6 * arm.cost * math.Exp(guest+0.3*r.NormFloat64())
				if r.Float64() < arm.sleep {
					s += 20e-3
				}
				sum += s
				if err := h.Add(int64(1e9*s), 1); err != nil {
					panic(err)
				}
			}
			in.Latencies = append(in.Latencies, dataset.Latencies{Metric: 1, Arm: int32(ai), Block: b, Guest: b / 4,
				Histogram: h})
			for m, v := range []float64{sum, sum / float64(n)} {
				obs = append(obs, dataset.Observation{Metric: int32(m), Arm: int32(ai), Block: b, Guest: b / 4, Value: v})
			}
		}
	}
	in.Observations = stream(obs)
	return in
}

func analyzed(t *testing.T, in dataset.Set) *Result {
	t.Helper()
	r, err := Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Result) percentile(arm string, q float64) *Latency {
	i := slices.IndexFunc(r.Latencies, func(l Latency) bool { return l.Arm == arm && l.Percentile == q })
	if i < 0 {
		return nil
	}
	return &r.Latencies[i]
}

// TestPlantedDelay: a sleep of 20 ms in 1 % of the requests moves the 99.5th percentile, and not the median.
func TestPlantedDelay(t *testing.T) {
	defer func(all []float64) { Percentiles = all }(Percentiles)
	Percentiles = []float64{0.5, 0.9, 0.95, 0.98, 0.995}
	r := analyzed(t, serving(1, 1000, served{"sleepy", 1, 0.01}, served{"slow", 1.2, 0}))
	for _, q := range Percentiles {
		l := r.percentile("sleepy", q)
		if l == nil || l.Count != 32_000 || l.BaselineCount != 64_000 || l.Units != 8 || l.Scope != ScopeGuests ||
			l.BaselineControl != "control" || l.Family != FamilyTails {
			t.Fatalf("p%v: %+v", 100*q, l)
		}
		// The 98th percentile of all is the 99th of those that did not sleep.
		if late := q > 0.99; late && (l.Verdict != Costs || l.CILow < 50 || l.Value < 20e-3) ||
			!late && l.CIHigh > 1.2 || q == 0.5 && (l.Verdict == Costs || l.CILow > 1 || l.CIHigh < 1) {
			t.Errorf("p%v of the sleepy: %.3g (%.3g … %.3g), %v", 100*q, l.Ratio, l.CILow, l.CIHigh, l.Verdict)
		}
		if l := r.percentile("slow", q); l.Verdict != Costs || math.Abs(l.Ratio-1.2) > 0.1 {
			t.Errorf("p%v of the slow: %+v", 100*q, l)
		}
		if l := r.percentile("control", q); !l.Control || l.Family != FamilyControl || l.Verdict == Costs {
			t.Errorf("p%v of the control: %+v", 100*q, l)
		}
	}
	for _, c := range r.LatencyCurves {
		if c.Count != 32_000 || len(c.Points) != curvePoints || c.Scenario != "" || !slices.IsSortedFunc(c.Points,
			func(a, b LatencyPoint) int { return int(math.Copysign(1, a.Seconds-b.Seconds)) }) {
			t.Errorf("curve of %s: %d latencies, %d points", c.Arm, c.Count, len(c.Points))
		}
		last := c.Points[len(c.Points)-1]
		if (last.Seconds > 20e-3) != (c.Arm == "sleepy") || math.Abs(last.Share-(1-10./32_000)) > 1e-9 {
			t.Errorf("curve of %s ends at %+v", c.Arm, last)
		}
	}
}

// TestFewLatencies: of 4 · 300 requests of a guest, 12 are beyond the 99th percentile and one beyond the next.
func TestFewLatencies(t *testing.T) {
	r := analyzed(t, serving(2, 300, served{"kvm", 1, 0}))
	if r.percentile("kvm", 0.99) == nil || r.percentile("kvm", 0.999) != nil {
		t.Errorf("%+v", r.Latencies)
	}
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == "few-latencies" })
	if i < 0 || r.Findings[i].Arm != "kvm" || r.Findings[i].Text != "p99.9 is not compared: it needs 10 single latencies "+
		"beyond it for each guest; the guest with the fewest has 1200 in all" {
		t.Errorf("%+v", r.Findings)
	}
	for n, want := range map[int64]bool{1000: true, 999: false} {
		if enough(n, 0.99) != want {
			t.Errorf("%d latencies are enough for p99: %v", n, !want)
		}
	}
}

// TestWholeMilliseconds: a tool that prints whole milliseconds cannot show a difference of less than one.
func TestWholeMilliseconds(t *testing.T) {
	coarse := func(arm int64) bool {
		in := serving(3, 100, served{"kvm", 1, 0})
		for i := range in.Latencies {
			l, ms := &in.Latencies[i], int64(10)
			if l.Arm == 2 {
				ms = arm + int64(l.Guest%2)*(arm-10)/4 // guests differ
			}
			l.Histogram = &histogram.Histogram{}
			for _, at := range []int64{ms, ms, ms, ms + 1} {
				if err := l.Add(at*1e6, 100); err != nil {
					t.Fatal(err)
				}
			}
		}
		return analyzed(t, in).percentile("kvm", 0.5).Coarse
	}
	if !coarse(10) || coarse(18) {
		t.Errorf("10 ms against 10 are coarse: %v; 18 and 20 ms: %v", coarse(10), coarse(18))
	}
	if !withinResolution([]float64{0.05, 0.06}, 0.1) || withinResolution([]float64{0.05, 0.06}, 0.02) {
		t.Error("the resolution does not count")
	}
}

// TestCoarseLatencies: nothing is claimed of ratios within the bars of a histogram.
func TestCoarseLatencies(t *testing.T) {
	in := serving(3, 100, served{"kvm", 1, 0})
	for i := range in.Latencies {
		l := &in.Latencies[i]
		l.Histogram = &histogram.Histogram{}
		ns := int64(100_000)
		if l.Arm == 2 {
			ns = 101_000
		}
		if err := l.Add(ns, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if l := analyzed(t, in).percentile("kvm", 0.5); l.Verdict != NotResolved || !l.Coarse {
		t.Errorf("%+v", l)
	}
}

// TestSimLatencies: how often the intervals of percentiles contain the true ratio, which is 1.1, and how often an arm
// that costs nothing is said to cost something.
func TestSimLatencies(t *testing.T) {
	const runs = 120
	covers, n, wrong := map[float64]int{}, map[float64]int{}, 0
	for seed := range uint64(runs) {
		r := analyzed(t, serving(100+seed, 250, served{"kvm", 1.1, 0}, served{"lxc", 1, 0}))
		claimed := false
		for _, l := range r.Latencies {
			if l.Arm == "kvm" {
				n[l.Percentile]++
				if l.CILow <= 1.1 && 1.1 <= l.CIHigh {
					covers[l.Percentile]++
				}
			}
			claimed = claimed || l.Arm == "lxc" && (l.Verdict == Costs || l.Verdict == Gains)
		}
		if claimed {
			wrong++
		}
	}
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
		if n[q] != runs {
			t.Errorf("%s is compared in %d runs of %d", PercentileName(q), n[q], runs)
		}
		within(t, "intervals of "+PercentileName(q)+" that contain the truth", float64(covers[q])/runs, 0.90, 1)
	}
	within(t, "runs with a false claim about an arm that costs nothing", float64(wrong)/runs, 0, 0.10)
}

// TestIsolationByP99: a neighbour that delays one request in fifty shows in the 99th percentile beside it.
func TestIsolationByP99(t *testing.T) {
	in := serving(5, 600, served{"kvm", 1, 0}, served{"native@noisy", 1, 0}, served{"kvm@noisy", 1, 0.02})
	for i := range in.Arms {
		in.Arms[i].Scenario = "solo"
		if i > 2 {
			in.Arms[i].Scenario, in.Arms[i].Neighbours = "noisy", []string{"disk"}
			in.Arms[i].Alone = []string{"native", "kvm"}[i-3]
			in.Arms[i].Baseline = "native@noisy"
		}
	}
	r := analyzed(t, in)
	for _, i := range r.Isolation {
		if slow := i.Arm == "kvm@noisy"; slow != (i.P99Low > 50) || i.P99Low == 0 || i.P99Low > i.P99 || i.P99 > i.P99High {
			t.Errorf("%s: p99 %.3g (%.3g … %.3g) %s", i.Arm, i.P99, i.P99Low, i.P99High, i.P99Verdict)
		}
	}
	if len(r.Isolation) == 0 {
		t.Error("no isolation")
	}
}
