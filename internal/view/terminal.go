package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// defaultWidth is that of a terminal whose width is not known, and narrowest the least that is believed.
const (
	defaultWidth = 100
	narrowest    = 40
)

// Options are how a terminal shows sections.
type Options struct {
	Width  int    // in columns; 0: 100
	Colour bool   // the caller takes care of NO_COLOR and of terminals
	All    bool   // details, too
	More   string // the command that shows all
	Wide   bool   // tables may be wider
	Plots  bool   // plots, too
}

// Terminal writes parts for a terminal.
func Terminal(w io.Writer, o Options, parts ...Part) error {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, narrowest)
	t := &terminal{Options: o}
	for _, p := range parts {
		t.part(p, &Section{})
	}
	t.legend()
	_, err := io.WriteString(w, t.String())
	return err
}

// terminal is text that is being written.
type terminal struct {
	strings.Builder
	Options
	marks   []Mark   // that have been used
	legends []string // that have been written
	left    []string // columns that did not fit
	last    string   // the kind of the part before
}

// part writes a part of a section.
func (t *terminal) part(p Part, in *Section) {
	switch p := p.(type) {
	case *Section:
		t.section(p, in)
	case *Table:
		t.table(p, in)
	case Note:
		t.note(p)
	case Warning:
		t.hanging(t.red(pad(p.Label, fieldWidth+2)), fieldWidth+2, p.Text)
	case *List:
		t.list(p)
	case Para:
		t.gap()
		for _, l := range wrap(Clean(p.Text), t.Width) {
			t.line(l)
		}
	case *Bullets:
		t.gap()
		if p.Lead != "" {
			t.wrapped(nil, p.Lead, 0)
		}
		for _, text := range p.Items {
			t.wrapped(nil, "- "+text, 0)
		}
	case *Facts:
		if t.last == "list" {
			t.gap()
		}
		for _, f := range p.Items {
			t.hanging(t.dim(pad(f[0], fieldWidth)), fieldWidth, f[1])
		}
	case *Plot:
		if t.Plots {
			t.table(p.table(), &Section{})
		} else if c, ok := p.Drawing.(*Curves); ok && c.Short {
			short := c.short()
			short.Title = p.Title
			t.table(short, &Section{})
		}
	case *Alerts:
		t.legend()
		t.alerts(p)
	}
	t.last = p.kind()
}

// gap is an empty line, but not the first one.
func (t *terminal) gap() {
	if t.Len() > 0 {
		t.line("")
	}
}

const fieldWidth = 10 // of the names of facts

func (t *terminal) section(s, in *Section) {
	if s.Detail && !t.All {
		return
	}
	if s.Lead != "" {
		t.gap()
		t.wrapped(t.bold, s.Lead, 0)
	}
	within := *s
	if !s.Prefix {
		within.Title, within.Aside = in.Title, in.Aside
	}
	for _, p := range s.Parts {
		t.part(p, &within)
	}
}

func (t *terminal) note(n Note) {
	if n.Detail && !t.All {
		return
	}
	t.wrapped(nil, n.line(), 2)
}

// list writes names and what is said about each.
func (t *terminal) list(l *List) {
	names := make([]string, len(l.Items))
	widest := 0
	for i, item := range l.Items {
		names[i] = Cell{Text: item.Name, Marks: item.Marks}.Line()
		widest = max(widest, Width(names[i]))
		t.marks = addMarks(t.marks, item.Marks)
	}
	t.gap()
	if l.Lead != "" {
		t.wrapped(nil, l.Lead, 0)
	}
	for i, item := range l.Items {
		said := slices.Clone(item.Sentences)
		for j := range said {
			if j > 0 {
				said[j] = capital(said[j])
			}
		}
		t.hanging("  "+t.bold(pad(names[i], widest))+"  ", widest+4, strings.Join(said, ". "))
	}
}

// table writes a table below its title.
func (t *terminal) table(tb *Table, in *Section) {
	if tb.Repeats || tb.Detail && !t.All {
		return
	}
	rows := tb.Rows
	if !t.All {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Detail })
	}
	if len(rows) == 0 {
		return
	}
	t.gap()
	heading := tb.Title
	if heading != "" && in.Title != "" {
		heading = in.Title + ": " + heading
	}
	if heading != "" {
		if in.Aside != "" {
			heading += "; " + in.Aside
		}
		t.wrapped(t.bold, heading, 0)
	}
	t.grid(tb, rows, tb.filled(t.All))
	for _, r := range rows {
		for _, c := range r.Cells {
			t.marks = addMarks(t.marks, c.Marks)
			for _, more := range c.More {
				sign := ""
				if len(c.Marks) > 0 && c.Marks[0].Sign != "" {
					sign = c.Marks[0].Sign + " "
				}
				t.note(Note{About: sign + r.Cells[0].Text, Text: more})
			}
		}
	}
	for _, n := range tb.Notes {
		t.note(n)
	}
	if tb.Legend != "" && !slices.Contains(t.legends, tb.Legend) {
		t.legends = append(t.legends, tb.Legend)
		t.note(Note{Text: tb.Legend})
	}
}

// grid writes the aligned columns of rows that fit. The others are named at the end or, with All, follow as a grid of
// their own.
func (t *terminal) grid(tb *Table, rows []Row, columns []int) {
	texts := func(j int) []string {
		list := []string{tb.Columns[j].Head}
		if j == 0 && list[0] == "" && tb.Title == "" {
			list[0] = tb.Name
		}
		for i, r := range rows {
			text := r.Cells[j].Line()
			unnamed := r.Cells[0].Text == "" || tb.Once && i > 0 && rows[i-1].Cells[0].Text == r.Cells[0].Text
			if j == 0 && unnamed {
				text = ""
			}
			if r.Also && (j == 0 && !unnamed || j == 1 && unnamed) {
				text = "  " + text
			}
			list = append(list, text)
		}
		return list
	}
	widths := map[int]int{}
	total := 0
	for _, j := range columns {
		for _, text := range texts(j) {
			widths[j] = max(widths[j], Width(text))
		}
		total += widths[j] + 2
	}
	shown := slices.Clone(columns)
	var left []int
	for total > t.Width && len(shown) > 2 && !t.Wide {
		out := len(shown) - 1
		for k, j := range shown {
			if drop := tb.Columns[j].Drop; drop > 0 && (tb.Columns[shown[out]].Drop == 0 || drop < tb.Columns[shown[out]].Drop) {
				out = k
			}
		}
		left = append(left, shown[out])
		total -= widths[shown[out]] + 2
		shown = slices.Delete(shown, out, out+1)
	}
	lines := make([]string, len(rows)+1)
	for _, j := range shown {
		for i, text := range texts(j) {
			n := widths[j]
			if tb.Columns[j].Right {
				n = -n
			}
			text = pad(text, n)
			if i > 0 {
				text = t.style(rows[i-1].Cells[j].Class)(text)
			}
			lines[i] += "  " + text
		}
	}
	t.line(t.dim(strings.TrimRight(lines[0], " ")))
	for _, line := range lines[1:] {
		t.line(line)
	}
	slices.Sort(left)
	switch {
	case left == nil:
	case t.All:
		t.grid(tb, rows, append([]int{0}, left...))
	default:
		for _, j := range left {
			if head := tb.Columns[j].Head; !slices.Contains(t.left, head) {
				t.left = append(t.left, head)
			}
		}
	}
}

// mostAlerts is how many causes are shown without All: no more than fit on a screen with a table.
const mostAlerts = 8

// alerts writes a line for each cause or, with All, every finding and what to do about it.
func (t *terminal) alerts(a *Alerts) {
	shown, left := 0, 0
	for _, c := range a.Causes {
		style := t.alertStyle(c)
		switch {
		case t.All:
			t.gap()
			t.hanging(style(c.Label)+"  ", Width(c.Label)+2, c.Headline)
			for _, n := range c.Found {
				t.hanging("  - ", 4, n.line())
			}
			if c.Remedy != "" {
				t.hanging("  > ", 4, c.Remedy+" (tare explain "+c.ID+")")
			}
		case c.Short == "" || shown == mostAlerts:
			left += c.Count
		default:
			if shown++; shown == 1 {
				t.gap()
			}
			left += c.Folded
			t.line(style(pad(c.Label, 7)) + "  " + cut(Clean(c.Short), t.Width-9))
		}
	}
	if t.All {
		return
	}
	text := "Details and remedies: " + a.More
	switch {
	case left == 1:
		text = "1 more finding is not shown. " + text
	case left > 1:
		text = fmt.Sprintf("%d more findings are not shown. %s", left, text)
	}
	t.hanging("", 0, text)
}

func (t *terminal) alertStyle(c Alert) func(string) string {
	switch c.Label {
	case "FAILED", "SERIOUS":
		return t.red
	case "WARNING":
		return t.yellow
	}
	return t.dim
}

// legend explains the marks that were used, and names the columns that did not fit.
func (t *terminal) legend() {
	slices.SortStableFunc(t.marks, func(a, b Mark) int { return rank(a) - rank(b) })
	var lines []string
	for _, m := range t.marks {
		lines = append(lines, strings.TrimLeft(m.Sign+" "+m.Text, " "))
	}
	if t.left != nil {
		text := "not shown for lack of width: " + strings.Join(t.left, ", ")
		if t.More != "" {
			text += " (" + t.More + " shows all columns)"
		}
		lines = append(lines, text)
	}
	for i, line := range lines {
		if i == 0 {
			t.gap()
		}
		t.wrapped(nil, line, 0)
	}
	t.marks, t.left = nil, nil
}

// rank is the place of a mark in a legend.
func rank(m Mark) int {
	if at := strings.Index("*°~!", m.Sign); m.Sign != "" && at >= 0 {
		return at
	}
	return len("*°~!")
}

func (t *terminal) line(s string) { t.WriteString(strings.TrimRight(s, " ") + "\n") }

// hanging writes text that begins after lead, indented by n columns.
func (t *terminal) hanging(lead string, n int, text string) {
	for _, l := range wrap(Clean(text), t.Width-n) {
		t.line(lead + l)
		lead = strings.Repeat(" ", n)
	}
}

// wrapped writes text indented by n columns, and by two more from the second line on.
func (t *terminal) wrapped(style func(string) string, text string, n int) {
	for i, l := range wrap(Clean(text), t.Width-n-2) {
		if style != nil {
			l = style(l)
		}
		if i > 0 {
			l = "  " + l
		}
		t.line(strings.Repeat(" ", n) + l)
	}
}

// style is how a class is coloured. The colours are those of the terminal's own scheme.
func (t *terminal) style(c Class) func(string) string {
	switch c {
	case Costs, Much, Failed:
		return t.red
	case Gains, None:
		return t.green
	case Open:
		return t.yellow
	}
	return func(s string) string { return s }
}

func (t *terminal) paint(code, s string) string {
	if !t.Colour || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *terminal) bold(s string) string   { return t.paint("1", s) }
func (t *terminal) dim(s string) string    { return t.paint("2", s) }
func (t *terminal) red(s string) string    { return t.paint("31", s) }
func (t *terminal) green(s string) string  { return t.paint("32", s) }
func (t *terminal) yellow(s string) string { return t.paint("33", s) }

// Columns aligns rows of cells for a terminal, the first of which has the headings.
func Columns(rows [][]string) string {
	tb := &Table{Name: rows[0][0], Columns: Heads(rows[0]...)}
	for _, r := range rows[1:] {
		tb.Add(Texts(r...)...)
	}
	t := &terminal{Options: Options{Width: 1 << 20}}
	all := make([]int, len(tb.Columns))
	for j := range all {
		all[j] = j
	}
	t.grid(tb, tb.Rows, all)
	return t.String()
}
