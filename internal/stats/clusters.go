package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// minClusters is from how many clusters on ClusterQuantileInterval is given.
	minClusters = 20
	// resamples of a bootstrap: the ends of a 95 % interval then vary by a hundredth of its width.
	resamples = 2000
)

// ClusterQuantileInterval returns the p-quantile of all values of x, whose groups are independent but
// whose values within a group are not: several guests that started at the same moment. The interval is
// the percentile bootstrap that draws whole groups (Davison and Hinkley, Bootstrap Methods, 3.8), always
// with the same random numbers. It needs 20 groups, and as many as QuantileInterval needs values.
// The error is ErrTooFew if there are fewer.
func ClusterQuantileInterval(x [][]float64, p, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	all := slices.Sorted(slices.Values(slices.Concat(x...)))
	q, err := QuantileSorted(all, p)
	if err != nil {
		return Interval{}, err
	}
	least := math.Log(alpha/2) / math.Log(max(p, 1-p)) // so many values have one beyond the quantile
	if len(x) < minClusters || float64(len(x)) < least {
		return Interval{}, fmt.Errorf("%w: %d groups for an interval of the quantile %v", ErrTooFew, len(x), p)
	}
	rng := rand.New(rand.NewPCG(uint64(len(x)), uint64(len(all))))
	drawn := make([]float64, resamples)
	var values []float64
	for i := range drawn {
		values = values[:0]
		for range x {
			values = append(values, x[rng.IntN(len(x))]...)
		}
		slices.Sort(values)
		if drawn[i], err = QuantileSorted(values, p); err != nil {
			return Interval{}, err
		}
	}
	slices.Sort(drawn)
	low, err := QuantileSorted(drawn, alpha/2)
	if err != nil {
		return Interval{}, err
	}
	high, err := QuantileSorted(drawn, 1-alpha/2)
	return Interval{Estimate: q, Low: low, High: high, N: len(x), P: 1}, err
}
