package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestWeightedTEqualWeights(t *testing.T) {
	x := []float64{0.01, -0.02, 0.035, 0.004, 0.013}
	want, _ := MeanT(x, 0.05)
	got, err := WeightedT(x, []float64{3, 3, 3, 3, 3}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "estimate", got.Estimate, want.Estimate, 1e-15)
	near(t, "standard error", got.StdErr, want.StdErr, 1e-15)
	near(t, "degrees of freedom", got.DF, want.DF, 1e-12)
	near(t, "low", got.Low, want.Low, 1e-12)
}

// Worked by hand: weights ½, ¼, ¼ and values 0, 1, 3. The mean is 1, the variance
// ¼·1/½ + 0 + ¹⁄₁₆·4/¾ = ⅚; u² are ½, ¹⁄₁₂, ¹⁄₁₂, so that ΣΣ M² is ⅜ + 2(¹⁄₂₄ + ¹⁄₂₄ + ¹⁄₁₄₄).
func TestWeightedTByHand(t *testing.T) {
	iv, err := WeightedT([]float64{0, 1, 3}, []float64{2, 1, 1}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "estimate", iv.Estimate, 1, 1e-15)
	near(t, "standard error", iv.StdErr, math.Sqrt(5.0/6), 1e-15)
	near(t, "degrees of freedom", iv.DF, 1/(3.0/8+2*(2.0/24+1.0/144)), 1e-12)
}

// Intervals hold whether the variance of a value is inverse to its weight (all of
// it comes from trials) or the same for all (all of it comes from guests).
func TestSimWeightedT(t *testing.T) {
	sizes := []float64{8, 1, 2, 3, 3, 1, 2, 3, 3, 3}
	for _, c := range []struct {
		name     string
		sd       func(size float64) float64
		narrower float64 // than MeanT, at least, on average
	}{
		{"weighted, variance of trials", func(n float64) float64 { return 1 / math.Sqrt(n) }, 0.09},
		{"weighted, variance of guests", func(float64) float64 { return 1 }, -0.35},
	} {
		var weighted, plain float64
		got := share(uint64(110), func(r *rand.Rand) bool {
			x := make([]float64, len(sizes))
			for i, n := range sizes {
				x[i] = c.sd(n) * r.NormFloat64()
			}
			iv, err := WeightedT(x, sizes, 0.05)
			mean, _ := MeanT(x, 0.05)
			weighted += iv.High - iv.Low
			plain += mean.High - mean.Low
			return covers(iv, err, 0)
		})
		within(t, c.name, got, 0.935, 0.97)
		if weighted > (1-c.narrower)*plain {
			t.Errorf("%s: %.3f as wide as the plain interval, want %.3f at most", c.name, weighted/plain, 1-c.narrower)
		}
		t.Logf("%s: %.3f as wide as the plain interval", c.name, weighted/plain)
	}
}
