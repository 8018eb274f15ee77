package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Reasons why an estimate does not exist. Every error of this package wraps one
// of them.
var (
	// ErrTooFew: the sample is smaller than the formula needs.
	ErrTooFew = errors.New("too few values")
	// ErrDomain: a value is NaN, infinite, or not positive although a logarithm
	// or a ratio is taken of it; or a parameter is outside its range.
	ErrDomain = errors.New("value outside the domain")
	// ErrLengths: two samples that belong together differ in length.
	ErrLengths = errors.New("samples differ in length")
)

// Summary is the usual descriptive statistics of a sample, in the sample's unit.
type Summary struct {
	N              int
	Min, Mean, Max float64
	SD             float64 // sample standard deviation (n-1); 0 if N is 1
	// Spread is Max/Min, without unit; 0 if Min is not positive, as the ratio is
	// then meaningless.
	Spread float64
}

// Mean is the arithmetic mean; 0 of no values.
func Mean(x []float64) (mean float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean
}

// Summarize returns the summary of x, which must have at least one value, all
// finite.
func Summarize(x []float64) (Summary, error) {
	if err := finite(x, 1); err != nil {
		return Summary{}, err
	}
	m, v := meanVar(x)
	s := Summary{N: len(x), Min: slices.Min(x), Mean: m, Max: slices.Max(x), SD: math.Sqrt(v)}
	if s.Min > 0 {
		s.Spread = capFinite(s.Max / s.Min)
	}
	return s, nil
}

// Quantile returns the p-quantile of x (0 ≤ p ≤ 1) by definition 7 of Hyndman
// & Fan (The American Statistician 50, 1996), R's default: linear
// interpolation between the order statistics around 1 + (n-1)p.
// x must have at least one value, all finite; it is not modified.
func Quantile(x []float64, p float64) (float64, error) {
	if err := finite(x, 1); err != nil {
		return 0, err
	}
	return QuantileSorted(slices.Sorted(slices.Values(x)), p)
}

// QuantileSorted is Quantile for values that are sorted and finite.
func QuantileSorted(x []float64, p float64) (float64, error) {
	if len(x) == 0 {
		return 0, fmt.Errorf("%w: quantile of nothing", ErrTooFew)
	}
	if !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("%w: quantile %v is not within 0..1", ErrDomain, p)
	}
	h := p * float64(len(x)-1)
	i := int(h)
	if i+1 >= len(x) {
		return x[len(x)-1], nil
	}
	f := h - float64(i)
	return x[i]*(1-f) + x[i+1]*f, nil
}

// Jain returns the fairness index (Σx)²/(nΣx²) of the shares x ≥ 0 [Jain, Chiu
// & Hawe, DEC-TR-301, 1984]: 1 if all are equal, 1/n if one has everything.
func Jain(x []float64) (float64, error) {
	if err := finite(x, 1); err != nil {
		return 0, err
	}
	top := slices.Max(x)
	if slices.Min(x) < 0 || top == 0 {
		return 0, fmt.Errorf("%w: shares must not be negative, nor all zero", ErrDomain)
	}
	var sum, sq float64
	for _, v := range x {
		v /= top // keeps the squares finite
		sum += v
		sq += v * v
	}
	return sum * sum / (float64(len(x)) * sq), nil
}

// meanVar returns the mean and the sample variance (n-1), computed in two passes.
// A variance within the rounding error of the mean counts as zero.
func meanVar(x []float64) (mean, variance float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	mean = capFinite(mean)
	if len(x) < 2 {
		return mean, 0
	}
	var sq, rest float64
	for _, v := range x {
		sq += (v - mean) * (v - mean)
		rest += v - mean
	}
	if math.IsInf(sq, 1) {
		return mean, math.MaxFloat64
	}
	variance = max(0, sq-rest*rest/n) / (n - 1)
	if math.Sqrt(variance) <= 1e-13*math.Abs(mean) {
		variance = 0
	}
	return capFinite(mean + rest/n), variance
}

// finite returns an error unless x has at least n values and all are finite.
func finite(x []float64, n int) error {
	if len(x) < n {
		return fmt.Errorf("%w: %d, needs %d", ErrTooFew, len(x), n)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: value %d is %v", ErrDomain, i, v)
		}
	}
	return nil
}

// positive is finite, and also requires all values to be > 0.
func positive(x []float64, n int) error {
	if err := finite(x, n); err != nil {
		return err
	}
	for i, v := range x {
		if v <= 0 {
			return fmt.Errorf("%w: value %d is %v, not positive", ErrDomain, i, v)
		}
	}
	return nil
}

func checkAlpha(alpha float64) error {
	if !(alpha > 0 && alpha < 1) {
		return fmt.Errorf("%w: alpha %v is not between 0 and 1", ErrDomain, alpha)
	}
	return nil
}

// capFinite clips ±Inf to the range of float64.
func capFinite(v float64) float64 {
	return max(-math.MaxFloat64, min(math.MaxFloat64, v))
}
