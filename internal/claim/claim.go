// Package claim decides what may be said of an estimate: that it costs, that it gains, that there is no difference,
// or how much it is at most. Runs, comparisons of runs and fleets are judged by these rules.
//
// An estimate is a ratio, above 1 if it is for the worse. Its interval is that of Student's t over independent values,
// on the scale of logarithms (package stats). P-values are adjusted among the hypotheses that are claimed under one
// heading, a family [Holm, Scand. J. Stat. 1979]. A cost or a gain is claimed if the adjusted p-value is below alpha.
// None is claimed if both one-sided tests of "beyond ± delta" agree [Schuirmann, J. Pharmacokinet. 1987] and the
// interval lies within that, never because a difference is not significant.
package claim

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/stats"
)

// Verdict is what may be said of an estimate.
type Verdict string

const (
	Costs Verdict = "costs" // the ratio is above 1
	Gains Verdict = "gains" // the ratio is below 1
	// None: the ratio is within ± delta. A cost or a gain goes first: it says more, also of a small effect.
	None Verdict = "none-within-delta"
	// NotResolved: anything else. It is no evidence of equality.
	NotResolved Verdict = "not-resolved"
)

// Family names hypotheses whose p-values are adjusted together: the claims that are made under one heading.
type Family string

// Interval is where a ratio lies, with the confidence of its Rule. The methods take nil, an interval that is not known.
type Interval struct {
	CILow  float64 `json:"ci_low"`
	CIHigh float64 `json:"ci_high"`
}

// Above reports whether the whole interval is above a ratio.
func (iv *Interval) Above(ratio float64) bool { return iv != nil && iv.CILow > ratio }

// Below reports whether the whole interval is below a ratio.
func (iv *Interval) Below(ratio float64) bool { return iv != nil && iv.CIHigh < ratio }

// Ends are the ends of the interval; 0 without one.
func (iv *Interval) Ends() (low, high float64) {
	if iv == nil {
		return 0, 0
	}
	return iv.CILow, iv.CIHigh
}

// Percents are the ends of the interval as overheads in percent; 0 without one.
func (iv *Interval) Percents() (low, high float64) {
	if iv == nil {
		return 0, 0
	}
	return 100 * (iv.CILow - 1), 100 * (iv.CIHigh - 1)
}

// Within reports whether the whole interval is between 1/(1+delta) and 1+delta, which are as far from 1. With a 95 %
// interval, these are Schuirmann's two one-sided tests [J. Pharmacokinet. 1987] at 2.5 % each, which is stricter than
// the usual 90 % interval.
func (iv *Interval) Within(delta float64) bool { return iv.Above(1/(1+delta)) && iv.Below(1+delta) }

// Estimate is a ratio, 0 if nothing is known, and its interval if there is one.
type Estimate struct {
	Ratio float64 `json:"ratio,omitzero"`
	*Interval
}

// Alone is the estimate of a ratio without an interval, from its logarithm.
func Alone(ln float64) Estimate { return Estimate{Ratio: stats.Interval{Estimate: ln}.Exp().Estimate} }

// Of is the estimate of a ratio from its logarithm.
func Of(ln stats.Interval) Estimate {
	iv := ln.Exp()
	return Estimate{iv.Estimate, &Interval{iv.Low, iv.High}}
}

// Between is the estimate of a ratio with its interval; without one if low is 0.
func Between(ratio, low, high float64) Estimate {
	if low == 0 {
		return Estimate{Ratio: ratio}
	}
	return Estimate{ratio, &Interval{low, high}}
}

// Percent is 100 (e^ln - 1), a ln ratio as an overhead in percent; it is never infinite.
func Percent(ln float64) float64 { return min(100*math.Expm1(ln), math.MaxFloat64) }

// Farther is the end of an interval in percent that is farther from 0: "at most +7.6 %". On the logarithmic scale it
// may be the other one: of -40 … +55 % the upper one, which bounds both.
func Farther(low, high float64) float64 {
	if math.Abs(low) > math.Abs(high) {
		return low
	}
	return high
}

// FartherPercent is Farther of the interval of a ln ratio.
func FartherPercent(ln stats.Interval) float64 { return Farther(Percent(ln.Low), Percent(ln.High)) }

// Test has the p-values of an estimate.
type Test struct {
	P     float64 `json:"p_value"` // of "the ratio is 1", two-sided
	PHolm float64 `json:"p_holm"`  // adjusted among the family
	// EquivalenceP is the larger of both one-sided p-values of "beyond ± delta" (TOST), and EquivalencePHolm is adjusted
	// among the same family.
	EquivalenceP     float64 `json:"equivalence_p"`
	EquivalencePHolm float64 `json:"equivalence_p_holm"`
}

// Untested are the p-values of what takes no part in any family.
func Untested() Test { return Test{1, 1, 1, 1} }

// Rule has what claims of a run or a fleet are made by.
type Rule struct {
	Alpha float64 // the probability of a false claim in a family
	Delta float64 // None is within ± Delta, as a share
}

// Test tests a ln ratio, without other members of its family.
func (r Rule) Test(ln stats.Interval) (t Test, err error) {
	t = Untested()
	t.P = ln.P
	t.EquivalenceP, err = stats.EquivalenceP(ln, r.Delta)
	return t, err
}

// Hypothesis is an estimate that something may be claimed of.
type Hypothesis struct {
	Family Family
	Class  Family // parts a family further
	Estimate
	*Test
	Verdict *Verdict
	// NoEffect: a cost or a gain may not be claimed. NoNone: neither may none. The hypothesis counts in its family.
	NoEffect, NoNone bool
}

// Judge adjusts the p-values within each family, and sets the verdicts. A hypothesis of which nothing may be claimed
// must be left out: it would weaken the others.
func (r Rule) Judge(all []Hypothesis) error {
	families := map[[2]Family][]Hypothesis{}
	for _, h := range all {
		families[[2]Family{h.Family, h.Class}] = append(families[[2]Family{h.Family, h.Class}], h)
	}
	for _, of := range families {
		if err := Adjust(of, func(h Hypothesis) (p, adjusted *float64) { return &h.P, &h.PHolm }); err != nil {
			return err
		}
		if err := Adjust(of, func(h Hypothesis) (p, adjusted *float64) {
			return &h.EquivalenceP, &h.EquivalencePHolm
		}); err != nil {
			return err
		}
	}
	for _, h := range all {
		*h.Verdict = r.verdict(h)
	}
	return nil
}

func (r Rule) verdict(h Hypothesis) Verdict {
	switch effect := !h.NoEffect && h.PHolm < r.Alpha; {
	case effect && h.Above(1):
		return Costs
	case effect && h.Below(1):
		return Gains
	case !h.NoNone && h.EquivalencePHolm < r.Alpha && h.Within(r.Delta):
		return None
	}
	return NotResolved
}

// Adjust adjusts p-values for their number, by Holm's step-down method [Scand. J. Stat. 1979]: if all below alpha are
// claimed, a claim among them is false with a probability of at most alpha.
func Adjust[T any](of []T, fields func(T) (p, adjusted *float64)) error {
	adjusted, err := Adjusted(of, func(h T) float64 { p, _ := fields(h); return *p })
	for i, p := range adjusted {
		_, to := fields(of[i])
		*to = p
	}
	return err
}

// Adjusted are the p-values that Adjust would set.
func Adjusted[T any](of []T, p func(T) float64) ([]float64, error) {
	values := make([]float64, len(of))
	for i, h := range of {
		values[i] = p(h)
	}
	adjusted, err := stats.Holm(values)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return adjusted, nil
}
