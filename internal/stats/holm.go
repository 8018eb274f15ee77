package stats

import (
	"fmt"
	"slices"
)

// Holm returns p adjusted for the number of tests by Holm's step-down method
// [Holm, Scand. J. Stat. 1979], as R's p.adjust(method="holm"): rejecting
// where the result is < α keeps the chance of any false claim below α. The
// order of p is kept. Values outside 0..1 are an error.
func Holm(p []float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, fmt.Errorf("%w: p-value %d is %v", ErrDomain, i, v)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	var running float64
	for rank, i := range order {
		running = max(running, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = running
	}
	return adjusted, nil
}
