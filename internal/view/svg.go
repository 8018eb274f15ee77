package view

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// svg is a drawing of a fixed width; text in it is escaped in one place.
type svg struct{ strings.Builder }

// chartWidth is the width of every chart in its own units: on a phone, 343 points
// wide, letters of size 12 are still 9.4 high.
const chartWidth = 440

// text writes words; class says how they look.
func (s *svg) text(x, y float64, class, words string) {
	fmt.Fprintf(s, `<text x="%s" y="%s" class="%s">%s</text>`, num(x), num(y), class, html.EscapeString(words))
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(s, `<path d="M%s %sL%s %s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (s *svg) rect(x, y, w, h float64, class string) {
	fmt.Fprintf(s, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`, num(x), num(y), num(max(w, 0)), num(h),
		class)
}

// dot is a circle. Its title shows when the pointer rests on it.
func (s *svg) dot(x, y, r float64, class, title string) {
	fmt.Fprintf(s, `<circle cx="%s" cy="%s" r="%s" class="%s"><title>%s</title></circle>`, num(x), num(y), num(r), class,
		html.EscapeString(title))
}

// path is a line through points. Its title shows when the pointer rests on it.
func (s *svg) path(points [][2]float64, class, title string) {
	s.WriteString(`<path d="M`)
	for i, p := range points {
		if i > 0 {
			s.WriteByte('L')
		}
		s.WriteString(num(p[0]) + " " + num(p[1]))
	}
	fmt.Fprintf(s, `" class="%s"><title>%s</title></path>`, class, html.EscapeString(title))
}

// mark is a small shape around x, y, given as a path relative to it.
func (s *svg) mark(x, y float64, path, class, title string) {
	fmt.Fprintf(s, `<path d="M%s %s%s" class="%s"><title>%s</title></path>`, num(x), num(y), path, class,
		html.EscapeString(title))
}

// chart closes the drawing. Title and description are for screen readers.
func (s *svg) chart(id string, height float64, title, desc string) template.HTML {
	return template.HTML(fmt.Sprintf(
		`<svg viewBox="0 0 %[1]d %[2]s" role="img" aria-labelledby="%[3]s-t" aria-describedby="%[3]s-d"><title id="%[3]s-t">%[4]s</title><desc id="%[3]s-d">%[5]s</desc>%[6]s</svg>`,
		chartWidth, num(height), id, html.EscapeString(title), html.EscapeString(desc), s.String()))
}

// num formats a coordinate with one digit after the point.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// axis maps ratios, on a logarithmic scale, to a stretch of the drawing.
type axis struct{ low, high, from, to float64 } // low and high are ln

// axisOf has the known ones of these ratios on it, 2 % to each side of 1, and some room.
func axisOf(from float64, ratios []float64) axis {
	a := axis{low: math.Log1p(-0.02), high: math.Log1p(0.02), from: from, to: chartWidth - 8}
	for _, r := range ratios {
		if r > 0 {
			a.low, a.high = min(a.low, math.Log(r)), max(a.high, math.Log(r))
		}
	}
	room := 0.05 * (a.high - a.low)
	a.low, a.high = a.low-room, a.high+room
	return a
}

func (a axis) x(ln float64) float64 {
	ln = min(max(ln, a.low), a.high)
	return a.from + (a.to-a.from)*(ln-a.low)/(a.high-a.low)
}

// tick is a place on an axis of ratios.
type tick struct {
	ln    float64
	label string
}

// ticks chooses a few round overheads between low and high.
func (a axis) ticks() []tick {
	span := a.high - a.low
	if span > 2.5 { // far apart: powers of a ratio
		base := 2.0
		for span/math.Log(base) > 6 {
			base *= []float64{2.5, 2, 2}[int(math.Round(math.Log10(base)*3))%3]
		}
		var out []tick
		for i := math.Ceil(a.low / math.Log(base)); i*math.Log(base) <= a.high && len(out) < 12; i++ {
			r := math.Pow(base, i)
			out = append(out, tick{i * math.Log(base), strconv.FormatFloat(r, 'g', 3, 64) + "×"})
		}
		return out
	}
	lo, hi := 100*math.Expm1(a.low), 100*math.Expm1(a.high)
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, f := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(f*step) <= 7 {
			step *= f
			break
		}
	}
	var out []tick
	for v := math.Ceil(lo/step) * step; v <= hi && len(out) < 12; v += step {
		p := math.Round(v/step)*step + 0 // no negative zero
		if p <= -99.9 {
			continue
		}
		label := fmt.Sprintf("%+.4g %%", p)
		if p == 0 {
			label = "0 %"
		}
		out = append(out, tick{math.Log1p(p / 100), label})
	}
	return out
}

// ground draws an axis of ratios and the band of ± delta.
func (s *svg) ground(a axis, delta, top, bottom float64) {
	band := math.Log1p(delta)
	s.rect(a.x(-band), top, a.x(band)-a.x(-band), bottom-top, "band")
	lastEnd := -100.0
	for _, t := range a.ticks() {
		x, class := a.x(t.ln), "grid"
		if math.Abs(t.ln) < 1e-9 {
			class = "zero"
		}
		s.line(x, top, x, bottom, class)
		if x-lastEnd > 46 {
			s.text(min(max(x, 22), chartWidth-24), 14, "tick", t.label)
			lastEnd = x
		}
	}
}
