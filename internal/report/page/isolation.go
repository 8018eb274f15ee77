package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// isolationView is how other guests slow down the arms of a workload, by its first
// metric.
type isolationView struct {
	Headings []string
	Rows     []isolationRow
	Notes    []string // on density and caps
	Curve    template.HTML
	Guests   []guestRow
	More     int // guests that are not shown
}

type isolationRow struct {
	mark
	Arm   string
	Cells []string
}

// guestRow is one guest of several.
type guestRow struct {
	Arm            string
	Number         int
	Flavor         string
	N, Lost        int
	Slowdown, Sort string
}

// maxGuestRows is how many single guests a workload shows.
const maxGuestRows = 300

// isolation makes the part of a chapter about isolation; nil if every guest of a
// workload was alone, and none had a cap to compare.
func isolation(res *analyze.Result, id, workload, metric string) *isolationView {
	v := &isolationView{}
	grid := report.Grid{Rows: [][]string{report.IsolationHeadings()}}
	var curve []analyze.Isolation
	for _, i := range res.Isolation {
		if i.Workload != workload || i.Metric != metric {
			continue
		}
		curve = append(curve, i)
		v.Rows = append(v.Rows, isolationRow{mark: markOf(res, i.Comparison), Arm: i.Arm})
		grid.Rows = append(grid.Rows, report.IsolationCells(i))
		if len(i.Members) > 1 {
			v.guests(i)
		}
	}
	v.Headings = grid.Headings()
	for i, cells := range grid.Body() {
		v.Rows[i].Cells = cells[1:]
	}
	v.Notes = report.IsolationNotes(res, workload, metric)
	if len(v.Rows)+len(v.Notes) == 0 {
		return nil
	}
	v.Curve = scalingPlot(id, workload, curve)
	return v
}

func (v *isolationView) guests(i analyze.Isolation) {
	for _, m := range i.Members {
		if len(v.Guests) == maxGuestRows {
			v.More++
			continue
		}
		row := guestRow{Arm: i.Arm, Number: m.Member + 1, Flavor: m.Flavor, N: m.N, Lost: m.Lost}
		if m.Slowdown > 0 {
			row.Slowdown, row.Sort = report.Digits(m.Slowdown, 3)+"×", fmt.Sprintf("%.6g", m.Slowdown)
		}
		v.Guests = append(v.Guests, row)
	}
}

// curve is the slowdown of one arm by the number of guests at once.
type curve struct {
	arm    string
	points []analyze.Isolation // more guests to the right
}

// curves collects the scenarios of equal guests without neighbours that have a figure.
func curves(all []analyze.Isolation) []curve {
	var out []curve
	for _, i := range all {
		mixed := slices.ContainsFunc(i.Members, func(m analyze.MemberResult) bool { return m.Flavor != i.Members[0].Flavor })
		if i.Ratio <= 0 || i.Guests < 2 || len(i.Neighbours) > 0 || mixed {
			continue
		}
		at := slices.IndexFunc(out, func(c curve) bool { return c.arm == i.Baseline })
		if at < 0 {
			at = len(out)
			out = append(out, curve{arm: i.Baseline}) // the arm alone
		}
		out[at].points = append(out[at].points, i)
	}
	for _, c := range out {
		slices.SortStableFunc(c.points, func(a, b analyze.Isolation) int { return a.Guests - b.Guests })
	}
	return out
}

// scalingPlot draws the slowdown over the number of guests at once, both on
// logarithmic scales; nothing if there are fewer than two numbers besides one.
func scalingPlot(id, workload string, all []analyze.Isolation) template.HTML {
	list := curves(all)
	var counts []int
	y := axis{low: math.Log(0.95), high: math.Log(1.25)} // upside down: more is higher
	for _, c := range list {
		for _, p := range c.points {
			if !slices.Contains(counts, p.Guests) {
				counts = append(counts, p.Guests)
			}
			y.low, y.high = min(y.low, math.Log(p.Ratio)), max(y.high, math.Log(p.Ratio))
			if p.Interval != nil { // the ends of a very wide interval may leave the plot
				y.low, y.high = min(y.low, math.Log(max(p.CILow, p.Ratio/2))), max(y.high, math.Log(min(p.CIHigh, 2*p.Ratio)))
			}
		}
	}
	if len(counts) < 2 {
		return ""
	}
	slices.Sort(counts)
	const top, height, left, right = 12.0, 210.0, 52.0, 96.0
	y.from, y.to = top+height, top
	x := axis{low: 0, high: math.Log(float64(counts[len(counts)-1])), from: left, to: chartWidth - right}

	var s svg
	last := math.Inf(1)
	for _, t := range y.ticks() {
		class, at := "grid", y.x(t.ln)
		if math.Abs(t.ln) < 1e-9 {
			class = "zero"
		}
		s.line(left, at, chartWidth-right, at, class)
		if last-at > 14 {
			s.text(left-26, at+4, "tick", report.Digits(math.Exp(t.ln), 3)+"×")
			last = at
		}
	}
	lastX := math.Inf(-1)
	for _, n := range append([]int{1}, counts...) {
		if at := x.x(math.Log(float64(n))); at-lastX > 20 {
			s.text(at, top+height+16, "tick", fmt.Sprint(n))
			lastX = at
		}
	}
	s.text((left+chartWidth-right)/2, top+height+32, "tick", "guests at once")
	names := labels{top: top, bottom: top + height}
	for i, c := range list {
		fromX, fromY := x.x(0), y.x(0)
		class := fmt.Sprintf("curve c%d", i%4)
		s.dot(fromX, fromY, 2.5, "dot", c.arm+": alone")
		for _, p := range c.points {
			toX, toY := x.x(math.Log(float64(p.Guests))), y.x(math.Log(p.Ratio))
			s.line(fromX, fromY, toX, toY, class)
			if p.Interval != nil { // intervals stand beside each other
				at := toX + 5*(float64(i)-float64(len(list)-1)/2)
				s.line(at, y.x(math.Log(p.CILow)), at, y.x(math.Log(p.CIHigh)), "range")
			}
			s.dot(toX, toY, 3.5, "dot", fmt.Sprintf("%s: %s× as long as alone with %d guests", c.arm, report.Digits(p.Ratio, 3),
				p.Guests))
			fromX, fromY = toX, toY
		}
		at := names.place(fromY)
		s.line(fromX+4, fromY, chartWidth-right+10, at, "leader")
		s.text(chartWidth-right+13, at+4, "name", shorten(c.arm, 13))
	}
	return s.chart(id+"-n", top+height+40, "Slowdown of "+workload+" by the number of guests",
		"A line for each system: how many times as long its guests take as one alone, by the number of guests at once, "+
			"both on logarithmic scales. The table below has the same figures.")
}

// labels keeps labels above each other apart.
type labels struct {
	top, bottom float64
	taken       []float64
}

// place returns the free height that is nearest to y.
func (l *labels) place(y float64) float64 {
	const apart = 14
	best := y
	for step := 0.0; step < 2*(l.bottom-l.top); step++ {
		for _, at := range []float64{y - step, y + step} {
			free := !slices.ContainsFunc(l.taken, func(t float64) bool { return math.Abs(t-at) < apart })
			if free && at >= l.top && at <= l.bottom {
				l.taken = append(l.taken, at)
				return at
			}
		}
	}
	return best
}

// shorten cuts a name to n letters.
func shorten(name string, n int) string {
	if r := []rune(name); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return name
}
