package analyze

import (
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/stats"
)

// IsolationCell is a cell of the isolation matrix: how much more neighbours that load a resource slow down the
// guests of a system than native guests, on the workload that suffers most.
type IsolationCell struct {
	Arm        string   `json:"arm"` // beside the neighbours
	Of         string   `json:"-"`   // the arm without the scenario
	Alone      string   `json:"alone"`
	NativeArm  string   `json:"native_arm"`
	Scenario   string   `json:"scenario"`
	Neighbours []string `json:"neighbours"`
	Emulated   bool     `json:"emulated,omitempty"` // nothing is claimed

	// Excess is by the primary metrics, P99 by the 99th percentile of single latencies; nil: no workload has an
	// interval.
	Excess *Excess `json:"excess,omitempty"`
	P99    *Excess `json:"p99,omitempty"`

	// Missing are workloads without an interval by their primary metric. Unfinished are those among them without
	// a finished trial beside the neighbours.
	Missing    []string `json:"missing,omitempty"`
	Unfinished []string `json:"unfinished,omitempty"`
	// MissingP99 are workloads with single latencies which have no interval by their 99th percentile.
	MissingP99 []string `json:"missing_p99,omitempty"`
	Lost       int      `json:"lost"`   // results that there are not, as guests did not finish
	Trials     int      `json:"trials"` // those, and those that there are
	// Idle are workloads beside whose trials a neighbour of the arm or of the baseline did not work: nothing is claimed.
	Idle []string `json:"idle_neighbours,omitempty"`
}

// Excess is the largest excess of several workloads, (T_shared / T_alone) of the arm over the same ratio of the
// baseline in the same blocks, turned so that more is worse. The interval holds for the largest of them all
// (stats.Largest).
type Excess struct {
	Workload  string `json:"workload"` // with the largest estimate
	Metric    string `json:"metric"`
	Workloads int    `json:"workloads"` // that were compared; the interval is adjusted for their number
	claim.Estimate
	P       float64 `json:"p_value"`
	PHolm   float64 `json:"p_holm"` // among the cells of the matrix
	Verdict Verdict `json:"verdict"`
	// Units is the number of independent values of that workload, and Scope says what
	// they are.
	Units int   `json:"units"`
	Scope Scope `json:"scope"`
}

// excessEstimate is what one workload says of a cell.
type excessEstimate struct {
	workload, metric string
	estimate
}

// matrix computes the isolation matrix, after the findings.
func (a *analysis) matrix(isolation []Isolation) ([]IsolationCell, error) {
	var cells []IsolationCell
	for ai, arm := range a.in.Arms {
		base, control := a.in.BaselineOf(arm)
		if control || base == "" || arm.Alone == "" || len(arm.Neighbours) == 0 {
			continue
		}
		c := IsolationCell{Arm: arm.Name, Of: arm.Of, Alone: arm.Alone, NativeArm: base, Scenario: arm.Scenario,
			Neighbours: arm.Neighbours, Emulated: arm.Emulated || a.in.Arms[a.arms[base]].Emulated}
		c.count(isolation)
		if c.Trials == 0 {
			continue
		}
		c.Idle = a.withIdleNeighbours(arm.Name, base)
		var err error
		if c.Excess, c.Missing, err = a.worst(ai, a.excessByTime); err != nil {
			return nil, err
		}
		if c.P99, c.MissingP99, err = a.worst(ai, a.excessByP99); err != nil {
			return nil, err
		}
		cells = append(cells, c)
	}
	for _, of := range []func(IsolationCell) *Excess{
		func(c IsolationCell) *Excess { return c.Excess }, func(c IsolationCell) *Excess { return c.P99 },
	} {
		if err := a.claimCells(cells, of); err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// count adds up the cell's trials, and those without a result.
func (c *IsolationCell) count(isolation []Isolation) {
	for _, i := range isolation {
		if i.Primary && i.Arm == c.Arm {
			c.Lost, c.Trials = c.Lost+i.Lost, c.Trials+i.Trials
			if i.Lost > 0 && i.Lost == i.Trials {
				c.Unfinished = append(c.Unfinished, i.Workload)
			}
		}
	}
}

// withIdleNeighbours are the workloads in which neighbours of one of the arms were idle.
func (a *analysis) withIdleNeighbours(arms ...string) (workloads []string) {
	for _, f := range a.result.Findings {
		if f.ID == idleNeighbour && f.Severity == Serious && slices.Contains(arms, f.Arm) &&
			!slices.Contains(workloads, f.Workload) {
			workloads = append(workloads, f.Workload)
		}
	}
	return workloads
}

// worst finds the largest excess of an arm over its workloads. by estimates one of them at level 1-alpha; where ok is
// false, nothing may be claimed of it.
func (a *analysis) worst(arm int, by func(metric, arm int, alpha float64) (e excessEstimate, ok bool, err error)) (
	worst *Excess, missing []string, err error) {
	var known []int
	for mi := range a.in.Metrics[:a.cpuTime] {
		e, ok, err := by(mi, arm, a.in.Alpha)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			known = append(known, mi)
		} else if e.workload != "" {
			missing = append(missing, e.workload)
		}
	}
	if known == nil {
		return nil, missing, nil
	}
	var all []excessEstimate
	var intervals []stats.Interval
	for _, mi := range known {
		e, _, err := by(mi, arm, a.in.Alpha/float64(len(known)))
		if err != nil {
			return nil, nil, err
		}
		all, intervals = append(all, e), append(intervals, e.Interval)
	}
	iv, at, err := stats.Largest(intervals)
	if err != nil {
		return nil, nil, errorf("isolation of %s: %w", a.in.Arms[arm].Name, err)
	}
	e := all[at]
	return &Excess{Workload: e.workload, Metric: e.metric, Workloads: len(known), Estimate: claim.Of(iv), P: iv.P,
		PHolm: 1, Verdict: NotResolved, Units: len(e.values), Scope: e.scope}, missing, nil
}

// excessByTime estimates the excess of an arm by a primary metric. Without a workload in it, the arm does not run it.
func (a *analysis) excessByTime(metric, arm int, alpha float64) (e excessEstimate, ok bool, err error) {
	m := a.in.Metrics[metric]
	own := a.isolationOf(metric, arm)
	if !m.Primary || own == nil {
		return e, false, nil
	}
	e.workload, e.metric = m.Workload, m.Name
	base, _ := a.in.BaselineOf(a.in.Arms[arm])
	native := a.isolationOf(metric, a.arms[base])
	if own.N == 0 || native == nil || native.N == 0 || !own.HasControl {
		return e, false, nil
	}
	e.estimate, ok, err = a.excessOf(metric, own, native, alpha)
	return e, ok && e.claimable(a.in), err
}

// claimable reports whether anything may be claimed of an estimate; see testable.
func (e estimate) claimable(in *dataset.Set) bool {
	return len(e.values) >= minUnits && !e.coarse && e.placebos > 0 && (!in.Boots || e.scope == ScopeGuests)
}

// excessByP99 estimates the excess of an arm by the 99th percentile of single latencies, of which each of the four
// sides must have enough in each unit. The histograms of the baseline and its control are added up.
func (a *analysis) excessByP99(metric, arm int, alpha float64) (e excessEstimate, ok bool, err error) {
	const q = 0.99
	of := a.in.Arms[arm]
	base, _ := a.in.BaselineOf(of)
	native := a.in.Arms[a.arms[base]]
	singlesOf := func(name string) singles {
		if name == "" {
			return nil
		}
		return a.singles[metricOf{metric, a.arms[name]}]
	}
	sides := [4]singles{a.sharedSingles(metric, arm), singlesOf(of.Alone), singlesOf(base), singlesOf(native.Alone)}
	for _, s := range sides {
		if len(s) == 0 {
			return e, false, nil
		}
	}
	e.workload, e.metric = a.in.Metrics[metric].Workload, a.in.Metrics[metric].Name
	x, y, control := sides[0].column().minus(sides[1].column()), sides[2].column().minus(sides[3].column()), column{}
	if shared, alone := a.controlOf(base, metric), a.controlOf(native.Alone, metric); shared != "" && alone != "" {
		s, c := singlesOf(shared), singlesOf(alone)
		control = s.column().minus(c.column())
		sides[2], sides[3] = slices.Concat(sides[2], s), slices.Concat(sides[3], c)
	}
	rows := rowsOf(x, y, control, "lower")
	if len(rows) < 2 {
		return e, false, nil
	}
	groups := distinctGuests(rows, x, y, control)
	units, scope := unitsOf(mergeShort(groups))
	e.estimate = estimate{guests: len(groups), scope: scope, differP: 1, phi: 1}
	resolution := 0.0
	half := make([]float64, 0, len(units)) // of the values: each is of two ratios, whose steps add up
	for _, unit := range units {
		var ln [4]float64
		for i, s := range sides {
			h, err := s.of(unit)
			if err != nil {
				return e, false, errorf("latencies: %w", err)
			}
			if !enough(h.Count(), q) {
				return e, false, nil
			}
			ln[i], resolution = math.Log(h.Quantile(q)), max(resolution, resolutionOf(h, q))
		}
		d := ln[0] - ln[1] - (ln[2] - ln[3])
		e.values, e.weights, half = append(e.values, d), append(e.weights, weightOf(unit)), append(half, d/2)
	}
	e.plain = e.values
	if len(units) < 2 {
		return e, false, nil
	}
	alone := a.arms[of.Alone]
	err = e.interval(a.placebo(a.groupOf(arm, FamilyTails), a.groupOf(alone, FamilyTails)), alpha)
	if err != nil {
		return e, false, errorf("isolation of %s by p99: %w", of.Name, err)
	}
	e.coarse = e.coarse || withinResolution(half, resolution)
	return e, e.claimable(a.in), nil
}

// claimCells adjusts the p-values of the cells for their number, and says what may be claimed. Cells of emulated arms
// and cells whose neighbours did not work are no part of it.
func (a *analysis) claimCells(cells []IsolationCell, of func(IsolationCell) *Excess) error {
	var tested []claim.Hypothesis
	var cell []*Excess
	for _, c := range cells {
		if e := of(c); e != nil && !c.Emulated && len(c.Idle) == 0 {
			t := claim.Untested()
			t.P = e.P
			cell = append(cell, e)
			tested = append(tested, claim.Hypothesis{Estimate: e.Estimate, Test: &t, Verdict: &e.Verdict, NoNone: true})
		}
	}
	err := a.rule().Judge(tested)
	for i, e := range cell {
		e.PHolm = tested[i].PHolm
	}
	return err
}
