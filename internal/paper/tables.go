package paper

import (
	"iter"
	"slices"
	"strings"
)

// Table is one table of an article, with its figures as printed.
type Table struct {
	Name string
	// Heading is what all of the table has in common: its workloads, scenario,
	// statistic, unit and what is better, one per line.
	Heading []string
	Columns []string // systems
	Lines   []TableLine
	Notes   []string
}

// TableLine is one line of a table: a figure of each system.
type TableLine struct {
	Labels []string // the same number in every line of a table
	Cells  []string // one per column; "": the article has no figure
}

// Tables returns the article's figures as tables, in the article's order.
func (a *Article) Tables() []Table {
	var tables []Table
	for name, rows := range a.byTable() {
		tables = append(tables, a.layOut(name, rows))
	}
	return tables
}

// byTable yields the article's tables with their figures, in the article's order.
func (a *Article) byTable() iter.Seq2[string, []*Row] {
	var names []string
	rows := map[string][]*Row{}
	for _, r := range a.figures() {
		if rows[r.Table] == nil {
			names = append(names, r.Table)
		}
		rows[r.Table] = append(rows[r.Table], r)
	}
	return func(yield func(string, []*Row) bool) {
		for _, name := range names {
			if !yield(name, rows[name]) {
				return
			}
		}
	}
}

func (a *Article) layOut(name string, rows []*Row) Table {
	t := Table{Name: name, Columns: a.columns(rows)}
	var labels []func(*Row) string
	t.Heading, labels = headings(rows)
	for _, r := range rows {
		t.put(r, labels)
	}
	t.merge()
	t.Notes = slices.DeleteFunc(distinct(rows, func(r *Row) string { return r.Note }),
		func(s string) bool { return s == "" })
	return t
}

// headings separates the words that all rows of a table have in common, which go
// above the table, from those that distinguish rows, which go to the left of each.
func headings(rows []*Row) (heading []string, labels []func(*Row) string) {
	workloads := distinct(rows, func(r *Row) string { return r.Workload })
	scenarios := distinct(rows, func(r *Row) string { return r.Scenario })
	constant := func(all []string, of func(*Row) string, before string) {
		if len(all) == 1 {
			heading = append(heading, before+all[0])
		} else {
			labels = append(labels, of)
		}
	}
	scenario := func(r *Row) string { return r.Scenario }
	if len(distinct(rows, func(r *Row) string { return r.Scenario + "\x00" + r.Workload })) == len(scenarios) {
		heading = append(heading, workloads...) // the scenario determines the workload
	} else {
		prefix, suffix := around(workloads)
		if prefix+suffix != "" {
			heading = append(heading, prefix+"…"+suffix)
		}
		labels = append(labels, func(r *Row) string {
			return strings.TrimSuffix(strings.TrimPrefix(r.Workload, prefix), suffix)
		})
	}
	constant(scenarios, scenario, "")
	about := len(heading)
	constant(distinct(rows, func(r *Row) string { return r.Statistic }), func(r *Row) string { return r.Statistic },
		"statistic: ")
	constant(distinct(rows, func(r *Row) string { return r.Unit }), func(r *Row) string { return r.Unit }, "unit: ")
	if better := distinct(rows, func(r *Row) string { return r.Better }); len(better) == 1 &&
		(better[0] == "lower" || better[0] == "higher") {
		heading = append(heading, better[0]+" is better")
	}
	if len(heading) > about {
		heading = append(heading[:about:about], strings.Join(heading[about:], "; "))
	}
	return heading, labels
}

// put adds a figure to its line, or to a new one.
func (t *Table) put(r *Row, labels []func(*Row) string) {
	words := labelsOf(r, labels)
	column := slices.Index(t.Columns, r.System)
	i := slices.IndexFunc(t.Lines,
		func(l TableLine) bool { return slices.Equal(l.Labels, words) && l.Cells[column] == "" })
	if i < 0 {
		i = len(t.Lines)
		t.Lines = append(t.Lines, TableLine{words, make([]string, len(t.Columns))})
	}
	t.Lines[i].Cells[column] = r.Printed
}

// labelsOf are what distinguishes the line of a row.
func labelsOf(r *Row, labels []func(*Row) string) []string {
	words := make([]string, len(labels))
	for i, label := range labels {
		words[i] = label(r)
	}
	return words
}

// merge joins lines that the article prints as one: a time followed by the rate in
// brackets.
func (t *Table) merge() {
	var lines []TableLine
	for _, l := range t.Lines {
		i := slices.IndexFunc(lines, func(m TableLine) bool {
			return slices.Equal(m.Cells, l.Cells) && strings.Contains(strings.Join(l.Cells, ""), "(")
		})
		if i < 0 {
			lines = append(lines, l)
			continue
		}
		for j, word := range l.Labels {
			if lines[i].Labels[j] != word {
				lines[i].Labels[j] += " / " + word
			}
		}
	}
	t.Lines = lines
}

// columns returns the systems of some rows, in the article's order.
func (a *Article) columns(rows []*Row) []string {
	systems := distinct(rows, func(r *Row) string { return r.System })
	slices.SortStableFunc(systems, func(s, t string) int { return a.order(s) - a.order(t) })
	return systems
}

// order returns a system's position; families and "all" come last.
func (a *Article) order(system string) int {
	if i := slices.Index(a.Systems, system); i >= 0 {
		return i
	}
	return len(a.Systems)
}

func distinct(rows []*Row, of func(*Row) string) []string {
	var list []string
	seen := map[string]bool{}
	for _, r := range rows {
		if s := of(r); !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// around returns the common beginning and end of all texts, in whole words.
func around(texts []string) (prefix, suffix string) {
	first := texts[0]
	n, m := len(first), len(first)
	for _, s := range texts[1:] {
		n, m = min(n, len(s)), min(m, len(s))
		for first[:n] != s[:n] {
			n--
		}
		for first[len(first)-m:] != s[len(s)-m:] {
			m--
		}
	}
	prefix = first[:strings.LastIndexByte(first[:n], ' ')+1]
	if tail := first[len(first)-m:]; strings.Contains(tail, " ") {
		suffix = tail[strings.IndexByte(tail, ' '):]
	}
	for _, s := range texts {
		if len(s) <= len(prefix)+len(suffix) {
			return prefix, ""
		}
	}
	return prefix, suffix
}
