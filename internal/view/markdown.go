package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown writes parts as Markdown; the titles of the outermost sections are headings of this level.
func Markdown(w io.Writer, level int, parts ...Part) error {
	m := &markdown{}
	for _, p := range parts {
		m.part(p, level)
	}
	m.explain(m.marks)
	_, err := io.WriteString(w, strings.TrimLeft(m.String(), "\n"))
	return err
}

type markdown struct {
	strings.Builder
	marks []Mark
}

// para writes a paragraph after an empty line.
func (m *markdown) para(text string) {
	if text != "" {
		m.WriteString("\n" + text + "\n")
	}
}

func (m *markdown) heading(level int, title string) {
	if title != "" {
		m.para(strings.Repeat("#", min(level, 6)) + " " + escape(title))
	}
}

// folded writes what show writes, below a summary that opens it if there is one.
func (m *markdown) folded(summary string, show func()) {
	if summary == "" {
		show()
		return
	}
	m.para("<details><summary>" + escape(summary) + "</summary>")
	show()
	m.para("</details>")
}

func (m *markdown) part(p Part, level int) {
	switch p := p.(type) {
	case *Section:
		m.folded(p.Fold, func() {
			m.heading(level, p.Title)
			m.para(escape(p.About))
			for _, part := range p.Parts {
				m.part(part, level+1)
			}
		})
	case *Table:
		m.folded(p.Fold, func() { m.split(p, level) })
	case Note:
		m.note(p)
	case Warning:
		m.para("**" + escape(stopped(p.Text)) + "**")
	case *List:
		m.para(escape(p.Lead))
		m.WriteString("\n")
		for _, item := range p.Items {
			name := Cell{Text: item.Name, Marks: item.Marks}.Line()
			m.marks = addMarks(m.marks, item.Marks)
			if name != "" {
				name = "**" + escape(name) + "**: "
			}
			m.WriteString("- " + name + escape(strings.Join(item.Sentences, ". ")) + "\n")
		}
	case *Plot:
		if c, ok := p.Drawing.(*Curves); ok && c.Short {
			short := c.short()
			short.Name = p.Title
			m.table(short, level)
		}
		m.folded(p.Title, func() {
			table := p.table()
			table.Title, table.Name = "", "" // the summary says it
			m.table(table, level)
		})
	case *Alerts:
		for _, c := range p.Causes {
			m.para("**" + c.Label + "** " + escape(c.Headline))
			m.WriteString("\n")
			for _, n := range c.Found {
				m.WriteString("- " + escape(n.line()) + "\n")
			}
			m.para(escape(stopped(c.Remedy)))
		}
	case Para:
		m.para(escape(p.Text))
	case *Bullets:
		m.para(escape(p.Lead))
		m.WriteString("\n")
		for _, text := range p.Items {
			m.WriteString("- " + escape(text) + "\n")
		}
	case *Facts:
		m.WriteString("\n")
		for _, f := range p.Items {
			m.WriteString("- " + escape(f[0]) + ": " + escape(f[1]) + "\n")
		}
	}
}

func (m *markdown) note(n Note) {
	if n.About != "" {
		m.para(escape(n.About) + ": " + escape(stopped(n.Text)))
		return
	}
	m.para(escape(stopped(capital(n.Text))))
}

func (m *markdown) explain(marks []Mark) {
	for _, k := range marks {
		m.para(escape(strings.TrimLeft(k.Sign+" "+k.Text, " ")))
	}
}

// split writes a table, and folds the rest of its rows if it has others, too.
func (m *markdown) split(t *Table, level int) {
	first, rest := *t, *t
	rest.Title, rest.Legend, rest.Notes = "", "", nil
	first.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return r.Rest })
	rest.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return !r.Rest })
	if first.empty() || rest.empty() {
		m.table(t, level)
		return
	}
	m.table(&first, level)
	m.folded("The rest", func() { m.table(&rest, level) })
}

func (m *markdown) table(t *Table, level int) {
	m.heading(level, t.Title)
	columns := t.filled(true)
	m.WriteString("\n")
	rule := "|"
	for k, j := range columns {
		head := t.Columns[j].Head
		if k == 0 && head == "" {
			head = t.Name
		}
		m.WriteString("| " + escape(head) + " ")
		rule += "---"
		if t.Columns[j].Right {
			rule += ":"
		}
		rule += "|"
	}
	m.WriteString("|\n" + rule + "\n")
	m.marks = addMarks(m.marks, t.marks())
	for _, r := range t.Rows {
		for _, j := range columns {
			c := r.Cells[j]
			text := escape(c.Line())
			if c.Verbatim != "" {
				text = "`" + c.Verbatim + "`"
			}
			if r.Class == Failed && c.Class == Failed && text != "" { // what is wrong stands out
				text = "**" + text + "**"
			}
			for _, more := range c.More {
				text += "<br>" + escape(more)
			}
			m.WriteString("| " + text + " ")
		}
		m.WriteString("|\n")
	}
	for _, n := range t.Notes {
		m.note(n)
	}
	if t.Legend != "" {
		m.note(Note{Text: t.Legend})
	}
}

// escape makes text harmless in Markdown.
func escape(s string) string {
	var b strings.Builder
	for _, r := range Clean(s) {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '&':
			b.WriteString("&amp;")
		case '|', '\\', '`', '*', '_', '[', ']', '#', '@', '!', '~':
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
