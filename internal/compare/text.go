package compare

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// Cells are a change in words and figures, for a table.
type Cells struct {
	Workload, Figure, Before, After, Change, Interval, Verdict string
}

// Head and BaselineHead name the cells of overheads and of baselines.
var (
	Head         = Cells{"workload", "arm", "before", "after", "change", "interval", "verdict"}
	BaselineHead = Cells{"workload", "baseline", "before", "after", "change", "interval", ""}
)

func (c Cells) list() []string {
	return []string{c.Workload, c.Figure, c.Before, c.After, c.Change, c.Interval, c.Verdict}
}

// Cells words a change; all says that the metric must be named.
func (ch Change) Cells(all bool) Cells {
	c := Cells{Workload: ch.Workload, Figure: ch.Arm, Before: ch.figure(ch.Before), After: ch.figure(ch.After),
		Verdict: ch.words()}
	if all || !ch.Primary {
		c.Workload += " " + ch.Metric
	}
	if ch.Ratio > 0 {
		c.Change = report.Percent(ch.ChangePercent) + " %"
	}
	if ch.Interval != nil {
		c.Interval = report.CostInterval(ch.Ends())
	}
	return c
}

// figure words the value of one side.
func (ch Change) figure(v float64) string {
	if v == 0 {
		return ""
	}
	if ch.Family == analyze.FamilyBaseline {
		text := report.ScaleFor(ch.Unit, max(ch.Before, ch.After)).With(v)
		if ch.Per != "" {
			text += " for " + ch.Per
		}
		return text
	}
	return report.Cost(v)
}

// words words the verdict on a change.
func (ch Change) words() string {
	differ, worse, better := "these runs differ: ", "costs more", "costs less"
	if ch.Scope == System {
		differ = "the system changed: "
	}
	if ch.Family == analyze.FamilyBaseline {
		differ, worse, better = strings.Replace(differ, "system", "machine", 1), "worse", "better"
	}
	switch ch.Verdict {
	case Worse:
		return differ + worse
	case Better:
		return differ + better
	case Same:
		return "the same"
	case NotCompared:
		return "not compared: " + ch.Why
	case Shown:
		return ""
	}
	text := report.NotResolved(ch.FartherPercent)
	if ch.Why != "" {
		text += "; " + ch.Why
	}
	return text
}

// Summary says in sentences what the comparison found.
func (c *Comparison) Summary(a Against) string {
	n := map[Verdict]int{}
	farthest := 0.0
	why := map[string]bool{} // why figures are not compared
	for _, ch := range a.Changes {
		n[ch.Verdict]++
		if ch.Verdict == NotCompared {
			why[ch.Why] = true
		}
		if ch.Verdict == NotResolved && math.Abs(ch.FartherPercent) > math.Abs(farthest) {
			farthest = ch.FartherPercent
		}
	}
	claimed, compared := n[Worse]+n[Better], len(a.Changes)-n[NotCompared]
	subject := "these runs differ"
	if a.Scope == System {
		subject = "the system changed"
	}
	text := "Nothing shows that " + subject + "."
	if compared == 0 {
		text = "No overhead could be compared."
	}
	if claimed > 0 {
		var parts []string
		if n[Worse] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s more than before", n[Worse], plural(n[Worse], "costs", "cost")))
		}
		if n[Better] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s less than before", n[Better], plural(n[Better], "costs", "cost")))
		}
		text = fmt.Sprintf("%s in %d of %d %s: %s.", strings.ToUpper(subject[:1])+subject[1:], claimed, compared,
			plural(compared, "overhead", "overheads"), strings.Join(parts, ", "))
	}
	if n[Same] > 0 {
		text += fmt.Sprintf(" %d %s within ±%.4g %%.", n[Same], plural(n[Same], "is the same", "are the same"), 100*c.Delta)
	}
	if n[NotResolved] > 0 {
		text += fmt.Sprintf(" %d %s %s.", n[NotResolved], plural(n[NotResolved], "is", "are"), report.NotResolved(farthest))
	}
	if n[NotCompared] > 0 {
		text += fmt.Sprintf(" %d %s not compared", n[NotCompared], plural(n[NotCompared], "is", "are"))
		if len(why) == 1 { // else the table has the reasons
			for reason := range why {
				text += ": " + reason
			}
		}
		text += "."
	}
	return text
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// Reach says what the claims hold for, and what it takes to claim more.
func (a Against) Reach() string {
	text := "The intervals are over boots of the host, so this holds for the system, not only for single boots."
	if a.Scope == TheseRuns {
		text = fmt.Sprintf("This holds for these runs only; other runs of the same systems may differ as much. To show "+
			"that the system changed, compare runs from %d boots of the host on each side.", fewest)
	}
	if a.FewGuests {
		text += " Some of the runs created so few guests that the difference may be due to a single guest."
	}
	phi := 1.0
	for _, ch := range a.Changes {
		phi = max(phi, ch.Phi)
	}
	if phi >= 1.05 {
		text += fmt.Sprintf(" The A/A controls vary more than their own intervals allow, so the intervals here are up to "+
			"%s times wider.", report.Digits(phi, 2))
	}
	return text
}

// Legend says how to read the table of overheads.
func (c *Comparison) Legend() string {
	return fmt.Sprintf("What each arm costs against the baseline of its own run, before and after. A change above 0 %% "+
		"means that it costs more than before; %.4g %% intervals.", 100*(1-c.Alpha))
}

// BaselineLegend says how to read the table of baselines.
var BaselineLegend = fmt.Sprintf("The machine itself: the median trial of the baseline. A change above 0 %% is for "+
	"the worse. With fewer than %d runs on a side, changes are shown but not judged.", fewest)

// String words a difference.
func (d Difference) String() string {
	text := fmt.Sprintf("%s: %s → %s", report.Clean(d.What), short(d.Before), short(d.After))
	if d.Note != "" {
		text += " (" + report.Clean(d.Note) + ")"
	}
	return text
}

// rows are changes as a table.
func rows(head Cells, changes []Change, all bool) [][]string {
	table := [][]string{head.list()}
	for _, ch := range changes {
		table = append(table, ch.Cells(all).list())
	}
	return table
}

// title names the two sides.
func (c *Comparison) title(a Against) string {
	side := func(name string, runs []string) string {
		if len(runs) > 1 {
			return fmt.Sprintf("%s (%d runs)", report.Clean(name), len(runs))
		}
		return report.Clean(name)
	}
	return side(a.Name, a.Runs) + " against " + side(c.First, c.Runs)
}

// Text writes a comparison for a terminal.
func Text(w io.Writer, c *Comparison, all bool) error {
	var b strings.Builder
	for i, a := range c.Against {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(c.title(a) + "\n\n")
		if len(a.Differences) > 0 {
			b.WriteString("Not the same on both sides:\n")
			for _, d := range a.Differences {
				b.WriteString("  " + d.String() + "\n")
			}
			b.WriteString("\n")
		}
		b.WriteString(report.Wrap(c.Summary(a), "") + "\n")
		if len(a.Changes) > 0 {
			b.WriteString(report.Wrap(c.Legend(), "") + "\n\n")
			align(&b, rows(Head, a.Changes, all))
			b.WriteString("\n" + report.Wrap(a.Reach(), "") + "\n")
		}
		if len(a.Baselines) > 0 {
			b.WriteString("\n" + report.Wrap(BaselineLegend, "") + "\n\n")
			align(&b, rows(BaselineHead, a.Baselines, all))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// align writes rows in columns; a workload is named only in its first row.
func align(b *strings.Builder, table [][]string) {
	last := ""
	for _, row := range table[1:] {
		for i := range row {
			row[i] = report.Clean(row[i])
		}
		if row[0] == last {
			row[0] = ""
		} else {
			last = row[0]
		}
	}
	b.WriteString(report.FullColumns(table))
}

// Markdown writes a comparison as a summary for a pull request: the claims in a
// table, and the rest folded.
func Markdown(w io.Writer, c *Comparison, all bool) error {
	var b strings.Builder
	for _, a := range c.Against {
		b.WriteString("### tare: " + md(c.title(a)) + "\n\n")
		for _, d := range a.Differences {
			b.WriteString("- differs: " + md(d.String()) + "\n")
		}
		if len(a.Differences) > 0 {
			b.WriteString("\n")
		}
		b.WriteString(md(c.Summary(a)) + " " + md(a.Reach()) + "\n\n")
		var claimed, rest []Change
		for _, ch := range a.Changes {
			if ch.Verdict == Worse || ch.Verdict == Better {
				claimed = append(claimed, ch)
			} else {
				rest = append(rest, ch)
			}
		}
		if claimed != nil {
			b.WriteString(md(c.Legend()) + "\n\n")
			mdTable(&b, rows(Head, claimed, all))
		}
		if rest != nil {
			b.WriteString("<details><summary>The same, or not resolved</summary>\n\n")
			mdTable(&b, rows(Head, rest, all))
			b.WriteString("</details>\n\n")
		}
		if len(a.Baselines) > 0 {
			b.WriteString("<details><summary>The machine</summary>\n\n" + md(BaselineLegend) + "\n\n")
			mdTable(&b, rows(BaselineHead, a.Baselines, all))
			b.WriteString("</details>\n\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mdTable(b *strings.Builder, table [][]string) {
	for i, row := range table {
		for _, text := range row {
			b.WriteString("| " + md(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---|---|--:|--:|--:|--:|---|\n")
		}
	}
	b.WriteString("\n")
}

// md escapes text for Markdown.
func md(s string) string {
	var b strings.Builder
	for _, r := range report.Clean(s) {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '&':
			b.WriteString("&amp;")
		case '|', '\\', '`', '*', '_', '[', ']', '#', '@', '!', '~':
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// short cuts long values.
func short(s string) string {
	s = report.Clean(s)
	if s == "" {
		return "unknown"
	}
	if r := []rune(s); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return s
}
