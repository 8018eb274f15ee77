package stats

import (
	"fmt"
	"slices"
)

// Holm returns the p-values adjusted for multiple tests by Holm's step-down method
// [Holm, Scand. J. Stat. 1979], like R's p.adjust(method="holm"). Rejecting those
// < α keeps the familywise error rate below α. The result is in the order of p.
// Values outside 0..1 are an error.
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
