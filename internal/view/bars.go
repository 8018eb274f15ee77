package view

import (
	"math"
	"strings"
)

// Bars is values from 0, a bar for each of several things.
type Bars struct {
	Label string // of the values
	Rows  []Bar
	Ticks []Tick               `json:"-"`
	Say   func(float64) string `json:"-"`
}

// Bar is a value, with a range around it if High is not 0.
type Bar struct {
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	Low, High float64 `json:",omitzero"`
	Class     Class   `json:"class,omitempty"`
	Words     string  `json:"words"` // the value and its range
	// Off: it may leave the drawing, since it would squeeze all others together.
	Off bool `json:"-"`
}

// end is the value at the right edge.
func (b *Bars) end() (end float64) {
	for _, all := range []bool{false, true} {
		for _, r := range b.Rows {
			if all || !r.Off {
				end = max(end, r.Value, r.High)
			}
		}
		if end > 0 {
			break
		}
	}
	return end
}

func (b *Bars) svg(s *svg) float64 {
	const left, height = 8.0, 34.0
	bottom := topRoom + 4 + height*float64(len(b.Rows))
	a := axis{low: 0, high: 1.02 * b.end(), from: left, to: chartWidth - 8}
	for _, t := range b.Ticks {
		if t.Value <= a.high {
			x := a.x(t.Value)
			s.line(x, topRoom, x, bottom, "grid")
			s.text(min(max(x, 22), chartWidth-24), 14, "tick", t.Label)
		}
	}
	y := topRoom
	for _, r := range b.Rows {
		s.text(left, y+13, "name", shorten(r.Name, 30))
		s.text(chartWidth-8, y+13, "edge", r.Words)
		s.rect(left, y+18, a.x(r.Value)-left, 12, strings.TrimSpace("value "+string(r.Class)))
		if r.High > 0 && r.Value <= a.high {
			s.line(a.x(r.Low), y+24, a.x(r.High), y+24, "spread")
		}
		if r.Value > a.high {
			s.text(chartWidth-10, y+28, "edge", "▸")
		}
		y += height
	}
	return bottom + 4
}

func (b *Bars) figures() *Table {
	t := &Table{Columns: Heads("", "bar", b.Label, "range")}
	end := b.end()
	for _, r := range b.Rows {
		n := 0
		if end > 0 {
			n = int(math.Round(textWidth * min(r.Value/end, 1)))
		}
		span := ""
		if r.High > 0 {
			span = b.Say(r.Low) + " … " + b.Say(r.High)
		}
		t.Add(Text(r.Name), Cell{Verbatim: strings.Repeat("█", n) + strings.Repeat(" ", textWidth-n)},
			Cell{Text: b.Say(r.Value), Class: r.Class, Figure: &Figure{Value: r.Value, Low: r.Low, High: r.High}}, Text(span))
	}
	return t
}
