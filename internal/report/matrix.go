package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// matrixLegend explains the figures.
const matrixLegend = "excess: the slowdown beside the neighbour over native's, on the workload that suffers most; " +
	"1× is as good as native; in brackets if not resolved; intervals hold for all workloads at once (Bonferroni)"

// MatrixTable is the isolation matrix: a row for each scenario with neighbours and each system, and one for its p99. On
// a page, the scenarios are columns.
func MatrixTable(res *analyze.Result) *view.Table {
	t := &view.Table{
		Name:    "isolation matrix",
		Title:   "How much more neighbours slow each down than native, on the workload that suffers most",
		Caption: "Excess slowdown by system and neighbour",
		Legend:  matrixLegend,
		Once:    true,
		Across:  1,
		Columns: view.Heads("neighbour", "system", "excess", "interval", "on", "result"),
	}
	var scenarios []string
	for _, c := range res.IsolationMatrix {
		if !slices.Contains(scenarios, c.Scenario) {
			scenarios = append(scenarios, c.Scenario)
		}
	}
	for _, scenario := range scenarios {
		for _, c := range res.IsolationMatrix {
			if c.Scenario == scenario {
				t.Rows = append(t.Rows, matrixRows(c)...)
			}
		}
	}
	for _, c := range res.IsolationMatrix {
		t.Notes = append(t.Notes, matrixNotes(c)...)
	}
	return t
}

// matrixRows are what is known of a system beside neighbours: by the primary metric and, if there is an interval, by
// single latencies.
func matrixRows(c analyze.IsolationCell) []view.Row {
	neighbours := strings.Join(c.Neighbours, ", ")
	name := view.Text(c.Scenario + when(neighbours != c.Scenario, ": "+neighbours))
	row := func(arm view.Cell, e *analyze.Excess) view.Row {
		cells := []view.Cell{name, arm, {Text: "not known", Class: view.Open}, {}, {}, view.Text("no interval")}
		if e != nil {
			cells[2] = view.Cell{Text: claimedTimes(e.Ratio, e.Verdict), Class: heat(e),
				Figure: view.Ratio(e.Ratio, e.Interval)}
			if e.Scope == analyze.ScopeTheseGuests {
				cells[2].Marks = []view.Mark{markThese}
			}
			cells[3], cells[4], cells[5] = view.Text(span(e.Ends())), view.Text(e.Workload), view.Text(beyondNative(e.Verdict))
		}
		return view.Row{Cells: cells}
	}
	rows := []view.Row{row(armCell(c.Of, c.Emulated), c.Excess)}
	first := rows[0].Cells
	if c.Unfinished != nil {
		first[2] = view.Cell{Text: "did not finish", Class: view.Much}
		first[3], first[4], first[5] = view.Cell{}, view.Text(strings.Join(c.Unfinished, ", ")), view.Text("worst of all")
	}
	if c.P99 != nil {
		rows = append(rows, row(view.Text("by p99"), c.P99))
		rows[1].Also = true
	}
	for _, r := range rows {
		switch {
		case c.Emulated:
			r.Cells[5], r.Cells[2].Class = view.Text("emulated"), view.Open
		case c.Idle != nil:
			r.Cells[5] = view.Text("idle neighbour")
		}
	}
	return rows
}

// muchExcess is from which excess on a cell has the stronger colour.
const muchExcess = 1.5

// heat is the class of an excess. Only what is resolved, and guests that never finish, have a colour.
func heat(e *analyze.Excess) view.Class {
	switch {
	case e.Verdict == analyze.Costs && e.Ratio >= muchExcess:
		return view.Much
	case e.Verdict == analyze.Costs:
		return view.Costs
	case e.Verdict == analyze.Gains:
		return view.Gains
	}
	return view.Open
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

// matrixNotes says what a cell lacks.
func matrixNotes(c analyze.IsolationCell) (notes []view.Note) {
	add := func(format string, args ...any) {
		notes = append(notes, view.Note{About: c.Arm, Text: fmt.Sprintf(format, args...)})
	}
	if c.Idle != nil {
		add("a neighbour of it or of native did not work on %s: nothing is claimed", view.And(c.Idle))
	}
	if c.Unfinished != nil {
		add("no trial of %s finished", view.And(c.Unfinished))
	}
	missing := slices.DeleteFunc(slices.Clone(c.Missing), func(w string) bool { return slices.Contains(c.Unfinished, w) })
	if len(missing) > 0 {
		add("no interval on %s, which may suffer more", view.And(missing))
	}
	if len(c.MissingP99) > 0 {
		add("no interval by p99 on %s: too few single latencies or guests", view.And(c.MissingP99))
	}
	if c.Lost > 0 && c.Unfinished == nil {
		add("%d of %d results are missing because guests did not finish", c.Lost, c.Trials)
	}
	return notes
}
