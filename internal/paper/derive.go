package paper

import "fmt"

// derive turns a figure of a derived column into a result that refers to two others.
func (w *importer) derive(c cell, s Sheet, row int, d *Derived) {
	if c.text == "" {
		return
	}
	read := w.derivedCell(c.text)
	if read.figure == nil {
		w.note(c, "is left out: it has no number that compares %s with %s", d.Of, d.To)
		return
	}
	m, ok := w.compared(s, row, d)
	if !ok {
		w.note(c, "is left out: %s or %s has no figure in this line, or the cell says something else than the column",
			d.Of, d.To)
		return
	}
	of, to := w.figures[s.where(row, m.of)], w.figures[s.where(row, m.to)]
	key, unit, parse, times := "printed_delta_pct", "%", parseFigure, ""
	switch m.kind {
	case derivedRatio:
		key, unit, parse = "printed_ratio", "1", parseRatio
	case derivedShare:
		key, parse, times = "printed_ratio", parseRatio, "  times: 100\n"
	case derivedDistance:
		key, unit = "printed_difference", of.unit
	}
	if _, ok := parse(m.figure.Text); !ok { // such as a negative ratio
		w.note(c, "is left out: %.30q is not a figure of such a column", m.figure.Text)
		return
	}
	w.results = append(w.results, result{
		text: fmt.Sprintf("- table: %s\n  workload: %s\n  scenario: solo\n  system: %s\n  statistic: %s\n  value: null\n"+
			"  unit: %s\n  better: '-'\n  printed: %s\n  %s: %s\n  of: %s\n  to: %s\n%s", text(c.table), text(of.workload),
			text(of.system), text(d.Heading), text(unit), text(c.text), key, text(m.figure.Text), of.operand(), to.operand(),
			times),
		cell: c, of: []imported{of, to},
	})
}

// imported are the words by which a result refers to another one.
type imported struct{ table, workload, system, unit string }

// operand selects the figure of a system in the line that contains the operand.
func (i imported) operand() string {
	return fmt.Sprintf("{system: %s, statistic: single, unit: %s}", text(i.system), text(i.unit))
}
