package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// printNotes prints which article it is, and how the repetition differs from it.
func printNotes(w io.Writer, rep *paper.Repetition) {
	d := rep.Article.Document
	fmt.Fprintf(w, "%s\n%s, %s; measured again\n\nDifferences from the article:\n", d.Title, d.Author,
		paperDate(d.Date, d.DateNote))
	for _, n := range rep.Notes {
		fmt.Fprintf(w, "  - %s\n", n)
	}
}

// printRepeat prints the article's tables with the figures of this machine.
func printRepeat(w io.Writer, runs *paper.Results) error {
	rep := runs.Repetition
	printNotes(w, rep)
	emulated := false
	for _, t := range runs.Tables() {
		printRepeatTable(w, rep, t)
		emulated = emulated || slices.ContainsFunc(t.Lines, func(l paper.RepeatLine) bool {
			return slices.ContainsFunc(l.Cells, func(c paper.Cell) bool { return c.Emulated })
		})
	}
	extras := runs.Extras()
	if len(extras) > 0 {
		printExtras(w, extras)
	}
	emulated = emulated || slices.ContainsFunc(extras, func(e paper.ExtraResult) bool { return e.Emulated })
	if emulated {
		fmt.Fprintln(w, "\n* emulated: its times say nothing about real hardware")
	}
	_, err := fmt.Fprintf(w, "\nTo print these tables again (tare show and tare report read the runs, too):\n"+
		"  tare paper show %s --run %s\n",
		rep.Article.Document.Name, strings.Join(runs.Paths, ","))
	return err
}

// printRepeatTable prints one table: each line of the article becomes one line for
// each of its systems. Reasons are numbered and follow the table.
func printRepeatTable(w io.Writer, rep *paper.Repetition, t paper.RepeatTable) {
	fmt.Fprintf(w, "\n%s\n", t.Name)
	for _, h := range t.Heading {
		fmt.Fprintf(w, "  %s\n", h)
	}
	if len(t.Lines) == 0 {
		return
	}
	var reasons []string
	rows := [][]string{append(make([]string, len(t.Lines[0].Labels)), "", "printed", "here", "by", "cost then",
		"cost now")}
	for _, l := range t.Lines {
		labels := l.Labels
		for _, c := range l.Cells {
			cells := repeatCells(rep, c)
			if c.Why != "" {
				i := slices.Index(reasons, c.Why)
				if i < 0 {
					i, reasons = len(reasons), append(reasons, c.Why)
				}
				cells[2] = strings.TrimSpace(cells[2] + " [" + strconv.Itoa(i+1) + "]")
			}
			rows = append(rows, slices.Concat(labels, cells))
			labels = make([]string, len(labels)) // printed once
		}
	}
	fmt.Fprint(w, view.Columns(rows))
	for i, why := range reasons {
		fmt.Fprintf(w, "  [%d] %s\n", i+1, why)
	}
}

// repeatCells are system, printed, here, by, cost then, cost now.
func repeatCells(rep *paper.Repetition, c paper.Cell) []string {
	by := c.As
	if c.Emulated {
		by += "*"
	}
	here := ""
	if c.Here != nil {
		here = report.Digits(*c.Here, 4)
	}
	then, now := costWords(c.Then), costWords(c.Now)
	if c.System == rep.Baseline {
		then, now = "baseline", "baseline"
	}
	system := c.System
	if system == "" {
		system = "(only here)"
	}
	return []string{system, c.Printed, here, by, then, now}
}

// costWords words what a system costs; "" if that is not known.
func costWords(c *paper.Cost) string {
	switch {
	case c == nil:
		return ""
	case c.Verdict == "":
		return signedPercent(c.Percent)
	case strings.HasPrefix(c.Verdict, "costs") || strings.HasPrefix(c.Verdict, "gains"):
		return c.Verdict // with its figure
	}
	return signedPercent(c.Percent) + ", " + c.Verdict
}

func signedPercent(p float64) string {
	if math.Abs(p) >= 100 {
		return fmt.Sprintf("%+.0f %%", p)
	}
	return fmt.Sprintf("%+.1f %%", p)
}

// printExtras prints the measurements that repeat figures without printed values.
func printExtras(w io.Writer, extras []paper.ExtraResult) {
	fmt.Fprintln(w, "\nMeasured here; the article shows these without values:")
	rows := [][]string{{"article", "measured", "", "here", "by", "cost now"}}
	var standIns []string
	series := ""
	for _, e := range extras {
		row := []string{"", "", e.Metric, e.Why + " ", e.System, costWords(e.Now)}
		if e.Series != series {
			series, row[0], row[1] = e.Series, e.Article, e.Series
		}
		if e.Here != nil {
			row[3] = report.InUnit(e.Unit, *e.Here, 4)
		}
		if e.Emulated {
			row[4] += "*"
		}
		rows = append(rows, row)
		if s := e.Workload + " is a stand-in " + e.StandIn; e.StandIn != "" && !slices.Contains(standIns, s) {
			standIns = append(standIns, s)
		}
	}
	fmt.Fprint(w, view.Columns(rows))
	for _, s := range standIns {
		fmt.Fprintf(w, "  %s\n", s)
	}
}
