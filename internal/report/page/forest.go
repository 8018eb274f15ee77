package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/report"
)

// forest is a figure of every machine, and what they say together.
type forest struct {
	machines []fleet.MachineCost
	pooled   *fleet.Pooled
	delta    float64
	title    string
}

// manyMachines is how many machines are drawn with their names, in the order of the fleet. More are
// drawn closely, in the order of their figures, and only odd ones have names.
const manyMachines = 40

// costForest draws a cost on every machine.
func costForest(id string, c fleet.Cost, r *fleet.Result) template.HTML {
	return forest{c.Machines, c.Pooled, r.Delta, "What " + c.Arm + " costs on " + c.Title() + ", by machine"}.draw(id)
}

// scale is an axis with all figures on it; the ends of very wide intervals may leave it.
func (f forest) scale(from float64) axis {
	var ratios []float64
	see := func(at, low, high float64) { ratios = append(ratios, at, max(low, at/5), min(high, at*5)) }
	for _, m := range f.machines {
		see(m.Ratio, m.CILow, m.CIHigh)
	}
	if p := f.pooled; p != nil {
		see(p.Ratio, p.CILow, p.CIHigh)
		see(p.Ratio, p.NextLow, p.NextHigh)
	}
	return axisOf(from, ratios)
}

// draw draws each machine as a point with its interval, the pooled figure as a diamond, and where the
// next machine lies as a bar below.
func (f forest) draw(id string) template.HTML {
	a := f.scale(120)
	many := len(f.machines) > manyMachines
	machines := f.machines
	const top, line = 22.0, 22.0
	step := line
	if many {
		step = 5
		machines = slices.Clone(machines)
		slices.SortStableFunc(machines, func(x, y fleet.MachineCost) int { return cmp.Compare(x.Ratio, y.Ratio) })
	}
	bottom := top + step*float64(len(machines)) + 4
	if f.pooled != nil {
		bottom += 2 * line
	}
	var s svg
	s.ground(a, f.delta, top, bottom)
	y := top + step/2 + 2
	label := func(name string) {
		s.text(4, y+4, "name", shorten(name, 16))
	}
	for _, m := range machines {
		f.machine(&s, a, m, y, many)
		if !many || m.Odd {
			label(m.Machine)
		}
		y += step
	}
	if p := f.pooled; p != nil {
		y += (line - step) / 2
		s.line(4, y-line/2, chartWidth-4, y-line/2, "grid")
		label("pooled")
		low, mid, high := a.x(math.Log(p.CILow)), a.x(math.Log(p.Ratio)), a.x(math.Log(p.CIHigh))
		s.mark(low, y, fmt.Sprintf("L%[1]s %[2]sL%[3]s %[4]sL%[1]s %[5]sz", num(mid), num(y-7), num(high), num(y), num(y+7)),
			"pooled "+costClass(p.Verdict, p.OverheadPercent),
			fmt.Sprintf("pooled: %s, %s", report.Cost(p.Ratio), report.CostInterval(p.CILow, p.CIHigh)))
		y += line
		label("next machine")
		if p.NextHigh > 0 {
			s.line(a.x(math.Log(p.NextLow)), y, a.x(math.Log(p.NextHigh)), y, "next")
		} else {
			s.text(min(a.x(0)+6, chartWidth-84), y+4, "none", "no prediction")
		}
	}
	desc := fmt.Sprintf("A point with its interval for each machine; below them, the pooled figure as a diamond and the "+
		"range for the next machine. The tables have the same figures. The band is ±%.3g %%.", 100*f.delta)
	if many {
		desc += " Machines are in the order of their figures."
	}
	return s.chart(id, bottom+2, f.title, desc)
}

func (f forest) machine(s *svg, a axis, m fleet.MachineCost, y float64, small bool) {
	class, size := machineClass(&m, f.delta), 4.0
	if small {
		size = 2
	}
	title := fmt.Sprintf("%s: %s", m.Machine, report.Cost(m.Ratio))
	if m.CILow > 0 {
		title += ", " + report.CostInterval(m.CILow, m.CIHigh)
		bar := "bar "
		if small {
			bar = "bar thin "
		}
		s.line(a.x(math.Log(m.CILow)), y, a.x(math.Log(m.CIHigh)), y, bar+class)
	}
	if m.Odd {
		s.dot(a.x(math.Log(m.Ratio)), y, size+3.5, "odd", title+"; odd")
	}
	s.dot(a.x(math.Log(m.Ratio)), y, size, "est "+class, title)
}
