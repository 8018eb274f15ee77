package report

import (
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// Overview is what arms cost by their primary metrics, without controls: either against the run's baseline, or against
// those of other scenarios. On a page, the arms are columns. titles say what the workloads do.
func Overview(res *analyze.Result, titles map[string]string, others bool) *view.Table {
	t := &view.Table{Name: "overview", Caption: "Overhead of every system on every workload", Repeats: true, Across: 2,
		Sortable: true, Columns: view.Heads("workload", "system", "overhead", "result", "interval")}
	if others {
		t.Caption += besideOthers
		t.Fold = "The same beside other guests, each system against its baseline there"
	}
	for _, c := range res.Comparisons {
		if !c.Primary || c.Control || (c.Baseline != res.Baseline) != others {
			continue
		}
		name := view.Cell{Text: c.Workload, Link: idOf(res, c.Workload), More: []string{c.Metric}}
		if title := titles[c.Workload]; title != "" {
			name.More[0] += ": " + title
		}
		arm := armCell(c.Arm, isEmulated(res, c.Arm, ""))
		if others {
			arm.More = []string{"against " + c.Baseline}
		}
		figure := view.Cell{Figure: overhead(c), Class: classOf(res, c)}
		words := verdictCell(res, c, Verdict(res, c))
		cost := Percent(c.OverheadPercent) + " %"
		if c.OverheadPercent >= 1000 {
			cost = Digits(c.Ratio, 3) + "×"
		}
		switch { // the figure stands above, so only the word remains
		case c.Verdict == analyze.Costs, c.Verdict == analyze.Gains, c.Verdict == analyze.None:
			figure.Text, words.Text = cost, map[analyze.Verdict]string{analyze.Costs: "costs", analyze.Gains: "gains",
				analyze.None: "none"}[c.Verdict]
		case Known(c):
			figure.Text, words.Text = AtMost(c), "not resolved"
		}
		t.Add(name, arm, figure, words, view.Text(Interval(c)))
	}
	return t
}
