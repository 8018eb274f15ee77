package fleet

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// ComparisonText writes a comparison for a terminal. With machines, it lists every machine's change.
func ComparisonText(w io.Writer, c *Comparison, machines bool) error {
	var b strings.Builder
	b.WriteString(report.Wrap(report.Clean(c.Title()), "  ") + "\n")
	for _, text := range c.Warnings {
		b.WriteString(report.Wrap("Warning: "+report.Clean(text), "  ") + "\n")
	}
	for _, g := range c.Groups {
		g.text(&b, c, machines)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Title names the two fleets.
func (c *Comparison) Title() string { return fmt.Sprintf("Fleet %s against %s", c.After, c.Before) }

func (g *GroupChange) text(b *strings.Builder, c *Comparison, machines bool) {
	fmt.Fprintf(b, "\n%s\n", report.Wrap(report.Clean(g.Name)+": "+g.Design(), "  "))
	for _, line := range g.Notes() {
		b.WriteString(report.Wrap("- "+report.Clean(line), "  ") + "\n")
	}
	for _, line := range g.Summary(c) {
		b.WriteString("\n" + report.Wrap(report.Clean(line), "  ") + "\n")
	}
	if len(g.Changes) > 0 {
		b.WriteString("\n" + report.Wrap(c.Legend(g), "") + "\n")
		table(b, append([][]string{ChangeHead}, changeRows(g.Changes, c, machines)...))
	}
	if len(g.Baselines) > 0 {
		b.WriteString("\n" + report.Wrap(BaselineLegend, "") + "\n")
		table(b, append([][]string{ChangeHead}, changeRows(g.Baselines, c, machines)...))
	}
	for _, line := range g.OddLines() {
		b.WriteString("\n" + report.Wrap(report.Clean(line), "  ") + "\n")
	}
	if out := g.LeftOut(); len(out) > 0 {
		b.WriteString("\nNot compared:\n")
		for _, line := range out {
			b.WriteString(report.Wrap("- "+report.Clean(line), "  ") + "\n")
		}
	}
}

// Design says what is compared with what.
func (g *GroupChange) Design() string {
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

// Notes list what must be read before any figure: which machines are left out, and what else changed.
func (g *GroupChange) Notes() []string {
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

// Summary says in sentences what changed: a sentence for each claim, and one for the rest.
func (g *GroupChange) Summary(c *Comparison) []string {
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
		report.CostInterval(p.CILow, p.CIHigh))
	if p.NextHigh > 0 {
		text += fmt.Sprintf(" On the next machine, expect %s.", report.CostInterval(p.NextLow, p.NextHigh))
	}
	return text
}

// Legend says how to read the table of changes.
func (c *Comparison) Legend(g *GroupChange) string {
	text := fmt.Sprintf("What each arm costs against the baseline of the same machine, before and after. A change above "+
		"0 %% means that it costs more than before; %.4g %% intervals.", 100*(1-c.Alpha))
	if g.Paired {
		return text + " The change on the next machine of the kind lies within \"next machine\"; the spread is the " +
			"standard deviation of the change between machines, which includes what booting them again changes."
	}
	return text + " The two sides are different machines, so differences between machines count as a change, too."
}

// BaselineLegend says how to read the table of the baselines' changes.
const BaselineLegend = "The machines themselves: the change of the baseline's typical trial, each machine compared " +
	"with itself, with equal weights. Above 0 % is for the worse."

// ChangeHead names the columns of a table of changes.
var ChangeHead = []string{"workload", "arm", "machines", "before", "after", "change", "interval", "next machine",
	"spread", "verdict"}

// Title names the workload, and the metric if it is not the primary one.
func (ch Change) Title() string {
	return Cost{Workload: ch.Workload, Metric: ch.Metric, Family: ch.Family}.Title()
}

// Cells are a change in words, in the columns of ChangeHead.
func (ch Change) Cells(c *Comparison) []string {
	cells := []string{ch.Title(), ch.Arm, fmt.Sprint(ch.NAfter), "", "", "", "", "", "", ""}
	if ch.NBefore != ch.NAfter {
		cells[2] = fmt.Sprintf("%d, %d", ch.NBefore, ch.NAfter)
	}
	if ch.Before > 0 {
		cells[3], cells[4] = report.Cost(ch.Before), report.Cost(ch.After)
	}
	p := ch.Change
	if p == nil {
		cells[9] = "not compared: " + ch.Why
		return cells
	}
	cells[5], cells[6] = report.Cost(p.Ratio), report.CostInterval(p.CILow, p.CIHigh)
	if p.NextHigh > 0 {
		cells[7], cells[8] = report.CostInterval(p.NextLow, p.NextHigh), Spread(p.Tau)
	}
	words := map[analyze.Verdict]string{analyze.Costs: "costs more", analyze.Gains: "costs less", analyze.None: "the same"}
	if ch.Family == analyze.FamilyBaseline {
		words[analyze.Costs], words[analyze.Gains] = "worse", "better"
	}
	if cells[9] = words[p.Verdict]; cells[9] == "" {
		cells[9] = p.Words(c.Delta)
	}
	return cells
}

func changeRows(changes []Change, c *Comparison, machines bool) [][]string {
	var rows [][]string
	for _, ch := range changes {
		rows = append(rows, ch.Cells(c))
		if !machines {
			continue
		}
		for _, m := range ch.Machines {
			row := []string{"", "  " + m.Machine, "", "", "", report.Cost(m.Ratio), "", "", "", oddWord(m)}
			if m.CIHigh > 0 {
				row[6] = report.CostInterval(m.CILow, m.CIHigh)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func oddWord(m MachineCost) string {
	if m.Odd {
		return "odd"
	}
	return ""
}

// OddLines name the machines on which something changed otherwise than on the others.
func (g *GroupChange) OddLines() []string {
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

// LeftOut lists the machines that are left out of changes, with the reasons.
func (g *GroupChange) LeftOut() []string {
	of := Group{}
	for _, ch := range g.Changes {
		of.Costs = append(of.Costs, Cost{Workload: ch.Workload, Metric: ch.Metric, Arm: ch.Arm, Family: ch.Family,
			LeftOut: ch.LeftOut})
	}
	return of.LeftOut()
}

// ComparisonJSON writes the comparison for other programs.
func ComparisonJSON(w io.Writer, c *Comparison) error { return report.PrintJSON(w, c) }
