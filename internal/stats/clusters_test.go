package stats

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestClusterQuantileInterval: an interval that draws groups covers as often as it says although the
// values of a group are alike; the order statistics of the single values do not.
func TestClusterQuantileInterval(t *testing.T) {
	const runs, groups, size = 60, 25, 4
	rng := rand.New(rand.NewPCG(1, 2))
	covered, naive := 0, 0
	for range runs {
		var x [][]float64
		for range groups {
			common := rng.NormFloat64()
			var g []float64
			for range size {
				g = append(g, common+0.3*rng.NormFloat64())
			}
			x = append(x, g)
		}
		iv, err := ClusterQuantileInterval(x, 0.5, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if iv.Low <= 0 && 0 <= iv.High {
			covered++
		}
		single, err := QuantileInterval(slices.Sorted(slices.Values(slices.Concat(x...))), 0.5, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if single.Low <= 0 && 0 <= single.High {
			naive++
		}
	}
	if covered < 53 || naive > 50 {
		t.Errorf("covers the median in %d of %d runs, single values in %d", covered, runs, naive)
	}
}

func TestClusterQuantileIntervalNeeds(t *testing.T) {
	groups := func(n int) (x [][]float64) {
		for i := range n {
			x = append(x, []float64{float64(i), float64(i) + 0.5})
		}
		return x
	}
	for _, c := range []struct {
		n   int
		p   float64
		few bool
	}{{19, 0.5, true}, {20, 0.5, false}, {71, 0.95, true}, {72, 0.95, false}, {367, 0.99, true}, {368, 0.99, false}} {
		first, err := ClusterQuantileInterval(groups(c.n), c.p, 0.05)
		if errors.Is(err, ErrTooFew) != c.few || !c.few && err != nil {
			t.Errorf("%d groups, %v: %v", c.n, c.p, err)
		}
		if again, _ := ClusterQuantileInterval(groups(c.n), c.p, 0.05); again != first {
			t.Errorf("not the same twice: %+v, %+v", first, again)
		}
	}
	if _, err := ClusterQuantileInterval(groups(30), 0.5, 2); err == nil {
		t.Error("alpha 2")
	}
}
