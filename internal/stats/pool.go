package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// tested is the variance of an estimate for tests of whether machines differ: s² ν/(ν-2), the variance of
// Student's t. Weights of s² alone, which small samples often estimate too low, would say of machines
// that are alike that they differ: with 8 guests on each of 30 machines, in a quarter of all fleets.
func (iv Interval) tested() float64 {
	const least = 3 // degrees of freedom; with two or fewer, t has no variance
	if iv.DF <= 0 {
		return iv.StdErr * iv.StdErr
	}
	df := max(iv.DF, least)
	return iv.StdErr * iv.StdErr * (df / (df - 2))
}

// Pooled is what estimates of the same quantity on several machines say about it, where the
// machines are a random sample: machine i has the true value θ_i ~ N(μ, τ²), and its estimate
// the standard error s_i.
type Pooled struct {
	// Mean is μ with the interval of Hartung and Knapp: Student's t with k-1 degrees of freedom and
	// the variance Σw(y-μ)² / ((k-1)Σw), w = 1/(s²+τ²) [Hartung & Knapp, Statistics in Medicine 2001],
	// or the 1/Σw of the model if that is larger [Röver, Knapp & Friede, BMC Med. Res. Methodol. 2015]:
	// the estimates of few machines are sometimes closer together than their standard errors allow, by
	// chance, and the mean would seem far more precise than any of them.
	Mean Interval
	// Tau2 is τ² by restricted maximum likelihood, in the square of the unit [Viechtbauer, J. Educ.
	// Behav. Stat. 2005], with its interval by Q profiles [Viechtbauer, Statistics in Medicine 2007].
	Tau2, Tau2Low, Tau2High float64
	// Next is where the true value of the next machine lies: μ ± t_{k-2} √(τ²+SE²), with SE that of
	// Mean [Partlett & Riley, Statistics in Medicine 2017]. It needs three machines; Next.N is 0 if
	// there are fewer. Its P is not set.
	Next Interval
	// Q is Cochran's. QP is the p-value of "all machines have the same true value"; like the interval
	// of τ², it allows for standard errors of few degrees of freedom, so it is not Q's where there are any.
	Q, QP float64
	// I2 is the share of the variance of the estimates that is between machines, 0 … 1, with the
	// typical sampling variance of Higgins and Thompson (Statistics in Medicine 2002).
	I2 float64
}

// Pool combines the estimates of machines at level 1-alpha. It needs two machines or more, and
// positive standard errors; without degrees of freedom, they are known exactly. It uses no ends of
// intervals. docs/fleet.md has its coverage in simulations.
func Pool(of []Interval, alpha float64) (Pooled, error) {
	if err := checkAlpha(alpha); err != nil {
		return Pooled{}, err
	}
	if err := checkPool(of, 2); err != nil {
		return Pooled{}, err
	}
	e := newEffects(of)
	out := e.pool(alpha)
	chi2 := distuv.ChiSquared{K: float64(len(of) - 1)}
	for i, m := range of {
		m.StdErr = math.Sqrt(e.v[i])
		e.v[i] = m.tested()
	}
	out.QP = chi2.Survival(capFinite(e.q(0)))
	out.Tau2Low = e.square(e.profile(chi2.Quantile(1 - alpha/2)))
	out.Tau2High = e.square(e.profile(chi2.Quantile(alpha / 2)))
	return out, nil
}

// pool fills in what needs no quantile of Q.
func (e effects) pool(alpha float64) (out Pooled) {
	tau2 := e.reml()
	mean, weight := e.mean(tau2)
	n := len(e.y)
	k := float64(n)
	mean = capFinite(e.shift + e.scale*mean)
	se := capFinite(e.scale * math.Sqrt(max(e.q(tau2)/(k-1), 1)/weight))
	out.Mean, out.Tau2, out.Q = tInterval(mean, se, k-1, n, alpha), e.square(tau2), capFinite(e.q(0))
	if n > 2 {
		out.Next = tInterval(mean, capFinite(math.Hypot(e.scale*math.Sqrt(tau2), se)), k-2, n, alpha)
		out.Next.P = 0
	}
	if tau2 > 0 {
		out.I2 = tau2 / (tau2 + e.typical())
	}
	return out
}

// Deleted is what a machine looks like from the others: the pooled estimate without it, and how far
// the machine lies from that.
type Deleted struct {
	Pooled
	// Residual is the machine's estimate minus the mean of the others, over the standard error of
	// that difference, √(s²+τ²+SE²) with SE that of Mean: the externally standardized residual
	// [Viechtbauer & Cheung, Research Synthesis Methods 2010].
	Residual float64
	// P is the two-sided p-value of "the machine is like the others", by Student's t with the degrees
	// of freedom of the others' prediction interval, k-3, or of the machine's own standard error if
	// those are fewer. Satterthwaite's between the two would be too many where τ² is 0 by chance.
	P float64
}

// LeaveOneOut returns for each machine what the others say of it. It needs four machines, as a
// prediction from fewer than three says nothing. Tau2Low, Tau2High and QP are not set.
func LeaveOneOut(of []Interval, alpha float64) ([]Deleted, error) {
	if err := checkAlpha(alpha); err != nil {
		return nil, err
	}
	if err := checkPool(of, 4); err != nil {
		return nil, err
	}
	out := make([]Deleted, len(of))
	for i, machine := range of {
		e := newEffects(slices.Delete(slices.Clone(of), i, i+1))
		p := e.pool(alpha)
		others := p.Tau2 + p.Mean.StdErr*p.Mean.StdErr
		own := machine.StdErr * machine.StdErr
		spread := capFinite(math.Sqrt(own + others))
		df := float64(len(of) - 3)
		if machine.DF > 0 {
			df = min(df, machine.DF)
		}
		r := capFinite((machine.Estimate - p.Mean.Estimate) / spread)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
		out[i] = Deleted{p, r, min(1, 2*t.CDF(-math.Abs(r)))}
	}
	return out, nil
}

func checkPool(of []Interval, least int) error {
	if len(of) < least {
		return fmt.Errorf("%w: %d machines, needs %d", ErrTooFew, len(of), least)
	}
	for i, e := range of {
		if err := finite([]float64{e.Estimate, e.DF}, 1); err != nil {
			return fmt.Errorf("machine %d: %w", i, err)
		}
		if err := positive([]float64{e.StdErr}, 1); err != nil {
			return fmt.Errorf("machine %d: standard error: %w", i, err)
		}
	}
	return nil
}

// effects are estimates of machines, shifted to their median and divided by the median of their
// standard errors, so that neither tiny nor huge values lose precision.
type effects struct {
	y, v         []float64
	shift, scale float64
}

func newEffects(of []Interval) effects {
	var values, errs []float64
	for _, m := range of {
		values, errs = append(values, m.Estimate), append(errs, m.StdErr)
	}
	e := effects{shift: median(values), scale: median(errs)}
	for _, m := range of { // clipped so that sums of squares stay finite
		e.y = append(e.y, max(-1e75, min(1e75, (m.Estimate-e.shift)/e.scale)))
		m.StdErr = min(max(m.StdErr/e.scale, 1e-30), 1e30)
		e.v = append(e.v, m.StdErr*m.StdErr)
	}
	return e
}

// square returns a variance to the unit of the estimates.
func (e effects) square(v float64) float64 { return capFinite(v * e.scale * e.scale) }

// mean is the weighted mean, and the sum of the weights.
func (e effects) mean(tau2 float64) (mean, weight float64) {
	for i, v := range e.v {
		weight += 1 / (v + tau2)
		mean += e.y[i] / (v + tau2)
	}
	return mean / weight, weight
}

// q is Cochran's Q with the weights 1/(v+τ²). It falls with τ².
func (e effects) q(tau2 float64) (q float64) {
	mean, _ := e.mean(tau2)
	for i, v := range e.v {
		q += (e.y[i] - mean) / (v + tau2) * (e.y[i] - mean)
	}
	return q
}

// score is twice the derivative of the restricted log-likelihood with respect to τ².
func (e effects) score(tau2 float64) float64 {
	mean, weight := e.mean(tau2)
	var squares, weights2 float64
	for i, v := range e.v {
		w := 1 / (v + tau2)
		squares += w * w * (e.y[i] - mean) * (e.y[i] - mean)
		weights2 += w * w
	}
	return squares - weight + weights2/weight
}

// likelihood is twice the restricted log-likelihood, without its constant.
func (e effects) likelihood(tau2 float64) float64 {
	_, weight := e.mean(tau2)
	l := -math.Log(weight) - e.q(tau2)
	for _, v := range e.v {
		l -= math.Log(v + tau2)
	}
	return l
}

// gridStep is the ratio of successive values of τ² among which reml looks for the highest maximum.
const gridStep = 1.5

// reml returns the τ² ≥ 0 with the highest restricted likelihood. That may have several maxima, so
// a grid finds the highest one, and the root of the score between its neighbours is its place.
func (e effects) reml() float64 {
	_, variance := meanVar(e.y)
	top := 4*variance + slices.Max(e.v) // the score is negative from here on
	for e.score(top) > 0 && top < 1e200 {
		top *= 2
	}
	best, low, high := e.likelihood(0), 0.0, 0.0
	least := min(1e-4, top/2)
	below := 0.0
	for t := least; below < top; t *= gridStep {
		if l := e.likelihood(t); l > best {
			best, low, high = l, below, t*gridStep
		}
		below = t
	}
	if high == 0 { // the best is at 0, or between it and the first point
		if e.score(0) <= 0 {
			return 0
		}
		high = least
	}
	return bisect(e.score, low, high)
}

// profile returns the τ² at which Q is a quantile of its distribution; 0 if Q is below it already.
func (e effects) profile(quantile float64) float64 {
	excess := func(tau2 float64) float64 { return e.q(tau2) - quantile }
	if excess(0) <= 0 {
		return 0
	}
	high := slices.Max(e.v)
	for excess(high) > 0 && high < 1e300 {
		high *= 2
	}
	return bisect(excess, 0, high)
}

// bisect returns where f, which falls from low to high, is 0.
func bisect(f func(float64) float64, low, high float64) float64 {
	for range 200 {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			break
		}
		if f(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return low + (high-low)/2
}

// typical is the sampling variance of a typical machine: (k-1)Σw / ((Σw)²-Σw²).
func (e effects) typical() float64 {
	var weight, squares float64
	for _, v := range e.v {
		weight += 1 / v
		squares += 1 / v / v
	}
	return float64(len(e.v)-1) * weight / (weight*weight - squares)
}
