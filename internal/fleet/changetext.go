package fleet

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// ComparisonText writes a comparison for a terminal. With machines, it lists every machine's change.
func ComparisonText(w io.Writer, c *Comparison, machines bool) error {
	return view.Terminal(w, view.Options{Wide: true, All: machines}, c.Document())
}

// WriteComparisonPage writes a comparison as a page: what changed in sentences and tables, and a forest plot of the
// machines for each change.
func WriteComparisonPage(w io.Writer, c *Comparison) error {
	return view.WritePage(w, "tare · comparison of fleets", c.Document())
}

// Document is a comparison as sections, one for each group.
func (c *Comparison) Document() *view.Section {
	s := &view.Section{Title: c.Title(), Lead: c.Title()}
	warn(s, c.Warnings)
	for i := range c.Groups {
		s.Add(c.Groups[i].section(c, fmt.Sprintf("g%d", i+1)))
	}
	return s
}

// Title names the two fleets.
func (c *Comparison) Title() string { return fmt.Sprintf("Fleet %s against %s", c.After, c.Before) }

func (g *GroupChange) section(c *Comparison, id string) *view.Section {
	s := &view.Section{ID: id, Title: g.Name, Lead: g.Name + ": " + g.design(), About: g.design() + "."}
	s.Add(&view.Bullets{Items: g.notes()})
	for _, line := range g.summary(c) {
		s.Add(view.Para{Text: line})
	}
	plots := &view.Section{Title: "Every change by machine", Beside: true}
	for _, t := range []struct {
		name, legend string
		changes      []Change
	}{{"changes of costs", c.legend(g), g.Changes}, {"the machines themselves", baselineLegend, g.Baselines}} {
		if len(t.changes) == 0 {
			continue
		}
		table := &view.Table{Name: t.name, Caption: t.name + ", " + g.Name, Columns: view.Heads("workload", "arm", "machines",
			"before", "after", "change", "interval", "next machine", "spread", "verdict")}
		table.Columns[9].Words = true
		for _, ch := range t.changes {
			table.Rows = append(table.Rows, view.Row{Cells: ch.cells(c)})
			for _, m := range ch.Machines {
				cells := append(view.Texts("", m.Machine, "", "", ""), view.Number(report.Cost(m.Ratio), m.Ratio, ""))
				cells = append(cells, view.Texts("", "", "", oddWord(m))...)
				if m.CIHigh > 0 {
					cells[5].Figure.Low, cells[5].Figure.High = m.CILow, m.CIHigh
					cells[6].Text = report.CostInterval(m.CILow, m.CIHigh)
				}
				table.Rows = append(table.Rows, view.Row{Cells: cells, Also: true, Detail: true})
			}
			if len(ch.Machines) > 0 {
				title := ch.Arm + " on " + ch.Title()
				plot := forest(
					fmt.Sprintf("%s-f%d", id, len(plots.Parts)),
					"Change of "+title+", by machine",
					ch.Machines,
					ch.Change,
					c.Delta,
				)
				plot.Caption = title
				plots.Add(plot)
			}
		}
		s.Add(view.Para{Text: t.legend}, table)
	}
	for _, line := range g.oddLines() {
		s.Add(view.Para{Text: line})
	}
	s.Add(&view.Bullets{Lead: "Not compared:", Items: g.leftOut()}, plots)
	return s
}

// design says what is compared with what.
func (g *GroupChange) design() string {
	if g.Paired {
		return Count(len(g.Both), "machine") + ", each compared with itself"
	}
	text := fmt.Sprintf("%s before and %s after: their means are compared",
		Count(len(g.OnlyBefore)+len(g.Both), "machine"), Count(len(g.OnlyAfter)+len(g.Both), "other machine"))
	if n := len(g.Both); n > 0 {
		text += fmt.Sprintf(", although %s measured on both sides", was(n))
	}
	return text
}

func was(n int) string {
	if n == 1 {
		return "1 machine was"
	}
	return fmt.Sprintf("%d machines were", n)
}

// notes list what must be read before any figure: which machines are left out, and what else changed.
func (g *GroupChange) notes() []string {
	var lines []string
	if g.Paired {
		for _, side := range []struct {
			word  string
			names []string
		}{{"before", g.OnlyBefore}, {"after", g.OnlyAfter}} {
			if len(side.names) > 0 {
				lines = append(lines, fmt.Sprintf("left out, since only measured %s: %s", side.word, some(side.names)))
			}
		}
	}
	for _, d := range g.Differences {
		lines = append(lines, d.String())
	}
	return lines
}

// some lists names, as far as a line can have them.
func some(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// String words a difference.
func (d Difference) String() string {
	text := fmt.Sprintf("%s: %s → %s", d.What, known(d.Before), known(d.After))
	if d.Of > 0 {
		text += fmt.Sprintf(" on %d of %d", d.Machines, d.Of)
	}
	return text
}

// known words the value of a fact.
func known(s string) string {
	return cmp.Or(s, "not known or none")
}

// summary says in sentences what changed: a sentence for each claim, and one for the rest.
func (g *GroupChange) summary(c *Comparison) []string {
	var lines []string
	var same, open, none int
	farthest := 0.0
	for _, ch := range g.Changes {
		p := ch.Change
		if p == nil {
			none++
			continue
		}
		switch p.Verdict {
		case analyze.Costs, analyze.Gains:
			lines = append(lines, ch.sentence())
		case analyze.None:
			same++
		default:
			open++
			if math.Abs(p.FartherPercent) > math.Abs(farthest) {
				farthest = p.FartherPercent
			}
		}
	}
	var rest []string
	if len(lines) == 0 && same+open > 0 {
		rest = append(rest, "Nothing shows that a cost changed.")
	}
	if same > 0 {
		rest = append(rest, fmt.Sprintf("%s the same within ±%.3g %%.", countIs(same), 100*c.Delta))
	}
	if open > 0 {
		rest = append(rest, countIs(open)+" "+report.NotResolved(farthest)+".")
	}
	if none > 0 {
		rest = append(rest, fmt.Sprintf("%s not compared.", countIs(none)))
	}
	if len(rest) > 0 {
		lines = append(lines, strings.Join(rest, " "))
	}
	return lines
}

func countIs(n int) string {
	if n == 1 {
		return "1 cost is"
	}
	return fmt.Sprintf("%d costs are", n)
}

// sentence words a claimed change.
func (ch Change) sentence() string {
	p := ch.Change
	more := "less"
	if p.Verdict == analyze.Costs {
		more = "more"
	}
	text := fmt.Sprintf("%s on %s costs %s than before: %s (%s).", ch.Arm, ch.Title(), more, report.Cost(p.Ratio),
		report.CostInterval(p.Ends()))
	if p.NextHigh > 0 {
		text += fmt.Sprintf(" On the next machine, expect %s.", report.CostInterval(p.NextLow, p.NextHigh))
	}
	return text
}

// legend says how to read the table of changes.
func (c *Comparison) legend(g *GroupChange) string {
	text := fmt.Sprintf("What each arm costs against the baseline of the same machine, before and after. A change above "+
		"0 %% means that it costs more than before; %.4g %% intervals.", 100*(1-c.Alpha))
	if g.Paired {
		return text + " The change on the next machine of the kind lies within \"next machine\"; the spread is the " +
			"standard deviation of the change between machines, which includes what booting them again changes."
	}
	return text + " The two sides are different machines, so differences between machines count as a change, too."
}

// baselineLegend says how to read the table of the baselines' changes.
const baselineLegend = "The machines themselves: the change of the baseline's typical trial, each machine compared " +
	"with itself, with equal weights. Above 0 % is for the worse."

// Title names the workload, and the metric if it is not the primary one.
func (ch Change) Title() string {
	return Cost{Workload: ch.Workload, Metric: ch.Metric, Family: ch.Family}.Title()
}

// cells are a change in words and figures.
func (ch Change) cells(c *Comparison) []view.Cell {
	cells := append(view.Texts(ch.Title(), ch.Arm, fmt.Sprint(ch.NAfter)), make([]view.Cell, 7)...)
	if ch.NBefore != ch.NAfter {
		cells[2].Text = fmt.Sprintf("%d, %d", ch.NBefore, ch.NAfter)
	}
	if ch.Before > 0 {
		cells[3], cells[4] = view.Number(
			report.Cost(ch.Before),
			ch.Before,
			"",
		), view.Number(
			report.Cost(ch.After),
			ch.After,
			"",
		)
	}
	p := ch.Change
	if p == nil {
		cells[9].Text = "not compared: " + ch.Why
		return cells
	}
	cells[5], cells[6].Text = ratioCell(p.Estimate), report.CostInterval(p.Ends())
	if p.NextHigh > 0 {
		cells[7].Text, cells[8] = report.CostInterval(p.NextLow, p.NextHigh), view.Number(Spread(p.Tau), p.Tau, "")
	}
	words := claim.ChangeWords
	if ch.Family == analyze.FamilyBaseline {
		words = claim.BaselineWords
	}
	cells[9].Text = cmp.Or(words[p.Verdict], report.NotResolved(p.FartherPercent))
	return cells
}

// oddLines name the machines on which something changed otherwise than on the others.
func (g *GroupChange) oddLines() []string {
	var lines []string
	for _, ch := range g.Changes {
		for _, m := range ch.Machines {
			if m.Odd {
				lines = append(lines, fmt.Sprintf("Odd: %s. %s on %s changed by %s here; the other machines suggest %s.", m.Machine,
					ch.Arm, ch.Title(), report.Cost(m.Ratio), report.CostInterval(m.Without.NextLow, m.Without.NextHigh)))
			}
		}
	}
	return lines
}

// leftOut lists the machines that are left out of changes, with the reasons.
func (g *GroupChange) leftOut() []string {
	of := Group{}
	for _, ch := range g.Changes {
		of.Costs = append(of.Costs, Cost{Workload: ch.Workload, Metric: ch.Metric, Arm: ch.Arm, Family: ch.Family,
			LeftOut: ch.LeftOut})
	}
	return of.leftOut()
}

// ComparisonJSON writes the comparison for other programs.
func ComparisonJSON(w io.Writer, c *Comparison) error { return view.PrintJSON(w, c) }
