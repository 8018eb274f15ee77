package stats

import (
	"errors"
	"math"
)

// Largest returns the interval of the largest of the true values behind K intervals, each at level 1-alpha/K: from the
// largest of their low ends to the largest of their high ends. All K hold together with probability 1-alpha at least,
// however they depend on each other [Bonferroni; Dunn, JASA 1961], and where they do, it contains the largest of the
// true values. The estimate, and at, are those of the interval with the largest estimate; P is the smallest alpha at
// which the interval excludes 0.
func Largest(all []Interval) (largest Interval, at int, err error) {
	if len(all) == 0 {
		return Interval{}, 0, errors.New("the largest of no intervals")
	}
	k := float64(len(all))
	above, below := math.Inf(1), 0.0 // p-values of the largest value being above 0, and below
	low, high := math.Inf(-1), math.Inf(-1)
	for i, iv := range all {
		if iv.Estimate > all[at].Estimate {
			at = i
		}
		low, high = max(low, iv.Low), max(high, iv.High)
		if iv.Estimate > 0 {
			above, below = min(above, iv.P), math.Inf(1)
		} else {
			below = max(below, iv.P)
		}
	}
	largest = all[at]
	largest.Low, largest.High, largest.P = low, high, min(1, k*min(above, below))
	return largest, at, nil
}
