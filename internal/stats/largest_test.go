package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLargest(t *testing.T) {
	if _, _, err := Largest(nil); err == nil {
		t.Error("no intervals have a largest")
	}
	for _, c := range []struct {
		all          []Interval
		at           int
		low, high, p float64
	}{
		{[]Interval{{Estimate: 1, Low: 0.5, High: 1.5, P: 0.001}}, 0, 0.5, 1.5, 0.001},
		// The low end may be that of another one than the largest estimate.
		{[]Interval{{Estimate: 1, Low: 0.8, High: 1.2, P: 0.001}, {Estimate: 2, Low: -1, High: 5, P: 0.4},
			{Estimate: -3, Low: -4, High: -2, P: 1e-9}}, 1, 0.8, 5, 0.003},
		// All are below 0: each must be surely so.
		{[]Interval{{Estimate: -1, Low: -2, High: -0.1, P: 0.01},
			{Estimate: -2, Low: -3, High: -1, P: 0.0001}}, 0, -2, -0.1, 0.02},
		{[]Interval{{Estimate: -1, Low: -2, High: 0.1, P: 0.03},
			{Estimate: -2, Low: -3, High: -1, P: 0.0001}}, 0, -2, 0.1, 0.06},
		{[]Interval{{Estimate: 1, Low: -2, High: 3, P: 0.7}, {Estimate: 2, Low: -3, High: 4, P: 0.9}}, 1, -2, 4, 1},
	} {
		got, at, err := Largest(c.all)
		if err != nil || at != c.at || got.Low != c.low || got.High != c.high || math.Abs(got.P-c.p) > 1e-12 ||
			got.Estimate != c.all[at].Estimate {
			t.Errorf("%+v, %d, %v; want %+v", got, at, err, c)
		}
	}
}

// TestLargestCovers: the interval contains the largest of the true values, and p is below alpha exactly where the
// interval excludes 0, whatever the true values are.
func TestLargestCovers(t *testing.T) {
	const runs, alpha = 4000, 0.05
	for _, truth := range [][]float64{{0}, {0, 0, 0, 0}, {-1, 0, 0.3}, {1, 1, 0.9}} {
		r := rand.New(rand.NewPCG(16, uint64(len(truth))))
		covers := 0
		for range runs {
			largest := math.Inf(-1)
			var all []Interval
			for _, mu := range truth {
				x := make([]float64, 8)
				for i := range x {
					x[i] = mu + r.NormFloat64()
				}
				iv, err := MeanT(x, alpha/float64(len(truth)))
				if err != nil {
					t.Fatal(err)
				}
				all, largest = append(all, iv), max(largest, mu)
			}
			iv, _, err := Largest(all)
			if err != nil {
				t.Fatal(err)
			}
			if iv.Low <= largest && largest <= iv.High {
				covers++
			}
			if (iv.P < alpha) != (iv.Low > 0 || iv.High < 0) {
				t.Fatalf("%+v of %+v", iv, all)
			}
		}
		if share := float64(covers) / runs; share < 0.945 {
			t.Errorf("%v: %.3f", truth, share)
		}
	}
}
