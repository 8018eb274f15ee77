package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestGoldenFisher(t *testing.T) {
	for _, c := range []struct {
		k, n, j, m int
		want       float64
	}{
		{3, 4, 1, 4, 0.4857142857142857},   // the lady tasting tea, from R's fisher.test
		{8, 10, 1, 6, 0.03496503496503495}, // example in SciPy's documentation
		{0, 50, 0, 50, 1},
		{5, 5, 0, 5, 2.0 / 252},
	} {
		got, err := FisherP(c.k, c.n, c.j, c.m)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "Fisher", got, c.want, 1e-9)
		if swapped, _ := FisherP(c.j, c.m, c.k, c.n); swapped < got*(1-1e-9) || swapped > got*(1+1e-9) {
			t.Errorf("%+v: %v, and swapped %v", c, got, swapped)
		}
	}
}

// Expected values are from Newcombe's table II, method 10.
func TestGoldenNewcombe(t *testing.T) {
	for _, c := range []struct {
		k, n, j, m int
		low, high  float64
	}{{56, 70, 48, 80, 0.0524, 0.3339}, {9, 10, 3, 10, 0.1705, 0.8090}, {5, 56, 0, 29, -0.0381, 0.1926},
		{10, 10, 0, 20, 0.6791, 1}} {
		iv, err := ShareDifference(c.k, c.n, c.j, c.m, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if d := iv.Low - c.low; d > 6e-5 || d < -6e-5 {
			t.Errorf("%+v: low %.5f", c, iv.Low)
		}
		if d := iv.High - c.high; d > 6e-5 || d < -6e-5 {
			t.Errorf("%+v: high %.5f", c, iv.High)
		}
	}
}

func TestSharesRefused(t *testing.T) {
	for _, c := range []struct {
		k, n, j, m int
		want       error
	}{{0, 0, 1, 2, ErrTooFew}, {1, 2, 0, 0, ErrTooFew}, {3, 2, 0, 1, ErrDomain}, {0, 1, -1, 1, ErrDomain}} {
		if _, err := ShareDifference(c.k, c.n, c.j, c.m, 0.05); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The least number of values for an interval, and how often the interval covers.
func TestQuantileInterval(t *testing.T) {
	for _, c := range []struct {
		p    float64
		need int
	}{{0.5, 6}, {0.95, 72}, {0.99, 368}} {
		x := make([]float64, c.need)
		for i := range x {
			x[i] = float64(i)
		}
		if _, err := QuantileInterval(x, c.p, 0.05); err != nil {
			t.Errorf("%v of %d: %v", c.p, c.need, err)
		}
		if _, err := QuantileInterval(x[1:], c.p, 0.05); !errors.Is(err, ErrTooFew) {
			t.Errorf("%v of %d: %v", c.p, c.need-1, err)
		}
	}
	// Computed by hand from the binomial distribution B(10, 1/2): P(≤1) = 0.0107.
	if iv, _ := QuantileInterval([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.5, 0.05); iv.Low != 2 || iv.High != 9 ||
		iv.Estimate != 5.5 {
		t.Errorf("median of ten: %+v", iv)
	}
	got := share(70, func(r *rand.Rand) bool {
		x := make([]float64, 150)
		for i := range x {
			x[i] = r.Float64()
		}
		slices.Sort(x)
		iv, err := QuantileInterval(x, 0.95, 0.05)
		return err == nil && iv.Low <= 0.95 && iv.High >= 0.95
	})
	within(t, "coverage of the 95th percentile of 150", got, 0.945, 0.99)
}

func TestWilson(t *testing.T) {
	// Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
	for _, v := range []struct {
		k, n      int
		low, high float64
	}{{81, 263, .2553, .3662}, {15, 148, .0624, .1605}, {0, 20, 0, .1611}, {1, 29, .0061, .1718}} {
		if _, low, high := Wilson(v.k, v.n, 0.05); math.Abs(low-v.low) > 5e-5 || math.Abs(high-v.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f … %.4f", v.k, v.n, low, high)
		}
	}
}
