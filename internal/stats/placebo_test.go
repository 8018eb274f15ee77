package stats

import (
	"errors"
	"math"
	"testing"
)

func TestNewPlacebo(t *testing.T) {
	iv := func(t, df float64) Interval { return Interval{Estimate: 0.1 * t, StdErr: 0.1, DF: df} }
	for _, c := range []struct {
		name string
		in   []Interval
		want Placebo
	}{
		{"none", nil, Placebo{1, 0}},
		{"quiet", []Interval{iv(0.5, 9), iv(-0.2, 9)}, Placebo{1, 2}},
		{"loud", []Interval{iv(3, 9), iv(-2, 4)}, Placebo{(9*7.0/9 + 4*2.0/4) / 2, 2}},
		{"too few degrees of freedom, or no variance", []Interval{iv(30, 2), {Estimate: 1, DF: 9}, iv(1, 9)}, Placebo{1, 1}},
	} {
		if got := NewPlacebo(c.in); math.Abs(got.Phi2-c.want.Phi2) > 1e-12 || got.W != c.want.W {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestShrink(t *testing.T) {
	for _, c := range []struct{ in, want Placebo }{
		{Placebo{1, 0}, Placebo{1, 0}},
		{Placebo{1, 3}, Placebo{1, 5}},
		{Placebo{10, 1}, Placebo{4, 3}},
		{Placebo{4, 6}, Placebo{26.0 / 8, 8}},
	} {
		if got := c.in.Shrink(2); math.Abs(got.Phi2-c.want.Phi2) > 1e-12 || got.W != c.want.W {
			t.Errorf("%+v: %+v, want %+v", c.in, got, c.want)
		}
	}
	if got := (Placebo{math.MaxFloat64, 1}).Shrink(2); math.IsInf(got.Phi2, 0) {
		t.Errorf("enormous: %+v", got)
	}
}

// Computed by hand: units 1..5, s/√G = 0.7071, φ² = 4 from 6 placebos.
func TestPlaceboWiden(t *testing.T) {
	p := Placebo{Phi2: 4, W: 6}
	plain, err := MeanT([]float64{1, 2, 3, 4, 5}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	iv := p.Widen(plain, 0.05)
	df := 16 / (1.0/4 + 9.0/6)
	near(t, "standard error", iv.StdErr, 2*math.Sqrt(2.5/5), 1e-12)
	near(t, "degrees of freedom", iv.DF, df, 1e-12)
	near(t, "half-width", iv.High-3, tQuantile(0.05, df)*iv.StdErr, 1e-12)
	if got := (Placebo{Phi2: 1, W: 6}).Widen(plain, 0.05); got != plain {
		t.Errorf("without inflation: %+v, want %+v", got, plain)
	}
	iv = Placebo{Phi2: math.MaxFloat64, W: 1}.Widen(plain, 0.05)
	if math.IsInf(iv.Low, 0) || math.IsNaN(iv.Low) || !(iv.DF > 0) {
		t.Errorf("enormous: %+v", iv)
	}
}

func TestEquivalenceP(t *testing.T) {
	iv, _ := MeanT([]float64{0.001, -0.004, 0.006, 0.002, -0.003, 0.004}, 0.05)
	p, err := EquivalenceP(iv, 0.02)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "both one-sided tests", p, 3.825024607689853e-05, 1e-9)
	for _, c := range []struct {
		estimate float64
		below    bool
	}{{0, true}, {0.019, false}, {-0.019, false}, {0.1, false}, {-0.1, false}} {
		p, err := EquivalenceP(Interval{Estimate: c.estimate, StdErr: 0.005, DF: 9}, 0.02)
		if err != nil || (p < 0.05) != c.below || p < 0 || p > 1 {
			t.Errorf("estimate %v: p = %v, %v", c.estimate, p, err)
		}
	}
	if p, _ := EquivalenceP(Interval{}, 0.02); p != 1 {
		t.Errorf("without a standard error: %v", p)
	}
	if _, err := EquivalenceP(iv, 0); !errors.Is(err, ErrDomain) {
		t.Errorf("delta 0: %v", err)
	}
}

func TestBeyondP(t *testing.T) {
	limit := math.Log1p(0.05)
	// R: pt((log(1.05)-0.1)/0.02, 9) + pt((-log(1.05)-0.1)/0.02, 9)
	p, err := BeyondP(Interval{Estimate: 0.1, StdErr: 0.02, DF: 9}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "beyond 5 %", p, 0.015350866386380224, 1e-6)
	for _, c := range []struct {
		estimate float64
		below    bool
	}{{0, false}, {limit, false}, {-limit, false}, {0.09, true}, {-0.09, true}} {
		p, err := BeyondP(Interval{Estimate: c.estimate, StdErr: 0.01, DF: 9}, 0.05)
		if err != nil || (p < 0.05) != c.below || p < 0 || p > 1 {
			t.Errorf("estimate %v: p = %v, %v", c.estimate, p, err)
		}
	}
	if p, _ := BeyondP(Interval{Estimate: 1}, 0.05); p != 1 {
		t.Errorf("without a standard error: %v", p)
	}
	if _, err := BeyondP(Interval{}, 0); !errors.Is(err, ErrDomain) {
		t.Errorf("delta 0: %v", err)
	}
}
