package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Placebo is the variance that comparisons of an arm with its A/A control show
// beyond chance. The standard errors of all other comparisons of the same run lack
// this variance.
type Placebo struct {
	Phi2 float64 // φ², the factor for variances; ≥ 1
	W    int     // number of placebos in the estimate; 0: none, and Phi2 is 1
}

// minPlaceboDF is the least number of degrees of freedom for which t² has a
// finite mean.
const minPlaceboDF = 3

// NewPlacebo estimates
//
//	φ² = max(1, (1/W) Σ t_w² (ν_w-2)/ν_w)
//
// from the placebos' t_w = Estimate/StdErr with ν_w = DF: by chance alone, t² has
// the mean ν/(ν-2). Placebos with fewer than 3 degrees of freedom, and degenerate
// ones, are left out.
func NewPlacebo(placebos []Interval) Placebo {
	var sum float64
	var w int
	for _, iv := range placebos {
		if iv.DF >= minPlaceboDF && iv.StdErr > 0 {
			t := iv.Estimate / iv.StdErr
			sum += t * t * (iv.DF - 2) / iv.DF
			w++
		}
	}
	if w == 0 {
		return Placebo{Phi2: 1}
	}
	return Placebo{Phi2: max(1, capFinite(sum/float64(w))), W: w}
}

// Shrink returns the placebo that results if so many more placebos had shown only
// chance; W counts them, too. It shrinks φ² towards 1, because φ² of few placebos is
// mostly chance itself: that of one exceeds 4 in every twentieth run without any
// placebo variance, and leaves hardly a degree of freedom. With 10 units, one placebo
// and Shrink(2), intervals are 38 % narrower on average and still cover in 96 %. If
// the placebo variance is real and as large as that of the units, they cover in 89 %
// instead of 91 %.
func (p Placebo) Shrink(more int) Placebo {
	if p.W == 0 {
		return p
	}
	w, n := float64(p.W), float64(more)
	return Placebo{Phi2: p.Phi2*(w/(w+n)) + n/(w+n), W: p.W + more}
}

// Phi is the factor φ by which standard errors grow.
func (p Placebo) Phi() float64 { return math.Sqrt(p.Phi2) }

// Widen adds the placebo's variance to an interval with the standard error s and
// ν degrees of freedom. The result is mean ± t φ s with φ⁴/(1/ν + (φ²-1)²/W)
// degrees of freedom: Satterthwaite's approximation for a variance of two parts.
func (p Placebo) Widen(iv Interval, alpha float64) Interval {
	if p.Phi2 <= 1 || iv.Degenerate {
		return iv
	}
	extra := p.Phi2 - 1
	df := p.Phi2 / (1/(iv.DF*p.Phi2) + extra/p.Phi2*extra/float64(p.W))
	return tInterval(iv.Estimate, p.Phi()*iv.StdErr, df, iv.N, alpha)
}

// EquivalenceP is the p-value of "the ln ratio lies outside ±ln(1+delta)": the
// larger of the two one-sided p-values [Schuirmann, J. Pharmacokinet. 1987]. Only
// equivalence is evidence that there is no difference; a lack of significance is
// not. A degenerate interval has no known standard error, so its p-value is 1.
func EquivalenceP(ln Interval, delta float64) (float64, error) {
	if !(delta > 0) {
		return 0, fmt.Errorf("%w: delta %v", ErrDomain, delta)
	}
	if !(ln.StdErr > 0) {
		return 1, nil
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: ln.DF}
	limit := math.Log1p(delta)
	return max(t.CDF(-(ln.Estimate+limit)/ln.StdErr), t.CDF((ln.Estimate-limit)/ln.StdErr)), nil
}

// BeyondP is the p-value of "the ln ratio lies within ±ln(1+delta)": of an estimate so far from 0 or farther if the
// true value is at an end of that range, which is the least favourable. A degenerate interval has no known standard
// error, so its p-value is 1.
func BeyondP(ln Interval, delta float64) (float64, error) {
	if !(delta > 0) {
		return 0, fmt.Errorf("%w: delta %v", ErrDomain, delta)
	}
	if !(ln.StdErr > 0) {
		return 1, nil
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: ln.DF}
	limit, far := math.Log1p(delta), math.Abs(ln.Estimate)
	return min(1, t.CDF((limit-far)/ln.StdErr)+t.CDF((-limit-far)/ln.StdErr)), nil
}
