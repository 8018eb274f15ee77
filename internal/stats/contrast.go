package stats

import (
	"fmt"
	"math"
)

// Contrast returns Σ w_i x_i of independent estimates with its 1-alpha interval by
// Student's t. The standard error is √Σ (w_i s_i)², with Welch–Satterthwaite
// degrees of freedom (Σ u_i)² / Σ u_i²/ν_i, u_i = (w_i s_i)²
// [Satterthwaite, Biometrics 1946]. For two means with the weights 1 and -1 it is
// Welch's interval. Contrast uses Estimate, StdErr, DF and N of the estimates.
func Contrast(x []Interval, w []float64, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	if len(x) != len(w) {
		return Interval{}, fmt.Errorf("%w: %d estimates and %d weights", ErrLengths, len(x), len(w))
	}
	if len(x) == 0 {
		return Interval{}, fmt.Errorf("%w: no estimate", ErrTooFew)
	}
	var estimate, variance, scale, df float64
	n := 0
	for i, iv := range x {
		if err := finite([]float64{iv.Estimate, w[i]}, 1); err != nil {
			return Interval{}, err
		}
		if !(iv.StdErr >= 0 && iv.DF > 0) || math.IsInf(iv.StdErr, 0) {
			return Interval{}, fmt.Errorf("%w: estimate %d has standard error %v with %v degrees of freedom", ErrDomain, i,
				iv.StdErr, iv.DF)
		}
		estimate += w[i] * iv.Estimate
		scale = max(scale, math.Abs(w[i])*iv.StdErr)
		df += iv.DF
		n += iv.N
	}
	if scale > 0 { // relative to the largest, so that tiny variances do not underflow
		var squares float64
		for i, iv := range x {
			u := math.Pow(w[i]*iv.StdErr/scale, 2)
			variance += u
			squares += u * u / iv.DF
		}
		df = variance * variance / squares
	}
	return tInterval(estimate, scale*math.Sqrt(variance), df, n, alpha), nil
}
