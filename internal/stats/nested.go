package stats

import (
	"fmt"
	"math"
)

// Component is what one level of a nested experiment adds to the variance of a single value.
type Component struct {
	// Variance is unbiased, in the square of the unit, and may be negative by chance. It is 0 if
	// the level is not Known.
	Variance float64
	// Known: a group of the level above has several of this level. Otherwise the two cannot be told
	// apart, and the variance is in that of the level above.
	Known bool
	DF    int // groups of this level beyond one for each group of the level above
}

// NestedComponents splits the variance of values by the levels of a nested experiment that need not
// be balanced, such as machines, boots, guests, and trials. The estimates are Henderson's first: the
// mean squares of the analysis of variance equal their expectations [Gates & Shiue, Biometrics 1962;
// Searle, Casella & McCulloch, Variance Components, 1992, ch. 5]. For balanced values they are
// VarianceComponents'.
//
// path[i] has the number of the group of values[i] at each level but the innermost, the outermost
// first; the numbers of a level count within the group of the level above. The result has one
// component for each level of path, and a last one for the single values. The top level is Known if
// it has two groups or more.
func NestedComponents(values []float64, path [][]int) ([]Component, error) {
	if err := finite(values, 2); err != nil {
		return nil, err
	}
	if len(path) != len(values) {
		return nil, fmt.Errorf("%w: %d values, %d paths", ErrLengths, len(values), len(path))
	}
	levels := len(path[0]) + 1
	group := make([][]int, levels+1) // group[l][i] is the group of value i; level 0 has one for all
	count := make([]int, levels+1)
	for l := range group {
		group[l] = make([]int, len(values))
		number := map[[2]int]int{}
		for i, p := range path {
			switch {
			case len(p) != levels-1:
				return nil, fmt.Errorf("%w: value %d has %d levels, the first %d", ErrLengths, i, len(p), levels-1)
			case l == levels:
				group[l][i] = i
				continue
			case l == 0:
				continue
			}
			key := [2]int{group[l-1][i], p[l-1]}
			if _, ok := number[key]; !ok {
				number[key] = len(number)
			}
			group[l][i] = number[key]
		}
		count[l] = max(1, len(number))
		if l == levels {
			count[l] = len(values)
		}
	}
	grand, _ := meanVar(values)
	// squares[l] is Σ n ȳ² over the groups of level l, and coefficients[l][m] that of σ²_m in its
	// expectation: Σ over the groups of l of Σ over those of m within it of n_m²/n_l.
	size := make([][]float64, levels+1)
	squares := make([]float64, levels+1)
	for l := range group {
		size[l] = make([]float64, count[l])
		sum := make([]float64, count[l])
		for i, v := range values {
			size[l][group[l][i]]++
			sum[group[l][i]] += v - grand
		}
		for g, s := range sum {
			squares[l] += s * s / size[l][g]
		}
	}
	coefficient := func(l, m int) (c float64) {
		for i := range values { // a group of m of size n occurs n times
			c += size[m][group[m][i]] / size[l][group[l][i]]
		}
		return c
	}
	out := make([]Component, levels)
	for l := levels; l >= 1; l-- {
		df := count[l] - count[l-1]
		if df == 0 {
			continue
		}
		rest := squares[l] - squares[l-1]
		for m := l + 1; m <= levels; m++ {
			rest -= out[m-1].Variance * (coefficient(l, m) - coefficient(l-1, m))
		}
		v := rest / (coefficient(l, l) - coefficient(l-1, l))
		if math.Abs(v) < 1e-26*grand*grand {
			v = 0 // the rounding error of the mean
		}
		out[l-1] = Component{Variance: capFinite(v), Known: true, DF: df}
	}
	return out, nil
}
