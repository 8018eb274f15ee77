package view

import (
	"fmt"
	"math"
	"slices"
)

// Strips is every trial in the order of the run: a strip for each arm, all with the same range of ratios around their
// own medians.
type Strips struct {
	Rows []Strip
	// Limit is how many trials of a strip are drawn one by one; more share marks.
	Limit int
	// Figure and With word a value, without its unit and with it.
	Figure, With func(float64) string `json:"-"`
}

// Strip is the trials of one arm.
type Strip struct {
	Name   string
	Points []Trial // with a value
	Lost   []Trial // without one
}

// Trial is a trial of a strip.
type Trial struct {
	At     int32 // place in the order of the run
	Block  int32 // from 0
	Number int64
	Value  float64
}

// Binned is how many successive trials share a mark; 0: none do.
func (p *Strips) Binned() (most int) {
	for _, r := range p.Rows {
		if len(r.Points) > p.Limit {
			most = max(most, p.per(r))
		}
	}
	return most
}

// per is how many trials of a strip share a mark.
func (p *Strips) per(r Strip) int {
	n := p.Limit / 3
	return (len(r.Points) + n - 1) / n
}

// Half is how far the strips span to each side of their medians, as a logarithm.
func (p *Strips) Half() float64 {
	half := 0.005 // no visible scatter
	var halves []float64
	for _, r := range p.Rows {
		if low, mid, high, ok := limits(r.Points); ok {
			halves = append(halves, max(math.Log(high/mid), math.Log(mid/low)))
		}
	}
	if len(halves) > 0 { // one arm that scatters wildly must not flatten the others into lines
		slices.Sort(halves)
		half = max(half, min(halves[len(halves)-1], 4*halves[(len(halves)-1)/2]))
	}
	return half
}

func (p *Strips) svg(s *svg) float64 {
	const step, body = 66.0, 40.0
	first, last := int32(math.MaxInt32), int32(1)
	for _, r := range p.Rows {
		for _, list := range [][]Trial{r.Points, r.Lost} {
			if len(list) > 0 {
				first, last = min(first, list[0].At), max(last, list[len(list)-1].At)
			}
		}
	}
	half := p.Half()
	x := func(at int32) float64 {
		return 10 + (chartWidth-20)*float64(at-first)/math.Max(float64(last-first), 1)
	}
	for i, r := range p.Rows {
		y := step * float64(i)
		_, mid, _, _ := limits(r.Points)
		s.text(8, y+13, "name", r.Name+": "+p.words(r))
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
		if len(r.Points) <= p.Limit {
			for _, t := range r.Points {
				at, class := place(t.Value)
				s.dot(x(t.At), at, 3, class, fmt.Sprintf("trial %d, block %d: %s", t.Number, t.Block+1, p.With(t.Value)))
			}
		} else {
			p.bins(s, r, x, place)
		}
		for i := 0; i < len(r.Lost); i += (len(r.Lost) + p.Limit - 1) / p.Limit { // so many show when they happened
			t := r.Lost[i]
			s.mark(
				x(t.At)-3,
				y+10+body,
				"l6 6m0-6l-6 6",
				"lost",
				fmt.Sprintf("trial %d, block %d: no value", t.Number, t.Block+1),
			)
		}
	}
	return step * float64(len(p.Rows))
}

// words say what the values of a strip are.
func (p *Strips) words(r Strip) string {
	low, mid, high, ok := limits(r.Points)
	switch {
	case ok:
		return fmt.Sprintf("%s … %s, median %s", p.Figure(low), p.Figure(high), p.With(mid))
	case len(r.Points) == 0:
		return "no values"
	}
	return "values of 0"
}

// limits returns the minimum, median and maximum, if all values are positive.
func limits(of []Trial) (low, mid, high float64, ok bool) {
	if len(of) == 0 {
		return 0, 0, 0, false
	}
	v := make([]float64, len(of))
	for i, t := range of {
		v[i] = t.Value
	}
	slices.Sort(v)
	return v[0], (v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[len(v)-1], v[0] > 0
}

// bins draws successive trials as one mark.
func (p *Strips) bins(s *svg, r Strip, x func(int32) float64, place func(float64) (float64, string)) {
	for group := range slices.Chunk(r.Points, p.per(r)) {
		low, mid, high, ok := limits(group)
		if !ok {
			continue
		}
		at := x(group[len(group)/2].At)
		top, _ := place(high)
		middle, class := place(mid)
		bottom, _ := place(low)
		s.line(at, top, at, bottom, "range")
		s.dot(at, middle, 1.8, class, fmt.Sprintf("blocks %d to %d: %s … %s", group[0].Block+1, group[len(group)-1].Block+1,
			p.Figure(low), p.With(high)))
	}
}

func (p *Strips) figures() *Table {
	t := &Table{Columns: Heads("", "trials", "without a value", "values")}
	for _, r := range p.Rows {
		t.Add(Text(r.Name), Text(fmt.Sprint(len(r.Points))), Text(fmt.Sprint(len(r.Lost))), Text(p.words(r)))
	}
	return t
}

// Shares is the parts of a whole, as one bar.
type Shares struct {
	Parts []Share
}

// Share is a part of a whole.
type Share struct {
	Name    string
	Percent float64
	Words   string // the percentage and its interval
}

func (p *Shares) svg(s *svg) float64 {
	const y, height = 4.0, 18.0
	x, line := 4.0, y+height+10
	for i, part := range p.Parts {
		class := fmt.Sprintf("share s%d", i)
		w := (chartWidth - 8) * part.Percent / 100
		s.rect(x, y, w, height, class)
		x += w
		s.rect(4, line, 10, 10, class)
		s.text(20, line+9, "name", part.Name+" "+part.Words)
		line += 17
	}
	return line
}

func (p *Shares) figures() *Table {
	t := &Table{Columns: Heads("", "share")}
	for _, part := range p.Parts {
		t.Add(Text(part.Name), Number(part.Words, part.Percent, "%"))
	}
	return t
}
