package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Steadiness is evidence about whether a series has a steady state.
type Steadiness struct {
	N      int
	Rho    float64 // lag-1 autocorrelation that was removed: 0 … 0.9
	Tau    float64 // Kendall's tau with time: -1 always falling … 1 always rising
	TrendP float64 // p-value of the Mann–Kendall trend test
	// Change is the index of the first value after the most likely change
	// point, and ChangeP the p-value of Pettitt's test for a change point.
	Change  int
	ChangeP float64
	// Before and After are the means around Change, in the series' unit.
	Before, After float64
	// P is min(1, 2·min(TrendP, ChangeP)), a Bonferroni correction for the two
	// tests: "P < α means no steady state" has a false alarm rate of at most α.
	P float64
}

// SteadyMin is the least number of values for Steady.
const SteadyMin = 10

// Steady tests a series in time order for a monotone trend [Mann,
// Econometrica 1945; Kendall; variance corrected for ties, continuity
// correction] and for one change point [Pettitt, Applied Statistics 1979: a
// CUSUM of ranks, P ≈ 2 exp(-6K²/(n³+n²))]. Both use only ranks, so outliers and
// heavy tails do not cause false alarms, and need no permutations. It needs
// SteadyMin values.
//
// Noise of a machine is correlated between successive trials, which both tests
// would take for a change. Steady therefore prewhitens the series: it subtracts
// from each value ρ times the one before. ρ is the lag-1 autocorrelation of the
// residuals from the best-fitting trend or step, without which a real change
// would hide itself, corrected for bias.
func Steady(x []float64) (Steadiness, error) {
	if err := finite(x, SteadyMin); err != nil {
		return Steadiness{}, fmt.Errorf("steady state: %w", err)
	}
	unit := make([]float64, len(x)) // relative to the largest, so that squares stay finite
	largest := max(math.Abs(slices.Max(x)), math.Abs(slices.Min(x)), math.SmallestNonzeroFloat64)
	for i, v := range x {
		unit[i] = v / largest
	}
	s := Steadiness{N: len(x), Rho: neighbours(unit)}
	white := make([]float64, len(x))
	white[0] = (1 - s.Rho) * unit[0] // as if an equal value came before the first
	for i := 1; i < len(x); i++ {
		white[i] = unit[i] - s.Rho*unit[i-1]
	}
	r := ranks(white)
	s.Tau, s.TrendP = trend(r)
	s.Change, s.ChangeP = change(r)
	if s.Change > 0 {
		s.Before, _ = meanVar(x[:s.Change])
		s.After, _ = meanVar(x[s.Change:])
	} else {
		s.Before, _ = meanVar(x)
		s.After = s.Before
	}
	s.P = min(1, 2*min(s.TrendP, s.ChangeP))
	return s, nil
}

// trend returns Kendall's tau of ranks with time and the p-value of the
// Mann–Kendall test.
func trend(r []float64) (tau, p float64) {
	n := float64(len(r))
	concordance := kendallS(r)
	tau, p = concordance/(n*(n-1)/2), 1
	variance := (n*(n-1)*(2*n+5) - tieTerm(r)) / 18
	if z := (math.Abs(concordance) - 1) / math.Sqrt(variance); variance > 0 && z > 0 {
		p = 2 * distuv.UnitNormal.Survival(z)
	}
	return tau, p
}

// change returns the first index after the most likely change point of ranks and
// the p-value of Pettitt's test.
func change(r []float64) (at int, p float64) {
	n := float64(len(r))
	var u, k float64
	for t := 0; t < len(r)-1; t++ {
		u += 2*r[t] - (n + 1)
		if math.Abs(u) > k {
			k, at = math.Abs(u), t+1
		}
	}
	return at, min(1, 2*math.Exp(-6*k*k/(n*n*n+n*n)))
}

// neighbours estimates the lag-1 autocorrelation ρ of a series, from 0 to 0.9,
// about the best-fitting line or step.
func neighbours(x []float64) float64 {
	rest := residuals(x)
	var cross, squares float64
	for i, v := range rest {
		squares += v * v
		if i > 0 {
			cross += v * rest[i-1]
		}
	}
	if squares == 0 {
		return 0
	}
	n := float64(len(x))
	// About a fitted level, the estimate r is too low by (1+3ρ)/n [Marriott & Pope,
	// Biometrika 1954], which (n r + 1)/(n - 3) corrects. About the better of a line
	// and a step, the bias is larger. The constants 4 and 8 are from simulations:
	// with 2 and 6, 2.2 % of steady series with ρ = 0.4 are found unsteady.
	return max(0, min(0.9, (n*cross/squares+4)/(n-8)))
}

// residuals returns a series minus its least-squares line or step, whichever
// leaves the smaller sum of squares.
func residuals(x []float64) []float64 {
	n := float64(len(x))
	mean, _ := meanVar(x)
	var slope, along, total float64
	for i, v := range x {
		t := float64(i) - (n-1)/2
		slope += t * (v - mean)
		along += t * t
		total += v - mean
	}
	slope /= along
	at, best := 0, 0.0 // the step that explains the most variance
	var before float64
	for i := 1; i < len(x); i++ {
		before += x[i-1] - mean
		k := float64(i)
		if gain := before * before * n / (k * (n - k)); gain > best {
			at, best = i, gain
		}
	}
	out := make([]float64, len(x))
	if slope*slope*along >= best || at == 0 {
		for i, v := range x {
			out[i] = v - mean - slope*(float64(i)-(n-1)/2)
		}
		return out
	}
	first, _ := meanVar(x[:at])
	second, _ := meanVar(x[at:])
	for i, v := range x {
		if out[i] = v - first; i >= at {
			out[i] = v - second
		}
	}
	return out
}

// kendallS returns the number of concordant minus discordant pairs of (time,
// rank), counted with a Fenwick tree in O(n log n).
func kendallS(r []float64) float64 {
	size := 2*len(r) + 1 // mid-ranks are multiples of 1/2
	tree := make([]int, size+1)
	sum := func(i int) (c int) {
		for ; i > 0; i -= i & -i {
			c += tree[i]
		}
		return c
	}
	var s int
	for seen, v := range r {
		i := int(2 * v)
		less := sum(i - 1)
		s += less - (seen - sum(i))
		for ; i <= size; i += i & -i {
			tree[i]++
		}
	}
	return float64(s)
}

// tieTerm returns Σ t(t-1)(2t+5) over groups of equal ranks.
func tieTerm(r []float64) float64 {
	counts := make([]float64, 2*len(r)+1)
	for _, v := range r {
		counts[int(2*v)]++
	}
	var sum float64
	for _, t := range counts {
		sum += t * (t - 1) * (2*t + 5)
	}
	return sum
}

// ranks returns the ranks of x, from 1; ties get their mid-rank.
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
