package fleet

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// Text writes the result for a terminal. With machines, it lists every machine's cost, too.
func Text(w io.Writer, r *Result, machines bool) error {
	var b strings.Builder
	total := 0
	for _, g := range r.Groups {
		total += len(g.Machines)
	}
	if r.Name != "" {
		fmt.Fprintf(&b, "Fleet %s: ", report.Clean(r.Name))
	}
	fmt.Fprintf(&b, "%s in %s\n", Count(total, "machine"), Count(len(r.Groups), "group"))
	for _, text := range r.Warnings {
		b.WriteString(report.Wrap("Warning: "+text, "  ") + "\n")
	}
	for _, g := range r.Groups {
		g.text(&b, r, machines)
	}
	if len(r.Between) > 0 {
		b.WriteString("\n" + report.Wrap(BetweenLegend, "") + "\n")
		rows := [][]string{BetweenHead}
		for _, x := range r.Between {
			rows = append(rows, x.Cells(r))
		}
		table(&b, rows)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Legend says how to read the table of costs.
func (r *Result) Legend() string {
	level := fmt.Sprintf("%.4g %%", 100*(1-r.Alpha))
	return fmt.Sprintf("What an arm costs against the baseline of the same machine, as the mean over all machines of the "+
		"kind, with its %s interval. The cost on the next machine of the kind lies within \"next machine\" with %s "+
		"confidence. The spread is the standard deviation between machines.", level, level)
}

func (g *Group) text(b *strings.Builder, r *Result, machines bool) {
	fmt.Fprintf(b, "\n%s: %s\n", report.Clean(g.Name), Count(len(g.Machines), "machine"))
	for _, text := range g.Warnings {
		b.WriteString(report.Wrap("Warning: "+text, "  ") + "\n")
	}
	g.answers(b, r)
	if len(g.Machines) > 1 {
		b.WriteString("\n" + report.Wrap(r.Legend(), "") + "\n")
	}
	rows := [][]string{{"workload", "arm", "machines", "cost", "interval", "next machine", "spread", "verdict"}}
	for _, c := range g.Costs {
		rows = append(rows, append([]string{c.Title(), c.Arm}, c.Cells(r)...))
		if machines {
			for _, m := range c.Machines {
				rows = append(rows, []string{"", "  " + m.Machine, "", report.Cost(m.Ratio),
					report.CostInterval(m.CILow, m.CIHigh), "", "", m.words()})
			}
		}
	}
	table(b, rows)
	g.shares(b)
	for _, o := range g.Odd {
		b.WriteString("\n" + report.Wrap(fmt.Sprintf("Odd: %s. %s", o.Machine, o.Sentence()), "  ") + "\n")
		for _, line := range o.Lines() {
			b.WriteString(report.Wrap("- "+line, "  ") + "\n")
		}
	}
	if out := g.LeftOut(); len(out) > 0 {
		b.WriteString("\nNot pooled:\n")
		for _, line := range out {
			b.WriteString(report.Wrap("- "+line, "  ") + "\n")
		}
	}
}

// answers writes what to expect of the next machine.
func (g *Group) answers(b *strings.Builder, r *Result) {
	switch len(g.Machines) {
	case 1:
		b.WriteString("One machine is not enough to predict others of its kind.\n")
		return
	case 2:
		b.WriteString(report.Wrap("Two machines allow no prediction of the next one of their kind, and say little about "+
			"how much machines differ.", "") + "\n")
		return
	}
	b.WriteString(report.Wrap(report.Clean(g.AnswersLead(r)), "") + "\n")
	widest := 0
	answers := g.Answers(r)
	for _, a := range answers {
		widest = max(widest, len(report.Clean(a.Arm)))
	}
	for _, a := range answers {
		b.WriteString(report.Hanging(fmt.Sprintf("  %-*s  ", widest, report.Clean(a.Arm)), a.Text))
	}
}

// words say whether a machine is odd, and what the others cost.
func (m MachineCost) words() string {
	if m.Without == nil {
		return ""
	}
	text := "without it " + report.Cost(m.Without.Ratio)
	if m.Odd {
		text = "odd; " + text
	}
	return text
}

// shares writes where the variance comes from.
func (g *Group) shares(b *strings.Builder) {
	var rows [][]string
	for _, c := range g.Costs {
		if len(c.Shares) == 0 {
			continue
		}
		row := []string{c.Title(), c.Arm}
		for _, s := range c.Shares {
			row = append(row, s.Text())
		}
		rows = append(rows, row)
	}
	if rows == nil {
		return
	}
	b.WriteString("\n" + report.Wrap(SharesLegend, "") + "\n")
	table(b, append([][]string{{"workload", "arm", "machine", "boot", "guest", "trial"}}, rows...))
}

// SharesLegend says how to read the shares of variance.
const SharesLegend = "Where the variance of the cost of a single block comes from, with intervals. A dash: the level " +
	"occurs only once in the level before it, whose share includes it. Too few: no interval, as with two machines."

// Text words a share.
func (s Share) Text() string {
	if !s.Known {
		return "–"
	}
	if s.High == 0 {
		return fmt.Sprintf("%.0f %% (too few)", s.Percent)
	}
	return fmt.Sprintf("%.0f %% (%.0f … %.0f)", s.Percent, s.Low, s.High)
}

// Title names the workload, and the metric if it is not the primary one.
func (c Cost) Title() string {
	if c.Family == analyze.FamilyPrimary || c.Family == analyze.FamilyEmulated {
		return c.Workload
	}
	return c.Workload + " " + c.Metric
}

// Cells are the number of machines, cost, interval, next machine, spread and verdict in words.
func (c Cost) Cells(r *Result) []string {
	n := fmt.Sprint(len(c.Machines))
	if len(c.LeftOut) > 0 {
		n = fmt.Sprintf("%d of %d", len(c.Machines), len(c.Machines)+len(c.LeftOut))
	}
	p := c.Pooled
	if p == nil {
		cells := []string{n, "", "", "", "", "not pooled"}
		if len(c.Machines) == 1 {
			cells[1], cells[2] = report.Cost(c.Machines[0].Ratio), report.CostInterval(c.Machines[0].CILow, c.Machines[0].CIHigh)
		}
		return cells
	}
	next := "needs 3 machines"
	if p.NextHigh > 0 {
		next = report.CostInterval(p.NextLow, p.NextHigh)
	}
	return []string{n, report.Cost(p.Ratio), report.CostInterval(p.CILow, p.CIHigh), next, Spread(p.Tau), p.Words(r.Delta)}
}

// Words words the verdict on a pooled cost.
func (p *Pooled) Words(delta float64) string {
	switch p.Verdict {
	case analyze.Costs:
		return "costs"
	case analyze.Gains:
		return "gains"
	case analyze.None:
		return fmt.Sprintf("none (within ±%.3g %%)", 100*delta)
	}
	return report.NotResolved(p.FartherPercent)
}

// Spread words a standard deviation of ln costs.
func Spread(tau float64) string {
	return "±" + report.Digits(min(100*math.Expm1(tau), report.MostPercent), 2) + " %"
}

// Sentence says by what a machine is odd.
func (o Odd) Sentence() string {
	var parts []string
	for _, c := range o.Costs {
		parts = append(parts, fmt.Sprintf("%s on %s costs %s here; on the others it costs %s, which suggests %s",
			c.Arm, c.Workload, report.Cost(c.Here), report.Cost(c.Ratio), report.CostInterval(c.NextLow, c.NextHigh)))
	}
	return joined(parts) + "."
}

// Lines are what else is different about a machine.
func (o Odd) Lines() []string {
	var lines []string
	for _, f := range o.Facts {
		lines = append(lines, fmt.Sprintf("%s: %s; on %d of %d others: %s", f.What, known(f.Is), f.Count, f.Of,
			known(f.Others)))
	}
	for _, n := range o.Noise {
		lines = append(lines, "tare doctor: "+n.What)
	}
	if lines == nil {
		lines = []string{"in every fact that tare records, it is like the other machines"}
	}
	return lines
}

// LeftOut lists what is not pooled, with the reasons; machines with the same reason share a line.
func (g *Group) LeftOut() []string {
	var lines []string // first the reasons
	machines := map[string][]string{}
	for _, c := range g.Costs {
		for _, l := range c.LeftOut {
			why := fmt.Sprintf("%s on %s: %s", c.Arm, c.Title(), l.Why)
			if machines[why] == nil {
				lines = append(lines, why)
			}
			machines[why] = append(machines[why], l.Machine)
		}
	}
	for i, why := range lines {
		lines[i] = strings.Join(machines[why], ", ") + ": " + why
	}
	return lines
}

// Count words a number of things.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// table writes rows in columns; cells of machines are indented.
func table(b *strings.Builder, rows [][]string) {
	for _, r := range rows {
		for i, cell := range r {
			indent := cell[:len(cell)-len(strings.TrimLeft(cell, " "))]
			r[i] = indent + report.Clean(cell)
		}
	}
	b.WriteString("\n" + report.Columns(rows))
}

// JSON writes the result for other programs.
func JSON(w io.Writer, r *Result) error { return report.PrintJSON(w, r) }
