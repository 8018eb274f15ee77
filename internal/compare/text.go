package compare

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// cells are a change in words and figures; all says that the metric must be named.
func (ch Change) cells(all bool) []view.Cell {
	workload := ch.Workload
	if all || !ch.Primary {
		workload += " " + ch.Metric
	}
	value := func(v float64) view.Cell {
		if v == 0 {
			return view.Cell{}
		}
		return view.Number(ch.figure(v), v, ch.Unit)
	}
	change, interval := ch.Words()
	cell := view.Text(change)
	if ch.Ratio > 0 {
		cell.Figure = &view.Figure{Value: ch.ChangePercent, Unit: "%"}
		cell.Figure.Low, cell.Figure.High = ch.Percents()
	}
	return []view.Cell{
		view.Text(workload),
		view.Text(ch.Arm),
		value(ch.Before),
		value(ch.After),
		cell,
		view.Text(interval),
		{Text: ch.words(), Class: classes[ch.Verdict]},
	}
}

// Words are the change and its interval; "" if there is none.
func (ch Change) Words() (change, interval string) {
	if ch.Ratio > 0 {
		change = report.Percent(ch.ChangePercent) + " %"
	}
	if ch.Interval != nil {
		interval = report.CostInterval(ch.Ends())
	}
	return change, interval
}

var classes = map[Verdict]view.Class{Worse: view.Costs, Better: view.Gains, Same: view.None, NotResolved: view.Open}

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
	differ, words := "these runs differ: ", claim.ChangeWords
	if ch.Scope == System {
		differ = "the system changed: "
	}
	if ch.Family == analyze.FamilyBaseline {
		differ, words = strings.Replace(differ, "system", "machine", 1), claim.BaselineWords
	}
	switch ch.Verdict {
	case Worse:
		return differ + words[claim.Costs]
	case Better:
		return differ + words[claim.Gains]
	case Same:
		return words[claim.None]
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

// title names the two sides.
func (c *Comparison) title(a Against) string {
	side := func(name string, runs []string) string {
		if len(runs) > 1 {
			return fmt.Sprintf("%s (%d runs)", name, len(runs))
		}
		return name
	}
	return side(a.Name, a.Runs) + " against " + side(c.First, c.Runs)
}

// String words a difference.
func (d Difference) String() string {
	text := fmt.Sprintf("%s: %s → %s", d.What, short(d.Before), short(d.After))
	if d.Note != "" {
		text += " (" + d.Note + ")"
	}
	return text
}

// Document is a comparison as sections; all says that metrics must be named.
func (c *Comparison) Document(all bool) []view.Part {
	var parts []view.Part
	for _, a := range c.Against {
		title := c.title(a)
		s := &view.Section{Title: "tare: " + title, Lead: title}
		differences := &view.Bullets{Lead: "Not the same on both sides:"}
		for _, d := range a.Differences {
			differences.Items = append(differences.Items, d.String())
		}
		s.Add(differences, view.Para{Text: c.Summary(a)})
		if len(a.Changes) > 0 {
			s.Add(view.Para{Text: c.Legend()}, changeTable("changes", "arm", a.Changes, all), view.Para{Text: a.Reach()})
		}
		if len(a.Baselines) > 0 {
			baselines := changeTable("baselines", "baseline", a.Baselines, all)
			baselines.Fold = "The machine"
			s.Add(view.Para{Text: BaselineLegend}, baselines)
		}
		parts = append(parts, s)
	}
	return parts
}

// changeTable is a table of changes, of overheads or of baselines.
func changeTable(name, of string, list []Change, all bool) *view.Table {
	t := &view.Table{Name: name, Once: true,
		Columns: view.Heads("workload", of, "before", "after", "change", "interval", "verdict")}
	t.Columns[6].Words = true
	for _, ch := range list {
		t.Rows = append(t.Rows, view.Row{Cells: ch.cells(all), Rest: ch.Verdict != Worse && ch.Verdict != Better})
	}
	return t
}

// Text writes a comparison for a terminal.
func Text(w io.Writer, c *Comparison, all bool) error {
	return view.Terminal(w, view.Options{Wide: true}, c.Document(all)...)
}

// Markdown writes a comparison as a summary for a pull request: the claims in a
// table, and the rest folded.
func Markdown(w io.Writer, c *Comparison, all bool) error {
	return view.Markdown(w, 3, c.Document(all)...)
}

// short cuts long values.
func short(s string) string {
	s = view.Clean(s)
	if s == "" {
		return "unknown"
	}
	if r := []rune(s); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return s
}
