package analyze

import (
	"math"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// fillRun is a run whose native arm fits about 400 guests and whose kvm arm about 100: in steps of ten, and
// in no block more than most.
func fillRun(blocks int, most float64) *fake {
	f := newFake(3, 0, 0)
	f.Planned, f.obs = blocks, nil
	f.Metrics[0].Better = "higher"
	fits := func(arm, b int) float64 {
		if arm == kvm {
			return float64(80 + 10*(b%5))
		}
		return min(float64(380+10*(b%5)), most)
	}
	for b := range blocks {
		for arm := range costs {
			f.obs = append(f.obs, dataset.Observation{Arm: int32(arm), Block: int32(b), Guest: int32(b) + 1,
				Value: fits(arm, b)})
		}
	}
	for arm := range costs {
		limit := model.LimitSlowdown
		if arm == kvm {
			limit = model.LimitMemory
		}
		f.fills(arm, limit, func(b int) bool { return fits(arm, b) == most })
		f.probes(model.ProbeGuestShare, arm, constant(20<<20))
		f.probes(model.ProbeOwnMemory, arm, func(b int) float64 { return float64(50<<20 + b) })
	}
	f.probes(model.ProbeFillSlowdown, native, constant(2.6))
	f.probes(model.ProbeServingP99, kvm, constant(0.03))
	return f
}

func TestFills(t *testing.T) {
	res := analyze(t, fillRun(50, math.Inf(1)))
	if len(res.Fills) != len(costs) {
		t.Fatalf("%d arms", len(res.Fills))
	}
	k, n := res.Fills[kvm], res.Fills[native]
	if k.N != 50 || k.Fits.Value != 100 || k.Fits.Low < 90 || k.Fits.Low > 100 || k.Fits.High < 100 || k.Fits.High > 110 ||
		k.Fewest != 80 || k.Greatest != 120 || k.Ended != 0 || k.Baseline != "native" || k.AtLeast(120) {
		t.Errorf("%+v", k)
	}
	if k.Least == nil || *k.Least != 80 { // a fifth of all fills fit no more
		t.Errorf("least %v", k.Least)
	}
	if len(k.Broke) != 1 || k.Broke[0] != (FillBroke{model.LimitMemory, 50}) || len(n.Broke) != 1 ||
		n.Broke[0] != (FillBroke{model.LimitSlowdown, 50}) {
		t.Errorf("%+v, %+v", k.Broke, n.Broke)
	}
	if k.Ratio == nil || k.Ratio.Value != 0.25 || k.Ratio.Low < 0.2 || k.Ratio.High > 0.32 || n.Ratio != nil {
		t.Errorf("%+v, %+v", k.Ratio, n.Ratio)
	}
	if k.Share.Mean != 20<<20 || k.Own.Max != 50<<20+49 || n.Slowdown.Mean != 2.6 || k.Slowdown.N != 0 ||
		k.Serving.Mean != 0.03 || n.Serving.N != 0 {
		t.Errorf("%+v", k)
	}
}

// TestFillsEnded: of fills that reached the most, only a bound is known, and no ratio.
func TestFillsEnded(t *testing.T) {
	res := analyze(t, fillRun(50, 400))
	n, k := res.Fills[native], res.Fills[kvm]
	if n.Ended != 30 || n.Fits.Value != 400 || !n.AtLeast(n.Fits.Value) || n.AtLeast(390) || n.Greatest != 400 {
		t.Errorf("%+v", n)
	}
	if n.Broke[0].Fills != 20 || k.Ended != 0 || k.Ratio != nil {
		t.Errorf("%+v, %+v", n.Broke, k)
	}
}

// TestFewFills: a median without an interval, and no tolerance limit.
func TestFewFills(t *testing.T) {
	for blocks, interval := range map[int]bool{5: false, 6: true, 28: true} {
		k := analyze(t, fillRun(blocks, math.Inf(1))).Fills[kvm]
		if k.Least != nil || (k.Fits.High > 0) != interval || k.Fits.Value < 80 || k.Fits.Value > 120 {
			t.Errorf("%d fills: %+v", blocks, k)
		}
	}
	if k := analyze(t, fillRun(29, math.Inf(1))).Fills[kvm]; k.Least == nil || *k.Least != 80 {
		t.Errorf("29 fills: %+v", k)
	}
}
