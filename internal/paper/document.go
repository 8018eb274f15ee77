package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// View returns an article on one page: its story, what the audit found, and each figure as printed, recomputed and
// measured here. runs may be nil: then nothing has been measured here.
func (a *Article) View(runs *Results) *view.Section {
	d := a.Document
	s := &view.Section{Title: d.Title,
		About: fmt.Sprintf("%s, %s, in %s. Source: %s.", d.Author, d.When(), d.Language, d.Source())}
	s.Add(view.Para{Text: strings.Join(a.Story, " ")})
	tables, claims := Page(a, runs), PageClaims(a, runs)
	why := &reasons{}
	s.Add(
		TallyOf(tables, claims).section(),
		section("words", "What the article says in words", "Each line is a claim about a system, and a measurement that can "+
			"show whether it holds.", claimTable(claims, why)),
		section("audit", "What the audit found", "", Audit(a).parts()...),
		differences(runs),
		section("figures", "The figures", "Costs are positive if the system is worse.", figureTables(tables, why)...),
		extras(runs, why),
		diagrams(runs),
	)
	return s
}

// diagrams are what the runs measured, drawn as articles do: curves over a parameter, and a bar for each system.
func diagrams(runs *Results) *view.Section {
	if runs == nil {
		return nil
	}
	bars := &view.Section{Fold: "What each system did, as bars", Beside: true}
	var curves []view.Part
	for i, res := range runs.analyses {
		c, b := report.Diagrams(res, fmt.Sprintf("r%d", i))
		curves = append(curves, c...)
		bars.Add(b...)
	}
	return section("diagrams", "Diagrams", "What was measured here, drawn as articles do.", append(curves, bars)...)
}

// View says which article it is, and how the repetition differs from it.
func (r *Repetition) View() *view.Section {
	d := r.Article.Document
	s := &view.Section{Title: d.Title, Lead: d.Title}
	s.Add(view.Para{Text: d.Author + ", " + d.When() + "; measured again"},
		&view.Bullets{Lead: "Differences from the article:", Items: r.Notes})
	return s
}

// View returns the article's tables with the figures of this machine, and how these were measured.
func (p *Results) View() *view.Section {
	s, why := p.Repetition.View(), &reasons{}
	s.Add(figureTables(Page(p.Repetition.Article, p), why)...)
	s.Add(extras(p, why))
	return s
}

func section(id, title, about string, parts ...view.Part) *view.Section {
	s := &view.Section{ID: id, Title: title}
	if s.Add(parts...); len(s.Parts) > 0 {
		s.About = about
	}
	return s
}

// section says how much of the article holds here, and why the rest cannot be told.
func (t Tally) section() *view.Section {
	text := fmt.Sprintf("Of the costs that the article prints, implies or states in words, %d hold here, %d do not hold, "+
		"and %d cannot be told", t.Count[HoldsHere], t.Count[HoldsNot], t.Count[CannotBeTold])
	untold := &view.Bullets{}
	for _, r := range t.Untold {
		untold.Items = append(untold.Items, fmt.Sprintf("%d: %s", r.Count, r.Why))
	}
	if len(untold.Items) > 0 {
		text += ", because of these reasons:"
	} else {
		text += "."
	}
	return section("holds", "What holds here", "", view.Para{Text: text}, untold)
}

// differences says how the measurement here differs from the article's.
func differences(runs *Results) *view.Section {
	if runs == nil {
		return section("here", "How it was measured here", "", view.Para{Text: "It was not: tare paper run makes the runs, " +
			"and --run adds them to this page."})
	}
	return section("here", "How it was measured here", "", &view.Bullets{Items: runs.Repetition.Notes})
}

// reasons are why figures are missing or tell nothing, in the order of their numbers.
type reasons []string

// mark is the number of a reason.
func (r *reasons) mark(why string) view.Mark {
	i := slices.Index(*r, why)
	if i < 0 {
		i, *r = len(*r), append(*r, why)
	}
	return view.Mark{Sign: fmt.Sprintf("[%d]", i+1), Text: why}
}

// cell is a verdict about a figure or a claim. The reasons why something cannot be told repeat, so they are notes.
func (v Verdict) cell(about Cell, why *reasons) view.Cell {
	switch v.Holds {
	case CannotBeTold:
		reason := v.reason()
		if about.Why != "" && !about.Emulated { // the same, and longer
			reason = about.Why
		}
		return view.Cell{Text: string(v.Holds), Class: view.Open, Marks: []view.Mark{why.mark(reason)}}
	case HoldsNot:
		return view.Cell{Text: v.String(), Class: view.Costs}
	case HoldsHere:
		return view.Cell{Text: v.String(), Class: view.None}
	}
	return view.Cell{}
}

// claimTable lists what the article says in words and tare measures.
func claimTable(claims []PageClaim, why *reasons) *view.Table {
	t := &view.Table{Name: "claim", Title: "Claims"}
	t.Columns = view.Heads("claim", "system", "says", "measured by", "by", "cost here",
		"interval", "verdict")
	for _, j := range []int{0, 3, 7} {
		t.Columns[j].Words = true
	}
	for _, c := range claims {
		t.Add(view.Text(c.Text), view.Text(c.Cell.System), view.Text(c.Says),
			view.Text(c.Cell.Series+", "+c.Cell.Metric), c.Cell.by(), c.Cell.cost(), c.Cell.interval(),
			c.Verdict.cell(c.Cell, why))
	}
	return t
}

// parts are what the audit found.
func (r *Report) parts() []view.Part {
	switch {
	case len(r.Findings) == 0 && r.Agree == 0:
		return []view.Part{view.Para{Text: "Nothing: no number that the article prints follows from its other numbers."}}
	case len(r.Findings) == 0:
		return []view.Part{view.Para{Text: fmt.Sprintf("Nothing: all checks agree (%d).", r.Agree)}}
	}
	t := &view.Table{Name: "where", Title: "Checks that do not agree",
		Columns: view.Heads("where", "printed", "recomputed", "how", "what may have happened")}
	for i := range t.Columns {
		t.Columns[i].Words = true
	}
	for _, f := range r.Findings {
		printed, recomputed := f.Values()
		t.Add(view.Texts(f.Row, printed, recomputed, f.How, f.Explanation)...)
	}
	return []view.Part{view.Para{Text: fmt.Sprintf("Checks that agree: %d.", r.Agree)}, t}
}

// wrongMark is at figures that the audit has a finding about.
var wrongMark = view.Mark{Sign: "!", Text: "the audit has a finding about this figure"}

// doubtMark is at figures of this machine that should not be used as they are.
var doubtMark = view.Mark{Sign: "†", Text: "a serious finding of the run, below the table, concerns this figure"}

// findingText is what a run found about figures, and how to read more about it.
func findingText(f analyze.Finding) string {
	where := f.Workload
	if f.Arm != "" {
		where += ", " + f.Arm
	}
	return fmt.Sprintf("%s: %s: %s (tare explain %s)", f.Severity, where, f.Text, f.ID)
}

// figureTables are the article's tables: each figure as printed, recomputed and measured here.
func figureTables(tables []PageTable, why *reasons) (parts []view.Part) {
	for _, t := range tables {
		out := &view.Table{Name: "figure", Title: cmp.Or(strings.Join(t.Heading, "; "), "figures"), Once: true}
		out.Columns = view.Heads("figure", "system", "printed", "recomputed", "cost then", "here", "by", "cost here",
			"interval", "verdict")
		for j := 2; j < len(out.Columns)-1; j++ {
			out.Columns[j].Right = j != 6
		}
		for _, l := range t.Lines {
			c := l.Cell
			printed := view.Text(c.Printed)
			if l.Wrong && c.Printed != "" {
				printed.Marks = []view.Mark{wrongMark}
			}
			out.Add(view.Text(strings.Join(l.Labels, ", ")), view.Text(cmp.Or(c.System, "(only here)")), printed,
				view.Text(l.Recomputed), c.Then.cell(), c.here(why), c.by(), c.cost(), c.interval(), l.Verdict.cell(c, why))
		}
		for _, f := range t.Findings {
			out.Notes = append(out.Notes, view.Note{Text: findingText(f)})
		}
		parts = append(parts, &view.Section{Title: t.Name, Prefix: true, Parts: []view.Part{out}})
	}
	return parts
}

// here is the figure of this machine, or a reason why there is none.
func (c Cell) here(why *reasons) view.Cell {
	switch {
	case c.Here != nil:
		here := view.Number(report.Digits(*c.Here, 4), *c.Here, c.Unit)
		if len(c.Findings) > 0 {
			here.Marks = []view.Mark{doubtMark}
		}
		return here
	case c.Why != "":
		return view.Cell{Text: "–", Marks: []view.Mark{why.mark(c.Why)}}
	}
	return view.Cell{}
}

// emulatedMark is at systems whose CPU is emulated.
var emulatedMark = view.Mark{Sign: "*", Text: "emulated: its times say nothing about real hardware"}

// by is the system that was measured here.
func (c Cell) by() view.Cell {
	by := view.Text(c.As)
	if c.Emulated && c.As != "" {
		by.Marks = []view.Mark{emulatedMark}
	}
	return by
}

// cost is what the system costs here.
func (c Cell) cost() view.Cell { return c.Now.cell() }

// interval is that of the cost here.
func (c Cell) interval() view.Cell {
	if c.Now == nil {
		return view.Cell{}
	}
	return view.Text(c.Now.Interval)
}

// cell is a cost in percent, coloured if it is a claim.
func (c *Cost) cell() view.Cell {
	if c == nil {
		return view.Cell{}
	}
	cell := view.Number(report.Percent(c.Percent)+" %", c.Percent, "%")
	if c.Interval != "" {
		cell.Figure.Low, cell.Figure.High = c.low, c.high
	}
	if c.claim != "" && c.claim != analyze.NotResolved {
		cell.Class = report.CostClass(c.claim, c.Percent)
	}
	return cell
}

// extras are the measurements that repeat figures without printed values.
func extras(runs *Results, why *reasons) *view.Section {
	if runs == nil {
		return nil
	}
	t := &view.Table{Name: "article", Title: "Figures of diagrams", Once: true}
	t.Columns = view.Heads("article", "measured", "metric", "here", "by", "cost here", "interval")
	for j := 3; j < len(t.Columns); j++ {
		t.Columns[j].Right = j != 4
	}
	for _, e := range runs.Extras() {
		c := Cell{As: e.System, Emulated: e.Emulated, Now: e.Now, Why: e.Why, Unit: e.Unit}
		here := c.here(why)
		if e.Here != nil {
			here = view.Number(report.InUnit(e.Unit, *e.Here, 4), *e.Here, e.Unit)
		}
		t.Add(view.Text(e.Article), view.Text(e.Series), view.Text(e.Metric), here, c.by(), c.cost(), c.interval())
		note := view.Note{Text: e.Workload + " is a stand-in " + e.StandIn}
		if e.StandIn != "" && !slices.Contains(t.Notes, note) {
			t.Notes = append(t.Notes, note)
		}
	}
	s := section("extras", "Without printed values", "The article shows these in diagrams without values.", t)
	s.Lead = "Measured here; the article shows these without values:"
	return s
}
