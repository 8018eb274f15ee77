package analyze

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// TestStarts: starts of 10 ms on native and of 50 ms on kvm, of which 3 % take 200 ms longer.
func TestStarts(t *testing.T) {
	const blocks = 500
	f := newFake(3, 0, 0)
	f.Planned, f.obs = blocks, nil
	r := rand.New(rand.NewPCG(7, 7))
	for b := range blocks {
		for arm := range costs {
			took := 0.010
			if arm == kvm {
				if took = 0.050; b%33 == 0 {
					took = 0.250
				}
			}
			f.obs = append(f.obs, dataset.Observation{Arm: int32(arm), Block: int32(b), Guest: int32(b) + 1,
				Value: took * math.Exp(0.05*r.NormFloat64())})
		}
	}
	for arm := range costs {
		f.starts(arm, 1)
	}
	f.probes(model.ProbeStartOwn, kvm, constant(0.3))
	res := analyze(t, f)
	if len(res.Starts) != len(costs) {
		t.Fatalf("%d arms", len(res.Starts))
	}
	covers := func(name string, p *Percentile, want float64) {
		t.Helper()
		if p == nil || p.Low > want || want > p.High || p.Low > p.Value || p.Value > p.High || p.High > 1.5*p.Low {
			t.Errorf("%s is %+v, want %v", name, p, want)
		}
	}
	s := res.Starts[kvm]
	if s.N != blocks || s.Blocks != blocks || s.Method != OrderStatistics || s.Baseline != "native" ||
		math.Abs(s.Rest) > 1e-12 || math.Abs(s.Own-0.3) > 1e-9 ||
		len(s.Phases) != 2 || math.Abs(s.Phases[0].Share-0.25) > 1e-9 {
		t.Errorf("%+v", s)
	}
	covers("p50", &s.P50, 0.0501)
	covers("p50 of a phase", &s.Phases[0].P50, 0.0501/4)
	covers("p99 of a phase", s.Phases[0].P99, 0.25/4)
	if own := s.OwnAt; own == nil || own.P50 != (Percentile{0.3, 0.3, 0.3}) || own.P99 == nil || *own.P99 != own.P50 {
		t.Errorf("tare's own: %+v", own)
	}
	covers("p50 over native's", s.P50Ratio, 5.01)
	covers("p99", s.P99, 0.25)
	if s.P99Ratio == nil || s.P99Ratio.Low < 15 || s.P99Ratio.High > 35 {
		t.Errorf("p99 over native's: %+v", s.P99Ratio)
	}
	if base := res.Starts[native]; base.P50Ratio != nil || base.Baseline != "" || base.OwnAt != nil {
		t.Errorf("the baseline is compared with itself: %+v", base)
	}
	if again := res.Starts[control]; !again.Control {
		t.Errorf("%+v", again)
	} else {
		covers("the control over native", again.P50Ratio, 1)
	}
}

// TestStartsAtOnce: guests that start at once share what a moment brings, so blocks are the units.
func TestStartsAtOnce(t *testing.T) {
	const blocks, guests = 100, 8
	f := newFake(3, 0, 0)
	f.Planned, f.obs = blocks, nil
	r := rand.New(rand.NewPCG(7, 8))
	for i := range f.Arms {
		f.Arms[i].Members = make([]dataset.Member, guests)
	}
	for b := range blocks {
		for arm := range costs {
			moment := math.Exp(0.3 * r.NormFloat64())
			for m := range guests {
				f.obs = append(f.obs, dataset.Observation{Arm: int32(arm), Block: int32(b), Guest: int32(b) + 1, Member: int32(m),
					Value: 0.05 * moment * math.Exp(0.05*r.NormFloat64())})
			}
		}
	}
	f.starts(kvm, 1)
	res := analyze(t, f)
	if len(res.Starts) != 1 {
		t.Fatalf("%+v", res.Starts)
	}
	s := res.Starts[0]
	if s.N != blocks*guests || s.Blocks != blocks || s.Guests != guests || s.Method != BlockBootstrap {
		t.Errorf("%+v", s)
	}
	// 800 independent values would have an interval of ± 2.6 %; 100 blocks have one of about ± 7.5 %.
	for of, p := range map[string]StartPercentiles{"start": s.StartPercentiles, "phase": s.Phases[0].StartPercentiles} {
		if wide := p.P50.High / p.P50.Low; wide < 1.08 || wide > 1.3 || p.P95 == nil || p.P99 != nil {
			t.Errorf("%s: p50 %+v, p95 %+v, p99 %+v", of, p.P50, p.P95, p.P99)
		}
	}
}

// TestEndings: removals of 20 ms on native and of 40 ms on kvm, of which 8 % take 200 ms and 2 % 400 ms, and stops of
// half that. The ends of lxc's guests are not known, and only 100 of those of jail are.
func TestEndings(t *testing.T) {
	const blocks = 500
	f := newFake(3, 0, blocks)
	for i, name := range []string{startMetrics.stop, startMetrics.remove} {
		f.Metrics = append(f.Metrics, dataset.Metric{Workload: "cpu", Name: name, Unit: "s", Better: "lower"})
		for b := range blocks {
			vary := float64(i+1) / 2 * (1 + 0.0001*float64(b-blocks/2))
			f.add(2+i, native, b, 0.020*vary)
			took := 0.040
			switch {
			case b%40 == 0:
				took = 0.400
			case b%13 == 1:
				took = 0.200
			}
			f.add(2+i, kvm, b, took*vary)
			if b < 100 {
				f.add(2+i, jail, b, 0.020*vary)
			}
		}
	}
	for arm := range costs {
		f.starts(arm, 1)
	}
	res := analyze(t, f)
	near := func(name string, p *Percentile, want float64) {
		t.Helper()
		if p == nil || math.Abs(p.Value/want-1) > 0.03 || p.Low > p.Value || p.High < p.Value || p.Low < 0.8*want ||
			p.High > 1.2*want {
			t.Errorf("%s is %+v, want %v", name, p, want)
		}
	}
	for of, e := range map[string]struct {
		Ending
		share float64
	}{"stop": {res.Starts[kvm].Stop, 0.5}, "remove": {res.Starts[kvm].Remove, 1}} {
		near(of+" p50", &e.Percentile, 0.040*e.share)
		near(of+" p95", e.P95, 0.200*e.share)
		near(of+" p99", e.P99, 0.400*e.share)
		near(of+" p50 over native's", e.P50Ratio, 2)
		near(of+" p95 over native's", e.P95Ratio, 9.8)
		near(of+" p99 over native's", e.P99Ratio, 19.6)
	}
	if base := res.Starts[native].Remove; base.P50Ratio != nil || base.P99 == nil {
		t.Errorf("the baseline: %+v", base)
	}
	if none := res.Starts[lxc].Remove; none != (Ending{}) {
		t.Errorf("ends that are not known: %+v", none)
	}
	if few := res.Starts[jail].Remove; few.P95 == nil || few.P99 != nil || few.P95Ratio == nil || few.P99Ratio != nil {
		t.Errorf("100 ends: %+v", few)
	}
}
