package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// latencyView is the single latencies of a workload.
type latencyView struct {
	Workload, Where string
	Curve, Beside   template.HTML // of arms alone, and beside other guests
	Headings        []string
	Rows            []latencyRow // against the run's baseline
	BesideRows      []latencyRow
	Legend          string
}

type latencyRow struct {
	Class string
	Cells []string
}

// latencies makes the part of a chapter about single latencies; nil if the tool prints none. first is the scenario of
// arms that are alone.
func latencies(res *analyze.Result, id, workload, first string) *latencyView {
	var alone, beside []analyze.LatencyCurve
	for _, c := range res.Curves {
		switch {
		case c.Workload != workload || c.Control || len(c.Points) < 2:
		case c.Scenario == first:
			alone = append(alone, c)
		default:
			beside = append(beside, c)
		}
	}
	all := report.LatenciesOf(res, workload)
	if len(alone)+len(beside)+len(all) == 0 {
		return nil
	}
	v := &latencyView{Workload: workload, Headings: report.LatencyHeadings()[1:], Legend: report.LatencyLegend,
		Curve: latencyPlot(id+"-l", workload, alone), Beside: latencyPlot(id+"-m", workload, beside)}
	v.Headings[0] = "Percentile"
	for _, l := range all {
		into := &v.BesideRows
		if l.Baseline == res.Baseline && l.Family != analyze.FamilyIsolation {
			into = &v.Rows
		}
		*into = append(*into, latencyRow{verdictClass(res, l.Comparison), report.LatencyCells(l)})
	}
	return v
}

// OthersBeside is the view of the arms beside other guests, for their table.
func (v *latencyView) OthersBeside() *latencyView {
	return &latencyView{Workload: v.Workload, Where: " beside other guests", Headings: v.Headings, Rows: v.BesideRows}
}

// shares are the marks on the axis of shares.
var shares = []struct {
	share float64
	label string
}{{0.1, "10 %"}, {0.5, "50 %"}, {0.9, "90 %"}, {0.99, "99 %"}, {0.999, "99.9 %"}, {0.9999, "99.99 %"},
	{0.99999, "99.999 %"}}

// latencyPlot draws the distributions of single latencies: the share of latencies, on a scale of odds that gives as
// much room to 99 … 99.9 % as to 90 … 99 %, and the time that they take at most, on a logarithmic scale.
func latencyPlot(id, workload string, curves []analyze.LatencyCurve) template.HTML {
	if len(curves) == 0 {
		return ""
	}
	odds := func(share float64) float64 { return math.Log(share / (1 - share)) }
	const from = 0.1
	const top, height, left, right = 12.0, 230.0, 62.0, 92.0
	x := axis{low: odds(from), high: odds(0.5), from: left, to: chartWidth - right}
	y := axis{low: math.Inf(1), high: math.Inf(-1), from: top + height, to: top}
	for i, c := range curves {
		c.Points = slices.DeleteFunc(slices.Clone(c.Points), func(p analyze.LatencyPoint) bool { return p.Share < from })
		curves[i] = c
		for _, p := range c.Points {
			x.high = max(x.high, odds(p.Share))
			y.low, y.high = min(y.low, math.Log(p.Seconds)), max(y.high, math.Log(p.Seconds))
		}
	}
	if math.IsInf(y.low, 0) || math.IsInf(y.high, 0) {
		return ""
	}
	y.low, y.high = y.low-0.1, y.high+0.1
	var s svg
	for _, v := range roundSeconds(y.low, y.high) {
		at := y.x(math.Log(v))
		s.line(left, at, chartWidth-right, at, "grid")
		s.text(left-30, at+4, "tick", report.InUnit("s", v, 1))
	}
	for _, mark := range shares {
		if o := odds(mark.share); o <= x.high+1e-9 {
			s.line(x.x(o), top, x.x(o), top+height, "grid")
			s.text(x.x(o), top+height+16, "tick", mark.label)
		}
	}
	s.text((left+chartWidth-right)/2, top+height+33, "tick", "share of single latencies")
	names := labels{top: top, bottom: top + height}
	for i, c := range curves {
		if len(c.Points) < 2 {
			continue
		}
		var points [][2]float64
		for _, p := range c.Points {
			points = append(points, [2]float64{x.x(odds(p.Share)), y.x(math.Log(p.Seconds))})
		}
		s.path(points, fmt.Sprintf("curve c%d", i%4), fmt.Sprintf("%s: %d latencies", c.Arm, c.Count))
		last := points[len(points)-1]
		at := names.place(last[1])
		s.line(last[0]+3, last[1], chartWidth-right+8, at, "leader")
		s.text(chartWidth-right+11, at+4, "name", shorten(c.Arm, 13))
	}
	return s.chart(id, top+height+40, "Single latencies of "+workload,
		"A line for each system: the time that a share of its single latencies does not exceed. The table below has "+
			"percentiles.")
}

// roundSeconds returns a few round times between two logarithms.
func roundSeconds(low, high float64) (all []float64) {
	steps := []float64{1, 2, 5}
	if high-low > math.Log(1000) {
		steps = steps[:1]
	}
	for decade := math.Floor(low / math.Ln10); decade <= high/math.Ln10 && len(all) < 20; decade++ {
		for _, step := range steps {
			if v := step * math.Pow(10, decade); math.Log(v) >= low && math.Log(v) <= high {
				all = append(all, v)
			}
		}
	}
	return all
}
