package fleet

import (
	"math"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/stats"
)

// Estimate is a ratio with its interval, and what may be claimed of it.
type Estimate struct {
	Ratio            float64         `json:"ratio"`
	CILow            float64         `json:"ci_low"`
	CIHigh           float64         `json:"ci_high"`
	OverheadPercent  float64         `json:"overhead_percent"`
	FartherPercent   float64         `json:"farther_percent"` // the end of the interval farther from 0
	DF               float64         `json:"df"`
	P                float64         `json:"p_value"`
	PHolm            float64         `json:"p_holm"`
	EquivalenceP     float64         `json:"equivalence_p"`
	EquivalencePHolm float64         `json:"equivalence_p_holm"`
	Verdict          analyze.Verdict `json:"verdict"`
}

// Pooled is what machines taken together say of a ratio.
type Pooled struct {
	Estimate
	// NextLow and NextHigh are where the ratio on the next machine of the kind lies; 0 with two machines.
	NextLow  float64 `json:"next_low,omitzero"`
	NextHigh float64 `json:"next_high,omitzero"`
	// Tau is the standard deviation of ln ratios between machines, with its interval.
	Tau     float64 `json:"tau"`
	TauLow  float64 `json:"tau_low"`
	TauHigh float64 `json:"tau_high"`
	I2      float64 `json:"i2"`       // share of the variance of the machines' estimates that is between machines
	DifferP float64 `json:"differ_p"` // p-value of "the ratio is the same on all machines"

	mean stats.Interval // of the ln ratio
}

// Without is what the other machines say about a machine.
type Without struct {
	Ratio    float64 `json:"ratio"` // the pooled ratio without the machine
	CILow    float64 `json:"ci_low"`
	CIHigh   float64 `json:"ci_high"`
	NextLow  float64 `json:"next_low"` // where the ratio on a machine like the others lies
	NextHigh float64 `json:"next_high"`
	Tau      float64 `json:"tau"`      // their spread, as in Pooled
	Residual float64 `json:"residual"` // stats.Deleted
	P        float64 `json:"p_value"`
	PHolm    float64 `json:"p_holm"` // among all machines and costs of the family in the group
}

// estimateOf is an estimate of a ln ratio, not yet judged.
func estimateOf(ln stats.Interval, delta float64) (Estimate, error) {
	iv := ln.Exp()
	e := Estimate{Ratio: iv.Estimate, CILow: iv.Low, CIHigh: iv.High, OverheadPercent: percent(iv.Estimate),
		FartherPercent: percent(iv.High), DF: ln.DF, P: ln.P, PHolm: ln.P, Verdict: analyze.NotResolved}
	if low := percent(iv.Low); math.Abs(low) > math.Abs(e.FartherPercent) {
		e.FartherPercent = low
	}
	var err error
	e.EquivalenceP, err = stats.EquivalenceP(ln, delta)
	e.EquivalencePHolm = e.EquivalenceP
	return e, err
}

// pool takes the machines together, which have these ln ratios, and says of each of them what the
// others say. It returns nil with fewer than two.
func pool(of []stats.Estimate, machines []MachineCost, alpha, delta float64) (*Pooled, error) {
	if len(of) < 2 {
		return nil, nil
	}
	p, err := stats.Pool(of, alpha)
	if err != nil {
		return nil, err
	}
	out := &Pooled{Tau: math.Sqrt(p.Tau2), TauLow: math.Sqrt(p.Tau2Low), TauHigh: math.Sqrt(p.Tau2High), I2: p.I2,
		DifferP: p.QP, mean: p.Mean}
	if out.Estimate, err = estimateOf(p.Mean, delta); err != nil {
		return nil, err
	}
	if p.Next.N > 0 {
		next := p.Next.Exp()
		out.NextLow, out.NextHigh = next.Low, next.High
	}
	if len(of) < 4 {
		return out, nil
	}
	others, err := stats.LeaveOneOut(of, alpha)
	if err != nil {
		return nil, err
	}
	for i, d := range others {
		m, n := d.Mean.Exp(), d.Next.Exp()
		machines[i].Without = &Without{Ratio: m.Estimate, CILow: m.Low, CIHigh: m.High, NextLow: n.Low,
			NextHigh: n.High, Tau: math.Sqrt(d.Tau2), Residual: d.Residual, P: d.P, PHolm: d.P}
	}
	return out, nil
}

// machineOf is what was found on one machine, as ln ratio e.
func machineOf(name string, e stats.Estimate, alpha float64) (MachineCost, error) {
	iv, err := stats.FromT(e, alpha)
	if err != nil {
		return MachineCost{}, err
	}
	iv = iv.Exp()
	return MachineCost{Machine: name, Ratio: iv.Estimate, CILow: iv.Low, CIHigh: iv.High, StdErr: e.StdErr, DF: e.DF}, nil
}

// hypotheses are estimates and machines whose p-values are adjusted together.
type hypotheses struct {
	estimates []*Estimate
	machines  []*MachineCost
}

// judge adjusts the p-values for their number, and sets verdicts and odd machines.
func (h hypotheses) judge(alpha, delta float64) error {
	var odd, mean, same []*float64
	for _, e := range h.estimates {
		mean, same = append(mean, &e.PHolm), append(same, &e.EquivalencePHolm)
	}
	for _, m := range h.machines {
		if m.Without != nil {
			odd = append(odd, &m.Without.PHolm)
		}
	}
	for _, of := range [][]*float64{odd, mean, same} {
		if err := adjust(of); err != nil {
			return err
		}
	}
	for _, m := range h.machines {
		m.Odd = m.Without != nil && m.Without.PHolm < alpha
	}
	for _, e := range h.estimates {
		switch {
		case e.PHolm < alpha && e.CILow > 1:
			e.Verdict = analyze.Costs
		case e.PHolm < alpha && e.CIHigh < 1:
			e.Verdict = analyze.Gains
		case e.EquivalencePHolm < alpha && math.Max(e.CIHigh, 1/e.CILow) < 1+delta:
			e.Verdict = analyze.None
		}
	}
	return nil
}

// judgeFamilies judges each family by itself.
func judgeFamilies(families map[analyze.Family]*hypotheses, alpha, delta float64) error {
	for _, h := range families {
		if err := h.judge(alpha, delta); err != nil {
			return err
		}
	}
	return nil
}

// add puts a judged figure and its machines into their family.
func add(families map[analyze.Family]*hypotheses, family analyze.Family, e *Estimate, machines []MachineCost) {
	h := families[family]
	if h == nil {
		h = &hypotheses{}
		families[family] = h
	}
	h.estimates = append(h.estimates, e)
	for i := range machines {
		h.machines = append(h.machines, &machines[i])
	}
}

// adjust replaces p-values by Holm's.
func adjust(of []*float64) error {
	if len(of) == 0 {
		return nil
	}
	values := make([]float64, len(of))
	for i, p := range of {
		values[i] = *p
	}
	adjusted, err := stats.Holm(values)
	if err != nil {
		return err
	}
	for i, p := range of {
		*p = adjusted[i]
	}
	return nil
}

// percent turns a ratio into an overhead.
func percent(ratio float64) float64 { return min(100*(ratio-1), math.MaxFloat64) }
