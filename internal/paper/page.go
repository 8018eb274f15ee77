package paper

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/tare-bench/tare/internal/analyze"
)

// Holds is whether what an article says about a system also holds on this machine.
type Holds string

const (
	HoldsHere    Holds = "holds here"
	HoldsNot     Holds = "does not"
	CannotBeTold Holds = "cannot be told"
)

// PageTable is a table of an article's page.
type PageTable struct {
	Name    string
	Heading []string
	Lines   []PageLine
}

// PageLine is one figure: as printed, recomputed, and of this machine.
type PageLine struct {
	Labels     []string // the same number in every line of a table
	Cell       Cell     // Here and Now are nil without a run
	Recomputed string   // the change or ratio that the printed figures give; "": none is printed
	Wrong      bool     // a finding is about this figure
	Holds      Holds    // "": the figure has no cost, such as one of the baseline
}

// Page returns an article's tables for its page. runs may be nil: then nothing has been
// measured here.
func Page(a *Article, runs *Results) []PageTable {
	wrong := map[int]bool{}
	for _, f := range Audit(a).Findings {
		for _, r := range a.figures() {
			wrong[r.Line] = wrong[r.Line] || f.Line == r.Line
		}
	}
	u, p := &audit{Article: a}, page{a, runs}
	var tables []PageTable
	for name, rows := range a.byTable() {
		t := PageTable{Name: name}
		var labels []func(*Row) string
		t.Heading, labels = headings(rows)
		for len(rows) > 0 {
			first := rows[0]
			rows = slices.DeleteFunc(rows, func(r *Row) bool {
				if !sameGroup(r, first) {
					return false
				}
				l := PageLine{Recomputed: u.recomputed(r), Wrong: wrong[r.Line], Cell: p.cell(r)}
				for _, label := range labels {
					l.Labels = append(l.Labels, label(r))
				}
				l.Holds = l.Cell.holds()
				t.Lines = append(t.Lines, l)
				return true
			})
			labels := t.Lines[len(t.Lines)-1].Labels
			for _, c := range p.also(first) {
				t.Lines = append(t.Lines, PageLine{Labels: labels, Cell: c})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// page is an article and its runs, or nil.
type page struct {
	article *Article
	runs    *Results
}

// cell returns a figure beside this machine's.
func (p page) cell(r *Row) Cell {
	if p.runs != nil {
		return p.runs.Repetition.cell(r, p.runs.Repetition.guest(r.System), p.runs.measured)
	}
	printed := &Repetition{Article: p.article, Baseline: cmp.Or(p.article.recipe.baseline, r.Baseline)}
	return Cell{System: r.System, Printed: r.Printed, Unit: r.Unit, Then: printed.then(r)}
}

// also returns what the systems that only this machine has did in the line of r.
func (p page) also(r *Row) []Cell {
	if p.runs == nil {
		return nil
	}
	var cells []Cell
	for _, system := range p.runs.Repetition.Also {
		c := p.runs.Repetition.cell(r.only(), Guest{As: system}, p.runs.measured)
		if c.Here != nil || c.Now != nil {
			cells = append(cells, c)
		}
	}
	return cells
}

// only returns a row for a system that the article does not have.
func (r *Row) only() *Row {
	own := *r
	own.System, own.Printed, own.Values, own.Delta = "", "", nil, nil
	return &own
}

// recomputed returns the change or the ratio that a row's printed figures give.
func (u *audit) recomputed(r *Row) string {
	if r.Delta != nil {
		of, to := u.sidesOfChange(r)
		if of == nil || to == nil {
			return ""
		}
		if q, ok := quotient(of.number, to.number); ok {
			return signed(percent(q.mid), r.Delta.decimals()) + " %"
		}
		return ""
	}
	of, to, times := (*side)(nil), (*side)(nil), 1.
	resolution := r.resolution
	switch n, ok := r.value(); {
	case r.Ratio != nil:
		of, to, times = u.quotientOf(r)
		resolution = r.Ratio.Resolution
		if r.Ratio.Inverse {
			of, to = to, of
		}
	case ok && r.From != nil:
		if s := u.side(r, r.From); s != nil {
			return s.number.number()
		}
	case ok:
		of, to = u.index(r)
		times, resolution = 10, n.Resolution
	}
	if of == nil || to == nil {
		return ""
	}
	q, ok := quotient(of.number, to.number)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(times*q.mid, 'f', Number{Resolution: resolution}.decimals(), 64)
}

func signed(v float64, places int) string {
	s := strconv.FormatFloat(v, 'f', places, 64)
	if v > 0 {
		s = "+" + s
	}
	return s
}

// smallest is the smallest cost that matters, in percent; it is that of campaigns, too.
const smallest = 2

// class is what a cost says: the verdict of an analysis or, for a printed one, its size.
func (c *Cost) class() analyze.Verdict {
	switch {
	case c.claim != "":
		return c.claim
	case c.Percent > smallest:
		return analyze.Costs
	case c.Percent < -smallest:
		return analyze.Gains
	}
	return analyze.None
}

// holds compares what a system cost in the article with what it costs here. Only an
// interval of this machine's own tells, and only of a system that is not emulated.
func (c *Cell) holds() Holds {
	switch {
	case c.Then == nil:
		return ""
	case c.Now == nil || c.Now.claim == "" || c.Emulated || c.Now.claim == analyze.NotResolved:
		return CannotBeTold
	case c.Now.class() == c.Then.class():
		return HoldsHere
	}
	return HoldsNot
}

// Told counts the lines of a page by what they say.
func Told(tables []PageTable) map[Holds]int {
	count := map[Holds]int{}
	for _, t := range tables {
		for _, l := range t.Lines {
			if l.Holds != "" {
				count[l.Holds]++
			}
		}
	}
	return count
}

// Plain reports whether no line of a table has a figure of this machine.
func (t *PageTable) Plain() bool {
	return !slices.ContainsFunc(t.Lines, func(l PageLine) bool { return l.Cell.Here != nil || l.Cell.Now != nil })
}
