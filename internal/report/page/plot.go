package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fleet"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/stats"
)

// intervalPlot draws what each arm costs with its interval, and the host CPU that it
// took. delta is the difference that is too small to matter.
func intervalPlot(id string, rows []armRow, m metricView, delta float64) template.HTML {
	band := math.Log1p(delta)
	ratios := []float64{math.Exp(band), math.Exp(-band)}
	for _, r := range rows {
		// An emulated arm would squeeze all others together; it may leave the plot.
		if r.Emulated && slices.ContainsFunc(rows, func(r armRow) bool { return !r.Emulated && !r.Comparison.Control }) {
			continue
		}
		c := r.Comparison // the ends of a very wide interval may leave the plot, too
		low, high := c.Ends()
		ratios = append(ratios, c.Ratio, max(low, c.Ratio/20), min(high, c.Ratio*20), r.CPURatio)
	}
	a := axisOf(8, ratios)
	var s svg
	const top, step = 22.0, 34.0
	bottom := top + step*float64(len(rows)) + 4
	s.ground(a, delta, top, bottom)
	for i, r := range rows {
		y := top + step*float64(i)
		s.text(a.from, y+13, "name", r.Name)
		y += 24
		if ln := math.Log(max(r.CPURatio, 1e-9)); ln >= a.low && ln <= a.high {
			s.mark(a.x(math.Log(r.CPURatio)), y, "m0-5l5 5l-5 5l-5-5z", "cpu", fmt.Sprintf("%s: host CPU %s times that of %s",
				r.Name, report.Digits(r.CPURatio, 3), r.Baseline))
		}
		c := r.Comparison
		if c.Ratio <= 0 {
			s.text(a.x(0)+6, y+4, "none", r.Verdict)
			continue
		}
		if ln := math.Log(c.Ratio); ln > a.high || ln < a.low {
			s.text(chartWidth-10, y+4, "edge", report.Digits(c.Ratio, 3)+"× ▸")
			continue
		}
		if report.Known(*c) {
			s.line(a.x(math.Log(c.CILow)), y, a.x(math.Log(c.CIHigh)), y, "bar "+r.Class)
		}
		s.dot(a.x(math.Log(c.Ratio)), y, 4.5, "est "+r.Class, fmt.Sprintf("%s: %s %s", r.Name, r.Verdict, r.Interval))
	}
	desc := fmt.Sprintf("For each system a point for its overhead in %s, with its interval, and a hollow diamond for "+
		"its host CPU, on a common scale. The table below has the same figures. The band is ±%.3g %%: too small to matter.",
		m.Name, 100*delta)
	return s.chart(id, bottom+2, "Overhead of each system on "+m.Workload, desc)
}

// mostDots is how many dots one page draws; beyond that, trials share marks.
const mostDots = 5000

// perStrip is how many trials of one arm are drawn one by one.
func perStrip(strips int) int { return min(max(mostDots/max(strips, 1), 60), 400) }

// dotPlot draws every trial of one workload in the order of the run: one strip for
// each arm, all with the same range of ratios around their own medians.
func dotPlot(id string, strips []*strip, m metricView, limit int) (template.HTML, string) {
	var s svg
	const step, body = 66.0, 40.0
	last := int32(1)
	first := int32(math.MaxInt32)
	half := 0.005 // ln: no visible scatter
	var halves []float64
	for _, t := range strips {
		for _, list := range [][]point{t.points, t.lost} {
			if len(list) > 0 {
				first, last = min(first, list[0].at), max(last, list[len(list)-1].at)
			}
		}
		if lo, mid, hi, ok := t.limits(); ok {
			halves = append(halves, max(math.Log(hi/mid), math.Log(mid/lo)))
		}
	}
	if len(halves) > 0 { // one arm that scatters wildly must not flatten the others into lines
		slices.Sort(halves)
		half = max(half, min(halves[len(halves)-1], 4*halves[(len(halves)-1)/2]))
	}
	x := func(at int32) float64 {
		return 10 + (chartWidth-20)*float64(at-first)/math.Max(float64(last-first), 1)
	}
	binned := 0
	for i, t := range strips {
		y := step * float64(i)
		lo, mid, hi, ok := t.limits()
		label := t.arm
		if ok {
			label += fmt.Sprintf(": %s … %s, median %s", m.Figure(lo), m.Figure(hi), m.With(mid))
		} else if len(t.points) == 0 {
			label += ": no values"
		}
		s.text(8, y+13, "name", label)
		s.rect(4, y+18, chartWidth-8, body, "strip")
		s.line(4, y+18+body/2, chartWidth-4, y+18+body/2, "median")
		place := func(v float64) (float64, string) {
			ln := 0.0
			if v > 0 && mid > 0 {
				ln = math.Log(v / mid)
			}
			if math.Abs(ln) > half*1.0001 {
				return y + 18 + body/2 - math.Copysign(body/2-3, ln), "dot off"
			}
			return y + 18 + body/2 - ln/half*(body/2-4), "dot"
		}
		if len(t.points) <= limit {
			for _, p := range t.points {
				at, class := place(p.value)
				s.dot(x(p.at), at, 3, class, fmt.Sprintf("trial %d, block %d: %s", p.trial, p.block+1, m.With(p.value)))
			}
		} else {
			binned = max(binned, t.bins(&s, limit/3, x, place, m))
		}
		t.drawLost(&s, y+18+body-5, x, limit)
	}
	note := ""
	if binned > 0 {
		note = fmt.Sprintf("Too many trials to draw each: a mark represents up to %d successive trials, its line from "+
			"minimum to maximum, its dot at the median.", binned)
	}
	desc := fmt.Sprintf("A strip for each system; each trial is a dot, from left to right in the order of the run. Its "+
		"height is the value of %s relative to the system's own median. All strips span ±%s %%. The table of the "+
		"distribution below has the figures.", m.Name, report.Digits(100*math.Expm1(half), 2))
	return s.chart(id, step*float64(len(strips)), "Every trial of "+m.Workload+" in the order of the run", desc), note
}

// limits returns the minimum, median and maximum, if all values are positive.
func (t *strip) limits() (lo, mid, hi float64, ok bool) {
	if len(t.points) == 0 {
		return 0, 0, 0, false
	}
	v := make([]float64, len(t.points))
	for i, p := range t.points {
		v[i] = p.value
	}
	slices.Sort(v)
	mid, err := stats.QuantileSorted(v, 0.5)
	return v[0], mid, v[len(v)-1], err == nil && v[0] > 0
}

// bins draws the trials as n marks, and returns the largest number of trials in one.
func (t *strip) bins(s *svg, n int, x func(int32) float64, place func(float64) (float64, string), m metricView) int {
	per := (len(t.points) + n - 1) / n
	for group := range slices.Chunk(t.points, per) {
		part := strip{points: group}
		lo, mid, hi, ok := part.limits()
		if !ok {
			continue
		}
		at := x(group[len(group)/2].at)
		top, _ := place(hi)
		middle, class := place(mid)
		bottom, _ := place(lo)
		s.line(at, top, at, bottom, "range")
		s.dot(at, middle, 1.8, class, fmt.Sprintf("blocks %d to %d: %s … %s", group[0].block+1, group[len(group)-1].block+1,
			m.Figure(lo), m.With(hi)))
	}
	return per
}

// drawLost marks the trials without a value at the bottom of the strip.
func (t *strip) drawLost(s *svg, y float64, x func(int32) float64, limit int) {
	for i := 0; i < len(t.lost); i += (len(t.lost) + limit - 1) / limit { // so many show when they happened
		p := t.lost[i]
		s.mark(x(p.at)-3, y-3, "l6 6m0-6l-6 6", "lost", fmt.Sprintf("trial %d, block %d: no value", p.trial, p.block+1))
	}
}

// verdictClass is how a comparison is coloured: only if it is resolved and has no
// serious finding.
func verdictClass(res *analyze.Result, c analyze.Comparison) string {
	if len(report.Doubts(res, c)) > 0 || emulated(res, c) {
		return "open"
	}
	return costClass(c.Verdict, c.OverheadPercent)
}

// costClass is how a cost is coloured that nothing speaks against.
func costClass(v analyze.Verdict, overheadPercent float64) string {
	switch v {
	case analyze.Costs:
		if overheadPercent >= 25 {
			return "costs much"
		}
		return "costs"
	case analyze.Gains:
		return "gains"
	case analyze.None:
		return "none"
	}
	return "open"
}

// pooledClass is how a pooled cost is coloured; nil: there is none.
func pooledClass(p *fleet.Pooled) string {
	if p == nil {
		return "open"
	}
	return costClass(p.Verdict, p.OverheadPercent)
}

func emulated(res *analyze.Result, c analyze.Comparison) bool {
	return slices.ContainsFunc(res.Arms, func(a analyze.ArmResult) bool {
		return a.Workload == c.Workload && (a.Arm == c.Arm || a.Arm == c.Baseline) && a.Emulated
	})
}
