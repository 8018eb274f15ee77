package report

import (
	"github.com/tare-bench/tare/internal/analyze"
)

// latencies writes the percentiles of a workload's single latencies. Without AllMetrics, only the median and the two
// highest percentiles of arms that are alone are shown.
func (t *table) latencies(workload string) {
	rows := [][]string{LatencyHeadings()}
	shown := ""
	all := LatenciesOf(t.res, workload)
	for i, l := range all {
		highest := i == len(all)-1 || all[i+1].Arm != l.Arm || all[i+1].Baseline != l.Baseline
		between := l.Percentile > 0.5 && l.Percentile < 0.99 && !highest
		alone := l.Baseline == t.res.Baseline && l.Family != analyze.FamilyIsolation
		if !t.ctx.AllMetrics && (!alone || between) {
			continue
		}
		cells := LatencyCells(l)
		if name := l.Arm + "\x00" + l.Baseline; name == shown {
			cells[0] = ""
		} else {
			shown = name
		}
		rows = append(rows, cells)
	}
	if len(rows) > 1 {
		t.table(rows)
		t.singles = true
	}
}

// LatenciesOf are the comparisons of a workload's single latencies, without those of controls.
func LatenciesOf(res *analyze.Result, workload string) (of []analyze.Latency) {
	for _, l := range res.Latencies {
		if l.Workload == workload && !l.Control {
			of = append(of, l)
		}
	}
	return of
}

// LatencyHeadings are those of LatencyCells.
func LatencyHeadings() []string {
	return []string{"single latencies", "", "latency", "against", "latency there", "result", "interval"}
}

// LatencyLegend explains the headings.
const LatencyLegend = "p99: 99 % of the single latencies in all trials are no longer than this; " +
	"results compare the percentiles of guests; the baseline includes its control"

// LatencyCells are the figures of a percentile, as in the table.
func LatencyCells(l analyze.Latency) []string {
	return []string{Clean(l.Arm), analyze.PercentileName(l.Percentile), InUnit("s", l.Value, 4),
		Clean(l.Baseline), InUnit("s", l.BaselineValue, 4), ShortVerdict(l.Comparison), Interval(l.Comparison)}
}
