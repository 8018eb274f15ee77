package view

import (
	"html/template"
)

// Plot is a drawing. Its figures are those of a table nearby, or of the table that takes its place where nothing can be
// drawn.
type Plot struct {
	ID      string  `json:"id"` // of the drawing on a page
	Title   string  `json:"title"`
	Desc    string  `json:"description"`       // what it shows, for those who do not see it
	Caption string  `json:"caption,omitempty"` // below it
	Fold    string  `json:"-"`                 // as that of a section
	Drawing Drawing `json:"drawing"`
}

// Drawing is what a plot draws: *Forest, *Bars, *Curves, *Strips or *Shares.
type Drawing interface {
	// svg draws it below y = 0, and returns its height.
	svg(s *svg) float64
	// figures is a table of what it draws.
	figures() *Table
}

func (*Plot) kind() string { return "plot" }

func (p *Plot) empty() bool { return p.Drawing == nil || p.Drawing.figures().empty() }

// SVG is the drawing for a page.
func (p *Plot) SVG() template.HTML {
	var s svg
	height := p.Drawing.svg(&s)
	return s.chart(p.ID, height, p.Title, p.Desc)
}

// table is what takes the place of the drawing.
func (p *Plot) table() *Table {
	t := p.Drawing.figures()
	t.Name, t.Title, t.Detail = p.ID, p.Title, true
	if p.Caption != "" {
		t.Notes = append(t.Notes, Note{Text: p.Caption})
	}
	return t
}

// shorten cuts a name to n letters.
func shorten(name string, n int) string {
	if r := []rune(name); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return name
}
