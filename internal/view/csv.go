package view

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// CSV writes the tables and notes of parts, a line for each cell: where it is, its text, and the figure behind it with
// all of its digits.
func CSV(w io.Writer, parts ...Part) error {
	out := csv.NewWriter(w)
	out.Write([]string{"section", "table", "row", "name", "column", "text", "value", "low", "high", "unit", "class"})
	cells := &cells{out}
	for _, p := range parts {
		cells.part(p, "")
	}
	out.Flush()
	return out.Error() // of any line
}

type cells struct{ *csv.Writer }

// line writes a cell of a table, or something else with a place.
func (w *cells) line(section, table string, row int, name, column string, c Cell) {
	line := []string{section, table, "", name, column, c.Line(), "", "", "", "", string(c.Class)}
	if row >= 0 {
		line[2] = strconv.Itoa(row + 1)
	}
	if f := c.Figure; f != nil {
		digits := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		line[6] = digits(f.Value)
		if f.Low != 0 || f.High != 0 {
			line[7], line[8] = digits(f.Low), digits(f.High)
		}
		line[9] = f.Unit
	}
	for i, text := range line {
		if _, err := strconv.ParseFloat(text, 64); err != nil { // a number is no formula
			line[i] = CSVCell(text)
		}
	}
	w.Write(line)
}

func (w *cells) part(p Part, in string) {
	switch p := p.(type) {
	case *Section:
		name := strings.Trim(in+" / "+p.Title, " /")
		for _, part := range p.Parts {
			w.part(part, name)
		}
	case *Table:
		if p.Repeats {
			return
		}
		name := strings.TrimSpace(p.Name + " " + p.Title)
		columns := p.filled(true)
		for i, r := range p.Rows {
			for _, j := range columns {
				w.line(in, name, i, r.Cells[0].Text, p.Columns[j].Head, r.Cells[j])
			}
		}
		for _, n := range p.Notes {
			w.line(in, name, -1, n.About, "note", Text(n.Text))
		}
	case Note:
		w.line(in, "", -1, p.About, "note", Text(p.Text))
	case Warning:
		w.line(in, "", -1, "", "warning", Text(p.Text))
	case *List:
		for i, item := range p.Items {
			w.line(in, p.Lead, i, item.Name, "answer", Cell{Text: strings.Join(item.Sentences, ". "), Class: item.Class})
		}
	case *Plot:
		w.part(p.table(), in)
	case *Alerts:
		for _, c := range p.Causes {
			for i, n := range c.Found {
				w.line(in, c.ID, i, n.About, "finding", Text(n.Text))
			}
		}
	case Para:
		w.line(in, "", -1, "", "text", Text(p.Text))
	case *Bullets:
		for i, text := range p.Items {
			w.line(in, p.Lead, i, "", "line", Text(text))
		}
	case *Facts:
		for i, f := range p.Items {
			w.line(in, "", i, f[0], "fact", Text(f[1]))
		}
	}
}
