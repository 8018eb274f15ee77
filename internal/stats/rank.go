package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactBelow is the sample size from which the normal approximation replaces
// the exact distribution of a rank sum, as in R.
const exactBelow = 50

// HodgesLehmann returns the median of the Walsh averages (d_i+d_j)/2, i ≤ j,
// with the interval that inverts Wilcoxon's signed rank test [Hodges &
// Lehmann, Ann. Math. Stat. 1963]: robust where MeanT is not, for symmetric d.
// Below 50 values the interval is exact as in R's wilcox.test(conf.int=TRUE),
// also where values are tied (it is then conservative; R approximates); from
// 50 on its order statistics come from the normal approximation. With fewer
// than 6 values the level 95 % cannot be reached and the interval is the
// range of the Walsh averages. P stays 1: it tests nothing. Needs one value.
func HodgesLehmann(d []float64, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	if err := finite(d, 1); err != nil {
		return Interval{}, err
	}
	s := slices.Sorted(slices.Values(d))
	n := len(s)
	total := n * (n + 1) / 2
	var k int
	if n < exactBelow {
		k = rankQuantile(signedRankCounts(n), alpha/2)
	} else {
		nf := float64(n)
		k = normalRank(nf*(nf+1)/4, nf*(nf+1)*(2*nf+1)/24, alpha)
	}
	countLE := func(x float64) int { return walshLE(s, x) }
	return orderInterval(countLE, s[0], s[n-1], total, k, n), nil
}

// HodgesLehmannTwo returns the median of all differences x_i - y_j of two
// independent samples with the interval that inverts the Mann–Whitney test;
// exact and approximate as in HodgesLehmann (exact below 50 values in both).
func HodgesLehmannTwo(x, y []float64, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	if err := finite(x, 1); err != nil {
		return Interval{}, err
	}
	if err := finite(y, 1); err != nil {
		return Interval{}, err
	}
	sx, sy := slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))
	m, n := len(sx), len(sy)
	var k int
	if m < exactBelow && n < exactBelow {
		k = rankQuantile(rankSumCounts(m, n), alpha/2)
	} else {
		mf, nf := float64(m), float64(n)
		k = normalRank(mf*nf/2, mf*nf*(mf+nf+1)/12, alpha)
	}
	countLE := func(v float64) int { return differencesLE(sx, sy, v) }
	return orderInterval(countLE, sx[0]-sy[n-1], sx[m-1]-sy[0], m*n, k, m+n), nil
}

// orderInterval reads the median and the k-th values from both ends out of
// total values of which only a counting function is at hand.
func orderInterval(countLE func(float64) int, lo, hi float64, total, k, n int) Interval {
	at := func(rank int) float64 { return selectRank(countLE, lo, hi, rank) }
	mid := at((total + 1) / 2)
	if total%2 == 0 {
		mid = (mid + at(total/2+1)) / 2
	}
	iv := Interval{Estimate: mid, Low: at(k), High: at(total + 1 - k), N: n, P: 1}
	iv.Degenerate = lo == hi
	return iv
}

// selectRank returns the rank-th smallest value (from 1), which lies within
// lo..hi, by bisection over the float64 numbers themselves: 64 steps at most,
// and the result is exact. It needs no list of the n² values.
func selectRank(countLE func(float64) int, lo, hi float64, rank int) float64 {
	a, b := orderedBits(lo), orderedBits(hi)
	for a < b {
		mid := a + int64(uint64(b-a)/2)
		if countLE(fromOrderedBits(mid)) >= rank {
			b = mid
		} else {
			a = mid + 1
		}
	}
	return fromOrderedBits(a)
}

// orderedBits maps floats to integers that sort alike.
func orderedBits(v float64) int64 {
	b := int64(math.Float64bits(v + 0)) // -0 becomes 0
	if b < 0 {
		return math.MinInt64 - b
	}
	return b
}

func fromOrderedBits(b int64) float64 {
	if b < 0 {
		b = math.MinInt64 - b
	}
	return math.Float64frombits(uint64(b))
}

// walshLE counts pairs i ≤ j of sorted s with (s_i+s_j)/2 ≤ x.
func walshLE(s []float64, x float64) int {
	count, j := 0, len(s)-1
	for i := 0; i < len(s); i++ {
		for j >= i && s[i]/2+s[j]/2 > x {
			j--
		}
		if j < i {
			break
		}
		count += j - i + 1
	}
	return count
}

// differencesLE counts pairs with x_i - y_j ≤ v; both are sorted.
func differencesLE(x, y []float64, v float64) int {
	count, j := 0, 0
	for _, xi := range x {
		for j < len(y) && xi-y[j] > v {
			j++
		}
		count += len(y) - j
	}
	return count
}

// signedRankCounts returns how many of the 2^n sign patterns give each rank sum.
func signedRankCounts(n int) []float64 {
	c := make([]float64, n*(n+1)/2+1)
	c[0] = 1
	for r := 1; r <= n; r++ {
		for s := r * (r + 1) / 2; s >= r; s-- {
			c[s] += c[s-r]
		}
	}
	return c
}

// rankSumCounts returns how many of the (m+n choose m) arrangements give each
// value of Mann–Whitney's U: the coefficients of the Gaussian binomial.
func rankSumCounts(m, n int) []float64 {
	c := make([]float64, m*n+1)
	c[0] = 1
	for i := 1; i <= m; i++ {
		for s := m * n; s >= n+i; s-- { // times 1 - q^(n+i)
			c[s] -= c[s-n-i]
		}
		for s := i; s <= m*n; s++ { // divided by 1 - q^i
			c[s] += c[s-i]
		}
	}
	return c
}

// rankQuantile returns the smallest k ≥ 1 with P(sum ≤ k) ≥ p, as R uses it.
func rankQuantile(counts []float64, p float64) int {
	var total float64
	for _, c := range counts {
		total += c
	}
	var cum float64
	for k, c := range counts {
		cum += c / total
		if cum >= p {
			return max(1, k)
		}
	}
	return len(counts) - 1
}

// normalRank is rankQuantile by the normal approximation.
func normalRank(mean, variance, alpha float64) int {
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	return max(1, int(math.Round(mean-z*math.Sqrt(variance))))
}

// ranks returns the mid-ranks of x, from 1.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	r := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, o := range order[i:j] {
			r[o] = float64(i+j+1) / 2
		}
		i = j
	}
	return r
}
