package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with its two-sided confidence interval, in the unit of
// the input. If that is a logarithm, Exp turns the interval into one of ratios.
type Interval struct {
	Estimate  float64
	Low, High float64
	StdErr    float64 // standard error of Estimate
	DF        float64 // degrees of freedom behind the interval
	N         int     // values (or groups, or pairs) behind the estimate
	// P is the two-sided p-value of "the true value is 0" (a ratio of 1).
	P float64
	// Degenerate: all values were equal, so the interval has no width. P is that
	// of the sign test, 2^(1-n), or 1 if the estimate is 0. The resolution of the
	// measurement is coarser than its noise, or there is no noise.
	Degenerate bool
}

// Exp turns an interval on the logarithmic scale into one of ratios. StdErr
// stays logarithmic. Values beyond the range of float64 are clipped to it.
func (iv Interval) Exp() Interval {
	iv.Estimate = exp(iv.Estimate)
	iv.Low, iv.High = exp(iv.Low), exp(iv.High)
	return iv
}

// exp is math.Exp clipped to positive finite values, as a ratio is positive.
func exp(v float64) float64 {
	return max(math.SmallestNonzeroFloat64, capFinite(math.Exp(v)))
}

// MeanT returns the mean of d with Student's interval mean ± t_{n-1} s/√n at
// level 1-alpha [Student, Biometrika 1908]. It needs at least two values. For
// values without variance, see Interval.Degenerate.
func MeanT(d []float64, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	if err := finite(d, 2); err != nil {
		return Interval{}, err
	}
	m, v := meanVar(d)
	n := float64(len(d))
	return tInterval(m, math.Sqrt(v/n), n-1, len(d), alpha), nil
}

// WeightedT is MeanT for values whose weights differ, such as means of groups of
// different sizes: Σwx with the variance Σ w²(x-Σwx)²/(1-w), where the weights add
// up to 1, and Satterthwaite's degrees of freedom for it [Bell & McCaffrey, Survey
// Methodology 2002: CR2 of a mean]. Both are exact if variances are proportional to
// 1/w. If they are equal instead, the interval is wider than MeanT's, but it still
// holds. Equal weights give MeanT. It needs at least two values, and a positive
// weight for each.
func WeightedT(x, weights []float64, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	if err := finite(x, 2); err != nil {
		return Interval{}, err
	}
	if len(x) != len(weights) {
		return Interval{}, fmt.Errorf("%w: %d values, %d weights", ErrLengths, len(x), len(weights))
	}
	if err := positive(weights, 2); err != nil {
		return Interval{}, err
	}
	var total, mean float64
	for _, w := range weights {
		total += w
	}
	for i, w := range weights {
		mean += w / total * x[i]
	}
	mean = capFinite(mean)
	// ΣΣ M² for the matrix M with M_gg = w_g and, beside its diagonal, -u_g u_h,
	// where u² = w²/(1-w): degrees of freedom are its inverse.
	var variance, diagonal, beside, twice float64
	for i, w := range weights {
		w /= total
		u2 := w * w / max(1-w, 1e-15)
		variance += u2 * (x[i] - mean) * (x[i] - mean)
		diagonal += w * w
		beside += u2
		twice += u2 * u2
	}
	if math.Sqrt(variance) <= 1e-13*math.Abs(mean) { // the rounding error of the mean
		variance = 0
	}
	df := 1 / (diagonal + beside*beside - twice)
	return tInterval(mean, math.Sqrt(capFinite(variance)), df, len(x), alpha), nil
}

// GroupsDiffer returns the p-value of the F test of a one-way analysis of variance
// for "all groups have the same mean" [Fisher 1925]. It needs at least two groups
// and more values than groups. Without variance within groups, the result is 1 if
// the group means are equal and 0 if they differ.
func GroupsDiffer(groups [][]float64) (float64, error) {
	var all []float64
	for i, g := range groups {
		if err := finite(g, 1); err != nil {
			return 0, fmt.Errorf("group %d: %w", i, err)
		}
		all = append(all, g...)
	}
	k, n := float64(len(groups)), float64(len(all))
	if k < 2 || n <= k {
		return 0, fmt.Errorf("%w: %d values in %d groups", ErrTooFew, len(all), len(groups))
	}
	grand, _ := meanVar(all)
	var between, within float64
	for _, g := range groups {
		m, v := meanVar(g)
		between += float64(len(g)) * (m - grand) * (m - grand)
		within += v * float64(len(g)-1)
	}
	if within == 0 {
		if between <= 1e-24*grand*grand*n {
			return 1, nil
		}
		return 0, nil
	}
	f := between / (k - 1) / (within / (n - k))
	return distuv.F{D1: k - 1, D2: n - k}.Survival(f), nil
}

// Welch returns the difference of means x̄-ȳ of two independent samples with
// Welch's interval (unequal variances, Welch–Satterthwaite degrees of freedom)
// [Welch, Biometrika 1947]. For logarithms, Exp of it is a ratio of geometric
// means. It needs at least two values in each sample.
func Welch(x, y []float64, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	if err := finite(x, 2); err != nil {
		return Interval{}, err
	}
	if err := finite(y, 2); err != nil {
		return Interval{}, err
	}
	mx, vx := meanVar(x)
	my, vy := meanVar(y)
	nx, ny := float64(len(x)), float64(len(y))
	a, b := vx/nx, vy/ny
	df := nx + ny - 2
	if a+b > 0 {
		u := a / (a + b) // a ratio, so that tiny variances do not underflow
		df = 1 / (u*u/(nx-1) + (1-u)*(1-u)/(ny-1))
	}
	return tInterval(mx-my, math.Sqrt(a+b), df, len(x)+len(y), alpha), nil
}

// tInterval returns the interval est ± t_df se.
func tInterval(est, se, df float64, n int, alpha float64) Interval {
	iv := Interval{Estimate: est, Low: est, High: est, StdErr: se, DF: df, N: n, P: 1}
	switch {
	case se > 0:
		h := tQuantile(alpha, df) * se
		iv.Low, iv.High = capFinite(est-h), capFinite(est+h)
		iv.P = min(1, 2*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-math.Abs(est)/se))
	case est != 0:
		iv.P = math.Pow(2, float64(1-n))
		iv.Degenerate = true
	default:
		iv.Degenerate = true
	}
	return iv
}

// tQuantile returns the two-sided critical value of Student's t.
func tQuantile(alpha, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - alpha/2)
}
