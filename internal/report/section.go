package report

import (
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// Section is what some workloads have besides their metrics: tables, and a text that explains them.
type Section struct {
	Grids  []Grid
	Legend string
}

// Grid is a table of texts. The first heading says what the table is about, the first cell of each row whom the row
// is about.
type Grid struct {
	Caption string
	Rows    [][]string // the first has the headings
	Detail  bool       // the terminal shows it with AllMetrics only
}

// Headings are those of the columns after the first that are not empty.
func (g Grid) Headings() []string { return fullColumns(g.Rows)[0][1:] }

// Body is the rows below the headings, without empty columns.
func (g Grid) Body() [][]string { return fullColumns(g.Rows)[1:] }

// fullColumns are rows without the columns that are empty below their heading, but for the first one.
func fullColumns(rows [][]string) [][]string {
	var columns []int
	for j := range rows[0] {
		if j == 0 || slices.ContainsFunc(rows[1:], func(r []string) bool { return r[j] != "" }) {
			columns = append(columns, j)
		}
	}
	return columnsAt(rows, columns)
}

// Sections are those of a workload.
func Sections(res *analyze.Result, workload string) (all []Section) {
	for _, s := range []Section{starts(res, workload), fills(res, workload), packets(res, workload)} {
		if s.Grids != nil {
			all = append(all, s)
		}
	}
	return all
}

// sectionOf is a section of one table, empty without rows.
func sectionOf(caption, legend string, rows [][]string) (s Section) {
	if rows != nil {
		s = Section{[]Grid{{Caption: caption, Rows: rows}}, legend}
	}
	return s
}

// rowsFor is a table with a row for each of a list, except for those without cells; nil without any row.
func rowsFor[T any](headings []string, all []T, cells func(T) []string) [][]string {
	rows := [][]string{headings}
	for _, v := range all {
		if c := cells(v); c != nil {
			rows = append(rows, c)
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

// table writes rows below an empty line, unless there are none.
func (t *table) table(rows [][]string) {
	if rows != nil {
		t.line("")
		t.grid(rows)
	}
}

// section writes the tables and the text of a section, unless it is empty.
func (t *table) section(s Section) {
	for _, g := range s.Grids {
		if !g.Detail || t.ctx.AllMetrics {
			t.table(g.Rows)
		}
	}
	if s.Grids != nil {
		t.note(s.Legend)
	}
}

// grid writes aligned rows of cells, the first as the heading, without empty columns. Columns that do not fit are named
// below; with AllMetrics, they follow as a grid of their own.
func (t *table) grid(rows [][]string) {
	shown, total := 0, 0
	var left []int
	rows = fullColumns(rows)
	lines := columnsOf(rows, func(j, width int) bool {
		if shown > 1 && total+width+2 > t.columns {
			left = append(left, j)
			return false
		}
		shown, total = shown+1, total+width+2
		return true
	})
	t.line(t.dim(lines[0]))
	for _, line := range lines[1:] {
		t.line(line)
	}
	if left == nil {
		return
	}
	rest := columnsAt(rows, append([]int{0}, left...))
	if t.ctx.AllMetrics {
		t.grid(rest)
		return
	}
	t.note("not shown for lack of width: " + strings.Join(rest[0][1:], ", ") + " (tare show --all shows all columns)")
}

// columnsAt returns the rows with these columns only.
func columnsAt(rows [][]string, columns []int) [][]string {
	var some [][]string
	for _, row := range rows {
		var cells []string
		for _, j := range columns {
			cells = append(cells, row[j])
		}
		some = append(some, cells)
	}
	return some
}
