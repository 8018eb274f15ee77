package stats

import (
	"errors"
	"math"
	"testing"
)

// TestContrastIsWelch: for two means the result is Welch's interval, which has
// goldens.
func TestContrastIsWelch(t *testing.T) {
	x, y := []float64{3.1, 4.2, 3.9, 5.5}, []float64{1.2, 1.9, 1.4, 1.1, 1.6}
	for _, scale := range []float64{1, 1e-120} {
		a, b := scaled(x, scale), scaled(y, scale)
		want, err := Welch(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		ma, _ := MeanT(a, 0.05)
		mb, _ := MeanT(b, 0.05)
		got, err := Contrast([]Interval{ma, mb}, []float64{1, -1}, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string][2]float64{
			"estimate": {got.Estimate, want.Estimate}, "low": {got.Low, want.Low}, "high": {got.High, want.High},
			"standard error": {got.StdErr, want.StdErr}, "degrees of freedom": {got.DF, want.DF}, "p": {got.P, want.P},
		} {
			if math.Abs(v[0]-v[1]) > 1e-12*math.Abs(v[1]) {
				t.Errorf("%s: %v, Welch's is %v", name, v[0], v[1])
			}
		}
		if got.N != 9 {
			t.Errorf("n %d", got.N)
		}
	}
}

func scaled(x []float64, by float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = by * v
	}
	return out
}

// TestContrastOfMeans: the mean of two estimates minus a third, computed by hand.
func TestContrastOfMeans(t *testing.T) {
	x := []Interval{{Estimate: 1, StdErr: 0.2, DF: 4}, {Estimate: 2, StdErr: 0.2, DF: 4},
		{Estimate: 0.5, StdErr: 0.1, DF: 8}}
	got, err := Contrast(x, []float64{0.5, 0.5, -1}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	// u = 0.01, 0.01, 0.01: SE² = 0.03; df = 0.0009 / (0.0001/4 + 0.0001/4 + 0.0001/8) = 14.4
	if math.Abs(got.Estimate-1) > 1e-12 || math.Abs(got.StdErr-math.Sqrt(0.03)) > 1e-12 || math.Abs(got.DF-14.4) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

func TestContrastRefuses(t *testing.T) {
	one := Interval{Estimate: 1, StdErr: 1, DF: 3}
	for name, c := range map[string]struct {
		x    []Interval
		w    []float64
		want error
	}{
		"lengths":       {[]Interval{one}, nil, ErrLengths},
		"nothing":       {nil, nil, ErrTooFew},
		"no freedom":    {[]Interval{{Estimate: 1, StdErr: 1}}, []float64{1}, ErrDomain},
		"no finite one": {[]Interval{{Estimate: 1, StdErr: math.Inf(1), DF: 1}}, []float64{1}, ErrDomain},
	} {
		if _, err := Contrast(c.x, c.w, 0.05); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if iv, err := Contrast([]Interval{{Estimate: 1, DF: 3, N: 4}}, []float64{1}, 0.05); err != nil || !iv.Degenerate {
		t.Errorf("without variance: %+v, %v", iv, err)
	}
}
