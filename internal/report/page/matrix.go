package page

import (
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// matrixView is the isolation matrix with the colours of its cells.
type matrixView struct {
	Scenarios []report.MatrixScenario
	Rows      []heatRow
	Notes     []string
	Legend    string
}

type heatRow struct {
	Arm      string
	Emulated bool
	Cells    []heatCell
}

type heatCell struct {
	report.MatrixCell
	Class string
}

// muchExcess is from which excess on a cell has the stronger colour.
const muchExcess = 1.5

// isolationMatrix makes the view of the matrix; nil: the run has no neighbours.
func isolationMatrix(res *analyze.Result) *matrixView {
	m := report.MatrixOf(res)
	if m == nil {
		return nil
	}
	v := &matrixView{Scenarios: m.Scenarios, Notes: m.Notes, Legend: report.MatrixLegend}
	for _, r := range m.Rows {
		row := heatRow{Arm: r.Arm, Emulated: r.Emulated}
		for _, c := range r.Cells {
			row.Cells = append(row.Cells, heatCell{c, heat(c)})
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// heat is the class of a cell. Only what is resolved, and guests that never finish, have a colour.
func heat(c report.MatrixCell) string {
	switch {
	case !c.Known:
		return ""
	case c.Unfinished, c.Verdict == analyze.Costs && c.Ratio >= muchExcess:
		return "costs much"
	case c.Verdict == analyze.Costs:
		return "costs"
	case c.Verdict == analyze.Gains:
		return "gains"
	}
	return "open"
}
