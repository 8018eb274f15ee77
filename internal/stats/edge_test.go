package stats

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	two := []float64{1, 2}
	call := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"mean: Inf", call(MeanT([]float64{inf, 1}, 0.05)), ErrDomain},
		{"weighted: lengths", call(WeightedT([]float64{1, 2}, []float64{1}, 0.05)), ErrLengths},
		{"weighted: no weight", call(WeightedT([]float64{1, 2}, []float64{1, 0}, 0.05)), ErrDomain},
		{"weighted: one value", call(WeightedT([]float64{1}, []float64{1}, 0.05)), ErrTooFew},
		{"mean: alpha", call(MeanT(two, 0)), ErrDomain},
		{"mean: alpha NaN", call(MeanT(two, nan)), ErrDomain},
		{"groups differ: singles", call(GroupsDiffer([][]float64{{1}, {2}})), ErrTooFew},
		{"Welch: one", call(Welch(two, []float64{1}, 0.05)), ErrTooFew},
		{"Holm: 1.1", call(Holm([]float64{1.1})), ErrDomain},
		{"Holm: NaN", call(Holm([]float64{nan})), ErrDomain},
		{"quantile: nothing", call(Quantile(nil, 0.5)), ErrTooFew},
		{"quantile: 2", call(Quantile(two, 2)), ErrDomain},
		{"Jain: all zero", call(Jain([]float64{0, 0})), ErrDomain},
		{"Jain: negative", call(Jain([]float64{-1, 2})), ErrDomain},
		{"anytime: one", call(Anytime([]float64{1}, 1, 0.05)), ErrTooFew},
		{"anytime: rho", call(Anytime(two, 0, 0.05)), ErrDomain},
		{"variances: sizes", call(VarianceComponents(two, []int{2, 2})), ErrLengths},
		{"variances: one repetition", call(VarianceComponents(two, []int{2, 1})), ErrTooFew},
		{"optimal: costs", call(OptimalReps([]float64{0, 1}, two)), ErrDomain},
		{"steady: short", call(Steady(two)), ErrTooFew},
		{"summary: nothing", call(Summarize(nil)), ErrTooFew},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, c.err, c.want)
		}
	}
}

func TestZeroVariance(t *testing.T) {
	iv, err := MeanT(logRatios([]float64{2.2, 2.2, 2.2, 2.2}, []float64{2, 2, 2, 2}), 0.05)
	if err != nil || !iv.Degenerate || iv.Low != iv.High || iv.P != 0.125 {
		t.Errorf("constant ratio: %+v, %v", iv, err)
	}
	near(t, "constant ratio", iv.Exp().Estimate, 1.1, 1e-12)
	iv, err = MeanT([]float64{0, 0}, 0.05)
	if err != nil || iv.P != 1 || iv.Low != 0 || iv.High != 0 {
		t.Errorf("equal values: %+v, %v", iv, err)
	}
	if p, err := GroupsDiffer([][]float64{{1, 1}, {1, 1}}); p != 1 || err != nil {
		t.Errorf("equal groups: %v, %v", p, err)
	}
	if p, err := GroupsDiffer([][]float64{{1, 1}, {2, 2}}); p != 0 || err != nil {
		t.Errorf("different constant groups: %v, %v", p, err)
	}
	s, err := Steady(slices.Repeat([]float64{7}, 20))
	if err != nil || s.P != 1 || s.Before != 7 || s.After != 7 {
		t.Errorf("constant series: %+v, %v", s, err)
	}
}

// No result may be NaN or infinite, which JSON cannot represent.
func TestAlwaysFinite(t *testing.T) {
	huge := []float64{math.MaxFloat64, 1e-300, 1, math.SmallestNonzeroFloat64}
	tiny := []float64{1e-300, math.MaxFloat64, 1e300, 1}
	check := func(name string, iv Interval, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, v := range []float64{iv.Estimate, iv.Low, iv.High, iv.P} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %+v", name, iv)
			}
		}
	}
	iv, err := MeanT(logRatios(huge, tiny), 0.05)
	check("paired", iv.Exp(), err)
	if iv.Exp().Low <= 0 {
		t.Errorf("a ratio's bound is positive: %+v", iv.Exp())
	}
	for _, g := range Huberize([][]float64{logRatios(huge, tiny), {1, 2}}) {
		iv, err = MeanT(g, 0.05)
		check("Huber", iv, err)
	}
	long := slices.Concat(huge, tiny, huge, []float64{-math.MaxFloat64})
	if s, err := Steady(long); err != nil || math.IsNaN(s.P) || math.IsNaN(s.Rho) {
		t.Errorf("steady: %+v, %v", s, err)
	}
	s, err := Summarize(huge)
	if err != nil || math.IsInf(s.Spread, 0) || math.IsInf(s.SD, 0) || math.IsNaN(s.SD) {
		t.Errorf("spread: %+v, %v", s, err)
	}
	if j, err := Jain([]float64{1e300, 1e300, 0, 0}); err != nil || math.Abs(j-0.5) > 1e-12 {
		t.Errorf("Jain of huge shares: %v, %v", j, err)
	}
}

func TestDescriptions(t *testing.T) {
	s, _ := Summarize([]float64{1.9, 5362.8, 100})
	if s.Min != 1.9 || s.Max != 5362.8 || math.Abs(s.Spread-2822.526) > 0.001 {
		t.Errorf("summary %+v", s)
	}
	if s, _ := Summarize([]float64{0, 1}); s.Spread != 0 {
		t.Errorf("spread over zero: %v", s.Spread)
	}
	if j, _ := Jain([]float64{1, 0, 0, 0}); j != 0.25 {
		t.Errorf("one has all: %v", j)
	}
	if j, _ := Jain([]float64{3, 3, 3}); math.Abs(j-1) > 1e-15 {
		t.Errorf("all alike: %v", j)
	}
}
