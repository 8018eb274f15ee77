package stats

import (
	"fmt"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// ToleranceLow returns the lower tolerance limit of sorted x: with a confidence of at least 1-alpha, the share
// content of all values that could be measured is not below it. It is the highest of the values for which that
// holds whatever their distribution (Wilks, Determination of sample sizes for setting tolerance limits, Annals
// of Mathematical Statistics 12, 1941). If there are too few values, the error is ErrTooFew: with alpha = 0.05
// it takes 29 for a content of 0.9.
func ToleranceLow(x []float64, content, alpha float64) (float64, error) {
	if err := checkAlpha(alpha); err != nil {
		return 0, err
	}
	if !(content > 0 && content < 1) {
		return 0, fmt.Errorf("content of a tolerance interval: %v", content)
	}
	if err := finite(x, 1); err != nil {
		return 0, err
	}
	if !sort.Float64sAreSorted(x) {
		return 0, fmt.Errorf("the values for a tolerance limit are not sorted")
	}
	// The r-th value (from 1) is such a limit if at least r values are below the (1-content)-quantile.
	below := distuv.Binomial{N: float64(len(x)), P: 1 - content}
	r := sort.Search(len(x), func(i int) bool { return below.CDF(float64(i)) > alpha })
	if r < 1 {
		return 0, fmt.Errorf("%w: %d for a tolerance limit of %v", ErrTooFew, len(x), content)
	}
	return x[r-1], nil
}
