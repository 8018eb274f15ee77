package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/report"
)

func newPaperReport() *cobra.Command {
	c := &cobra.Command{
		Use:   "report NAME|FILE",
		Short: "Write a page with an article's figures as printed, recomputed and measured here",
		Long: `report writes a Markdown page about an article: its story in a few sentences, what the
audit found, and each figure as printed, recomputed from the article's other
figures, and measured on this machine. The last column says whether a cost that the
article found is also found here:

  holds here       both cost something, both gain, or neither
  does not         the two differ, and the interval here shows it
  cannot be told   not measured, emulated, or not resolved

Each verdict comes with its reason. Claims in words, such as "no difference", are
judged in the same way if the article's file says what measures them.`,
		Example: "  tare paper report habr\n  tare paper report habr --run habr-files.tare,habr-bonnie.tare --out habr.md",
		Args:    cobra.ExactArgs(1),
	}
	var paths []string
	var out string
	c.Flags().StringSliceVar(&paths, "run", nil, "run files of tare paper run")
	outFlag(c, &out, "file to write (default: standard output)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := openPaper(args[0])
		if err != nil {
			return err
		}
		var runs *paper.Results
		if len(paths) > 0 {
			if runs, err = openPaperRuns(cmd.Context(), a, paths); err != nil {
				return err
			}
		}
		var page strings.Builder
		writePaperPage(&page, a, runs)
		if out == "" {
			_, err = io.WriteString(cmd.OutOrStdout(), page.String())
			return err
		}
		if err := os.WriteFile(out, []byte(page.String()), 0o644); err != nil {
			return fault.Campaignf("%w", err)
		}
		return nil
	}
	return c
}

// writePaperPage writes an article's page in Markdown.
func writePaperPage(w io.Writer, a *paper.Article, runs *paper.Results) {
	d := a.Document
	fmt.Fprintf(w, "# %s\n\n%s, %s, in %s. Source: %s.\n", d.Title, d.Author, paperDate(d.Date, d.DateNote), d.Language,
		d.Source())
	if len(a.Story) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(a.Story, "\n"))
	}
	tables, claims := paper.Page(a, runs), paper.PageClaims(a, runs)
	writeVerdicts(w, tables, claims)
	writeClaims(w, claims)
	writeFindings(w, a)
	writeDifferences(w, runs)
	fmt.Fprintf(w, "\n## The figures\n\n")
	fmt.Fprintln(w,
		"**Bold** figures have a finding. Costs are positive if the system is worse. An asterisk marks an emulated system.")
	for _, t := range tables {
		writePageTable(w, t)
	}
}

// writeVerdicts says how much of the article holds here, and why the rest cannot be told.
func writeVerdicts(w io.Writer, tables []paper.PageTable, claims []paper.PageClaim) {
	tally := paper.TallyOf(tables, claims)
	fmt.Fprintf(w, "\n## What holds here\n\nOf the costs that the article prints, implies or states in words, "+
		"%d hold here, %d do not hold, and %d cannot be told", tally.Count[paper.HoldsHere], tally.Count[paper.HoldsNot],
		tally.Count[paper.CannotBeTold])
	if len(tally.Untold) == 0 {
		fmt.Fprintln(w, ".")
		return
	}
	fmt.Fprint(w, ":\n\n")
	for _, r := range tally.Untold {
		fmt.Fprintf(w, "- %d: %s\n", r.Count, markdownCell(r.Why))
	}
}

// saysWords are what claims say about a system, for the page.
var saysWords = map[string]string{"costs": "slower", "gains": "faster", "none": "no difference"}

// writeClaims lists what the article says in words and tare measures.
func writeClaims(w io.Writer, claims []paper.PageClaim) {
	if len(claims) == 0 {
		return
	}
	fmt.Fprint(w, "\n## What the article says in words\n\n"+
		"Each line is a claim about a system, and a measurement that can show whether it holds.\n\n")
	head := []string{"claim", "system", "says", "measured by", "by", "cost here", "interval", "verdict"}
	fmt.Fprintf(w, "%s\n%s\n", markdownRow(head...), "|"+strings.Repeat("---|", len(head)))
	for _, c := range claims {
		fmt.Fprintln(w, markdownRow(append([]string{c.Text, c.Cell.System, saysWords[c.Says], c.Cell.Series + ", " +
			c.Cell.Metric},
			append(pageHere(c.Cell)[1:], c.Verdict.String())...)...))
	}
}

// writeFindings lists what the audit found.
func writeFindings(w io.Writer, a *paper.Article) {
	r := paper.Audit(a)
	fmt.Fprint(w, "\n## What the audit found\n\n")
	switch {
	case len(r.Findings) == 0 && r.Agree == 0:
		fmt.Fprintln(w, "Nothing: no number that the article prints follows from its other numbers.")
		return
	case len(r.Findings) == 0:
		fmt.Fprintf(w, "Nothing: all checks agree (%d).\n", r.Agree)
		return
	}
	fmt.Fprintf(w, "Checks that agree: %d. Those that do not:\n\n"+
		"| where | printed | recomputed | how | what may have happened |\n|---|---|---|---|---|\n", r.Agree)
	for _, f := range r.Findings {
		printed, recomputed := f.Values()
		fmt.Fprintln(w, markdownRow(f.Row, printed, recomputed, f.How, f.Explanation))
	}
}

// writeDifferences says how the measurement here differs from the article's.
func writeDifferences(w io.Writer, runs *paper.Results) {
	fmt.Fprint(w, "\n## How it was measured here\n\n")
	if runs == nil {
		fmt.Fprintln(w, "It was not: `tare paper run` makes the runs, and `--run` adds them to this page.")
		return
	}
	for _, n := range runs.Repetition.Notes {
		fmt.Fprintf(w, "- %s\n", markdownCell(n))
	}
}

func writePageTable(w io.Writer, t paper.PageTable) {
	fmt.Fprintf(w, "\n### %s\n\n", markdownCell(t.Name))
	for _, h := range t.Heading {
		fmt.Fprintf(w, "%s  \n", markdownCell(h))
	}
	plain := t.Plain()
	head := []string{"figure", "system", "printed", "recomputed", "cost then"}
	if !plain {
		head = append(head, "here", "by", "cost here", "interval")
	}
	lines := [][]string{append(head, "verdict")}
	var why []string
	for _, l := range t.Lines {
		c := l.Cell
		row := []string{strings.Join(l.Labels, ", "), cmp.Or(c.System, "(only here)"), c.Printed, l.Recomputed, ""}
		if c.Then != nil {
			row[4] = signedPercent(c.Then.Percent)
		}
		if !plain {
			row = append(row, pageHere(c)...)
		}
		if c.Why != "" && !slices.Contains(why, c.Why) {
			why = append(why, c.Why)
		}
		for i := range row {
			row[i] = markdownCell(row[i])
		}
		if l.Wrong && row[2] != "" {
			row[2] = "**" + row[2] + "**"
		}
		lines = append(lines, append(row, markdownCell(l.Verdict.String())))
	}
	writeColumns(w, lines)
	if !plain && len(why) > 0 {
		fmt.Fprint(w, "\nWithout a figure here, because:\n\n")
		for _, reason := range why {
			fmt.Fprintf(w, "- %s\n", markdownCell(reason))
		}
	}
}

// pageHere are the figure here, its system, its cost and the interval of that.
func pageHere(c paper.Cell) []string {
	row := []string{"", c.As, "", ""}
	if c.Here != nil {
		row[0] = report.Digits(*c.Here, 4)
	}
	if c.Emulated {
		row[1] += "*"
	}
	if c.Now != nil {
		row[2], row[3] = signedPercent(c.Now.Percent), c.Now.Interval
	}
	return row
}

// writeColumns writes a table whose cells are Markdown, without the columns that are
// empty but for their heading.
func writeColumns(w io.Writer, lines [][]string) {
	fmt.Fprintln(w)
	for n, line := range lines {
		row, rule := "|", "|"
		for i, cell := range line {
			if slices.ContainsFunc(lines[1:], func(l []string) bool { return l[i] != "" }) {
				row, rule = row+" "+cell+" |", rule+"---|"
			}
		}
		if fmt.Fprintln(w, row); n == 0 {
			fmt.Fprintln(w, rule)
		}
	}
}

func markdownRow(cells ...string) string {
	list := make([]string, len(cells))
	for i, c := range cells {
		list[i] = " " + markdownCell(c) + " "
	}
	return "|" + strings.Join(list, "|") + "|"
}

var markdownSigns = strings.NewReplacer("|", "\\|", "*", "\\*", "<", "\\<", "_", "\\_", "\n", " ")

// markdownCell escapes words for a cell of a table.
func markdownCell(s string) string { return markdownSigns.Replace(s) }
