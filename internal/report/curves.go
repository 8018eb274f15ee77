package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// curveGroup is the curves of one quantity over one parameter, one for each arm.
type curveGroup []analyze.Curve

// curveGroups are the selected curves by quantity, in their order.
func curveGroups(res *analyze.Result, of func(analyze.Curve) bool) (groups []curveGroup) {
	like := func(a, b analyze.Curve) bool {
		return a.Workload == b.Workload && a.Name == b.Name && a.Parameter == b.Parameter &&
			(a.Scenario == b.Scenario || a.Parameter == analyze.ByGuests)
	}
	for _, c := range res.Curves {
		if !of(c) {
			continue
		}
		i := slices.IndexFunc(groups, func(g curveGroup) bool { return like(g[0], c) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// firstCurves is how many curves that trials of one workload measure are not folded.
const firstCurves = 2

// curvesWithin are the curves that each trial of a workload measures.
func curvesWithin(res *analyze.Result, id, workload string) *view.Section {
	s := &view.Section{}
	more := &view.Section{Fold: "More curves of " + workload, Detail: true}
	for i, g := range curveGroups(res, func(c analyze.Curve) bool { return c.Within && c.Workload == workload }) {
		into := s
		if i >= firstCurves {
			into = more
		}
		into.Add(g.section(res, fmt.Sprintf("%s-p%d", id, i)))
	}
	s.Add(more)
	return s
}

// SweptCurves are the curves over parameters that make several workloads or scenarios of one: parameters of the
// workload, the size of a trial, the number of guests at once.
func SweptCurves(res *analyze.Result) *view.Section { return sweptCurves(res, "v") }

// sweptCurves are the same; the anchors of their plots begin with id.
func sweptCurves(res *analyze.Result, id string) *view.Section {
	s := &view.Section{ID: "curves"}
	more := &view.Section{Fold: "More metrics over parameters", Detail: true}
	for i, g := range curveGroups(res, func(c analyze.Curve) bool { return !c.Within }) {
		into := s
		if !g[0].Primary {
			into = more
		}
		into.Add(g.section(res, fmt.Sprintf("%s%d", id, i)))
	}
	s.Add(more)
	return s
}

// Diagrams are the curves of a run, and a bar for each system and workload: figures of the kind that articles have. The
// anchors of plots begin with id, since a page may have those of several runs.
func Diagrams(res *analyze.Result, id string) (curves, bars []view.Part) {
	curves = slices.Clone(sweptCurves(res, id+"v").Parts)
	for _, workload := range Workloads(res) {
		of := id + idOf(res, workload)
		curves = append(curves, curvesWithin(res, of, workload))
		for _, m := range metricsOf(res, workload) {
			if m.primary {
				c := costsOf(res, workload, m.name, func(baseline string) bool { return baseline == res.Baseline })
				if c != nil {
					bars = append(bars, c.bars(of+"-b"))
				}
			}
		}
	}
	return curves, bars
}

// section draws values and costs beside each other, and says from where on they agree.
func (g curveGroup) section(res *analyze.Result, id string) *view.Section {
	s, charts := &view.Section{Title: g.title(res, g[0].Name)}, &view.Section{Beside: true}
	charts.Add(g.values(res, id+"-v"), g.costs(res, id+"-c"))
	s.Add(charts)
	for _, c := range g {
		if c.Agreement != nil {
			s.Add(view.Note{About: c.Arm, Text: agreementText(res, c)})
		}
	}
	return s
}

// title names a plot of the curves: "rate of netpipe by length".
func (g curveGroup) title(res *analyze.Result, what string) string {
	c := g[0]
	return fmt.Sprintf("%s of %s by %s", what, c.Workload, c.Parameter) +
		when(c.Scenario != FirstScenario(res) && c.Parameter != analyze.ByGuests, " in "+c.Scenario)
}

// values draws what each arm did.
func (g curveGroup) values(res *analyze.Result, id string) *view.Plot {
	c := &view.Curves{X: g.axis(), Short: true}
	var all []float64
	for _, of := range g {
		line := view.Line{Name: of.Arm, Dots: true, About: of.Name + " by " + of.Parameter}
		for _, p := range of.Points {
			all = append(all, p.Value)
			line.Points = append(line.Points, view.XY{X: p.At, Y: p.Value, Low: p.Low, High: p.High,
				Words: InUnit(of.Unit, p.Value, 4) + " at " + atText(of, p.At)})
		}
		c.Lines = append(c.Lines, line)
	}
	c.Y = valueAxis(g[0].Name, g[0].Unit, all)
	return &view.Plot{ID: id, Title: g.title(res, g[0].Name), Drawing: c,
		Desc: fmt.Sprintf("A line for each system: %s by %s, %s is better, with intervals.", g[0].Name, g[0].Parameter,
			g[0].Better),
		Caption: fmt.Sprintf("Typical trials with their %.4g %% intervals; %s is better", 100*(1-res.Alpha), g[0].Better)}
}

// costs draws what each arm costs against its baseline; nil if there is none.
func (g curveGroup) costs(res *analyze.Result, id string) *view.Plot {
	c := &view.Curves{X: g.axis(), Short: true, Y: view.Axis{Label: "cost", Low: 0.98, High: 1.02, Room: 0.01,
		Say: func(ratio float64) string {
			if math.Abs(ratio-1) < 1e-9 {
				return "0 %"
			}
			return Cost(ratio)
		}}}
	for _, of := range g {
		line := view.Line{Name: of.Arm, Dots: true, About: "costs against " + of.Baseline}
		for _, p := range of.Points {
			if p.Cost == nil || p.Cost.Ratio <= 0 {
				continue
			}
			at := view.XY{X: p.At, Y: p.Cost.Ratio, Class: CostClass(p.Cost.Verdict, 100*(p.Cost.Ratio-1)),
				Words: Cost(p.Cost.Ratio) + " at " + atText(of, p.At)}
			if of.Emulated {
				at.Class = view.Open
			}
			at.Low, at.High = p.Cost.Ends()
			line.Points = append(line.Points, at)
		}
		if line.Points != nil {
			c.Lines = append(c.Lines, line)
		}
	}
	if c.Lines == nil {
		return nil
	}
	return &view.Plot{ID: id, Title: g.title(res, "cost in "+g[0].Name), Drawing: c,
		Desc: fmt.Sprintf("A line for each system: what it costs in %s by %s, with intervals. Higher costs more.", g[0].Name,
			g[0].Parameter),
		Caption: "Cost with its interval; higher costs more. A coloured dot: resolved, with all points of the curve counted"}
}

// axis is that of the parameter.
func (g curveGroup) axis() view.Axis {
	of := g[0]
	a := view.Axis{Label: of.Parameter, Say: func(v float64) string { return atText(of, v) }}
	if of.In != "" && atUnit(of) == "" {
		a.Label += ", " + of.In
	}
	var all []float64
	for _, c := range g {
		for _, p := range c.Points {
			all = append(all, p.At)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	low, high := all[0], all[len(all)-1]
	if a.Linear = high < 4*low; a.Linear {
		a.Room = 0.02 * (high - low)
	}
	const most = 9
	switch {
	case len(all) <= most:
		for _, v := range all {
			a.Ticks = append(a.Ticks, view.Tick{Value: v, Label: a.Say(v)})
		}
	case of.In == "B":
		step := math.Ceil(math.Log2(high/low) / most)
		if step > 2 {
			step = 5 // 1 B, 32 B, 1 KiB, 32 KiB, 1 MiB
		}
		for e := step * math.Ceil(math.Log2(low)/step); e <= math.Log2(high); e += step {
			v := math.Exp2(e)
			a.Ticks = append(a.Ticks, view.Tick{Value: v, Label: a.Say(v)})
		}
	default:
		a.Ticks = roundTicks("", low, high)
	}
	return a
}

// atUnit is the unit of a value of the parameter, if it is short enough to stand beside it.
func atUnit(c analyze.Curve) string {
	if len(c.In) > 5 {
		return ""
	}
	return c.In
}

// atText words a value of the parameter: "64 KiB".
func atText(c analyze.Curve, at float64) string {
	s := ScaleFor(atUnit(c), at)
	return fmt.Sprintf("%.6g", at*s.Factor) + when(s.Unit != "", " "+s.Unit)
}

// valueAxis is an axis of values in a unit: logarithmic if they spread over more than a factor of 10, else from 0.
func valueAxis(label, unit string, values []float64) view.Axis {
	low, high := slices.Min(values), slices.Max(values)
	a := view.Axis{Label: label, Say: func(v float64) string { return InUnit(unit, v, 4) }}
	if high > 10*low {
		a.Room, a.Ticks = 0.1, roundTicks(unit, low, high)
		return a
	}
	a.Linear, a.High, a.Ticks = true, 1.05*high, linearTicks(unit, high)
	return a
}

// linearTicks returns a few round values of a unit from 0 to high; nil: high is not positive, or too small or too large
// for such values.
func linearTicks(unit string, high float64) (all []view.Tick) {
	scale := ScaleFor(unit, high)
	top := high * scale.Factor
	if !(top > 1e-300 && top < 1e300) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, f := range []float64{1, 2, 5, 10} {
		if top/(f*step) <= 5 {
			step *= f
			break
		}
	}
	for i := 0.0; i*step <= 1.05*top; i++ {
		label := fmt.Sprintf("%.4g", i*step) + when(scale.Unit != "", " "+scale.Unit)
		all = append(all, view.Tick{Value: i * step / scale.Factor, Label: label})
	}
	return all
}

// roundTicks returns a few round values of a unit between two.
func roundTicks(unit string, low, high float64) (all []view.Tick) {
	steps := []float64{1, 2, 5}
	if high > 1000*low {
		steps = steps[:1]
	}
	for decade := math.Floor(math.Log10(low)) - 1; decade <= math.Log10(high)+1 && len(all) < 20; decade++ {
		for _, step := range steps {
			v := step * math.Pow(10, decade)
			all = append(all, view.Tick{Value: v, Label: InUnit(unit, v, 1)})
		}
	}
	return all
}

// agreementText says from where on a curve agrees with that of its baseline.
func agreementText(res *analyze.Result, c analyze.Curve) string {
	a := c.Agreement
	within := fmt.Sprintf("within ±%.3g %% of %s", 100*a.Within, c.Baseline)
	first, last := c.Points[0].At, c.Points[len(c.Points)-1].At
	at := func(v float64) string {
		if c.In == "" {
			return atText(c, v) + " " + c.Parameter
		}
		return "a " + c.Parameter + " of " + atText(c, v)
	}
	// after is the first value at which they may agree.
	after := first
	for _, p := range c.Points {
		if p.At > a.After {
			after = p.At
			break
		}
	}
	switch {
	case a.After == last:
		return fmt.Sprintf("not %s up to %s, the largest", within, at(last))
	case a.From == 0:
		return fmt.Sprintf("not %s at %s, the largest, by the estimate; the intervals leave it open", within, at(last))
	case a.Latest == first:
		return fmt.Sprintf("%s everywhere, from %s on", within, at(first))
	case a.Latest > 0:
		return fmt.Sprintf("%s from %s on; %.4g %% interval: %s", within, at(a.From), 100*(1-res.Alpha), atText(c, after)) +
			when(a.Latest > after, " … "+atText(c, a.Latest))
	}
	from := "from " + at(a.From) + " on"
	if a.From == first {
		from = "everywhere"
	}
	return fmt.Sprintf("%s %s, by the estimates; the intervals do not show it", within, from) +
		when(a.After > 0, ", only that it is not before "+atText(c, after))
}
