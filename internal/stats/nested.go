package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
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
	// Share is what the level adds to the sum of all variances, where negative ones count as 0, from 0
	// to 1, with its interval.
	Share, ShareLow, ShareHigh float64
}

// NestedShares splits the variance of values by the levels of a nested experiment that need not be
// balanced, such as machines, boots, guests, and trials, with 1-alpha intervals of the shares. The
// estimates are Henderson's first: the mean squares of the analysis of variance equal their
// expectations [Gates & Shiue, Biometrics 1962; Searle, Casella & McCulloch, Variance Components,
// 1992, ch. 5]. For balanced values they are those of Kalibera & Jones [ISMM 2013].
//
// path[i] has the number of the group of values[i] at each level but the innermost, the outermost
// first; the numbers of a level count within the group of the level above. The result has one
// component for each level of path, and a last one for the single values. The top level is Known if
// it has two groups or more.
//
// The intervals are generalized confidence intervals: each mean square over its expectation is taken
// to be an independent χ²/df, and the equations are solved for many such values [Weerahandi, J. Am. Stat. Assoc.
// 1993; Burdick, Borror & Montgomery, Design and Analysis of Gauge R&R Studies, SIAM 2005]. With two
// balanced levels they are the exact intervals from the F distribution; mean squares of values that are
// not balanced are neither quite independent nor quite χ². docs/fleet.md has their coverage.
func NestedShares(values []float64, path [][]int, alpha float64) ([]Component, error) {
	if err := checkAlpha(alpha); err != nil {
		return nil, err
	}
	d, err := newNested(values, path)
	if err != nil {
		return nil, err
	}
	out := d.components()
	low, high := d.shares(alpha)
	for l := range out {
		if out[l].Known {
			out[l].ShareLow, out[l].ShareHigh = low[l], high[l]
		}
	}
	return out, nil
}

// nestedDesign is the analysis of variance of nested values, the outermost level first.
type nestedDesign struct {
	df      []int
	squares []float64   // sums of squares of a level's groups within those of the level above
	expect  [][]float64 // expect[l][m] is the coefficient of σ²_m in the expectation of squares[l]
	tiny    float64     // variances below are the rounding error of the mean
}

func newNested(values []float64, path [][]int) (d nestedDesign, err error) {
	if err := finite(values, 2); err != nil {
		return d, err
	}
	if len(path) != len(values) {
		return d, fmt.Errorf("%w: %d values, %d paths", ErrLengths, len(values), len(path))
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
				return d, fmt.Errorf("%w: value %d has %d levels, the first %d", ErrLengths, i, len(p), levels-1)
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
	d.tiny = 1e-26 * grand * grand
	for l := 1; l <= levels; l++ {
		d.df = append(d.df, count[l]-count[l-1])
		d.squares = append(d.squares, squares[l]-squares[l-1])
		row := make([]float64, levels)
		for m := l; m <= levels; m++ {
			row[m-1] = coefficient(l, m) - coefficient(l-1, m)
		}
		d.expect = append(d.expect, row)
	}
	return d, nil
}

func (d nestedDesign) components() []Component {
	out := make([]Component, len(d.df))
	variance := d.solve(d.squares)
	share := shares(variance)
	for l := range out {
		if d.df[l] > 0 {
			out[l] = Component{Variance: capFinite(variance[l]), Known: true, DF: d.df[l], Share: share[l]}
		}
	}
	return out
}

// solve returns the variances whose expected sums of squares are these; 0 for levels without degrees
// of freedom.
func (d nestedDesign) solve(squares []float64) []float64 {
	out := make([]float64, len(d.df))
	for l := len(d.df) - 1; l >= 0; l-- {
		if d.df[l] == 0 {
			continue
		}
		rest := squares[l]
		for m := l + 1; m < len(d.df); m++ {
			rest -= out[m] * d.expect[l][m]
		}
		if out[l] = rest / d.expect[l][l]; math.Abs(out[l]) < d.tiny {
			out[l] = 0
		}
	}
	return out
}

// points is how many solutions an interval of shares is made of.
const points = 500

// shares returns the generalized confidence intervals of the levels' shares. The values of the χ² are
// at points of a Kronecker sequence, so that nothing is random.
func (d nestedDesign) shares(alpha float64) (low, high []float64) {
	levels := len(d.df)
	at := make([][]float64, levels)
	squares := make([]float64, levels)
	for i := range points {
		for l, df := range d.df {
			squares[l] = 0
			if df > 0 {
				_, u := math.Modf(float64(i+1) * math.Sqrt(float64(primes[l%len(primes)])))
				chi2 := distuv.ChiSquared{K: float64(df)}.Quantile(min(max(u, 1e-9), 1-1e-9))
				squares[l] = d.squares[l] * float64(df) / chi2
			}
		}
		for l, share := range shares(d.solve(squares)) {
			at[l] = append(at[l], share)
		}
	}
	for _, of := range at {
		slices.Sort(of)
		from, _ := QuantileSorted(of, alpha/2) // they are there, and alpha was checked
		to, _ := QuantileSorted(of, 1-alpha/2)
		low, high = append(low, from), append(high, to)
	}
	return low, high
}

var primes = []int{2, 3, 5, 7, 11, 13, 17, 19}

// shares are the parts of variances in their sum, where negative ones count as 0.
func shares(variance []float64) []float64 {
	out := make([]float64, len(variance))
	largest, total := 0.0, 0.0
	for _, v := range variance {
		largest = max(largest, v)
	}
	if largest == 0 {
		return out
	}
	for _, v := range variance {
		total += max(0, v/largest)
	}
	for l, v := range variance {
		out[l] = max(0, v/largest) / total
	}
	return out
}
