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
	Tau    float64 // Kendall's tau with time: -1 always falling … 1 always rising
	TrendP float64 // p-value of the Mann–Kendall trend test
	// Change is the index of the first value after the most likely change
	// point, and ChangeP the p-value of Pettitt's test for one.
	Change  int
	ChangeP float64
	// Before and After are the means around Change, in the series' unit.
	Before, After float64
	// P is min(1, 2·min(TrendP, ChangeP)): Bonferroni over the two tests, so
	// that "P < α means no steady state" errs on at most a share α of steady
	// series.
	P float64
}

// SteadyMin is the shortest series that Steady judges.
const SteadyMin = 10

// Steady tests a series in time order for a monotone trend [Mann,
// Econometrica 1945; Kendall; variance corrected for ties, continuity
// correction] and for one change point [Pettitt, Applied Statistics 1979: a
// CUSUM of ranks, P ≈ 2 exp(-6K²/(n³+n²))]. Both use ranks only, so outliers
// and heavy tails do not set them off, and need no permutations. It needs
// SteadyMin values that are independent when steady.
//
// False alarms on steady series at P < 0.01: measured 0.2 % to 0.8 % for n = 10
// to 200, Gaussian and Pareto (TestSteadyFalseAlarms).
func Steady(x []float64) (Steadiness, error) {
	if err := finite(x, SteadyMin); err != nil {
		return Steadiness{}, fmt.Errorf("steady state: %w", err)
	}
	r := ranks(x)
	n := float64(len(x))
	s := Steadiness{N: len(x), TrendP: 1, ChangeP: 1}

	concordance := kendallS(r)
	s.Tau = concordance / (n * (n - 1) / 2)
	variance := (n*(n-1)*(2*n+5) - tieTerm(r)) / 18
	if z := (math.Abs(concordance) - 1) / math.Sqrt(variance); variance > 0 && z > 0 {
		s.TrendP = 2 * distuv.UnitNormal.Survival(z)
	}

	var u, k float64
	for t := 0; t < len(r)-1; t++ {
		u += 2*r[t] - (n + 1)
		if math.Abs(u) > k {
			k, s.Change = math.Abs(u), t+1
		}
	}
	s.ChangeP = min(1, 2*math.Exp(-6*k*k/(n*n*n+n*n)))
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

// kendallS returns concordant less discordant pairs of (time, rank), counted
// with a Fenwick tree in n log n.
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
