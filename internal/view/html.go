package view

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

//go:embed view.html
var viewHTML string

var tmpl = template.Must(template.New("view").Funcs(template.FuncMap{
	"tie": Tie, "sentence": func(s string) string { return stopped(capital(s)) }, "stopped": stopped, "hint": hint,
}).Parse(viewHTML))

// Tie keeps figures and their percent signs on one line.
func Tie(words string) string { return strings.ReplaceAll(words, " %", "\u00a0%") }

// hint is what a mark means in a few words.
func hint(m Mark) string {
	text, _, _ := strings.Cut(m.Text, ":")
	return text
}

// HTML returns parts for a page, whose style page.css has. Titles of the outermost sections are headings of this level.
func HTML(level int, parts ...Part) (template.HTML, error) {
	var b bytes.Buffer
	shown := &Section{}
	shown.Add(parts...)
	for _, p := range shown.Parts {
		if err := writeHTML(&b, p, level, ""); err != nil {
			return "", err
		}
	}
	return template.HTML(b.String()), nil
}

// writeHTML writes one part of a section with this title.
func writeHTML(b *bytes.Buffer, p Part, level int, in string) error {
	switch p := p.(type) {
	case *Section:
		if p.Title != "" {
			in = p.Title
		}
		var inner bytes.Buffer
		for _, part := range p.Parts {
			if err := writeHTML(&inner, part, level+1, in); err != nil {
				return err
			}
		}
		return tmpl.ExecuteTemplate(b, "section", struct {
			*Section
			Level string
			Inner template.HTML
		}{p, strconv.Itoa(min(level, 6)), template.HTML(inner.String())})
	case *Table:
		return tmpl.ExecuteTemplate(b, "table", htmlTable{p, in, strconv.Itoa(min(level, 6))})
	}
	return tmpl.ExecuteTemplate(b, p.kind(), p)
}

// htmlTable is a table as the template needs it.
type htmlTable struct {
	*Table
	In    string // the title of its section
	Level string
}

// Label names the table for screen readers.
func (t htmlTable) Label() string {
	if t.Caption != "" {
		return t.Caption
	}
	return strings.TrimSpace(t.Name + " " + t.Title + " of " + t.In)
}

// Heading is the title or the name of the table.
func (t htmlTable) Heading() string {
	if t.Title == "" && t.Across == 0 {
		return capital(t.Name)
	}
	return t.Title
}

// key is the column that names the rows.
func (t htmlTable) key() int {
	if t.Across == 1 {
		return 1
	}
	return 0
}

// across are the values that head columns.
func (t htmlTable) across() (values []Cell) {
	for _, r := range t.Rows {
		if c := r.Cells[t.Across-1]; !slices.ContainsFunc(values, func(v Cell) bool { return v.Text == c.Text }) {
			values = append(values, c)
		}
	}
	return values
}

// Heads are the headings of the columns that are shown.
func (t htmlTable) Heads() (heads []Cell) {
	if t.Across > 0 {
		return append([]Cell{Text(t.Columns[t.key()].Head)}, t.across()...)
	}
	for k, j := range t.filled(true) {
		c := Text(t.Columns[j].Head)
		if k == 0 && c.Text == "" {
			c.Text = "system"
		}
		heads = append(heads, c)
	}
	return heads
}

// htmlCell is a cell with the look of its column, or several in one.
type htmlCell struct {
	Cell
	Look  string
	Sort  string
	Stack []Cell
}

func newCell(c Cell, words bool) htmlCell {
	cell := htmlCell{Cell: c, Look: string(c.Class)}
	if !words {
		cell.Look = strings.TrimSpace("n " + cell.Look)
	}
	if c.Figure != nil {
		cell.Sort = fmt.Sprintf("%.6g", c.Figure.Value)
	}
	return cell
}

type htmlLine struct {
	Class Class
	Cells []htmlCell
}

// Lines are the rows with the cells that are shown.
func (t htmlTable) Lines() (lines []htmlLine) {
	if t.Across > 0 {
		return t.turned()
	}
	columns := t.filled(true)
	for _, r := range t.Rows {
		line := htmlLine{Class: r.Class}
		for _, j := range columns {
			line.Cells = append(line.Cells, newCell(r.Cells[j], t.Columns[j].Words))
		}
		lines = append(lines, line)
	}
	return lines
}

// turned are the rows of a table whose column Across heads columns. The other cells of a row, and of those that say
// more about it, are in one cell.
func (t htmlTable) turned() (lines []htmlLine) {
	values := t.across()
	place := map[string]int{}
	into := &htmlCell{}
	for _, r := range t.Rows {
		var rest []Cell
		for j, c := range r.Cells {
			if j > 1 && c.Line() != "" {
				rest = append(rest, c)
			}
		}
		if r.Also {
			text := r.Cells[t.key()].Text
			for _, c := range rest {
				text += " " + c.Line()
			}
			into.Stack = append(into.Stack, Text(text))
			continue
		}
		name := r.Cells[t.key()]
		i, ok := place[name.Text]
		if !ok {
			i = len(lines)
			place[name.Text] = i
			line := htmlLine{Cells: []htmlCell{{Cell: name}}}
			for range values {
				line.Cells = append(line.Cells, htmlCell{Cell: Text("not run"), Look: string(Open)})
			}
			lines = append(lines, line)
		}
		column := slices.IndexFunc(values, func(v Cell) bool { return v.Text == r.Cells[t.Across-1].Text })
		into = &lines[i].Cells[column+1]
		*into = newCell(r.Cells[2], true)
		into.Stack = rest
	}
	return lines
}

// Explained are the marks without a sign, which explain words of the table.
func (t htmlTable) Explained() (texts []string) {
	for _, m := range t.marks() {
		if m.Sign == "" {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// A page has so many findings of one cause, and the first of them are not folded.
const (
	mostFound  = 60
	firstFound = 3
)

// First are the findings that a page does not fold.
func (a Alert) First() []Note { return a.Found[:min(len(a.Found), firstFound)] }

// Rest are those that it folds.
func (a Alert) Rest() []Note { return a.Found[len(a.First()):min(len(a.Found), mostFound)] }

// Omitted is how many it does not have.
func (a Alert) Omitted() int { return max(0, len(a.Found)-mostFound) }
