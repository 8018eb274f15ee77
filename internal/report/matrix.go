package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// Matrix is the isolation matrix in words: a row for each system, a cell for each scenario with neighbours.
type Matrix struct {
	Scenarios []MatrixScenario
	Rows      []MatrixRow
	Notes     []string // workloads without an interval, idle neighbours
}

// MatrixScenario heads a column.
type MatrixScenario struct{ Name, Neighbours string }

// MatrixRow is a system's.
type MatrixRow struct {
	Arm      string // without a scenario
	Emulated bool
	Cells    []MatrixCell // one for each scenario; Known is false where the system was not in it
}

// MatrixCell is a system beside neighbours.
type MatrixCell struct {
	Known      bool
	Unfinished bool
	Verdict    analyze.Verdict // of the excess; NotResolved, too, where there is none
	Ratio      float64         // 0: not known
	Excess     MatrixFigure    // by the primary metric
	P99        MatrixFigure    // by single latencies
}

// MatrixFigure is an excess on the workload that suffers most, in brackets if it is not resolved. Words say what the
// verdict is.
type MatrixFigure struct {
	Text, Interval, Workload, Words string
	OfThese                         bool
}

// MatrixLegend explains the figures.
const MatrixLegend = "the slowdown beside the neighbour over native's, on the workload that suffers most; 1× is as " +
	"good as native; in brackets if not resolved; intervals hold for all workloads at once (Bonferroni)"

// MatrixOf puts the isolation matrix into words; nil: the run has no neighbours.
func MatrixOf(res *analyze.Result) *Matrix {
	if len(res.IsolationMatrix) == 0 {
		return nil
	}
	m := &Matrix{}
	for _, c := range res.IsolationMatrix {
		column := MatrixScenario{Clean(c.Scenario), Clean(strings.Join(c.Neighbours, ", "))}
		if !slices.Contains(m.Scenarios, column) {
			m.Scenarios = append(m.Scenarios, column)
		}
	}
	for _, c := range res.IsolationMatrix {
		name := Clean(c.Of)
		row := slices.IndexFunc(m.Rows, func(r MatrixRow) bool { return r.Arm == name })
		if row < 0 {
			row = len(m.Rows)
			m.Rows = append(m.Rows, MatrixRow{Arm: name, Cells: make([]MatrixCell, len(m.Scenarios))})
		}
		m.Rows[row].Emulated = m.Rows[row].Emulated || c.Emulated
		column := slices.IndexFunc(m.Scenarios, func(s MatrixScenario) bool { return s.Name == Clean(c.Scenario) })
		m.Rows[row].Cells[column] = matrixCell(c)
		m.Notes = append(m.Notes, matrixNotes(c)...)
	}
	return m
}

func matrixCell(c analyze.IsolationCell) MatrixCell {
	cell := MatrixCell{Known: true, Unfinished: c.Unfinished != nil && !c.Emulated, Verdict: analyze.NotResolved,
		Excess: MatrixFigure{Text: "not known", Words: "no interval"}}
	if e := c.Excess; e != nil {
		cell.Verdict, cell.Ratio, cell.Excess = e.Verdict, e.Ratio, matrixFigure(e)
	}
	if e := c.P99; e != nil {
		cell.P99 = matrixFigure(e)
	}
	if c.Unfinished != nil {
		cell.Excess.Text, cell.Excess.Interval, cell.Excess.Words = "did not finish", "", "worst of all"
		cell.Excess.Workload = Clean(strings.Join(c.Unfinished, ", "))
	}
	switch {
	case c.Emulated:
		cell.Excess.Words, cell.P99.Words = "emulated", "emulated"
	case c.Idle != nil:
		cell.Excess.Words, cell.P99.Words = "idle neighbour", "idle neighbour"
	}
	return cell
}

// beyondNative words the verdict on an excess.
func beyondNative(v analyze.Verdict) string {
	switch v {
	case analyze.Costs:
		return "worse than native"
	case analyze.Gains:
		return "better than native"
	}
	return "not resolved"
}

func matrixFigure(e *analyze.Excess) MatrixFigure {
	return MatrixFigure{claimedTimes(e.Ratio, e.Verdict), span(e.Ends()), Clean(e.Workload), beyondNative(e.Verdict),
		e.Scope == analyze.ScopeTheseGuests}
}

// matrixNotes says what a cell lacks.
func matrixNotes(c analyze.IsolationCell) (notes []string) {
	if c.Idle != nil {
		notes = append(notes, fmt.Sprintf("%s: a neighbour of it or of native did not work on %s: nothing is claimed",
			c.Arm, And(c.Idle)))
	}
	if c.Unfinished != nil {
		notes = append(notes, fmt.Sprintf("%s: no trial of %s finished", c.Arm, And(c.Unfinished)))
	}
	missing := slices.DeleteFunc(slices.Clone(c.Missing), func(w string) bool { return slices.Contains(c.Unfinished, w) })
	if len(missing) > 0 {
		notes = append(notes, fmt.Sprintf("%s: no interval on %s, which may suffer more", c.Arm, And(missing)))
	}
	if len(c.MissingP99) > 0 {
		notes = append(notes, fmt.Sprintf("%s: no interval by p99 on %s: too few single latencies or guests", c.Arm,
			And(c.MissingP99)))
	}
	if c.Lost > 0 && c.Unfinished == nil {
		notes = append(notes, fmt.Sprintf("%s: %d of %d results are missing because guests did not finish", c.Arm, c.Lost,
			c.Trials))
	}
	return notes
}

// matrix writes the isolation matrix, a line for each cell and one for its p99: a terminal is too narrow for more.
func (t *table) matrix() {
	m := MatrixOf(t.res)
	if m == nil {
		return
	}
	rows := [][]string{{"neighbour", "system", "excess", "interval", "on", "result"}}
	add := func(name, arm string, f MatrixFigure) {
		t.ofThese = t.ofThese || f.OfThese
		rows = append(rows, []string{name, arm, f.Text + when(f.OfThese, " °"), f.Interval, f.Workload, f.Words})
	}
	for i, s := range m.Scenarios {
		name := s.Name + when(s.Neighbours != s.Name, ": "+s.Neighbours)
		for _, r := range m.Rows {
			c := r.Cells[i]
			if !c.Known {
				continue
			}
			t.emulated = t.emulated || r.Emulated
			add(name, starred(r.Arm, r.Emulated), c.Excess)
			if c.P99.Text != "" {
				add("", "  by p99", c.P99)
			}
			name = ""
		}
	}
	t.line("")
	t.wrapped(nil, "How much more neighbours slow each down than native, on the workload that suffers most:", 0)
	t.grid(rows)
	for _, n := range m.Notes {
		t.note(n)
	}
	t.note("excess: " + MatrixLegend)
}
