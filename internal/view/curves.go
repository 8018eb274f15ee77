package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Curves is a line for each of several things.
type Curves struct {
	X, Y  Axis
	Lines []Line
	// Short: terminals draw each line in a row of a small table, and the figures with Options.All only.
	Short bool `json:"-"`
}

// Axis is an axis of curves. It spans all points, and at least Low to High.
type Axis struct {
	Label     string               // below the axis, and above the column of the values
	Odds      bool                 // odds, where 99 … 99.9 % has as much room as 90 … 99 %; else logarithms
	Linear    bool                 // the values themselves; not with Odds
	Low, High float64              `json:"-"` // both 0: the points alone
	Room      float64              `json:"-"` // beyond the points, as a logarithm, or as a value if the axis is linear
	Ticks     []Tick               `json:"-"` // nil: round ratios
	Say       func(float64) string `json:"-"`
}

// Tick is a mark on an axis.
type Tick struct {
	Value float64
	Label string
}

// Line is a curve with its name.
type Line struct {
	Name   string
	About  string `json:",omitempty"` // shown when the pointer rests on it
	Begin  *XY    `json:",omitempty"` // drawn, but not a figure
	Points []XY
	Dots   bool `json:"-"` // each point has a dot
}

// XY is a point, with an interval of Y if High is not 0.
type XY struct {
	X, Y      float64
	Low, High float64 `json:",omitzero"`
	Class     Class   `json:",omitempty"`
	Words     string  `json:",omitempty"` // shown when the pointer rests on its dot
}

// scale is where a value is on an axis.
func (a Axis) scale(v float64) float64 {
	switch {
	case a.Linear:
		return v
	case a.Odds:
		return math.Log(v / (1 - v))
	}
	return math.Log(v)
}

// span is the stretch of the drawing for these values.
func (a Axis) span(values []float64, from, to float64) axis {
	out := axis{low: math.Inf(1), high: math.Inf(-1), from: from, to: to}
	if a.High > 0 {
		out.low, out.high = a.scale(a.Low), a.scale(a.High)
	}
	for _, v := range values {
		out.low, out.high = min(out.low, a.scale(v)-a.Room), max(out.high, a.scale(v)+a.Room)
	}
	return out
}

// spans are the stretches of the drawing for both axes. The ends of a very wide interval may leave it.
func (c *Curves) spans(left, right, bottom, top float64) (x, y axis) {
	var xs, ys []float64
	for _, l := range c.Lines {
		for _, p := range l.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.High > 0 {
				ys = append(ys, max(p.Low, p.Y/2), min(p.High, 2*p.Y))
			}
		}
	}
	return c.X.span(xs, left, right), c.Y.span(ys, bottom, top)
}

func (c *Curves) svg(s *svg) float64 {
	const top, height, left, right = 12.0, 220.0, 62.0, 96.0
	x, y := c.spans(left, chartWidth-right, top+height, top)
	c.grid(s, x, y, top, top+height)
	names := labels{top: top, bottom: top + height}
	for i, l := range c.Lines {
		class := fmt.Sprintf("curve c%d", i%4)
		var points [][2]float64
		if l.Begin != nil {
			points = append(points, [2]float64{x.x(c.X.scale(l.Begin.X)), y.x(c.Y.scale(l.Begin.Y))})
		}
		for _, p := range l.Points {
			points = append(points, [2]float64{x.x(c.X.scale(p.X)), y.x(c.Y.scale(p.Y))})
		}
		s.path(points, class, l.Name+": "+l.About)
		if l.Begin != nil {
			s.dot(points[0][0], points[0][1], 2.5, "dot", l.Name+": "+l.Begin.Words)
			points = points[1:]
		}
		// Intervals stand beside each other, if there is room.
		apart := min(5, 0.4*(chartWidth-right-left)/float64(len(l.Points)*len(c.Lines)))
		for k, p := range l.Points {
			if p.High > 0 {
				at := points[k][0] + apart*(float64(i)-float64(len(c.Lines)-1)/2)
				s.line(at, y.x(c.Y.scale(p.Low)), at, y.x(c.Y.scale(p.High)), "range")
			}
			if l.Dots {
				r := 3.5
				if len(l.Points) > 20 {
					r = 2
				}
				s.dot(points[k][0], points[k][1], r, strings.TrimSpace("dot "+string(p.Class)), l.Name+": "+p.Words)
			}
		}
		last := points[len(points)-1]
		at := names.place(last[1])
		s.line(last[0]+4, last[1], chartWidth-right+10, at, "leader")
		s.text(chartWidth-right+13, at+4, "name", shorten(l.Name, 13))
	}
	return top + height + 40
}

// grid draws the marks of both axes.
func (c *Curves) grid(s *svg, x, y axis, top, bottom float64) {
	last := math.Inf(1)
	mark := func(at float64, label, class string) {
		s.line(x.from, at, x.to, at, class)
		if last-at > 14 {
			s.text(x.from-28, at+4, "tick", label)
			last = at
		}
	}
	if c.Y.Ticks == nil {
		for _, t := range y.ticks() {
			class := "grid"
			if math.Abs(t.ln) < 1e-9 {
				class = "zero"
			}
			mark(y.x(t.ln), c.Y.Say(math.Exp(t.ln)), class)
		}
	}
	for _, t := range c.Y.Ticks {
		if at := c.Y.scale(t.Value); at >= y.low && at <= y.high {
			mark(y.x(at), t.Label, "grid")
		}
	}
	const letter = 6.0 // about as wide is one
	before := math.Inf(-1)
	for _, t := range c.X.Ticks {
		at, half := c.X.scale(t.Value), letter/2*float64(len([]rune(t.Label)))
		if at > x.high+1e-9 || at < x.low-1e-9 || x.x(at)-half < before {
			continue
		}
		before = x.x(at) + half + letter
		s.line(x.x(at), top, x.x(at), bottom, "grid")
		s.text(x.x(at), bottom+16, "tick", t.Label)
	}
	s.text((x.from+x.to)/2, bottom+33, "tick", c.X.Label)
}

func (c *Curves) figures() *Table {
	t := &Table{Once: true, Columns: Heads("", c.X.Label, c.Y.Label, "interval")}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			interval := ""
			if p.High > 0 {
				interval = c.Y.Say(p.Low) + " … " + c.Y.Say(p.High)
			}
			t.Add(Text(l.Name), Number(c.X.Say(p.X), p.X, ""), Cell{Text: c.Y.Say(p.Y), Class: p.Class,
				Figure: &Figure{Value: p.Y, Low: p.Low, High: p.High}}, Text(interval))
		}
	}
	return t
}

// shortWidth is how many columns of a terminal a line of curves takes.
const shortWidth = 24

// short is a table with a drawing of each line, between its first and its last value.
func (c *Curves) short() *Table {
	x, y := c.spans(0, shortWidth-1, 0, 7)
	t := &Table{}
	var low, high float64
	for i, l := range c.Lines {
		if first, last := l.Points[0].X, l.Points[len(l.Points)-1].X; i == 0 {
			low, high = first, last
		} else {
			low, high = min(low, first), max(high, last)
		}
	}
	t.Columns = []Column{{}, {Head: c.X.Say(low), Right: true}, {Head: c.X.Label}, {Head: c.X.Say(high), Right: true}}
	for _, l := range c.Lines {
		drawn := []rune(strings.Repeat(" ", shortWidth))
		k := 0
		for i := range drawn {
			// The point that is nearest, on the stretch that the line has.
			at := func(k int) float64 { return x.x(c.X.scale(l.Points[k].X)) }
			for k+1 < len(l.Points) && math.Abs(at(k+1)-float64(i)) <= math.Abs(at(k)-float64(i)) {
				k++
			}
			if float64(i) >= math.Floor(at(0)) && float64(i) <= math.Ceil(at(len(l.Points)-1)) {
				level := int(math.Round(y.x(c.Y.scale(l.Points[k].Y))))
				drawn[i] = []rune("▁▂▃▄▅▆▇█")[min(max(level, 0), 7)]
			}
		}
		first, last := l.Points[0], l.Points[len(l.Points)-1]
		t.Add(Text(l.Name), Cell{Text: c.Y.Say(first.Y), Class: first.Class}, Cell{Verbatim: string(drawn)},
			Cell{Text: c.Y.Say(last.Y), Class: last.Class})
	}
	return t
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
