package stats

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestToleranceLow: Wilks' numbers of values for the first three limits, from tables of NUREG/CR-6119.
func TestToleranceLow(t *testing.T) {
	values := func(n int) (x []float64) {
		for i := range n {
			x = append(x, float64(i+1))
		}
		return x
	}
	for _, c := range []struct {
		n       int
		content float64
		want    float64 // 0: too few
	}{
		{28, 0.9, 0}, {29, 0.9, 1}, {45, 0.9, 1}, {46, 0.9, 2}, {60, 0.9, 2}, {61, 0.9, 3},
		{58, 0.95, 0}, {59, 0.95, 1}, {92, 0.95, 1}, {93, 0.95, 2}, {123, 0.95, 2}, {124, 0.95, 3},
	} {
		got, err := ToleranceLow(values(c.n), c.content, 0.05)
		if errors.Is(err, ErrTooFew) != (c.want == 0) || err == nil && got != c.want {
			t.Errorf("%d values, content %v: %v, %v, want %v", c.n, c.content, got, err, c.want)
		}
	}
	for name, x := range map[string][]float64{"none": nil, "unsorted": {2, 1}} {
		if v, err := ToleranceLow(x, 0.9, 0.05); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
	if v, err := ToleranceLow(values(100), 1, 0.05); err == nil {
		t.Errorf("all values lie above %v", v)
	}
}

// TestToleranceLowCoverage: the limit is above the 10 % quantile in at most 5 % of samples, also of values
// with many ties, as numbers of guests are.
func TestToleranceLowCoverage(t *testing.T) {
	const samples = 4000
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{29, 40, 100} {
		var smooth, tied int
		for range samples {
			x, steps := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i] = r.Float64()
				steps[i] = float64(int(10*x[i])) / 10 // tenths: the 10 % quantile is 0
			}
			slices.Sort(x)
			slices.Sort(steps)
			if low, err := ToleranceLow(x, 0.9, 0.05); err != nil || low > 0.1 {
				smooth++
			}
			if low, err := ToleranceLow(steps, 0.9, 0.05); err != nil || low > 0.1 {
				tied++
			}
		}
		// 5 % ± 4 standard errors.
		if most := int(0.064 * samples); smooth > most || tied > most {
			t.Errorf("%d values: the limit was too high in %d and %d of %d samples", n, smooth, tied, samples)
		}
	}
}
