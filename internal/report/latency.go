package report

import (
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// latencies are the percentiles of a workload's single latencies: of arms that are alone, and of those beside other
// guests. In short, only the median and the two highest percentiles of arms that are alone are shown.
func latencies(res *analyze.Result, workload string) (alone, beside *view.Table) {
	alone = &view.Table{Name: "single latencies", Legend: latencyLegend, Once: true,
		Caption: "Percentiles of the single latencies of " + workload + ", by system",
		Columns: view.Heads("", "percentile", "latency", "against", "latency there", "result", "interval")}
	besides := *alone
	beside = &besides
	beside.Detail, beside.Legend, beside.Name = true, "", "single latencies beside other guests"
	beside.Fold = "Single latencies beside other guests"
	beside.Caption += ", beside other guests"
	of := slices.DeleteFunc(slices.Clone(res.Latencies),
		func(l analyze.Latency) bool { return l.Workload != workload || l.Control })
	for i, l := range of {
		highest := i == len(of)-1 || of[i+1].Arm != l.Arm || of[i+1].Baseline != l.Baseline
		row := view.Row{Cells: latencyCells(res, l), Detail: l.Percentile > 0.5 && l.Percentile < 0.99 && !highest}
		into := beside
		if l.Baseline == res.Baseline && l.Family != analyze.FamilyIsolation {
			into = alone
		}
		into.Rows = append(into.Rows, row)
	}
	return alone, beside
}

// latencyLegend explains the headings.
const latencyLegend = "p99: 99 % of the single latencies in all trials are no longer than this; " +
	"results compare the percentiles of guests; the baseline includes its control"

// latencyCells are the figures of a percentile.
func latencyCells(res *analyze.Result, l analyze.Latency) []view.Cell {
	return []view.Cell{view.Text(l.Arm), view.Text(analyze.PercentileName(l.Percentile)),
		view.Number(InUnit("s", l.Value, 4), l.Value, "s"), view.Text(l.Baseline),
		view.Number(InUnit("s", l.BaselineValue, 4), l.BaselineValue, "s"),
		{Text: ShortVerdict(l.Comparison), Figure: overhead(l.Comparison), Class: classOf(res, l.Comparison)},
		view.Text(Interval(l.Comparison))}
}
