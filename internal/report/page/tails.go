package page

import (
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// tailRow is how often the trials of an arm stall, and what the slowest take.
type tailRow struct {
	Arm              string
	IsBaseline, More bool
	Slow, Difference string
	Size             string // of a slow trial, against the median
	P95, P99         string
	Typical, Mean    string // overheads: of the typical trial, and with every stall in it
}

// tails fills in the rows of the arms of these scenarios, each baseline before the
// arms that are compared with it. A baseline includes its control.
func (m *metricView) tails(res *analyze.Result, scenarios []string) {
	percentile := func(p *analyze.Percentile) string {
		if p == nil {
			return ""
		}
		return fmt.Sprintf("%s (%s … %s)", m.With(p.Value), m.Figure(p.Low), m.Figure(p.High))
	}
	of := func(arm string, slow, n int, share, size float64, p95, p99 *analyze.Percentile) tailRow {
		row := tailRow{Arm: arm, Slow: fmt.Sprintf("%d of %d (%s %%)", slow, n, report.Digits(100*share, 2)),
			P95: percentile(p95), P99: percentile(p99)}
		if size > 0 {
			row.Size = report.Digits(size, 2) + "×"
		}
		return row
	}
	var shown []string
	for _, t := range res.Tails {
		if a := res.Arm(t.Arm, m.Workload); t.Workload != m.Workload || t.Metric != m.Name || a == nil ||
			!slices.Contains(scenarios, a.Scenario) {
			continue
		}
		if !slices.Contains(shown, t.Baseline) {
			shown = append(shown, t.Baseline)
			row := of(t.Baseline, t.BaselineSlow, t.BaselineN, t.BaselineShare, t.BaselineSize, t.BaselineP95, t.BaselineP99)
			row.IsBaseline = true
			m.Tails = append(m.Tails, row)
		}
		row := of(t.Arm, t.Slow, t.N, t.Share, t.Size, t.P95, t.P99)
		row.More = t.More
		row.Difference = fmt.Sprintf("%s … %s points", report.Percent(100*t.Low), report.Percent(100*t.High))
		for _, c := range res.Comparisons {
			if c.Workload == t.Workload && c.Metric == t.Metric && c.Arm == t.Arm && c.Baseline == t.Baseline &&
				report.Known(c) {
				row.Typical = fmt.Sprintf("%s %% (%s)", report.Percent(c.OverheadPercent), report.Interval(c))
				if c.MeanLow > 0 {
					row.Mean = percentIn(100*(c.MeanRatio-1), 100*(c.MeanLow-1), 100*(c.MeanHigh-1))
				}
			}
		}
		m.Tails = append(m.Tails, row)
		m.Stalls, m.SlowFactor = m.Stalls || t.More, report.Digits(t.Factor, 3)
	}
}
