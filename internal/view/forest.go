package view

import (
	"fmt"
	"math"
)

// Forest is ratios with their intervals on one axis, a line for each.
type Forest struct {
	Band float64     `json:"band"` // differences up to this are too small to matter: 0.02 is ±2 %
	Rows []ForestRow `json:"rows"`
	// Above: names are above their lines, which then have the whole width.
	Above bool `json:"-"`
	// Widest is how many times its ratio the end of an interval counts for the axis at most; the rest of it leaves the
	// drawing. Edge is the ratio, up or down, beyond which anything stands at the edge; 0: none.
	Widest, Edge float64 `json:"-"`
}

// ForestRow is a line of a forest.
type ForestRow struct {
	Group  string `json:"group,omitempty"` // the first row of each has its name above it
	Label  string `json:"label"`
	Points []Dot  `json:"points"`
	None   string `json:"none,omitempty"` // said where there is no point
	Small  bool   `json:"-"`              // one of many: it has no name
	Rule   bool   `json:"-"`              // a line above sets it apart
	// Off: it may leave the drawing, since it would squeeze all others together.
	Off bool `json:"-"`
}

// Dot is a ratio, with its interval if High is not 0.
type Dot struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low,omitzero"`
	High  float64 `json:"high,omitzero"`
	Class Class   `json:"class,omitempty"`
	Shape Shape   `json:"shape,omitempty"`
	Odd   bool    `json:"odd,omitzero"` // it has a ring around it
	Words string  `json:"words"`        // the ratio and its interval
}

// Shape is how a ratio is drawn.
type Shape string

// The shapes. A Span is an interval without a ratio.
const (
	Round   Shape = ""
	Diamond Shape = "diamond"
	Hollow  Shape = "hollow diamond"
	Pooled  Shape = "diamond as wide as its interval"
	Span    Shape = "span"
)

const (
	labelled = 120.0 // where the axis begins beside names
	topRoom  = 22.0  // of the marks of the axis
)

func (f *Forest) axis() axis {
	ratios := []float64{1 + f.Band, 1 / (1 + f.Band)}
	for _, r := range f.Rows {
		for _, d := range r.Points {
			if r.Off {
				continue
			}
			low, high := d.Low, d.High
			if f.Widest > 0 && d.High > 0 {
				low, high = max(low, d.Ratio/f.Widest), min(high, d.Ratio*f.Widest)
			}
			for _, v := range []float64{d.Ratio, low, high} {
				if f.Edge > 0 && v > 0 {
					v = min(max(v, 1/f.Edge), f.Edge)
				}
				ratios = append(ratios, v)
			}
		}
	}
	from := labelled
	if f.Above {
		from = 8
	}
	return axisOf(from, ratios)
}

// height is that of a row.
func (f *Forest) height(r ForestRow) float64 {
	switch {
	case f.Above:
		return 34
	case r.Small:
		return 5
	}
	return 20
}

func (f *Forest) svg(s *svg) float64 {
	const title = 20.0
	a := f.axis()
	begins := func(i int) bool { return f.Rows[i].Group != "" && (i == 0 || f.Rows[i].Group != f.Rows[i-1].Group) }
	bottom := topRoom + 4
	for i, r := range f.Rows {
		if bottom += f.height(r); begins(i) {
			bottom += title
		}
	}
	s.ground(a, f.Band, topRoom, bottom)
	y := topRoom
	for i, r := range f.Rows {
		if begins(i) {
			s.text(4, y+15, "name", shorten(r.Group, 40))
			y += title
		}
		if r.Rule {
			s.line(4, y+1, chartWidth-4, y+1, "grid")
		}
		f.row(s, a, r, y)
		y += f.height(r)
	}
	return bottom + 4
}

// row draws a row whose upper edge is y.
func (f *Forest) row(s *svg, a axis, r ForestRow, y float64) {
	middle := y + f.height(r)/2
	switch {
	case f.Above:
		middle = y + 24
		s.text(a.from, y+13, "name", r.Label)
	case !r.Small:
		s.text(4, middle+4, "name", shorten(r.Label, 16))
	}
	if len(r.Points) == 0 {
		s.text(a.x(0)+6, middle+4, "none", r.None)
	}
	for k, d := range r.Points {
		at := middle
		if !f.Above { // beside each other they would hide each other
			at += 8 * (float64(k) - float64(len(r.Points)-1)/2)
		}
		f.dot(s, a, r, d, at)
	}
}

func (f *Forest) dot(s *svg, a axis, r ForestRow, d Dot, y float64) {
	class, title := string(d.Class), r.Label+": "+d.Words
	ln, low, high := math.Log(d.Ratio), math.Log(d.Low), math.Log(d.High)
	switch {
	case d.Shape == Span:
		s.line(a.x(low), y, a.x(high), y, "next")
		return
	case ln > a.high && d.Shape == Hollow || ln < a.low && d.Shape == Hollow:
		return
	case ln > a.high:
		s.text(chartWidth-10, y+4, "edge "+class, short(d.Ratio)+"× ▸")
		return
	case ln < a.low:
		s.text(a.from+52, y+4, "edge "+class, "◂ "+short(d.Ratio)+"×")
		return
	case d.Shape == Pooled:
		s.mark(
			a.x(low),
			y,
			fmt.Sprintf("L%[1]s %[2]sL%[3]s %[4]sL%[1]s %[5]sz", num(a.x(ln)), num(y-7), num(a.x(high)), num(y),
				num(y+7)),
			"pooled "+class,
			title,
		)
		return
	}
	size, thin := 4.0, ""
	if r.Small {
		size, thin = 2, "thin "
	}
	if d.High > 0 {
		s.line(a.x(low), y, a.x(high), y, "bar "+thin+class)
		if f.Edge > 0 && low < a.low {
			s.text(a.from+4, y+4, "edge "+class, "◂")
		}
		if f.Edge > 0 && high > a.high {
			s.text(chartWidth, y+4, "edge "+class, "▸")
		}
	}
	if d.Odd {
		s.dot(a.x(ln), y, size+3.5, "odd", title+"; odd")
	}
	switch d.Shape {
	case Diamond:
		s.mark(a.x(ln), y, "m0-4l4 4l-4 4l-4-4z", "est "+class, title)
	case Hollow:
		s.mark(a.x(ln), y, "m0-5l5 5l-5 5l-5-5z", "cpu", title)
	default:
		s.dot(a.x(ln), y, size, "est "+class, title)
	}
}

// short is a ratio with three digits.
func short(ratio float64) string { return fmt.Sprintf("%.3g", ratio) }

// textWidth is how many columns of a terminal the axis takes.
const textWidth = 41

// text draws a row for a terminal: its intervals on the axis.
func (f *Forest) text(a axis, r ForestRow) string {
	line := []rune(fmt.Sprintf("%*s", textWidth, ""))
	at := func(ratio float64) int {
		scaled := axis{a.low, a.high, 0, textWidth - 1}
		return int(math.Round(scaled.x(math.Log(ratio))))
	}
	line[at(1)] = '│'
	for _, d := range r.Points {
		if d.High > 0 {
			for i := at(d.Low); i <= at(d.High); i++ {
				line[i] = '─'
			}
		}
	}
	signs := map[Shape]rune{Round: '●', Diamond: '◆', Hollow: '◇', Pooled: '◆'}
	for _, d := range r.Points {
		if sign := signs[d.Shape]; sign != 0 {
			line[at(d.Ratio)] = sign
		}
	}
	return string(line)
}

func (f *Forest) figures() *Table {
	t := &Table{Once: true, Columns: Heads("", "of", "shape", "figure")}
	a := f.axis()
	for _, r := range f.Rows {
		drawn := f.text(a, r)
		if len(r.Points) == 0 {
			t.Add(Text(r.Label), Text(r.Group), Cell{Verbatim: drawn}, Text(r.None))
		}
		for k, d := range r.Points {
			row := Row{Cells: []Cell{Text(r.Label), Text(r.Group), {}, {Text: d.Words, Class: d.Class,
				Figure: &Figure{Value: d.Ratio, Low: d.Low, High: d.High}}}}
			if k == 0 {
				row.Cells[2].Verbatim = drawn
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
