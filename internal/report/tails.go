package report

import (
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// tails is the table of how often the trials of arms stall, and what the slowest take: each baseline before the arms
// that are compared with it. A baseline includes its control.
func (c *costs) tails(where string) *view.Table {
	t := &view.Table{Name: "slow trials", Detail: true, Fold: "Slow trials of " + c.metric + where + ", as a table",
		Caption: fmt.Sprintf("Slow trials of %s by %s, by system%s", c.workload, c.metric, where),
		Columns: view.Heads("", "slow trials", "more than baseline", "size", "p95", "p99", "typical trial costs",
			"mean of all costs")}
	scenarios := c.scenarios()
	row := func(arm string, slow, n int, share, size float64, p95, p99 *analyze.Percentile,
		rest ...view.Cell) []view.Cell {
		cells := append([]view.Cell{{Text: arm, Marks: emulatedMark(isEmulated(c.res, arm, c.workload))},
			view.Number(fmt.Sprintf("%d of %d (%s %%)", slow, n, Digits(100*share, 2)), share, ""), rest[0]}, view.Cell{})
		if size > 0 {
			cells[3] = view.Number(Digits(size, 2)+"×", size, "")
		}
		cells = append(cells, scaledPercentile(c.scale, p95, c.all[0].Unit), scaledPercentile(c.scale, p99, c.all[0].Unit))
		return append(cells, rest[1:]...)
	}
	var shown []string
	factor := ""
	for _, tail := range c.res.Tails {
		if a := c.res.Arm(tail.Arm, c.workload); tail.Workload != c.workload || tail.Metric != c.metric || a == nil ||
			!slices.Contains(scenarios, a.Scenario) {
			continue
		}
		if !slices.Contains(shown, tail.Baseline) {
			shown = append(shown, tail.Baseline)
			t.Rows = append(t.Rows, view.Row{Class: view.Baseline, Cells: row(tail.Baseline, tail.BaselineSlow, tail.BaselineN,
				tail.BaselineShare, tail.BaselineSize, tail.BaselineP95, tail.BaselineP99, make([]view.Cell, 3)...)})
		}
		difference := view.Text(fmt.Sprintf("%s … %s points", Percent(100*tail.Low), Percent(100*tail.High)) +
			when(tail.More, " more"))
		difference.Figure = &view.Figure{Value: 100 * tail.Difference, Low: 100 * tail.Low, High: 100 * tail.High}
		if tail.More {
			difference.Class = view.Costs
			t.Fold, t.Title = "", "stalls"+where
		}
		var typical, mean view.Cell
		for _, of := range c.all {
			if of.Arm == tail.Arm && of.Baseline == tail.Baseline && Known(of) {
				typical = view.Cell{
					Text:   fmt.Sprintf("%s %% (%s)", Percent(of.OverheadPercent), Interval(of)),
					Figure: overhead(of),
				}
				if of.MeanLow > 0 {
					mean = percentCell(100*(of.MeanRatio-1), 100*(of.MeanLow-1), 100*(of.MeanHigh-1))
				}
			}
		}
		t.Add(row(tail.Arm, tail.Slow, tail.N, tail.Share, tail.Size, tail.P95, tail.P99, difference, typical, mean)...)
		factor = Digits(tail.Factor, 3)
	}
	t.Legend = fmt.Sprintf(
		"a trial is slow if it is over %s times slower than the median of its own guest; size: how many "+
			"times slower such trials typically are; 95 %% and 99 %% of the trials stay within p95 and p99; the mean of all "+
			"trials "+
			"reflects every stall in full, the typical trial hardly does; a baseline includes its control; intervals are in "+
			"brackets",
		factor,
	)
	return t
}

// percentCell is a percentage with its interval.
func percentCell(percent, low, high float64) view.Cell {
	return view.Cell{
		Text:   PercentIn(percent, low, high),
		Figure: &view.Figure{Value: percent, Low: low, High: high, Unit: "%"},
	}
}

// PercentIn is a percentage with its interval in words.
func PercentIn(percent, low, high float64) string {
	return fmt.Sprintf("%s %% (%s … %s %%)", Percent(percent), Percent(low), Percent(high))
}
