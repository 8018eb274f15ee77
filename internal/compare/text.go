package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tare-bench/tare/internal/report"
)

// Cells are a change in words and figures, for a table.
type Cells struct {
	Workload, Figure, Before, After, Change, Interval, Verdict string
}

// Head names the cells.
var Head = Cells{"workload", "figure", "before", "after", "change", "interval", "verdict"}

func (c Cells) list() []string {
	return []string{c.Workload, c.Figure, c.Before, c.After, c.Change, c.Interval, c.Verdict}
}

// Cells words a change; all says that the metric must be named.
func (ch Change) Cells(all bool) Cells {
	c := Cells{Workload: ch.Workload, Figure: string(ch.Kind) + ": " + ch.Arm}
	if ch.Kind == Overhead {
		c.Figure = ch.Arm + " against the baseline"
	}
	if all || !ch.Primary {
		c.Workload += " " + ch.Metric
	}
	factor, unit := report.ScaleFor(ch.Unit, max(ch.Before, ch.After))
	figure := func(v float64) string {
		switch {
		case v == 0:
			return ""
		case ch.Kind == Overhead && v >= 2:
			return report.Digits(v, 3) + "×"
		case ch.Kind == Overhead:
			return report.Percent(100*(v-1)) + " %"
		}
		return strings.TrimSpace(report.Digits(v*factor, 4) + " " + unit)
	}
	c.Before, c.After = figure(ch.Before), figure(ch.After)
	if ch.Ratio > 0 {
		c.Change = report.Percent(ch.ChangePercent) + " %"
		c.Interval = report.Percent(100*(ch.CILow-1)) + " … " + report.Percent(min(100*(ch.CIHigh-1), 99_999)) + " %"
	}
	switch ch.Verdict {
	case Same:
		c.Verdict = "the same"
	case NotResolved:
		c.Verdict = "not resolved"
	default:
		c.Verdict = string(ch.Verdict)
	}
	if ch.Why != "" {
		c.Verdict += " (" + ch.Why + ")"
	}
	return c
}

// Runs returns the names of the runs that are compared with the first.
func (c *Comparison) Runs() []string {
	var names []string
	for _, ch := range c.Changes {
		if len(names) == 0 || names[len(names)-1] != ch.Run {
			names = append(names, ch.Run)
		}
	}
	return names
}

// Rows returns the changes of one run as cells, and those changes.
func (c *Comparison) Rows(run string, all bool) (rows []Cells, of []Change) {
	for _, ch := range c.Changes {
		if ch.Run == run {
			rows, of = append(rows, ch.Cells(all)), append(of, ch)
		}
	}
	return rows, of
}

// Count says in a sentence how many changes of a run came out how.
func Count(of []Change) string {
	n := map[Verdict]int{}
	for _, ch := range of {
		n[ch.Verdict]++
	}
	return fmt.Sprintf("%d worse, %d better, %d the same, %d not resolved", n[Worse], n[Better], n[Same], n[NotResolved])
}

// Text writes a comparison for a terminal.
func Text(w io.Writer, c *Comparison, all bool) error {
	var b strings.Builder
	for _, run := range c.Runs() {
		rows, of := c.Rows(run, all)
		fmt.Fprintf(&b, "%s, against %s: %s\n", clean(run), clean(c.First), Count(of))
		fmt.Fprintf(&b, "above 0 %% is worse; %.4g %% intervals\n\n", 100*(1-c.Alpha))
		table := [][]string{Head.list()}
		for _, r := range rows {
			table = append(table, r.list())
		}
		align(&b, table)
		b.WriteString("\n")
		for _, d := range c.Differences {
			if d.Run == run {
				fmt.Fprintf(&b, "  not the same: %s: %s → %s\n", clean(d.What), short(d.Before), short(d.After))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// align writes rows in columns; a workload is named where it changes.
func align(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i := range r {
			r[i] = clean(r[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	last := ""
	for _, r := range rows {
		line := ""
		for i, text := range r {
			if i == 0 {
				if text == last {
					text = ""
				} else {
					last = text
				}
			}
			line += "  " + text + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// Markdown writes a comparison as the summary of a pull request: what changed
// in a table, and the rest folded away.
func Markdown(w io.Writer, c *Comparison, all bool) error {
	var b strings.Builder
	for _, run := range c.Runs() {
		rows, of := c.Rows(run, all)
		fmt.Fprintf(&b, "### tare: %s against %s\n\n%s. Above 0 %% is worse; %.4g %% intervals.\n\n", md(run), md(c.First), Count(of), 100*(1-c.Alpha))
		var claimed, rest []Cells
		for i, ch := range of {
			if ch.Verdict == Worse || ch.Verdict == Better {
				claimed = append(claimed, rows[i])
			} else {
				rest = append(rest, rows[i])
			}
		}
		mdTable(&b, claimed)
		if rest != nil {
			b.WriteString("<details><summary>The same, or not resolved</summary>\n\n")
			mdTable(&b, rest)
			b.WriteString("</details>\n\n")
		}
		for _, d := range c.Differences {
			if d.Run == run {
				fmt.Fprintf(&b, "- not the same: %s: %s → %s\n", md(d.What), md(short(d.Before)), md(short(d.After)))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mdTable(b *strings.Builder, rows []Cells) {
	if len(rows) == 0 {
		return
	}
	for i, r := range append([]Cells{Head}, rows...) {
		for _, text := range r.list() {
			b.WriteString("| " + md(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---|---|--:|--:|--:|--:|---|\n")
		}
	}
	b.WriteString("\n")
}

// md is text that Markdown takes for nothing else.
func md(s string) string {
	var b strings.Builder
	for _, r := range clean(s) {
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

// clean takes out what could do more than be printed.
func clean(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))), " ")
}

// short cuts what nobody reads to its end.
func short(s string) string {
	s = clean(s)
	if s == "" {
		return "unknown"
	}
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "…"
	}
	return s
}

// JSON writes a comparison for other programs.
func JSON(w io.Writer, c *Comparison) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}
