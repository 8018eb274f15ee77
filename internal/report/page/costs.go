package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// mostCosts is how many systems, over all workloads, the picture of all costs has.
const mostCosts = 80

// widestCost is the ratio, up or down, beyond which a cost stands at the edge of the picture: one system that takes ten
// times as long must not hide what the others cost.
const widestCost = 1.5

// costsPlot draws what every system costs on every workload, with intervals on one axis, and says how to read it; "" if
// there is nothing to compare. CPU time of duets has a mark of its own. Emulated systems are left out.
func costsPlot(id string, res *analyze.Result) (template.HTML, string) {
	all := slices.DeleteFunc(slices.Clone(res.Comparisons), func(c analyze.Comparison) bool {
		return !c.Primary || c.Control || c.Baseline != res.Baseline || c.Ratio <= 0 || emulated(res, c)
	})
	if len(all) == 0 {
		return "", ""
	}
	shown := all[:min(len(all), mostCosts)]
	var ratios []float64
	atOnce := false
	duets := make([]*analyze.Comparison, len(shown))
	for i, c := range shown {
		see := func(c analyze.Comparison) {
			low, high := c.Ends()
			for _, r := range []float64{c.Ratio, low, high} {
				ratios = append(ratios, min(max(r, 1/widestCost), widestCost))
			}
		}
		see(c)
		if cpu := report.CPUTimeOf(res, c); cpu != nil && cpu.Metric == analyze.CPUTimeAtOnce {
			duets[i], atOnce = cpu, true
			see(*cpu)
		}
	}
	a := axisOf(120, ratios)
	const top, step, title = 22.0, 18.0, 20.0
	bottom := top
	for i, c := range shown {
		if i == 0 || c.Workload != shown[i-1].Workload {
			bottom += title
		}
		bottom += step
	}
	var s svg
	s.ground(a, res.Delta, top, bottom)
	y := top
	for i, c := range shown {
		if i == 0 || c.Workload != shown[i-1].Workload {
			s.text(4, y+15, "name", shorten(c.Workload, 40))
			y += title
		}
		s.text(14, y+12, "none", shorten(c.Arm, 15))
		at := y + step/2
		if duets[i] != nil {
			drawCost(&s, a, res, *duets[i], y+5, true)
			at = y + 12
		}
		drawCost(&s, a, res, c, at, false)
		y += step
	}
	note := fmt.Sprintf("Overhead against %s with its interval; farther right costs more. "+
		"Only what is resolved has a colour. "+
		"The band is ±%.3g %%: too small to matter.", report.Clean(res.Baseline), 100*res.Delta)
	if atOnce {
		note += " Diamonds: CPU time, in duets. Dots: the metric of the workload."
	}
	if more := len(all) - len(shown); more > 0 {
		note += fmt.Sprintf(" %d more are in the overview.", more)
	}
	return s.chart(id, bottom+4, "What every system costs on every workload",
		note+" The overview has the same figures."), note
}

// drawCost draws one cost: a diamond for CPU time, else a dot. One beyond the axis is told at its edge.
func drawCost(s *svg, a axis, res *analyze.Result, c analyze.Comparison, y float64, cpu bool) {
	class := verdictClass(res, c)
	title := fmt.Sprintf("%s on %s, %s: %s %s", c.Arm, c.Workload, c.Metric, report.Verdict(res, c), report.Interval(c))
	ln := math.Log(c.Ratio)
	switch {
	case ln > a.high:
		s.text(chartWidth-10, y+4, "edge "+class, report.Digits(c.Ratio, 3)+"× ▸")
		return
	case ln < a.low:
		s.text(a.from+52, y+4, "edge "+class, "◂ "+report.Digits(c.Ratio, 3)+"×")
		return
	}
	if c.Interval == nil || c.Coarse {
		s.text(a.x(0)+6, y+4, "none", "not known")
		return
	}
	low, high := math.Log(c.CILow), math.Log(c.CIHigh)
	s.line(a.x(low), y, a.x(high), y, "bar "+class)
	if low < a.low {
		s.text(a.from+4, y+4, "edge "+class, "◂")
	}
	if high > a.high {
		s.text(chartWidth, y+4, "edge "+class, "▸")
	}
	if cpu {
		s.mark(a.x(ln), y, "m0-4l4 4l-4 4l-4-4z", "est "+class, title)
	} else {
		s.dot(a.x(ln), y, 3.5, "est "+class, title)
	}
}
