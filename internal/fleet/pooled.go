package fleet

import (
	"math"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// Estimate is a ratio with its interval, and what may be claimed of it.
type Estimate struct {
	claim.Estimate
	OverheadPercent float64 `json:"overhead_percent"`
	FartherPercent  float64 `json:"farther_percent"` // the end of the interval farther from 0
	DF              float64 `json:"df"`
	claim.Test
	Verdict claim.Verdict `json:"verdict"`
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
	claim.Estimate         // the pooled ratio without the machine
	NextLow        float64 `json:"next_low"` // where the ratio on a machine like the others lies
	NextHigh       float64 `json:"next_high"`
	Tau            float64 `json:"tau"`      // their spread, as in Pooled
	Residual       float64 `json:"residual"` // stats.Deleted
	P              float64 `json:"p_value"`
	PHolm          float64 `json:"p_holm"` // among all machines and costs of the family in the group
}

// estimateOf is an estimate of a ln ratio, not yet judged.
func estimateOf(ln stats.Interval, delta float64) (e Estimate, err error) {
	e = Estimate{Estimate: claim.Of(ln), OverheadPercent: claim.Percent(ln.Estimate),
		FartherPercent: claim.FartherPercent(ln), DF: ln.DF, Verdict: claim.NotResolved}
	e.Test, err = claim.Rule{Delta: delta}.Test(ln)
	return e, err
}

// pool takes the machines together, which have these ln ratios, and says of each of them what the
// others say. It returns nil with fewer than two.
func pool(of []stats.Interval, machines []MachineCost, alpha, delta float64) (*Pooled, error) {
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
		n := d.Next.Exp()
		machines[i].Without = &Without{Estimate: claim.Of(d.Mean), NextLow: n.Low, NextHigh: n.High,
			Tau: math.Sqrt(d.Tau2), Residual: d.Residual, P: d.P, PHolm: d.P}
	}
	return out, nil
}

// machineOf is what was found on one machine, as a ln ratio.
func machineOf(name string, ln stats.Interval) MachineCost {
	iv := ln.Exp()
	return MachineCost{Machine: name, Ratio: iv.Estimate, CILow: iv.Low, CIHigh: iv.High, StdErr: ln.StdErr, DF: ln.DF}
}

// judged are the estimates and machines of a group, whose p-values are adjusted within families.
type judged struct {
	estimates []claim.Hypothesis
	machines  map[claim.Family][]*MachineCost
}

// add adds an estimate and its machines.
func (j *judged) add(family claim.Family, e *Estimate, machines []MachineCost) {
	j.estimates = append(j.estimates, claim.Hypothesis{Family: family, Estimate: e.Estimate, Test: &e.Test,
		Verdict: &e.Verdict})
	for i := range machines {
		if machines[i].Without != nil {
			if j.machines == nil {
				j.machines = map[claim.Family][]*MachineCost{}
			}
			j.machines[family] = append(j.machines[family], &machines[i])
		}
	}
}

// judge adjusts the p-values for their number, and sets verdicts and odd machines.
func (j *judged) judge(alpha, delta float64) error {
	for _, of := range j.machines {
		if err := claim.Adjust(of, func(m *MachineCost) (p, adjusted *float64) {
			return &m.Without.P, &m.Without.PHolm
		}); err != nil {
			return err
		}
		for _, m := range of {
			m.Odd = m.Without.PHolm < alpha
		}
	}
	return claim.Rule{Alpha: alpha, Delta: delta}.Judge(j.estimates)
}
