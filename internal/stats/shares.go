package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// FisherP is the two-sided p-value of Fisher's exact test for "k of n and j of m
// have the same underlying proportion" [Fisher 1935]: given the margins, the
// probability of all tables that are no more likely than this one, as in R's
// fisher.test.
func FisherP(k, n, j, m int) (float64, error) {
	if err := checkShares(k, n, j, m); err != nil {
		return 0, err
	}
	both := k + j
	log := func(i int) float64 { // log of the probability of i in the first sample
		return lnChoose(n, i) + lnChoose(m, both-i) - lnChoose(n+m, both)
	}
	const slack = 1e-7 // as in R: equally likely tables count despite rounding
	limit := log(k) + slack
	var p float64
	for i := max(0, both-m); i <= min(n, both); i++ {
		if l := log(i); l <= limit {
			p += math.Exp(l)
		}
	}
	return min(1, p), nil
}

// ShareDifference returns k/n - j/m with Newcombe's interval from the two Wilson
// score intervals [Newcombe, Statistics in Medicine 17, 1998, method 10], which is
// also valid for proportions near 0. Its p-value is FisherP.
func ShareDifference(k, n, j, m int, alpha float64) (Interval, error) {
	if err := checkAlpha(alpha); err != nil {
		return Interval{}, err
	}
	p, err := FisherP(k, n, j, m)
	if err != nil {
		return Interval{}, err
	}
	x, xLow, xHigh := Wilson(k, n, alpha)
	y, yLow, yHigh := Wilson(j, m, alpha)
	return Interval{
		Estimate: x - y, Low: x - y - math.Hypot(x-xLow, yHigh-y), High: x - y + math.Hypot(xHigh-x, y-yLow),
		N: n + m, P: p,
	}, nil
}

// Wilson returns the proportion p = k/n with its 1-alpha interval (Wilson 1927, doi:10.1080/01621459.1927.10502953),
// which inverts the score test. It expects 0 ≤ k ≤ n and n ≥ 1.
func Wilson(k, n int, alpha float64) (p, low, high float64) {
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	nf := float64(n)
	p = float64(k) / nf
	centre := (p + z*z/(2*nf)) / (1 + z*z/nf)
	half := z / (1 + z*z/nf) * math.Sqrt(p*(1-p)/nf+z*z/(4*nf*nf))
	return p, max(0, centre-half), min(1, centre+half)
}

func lnChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func checkShares(k, n, j, m int) error {
	if n < 1 || m < 1 {
		return fmt.Errorf("%w: shares of %d and %d", ErrTooFew, n, m)
	}
	if k < 0 || k > n || j < 0 || j > m {
		return fmt.Errorf("%w: %d of %d and %d of %d", ErrDomain, k, n, j, m)
	}
	return nil
}
