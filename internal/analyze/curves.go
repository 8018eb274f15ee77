package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// FamilyCurve has the points of curves that each trial measures; those of one curve are adjusted together.
const FamilyCurve Family = "curve"

// agreeWithin is how close to each other curves are that are said to agree.
const agreeWithin = 0.05

// minAgree is how many points a curve must have for the question from where on it agrees with another.
const minAgree = 4

// Curve is a quantity of a workload over a parameter, in one arm. Each trial measures the whole curve, such as a rate
// by the length of messages, or its points are several workloads of a run that differ in this parameter alone.
type Curve struct {
	Workload  string `json:"workload"` // without the parameter, if that makes several workloads
	Name      string `json:"name"`     // of the quantity
	Unit      string `json:"unit"`
	Better    string `json:"better"`
	Primary   bool   `json:"primary,omitempty"` // it is the first metric of its workloads
	Parameter string `json:"parameter"`         // what varies: "length"
	In        string `json:"parameter_unit,omitempty"`
	// Within: each trial measures all points.
	Within   bool   `json:"within_trials,omitempty"`
	Arm      string `json:"arm"`
	Scenario string `json:"scenario"`
	Baseline string `json:"baseline,omitempty"` // whose curve it is compared with; "": it is a baseline
	Emulated bool   `json:"emulated,omitempty"`
	// Points are those with values, rising by At.
	Points []CurvePoint `json:"points"`
	// Agreement says from where on the curve agrees with that of the baseline; nil: there are too few points.
	Agreement *claim.Agreement `json:"agreement,omitempty"`
}

// CurvePoint is a point of a curve.
type CurvePoint struct {
	At float64 `json:"at"` // value of the parameter
	N  int     `json:"n"`  // values of the quantity
	// Value is that of a typical trial (Huber's location of the logarithms), with its interval over guests, or over
	// batches of blocks if there are fewer than four guests; Low and High are 0 with one unit.
	Value float64 `json:"value"`
	Low   float64 `json:"low,omitzero"`
	High  float64 `json:"high,omitzero"`
	// Cost is what the arm costs here against its baseline, paired by block; nil: nothing to compare with.
	Cost *PointCost `json:"cost,omitempty"`
}

// PointCost is a Comparison at one point of a curve. PHolm is adjusted among the points of the curve in all arms or,
// where the points are several workloads, as theirs are.
type PointCost struct {
	claim.Estimate
	claim.Test
	Verdict Verdict `json:"verdict"`
	Units   int     `json:"units"`
	Scope   Scope   `json:"scope,omitempty"`
}

// spot is where an arm's values at one point of a curve are.
type spot struct {
	at          float64
	metric, arm int
}

// curves are those that trials measure, then those over several workloads.
func (a *analysis) curves() ([]Curve, error) {
	p, err := a.points()
	if err != nil {
		return nil, err
	}
	within, err := p.pointCurves()
	if err != nil {
		return nil, err
	}
	swept, err := a.sweptCurves()
	return slices.Concat(within, swept), err
}

// points is the analysis of the points of curves by the rules of all other metrics. They are apart, so that hundreds of
// points neither weaken the claims of a run nor count in its findings.
func (a *analysis) points() (*analysis, error) {
	set := dataset.Set{Baseline: a.in.Baseline, Controls: a.in.Controls, Arms: slices.Clone(a.in.Arms),
		Metrics: a.in.Points, Observations: a.in.PointObservations, Failures: a.in.Failures, Boots: a.in.Boots,
		Delta: a.in.Delta, Alpha: a.in.Alpha, SpreadLimit: a.in.SpreadLimit}
	for i := range set.Arms {
		set.Arms[i].Alone = "" // isolation is not compared point by point
	}
	p, err := read(&set)
	if err != nil {
		return nil, err
	}
	for _, c := range p.comparisons {
		c.class = FamilyCurve // all curves share a placebo
		if c.Family == FamilySecondary || c.Family == FamilyBeside {
			c.Family = FamilyCurve
		}
	}
	if err := p.estimateAll(p.comparisons); err != nil {
		return nil, err
	}
	var tested []claim.Hypothesis
	for _, c := range p.comparisons {
		if !p.testable(c) {
			continue
		}
		h := p.hypothesis(c)
		point, _ := model.ParsePoint(c.Metric)
		h.Class = Family(c.Workload + " " + point.Curve)
		tested = append(tested, h)
	}
	return p, p.rule().Judge(tested)
}

// pointCurves are the curves of an analysis whose metrics are points.
func (a *analysis) pointCurves() ([]Curve, error) {
	type key struct{ workload, name, parameter, unit string }
	type point struct {
		model.Point
		metric int
	}
	var all []point
	for mi, m := range a.in.Metrics {
		if p, ok := model.ParsePoint(m.Name); ok {
			all = append(all, point{p, mi})
		}
	}
	var out []Curve
	for k, of := range grouped(all, func(p point) key {
		return key{a.in.Metrics[p.metric].Workload, p.Curve, p.Parameter, p.Unit}
	}) {
		for ai := range a.in.Arms {
			spots := make([]spot, len(of))
			for i, p := range of {
				spots[i] = spot{p.At, p.metric, ai}
			}
			c := Curve{Workload: k.workload, Name: k.name, Parameter: k.parameter, In: k.unit, Within: true}
			if err := a.draw(&c, spots); err != nil {
				return nil, err
			}
			if len(c.Points) > 1 {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// draw fills in the arm, the points and the agreement of a curve, of spots in any order. A control has no curve, as it
// is part of its baseline's costs, and a mix of flavors has none, as its guests differ.
func (a *analysis) draw(c *Curve, spots []spot) error {
	slices.SortFunc(spots, func(x, y spot) int { return cmp.Compare(x.at, y.at) })
	first := a.in.Arms[spots[0].arm]
	m := a.in.Metrics[spots[0].metric]
	c.Unit, c.Better, c.Primary = m.Unit, m.Better, m.Primary
	c.Scenario, c.Emulated = first.Scenario, first.Emulated
	base, control := a.in.BaselineOf(first)
	if control || !first.Uniform() {
		return nil
	}
	if c.Baseline = base; c.Arm == "" {
		c.Arm = first.Name
	} else if base != "" { // of several scenarios
		c.Baseline = a.in.Arms[a.arms[base]].Of
	}
	var points []claim.CurvePoint
	for _, at := range spots {
		s := a.metrics.at(at.metric, at.arm)
		if len(s) == 0 || !s.positive() {
			continue
		}
		p := CurvePoint{At: at.at, N: len(s)}
		value, err := a.typical(at.metric, at.arm)
		if err != nil {
			return err
		}
		p.Value = value.Estimate
		if value.StdErr > 0 {
			p.Low, p.High = value.Low, value.High
		}
		if cost := a.costAt(at); cost != nil {
			p.Cost = &PointCost{cost.Estimate, cost.Test, cost.Verdict, cost.Units, cost.Scope}
			points = append(points, a.curvePoint(at.at, cost))
		}
		c.Points = append(c.Points, p)
	}
	if len(points) < minAgree {
		return nil
	}
	agreement, err := a.rule().Agree(points, agreeWithin)
	if err != nil {
		return errorf("%s %s of %s: %w", c.Workload, c.Name, c.Arm, err)
	}
	c.Agreement = &agreement
	return nil
}

// costAt is the comparison of an arm with its baseline at a spot; nil: there is none.
func (a *analysis) costAt(at spot) *comparison {
	for _, c := range a.comparisons {
		if c.metric == at.metric && c.arm == at.arm && !c.Control && c.N > 0 {
			return c
		}
	}
	return nil
}

// curvePoint is what may be used of a comparison to say from where on curves agree.
func (a *analysis) curvePoint(at float64, c *comparison) claim.CurvePoint {
	p := claim.CurvePoint{At: at, Ln: stats.Interval{Estimate: math.Log(c.Ratio)}, NoEffect: true, NoNone: true}
	if a.testable(c) {
		h := a.hypothesis(c)
		p.Ln, p.NoEffect, p.NoNone = c.est.Interval, h.NoEffect, h.NoNone
	}
	return p
}

// typical is the value of a typical trial of an arm with its interval: the units of a comparison with 1.
func (a *analysis) typical(metric, arm int) (stats.Interval, error) {
	of := column{a.metrics.logs(metric, arm), []series{a.metrics.at(metric, arm)}}
	rows := make([]row, len(of.logs))
	for i, p := range of.logs {
		rows[i] = row{block: p.block, x: p.value, c: math.NaN()}
	}
	e, err := estimateRows(rows, of)
	if err == nil && len(e.values) > 1 {
		err = e.interval(stats.Placebo{Phi2: 1}, a.in.Alpha)
		return e.Exp(), err
	}
	if err != nil {
		return stats.Interval{}, errorf("values of %s: %w", a.in.Arms[arm].Name, err)
	}
	return stats.Interval{Estimate: e.values[0]}.Exp(), nil
}
