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
		return fmt.Sprintf("%s (%s … %s)", m.with(p.Value), m.figure(p.Low), m.figure(p.High))
	}
	slow := func(slow, n int, share float64) string {
		return fmt.Sprintf("%d of %d (%s %%)", slow, n, report.Digits(100*share, 2))
	}
	size := func(v float64) string {
		if v == 0 {
			return ""
		}
		return report.Digits(v, 2) + "×"
	}
	var shown []string
	for _, t := range res.Tails {
		if a := res.Arm(t.Arm, m.Workload); t.Workload != m.Workload || t.Metric != m.Name || a == nil ||
			!slices.Contains(scenarios, a.Scenario) {
			continue
		}
		if !slices.Contains(shown, t.Baseline) {
			shown = append(shown, t.Baseline)
			m.Tails = append(m.Tails,
				tailRow{Arm: t.Baseline, IsBaseline: true, Slow: slow(t.BaselineSlow, t.BaselineN, t.BaselineShare),
					Size: size(t.BaselineSize),
					P95:  percentile(t.BaselineP95), P99: percentile(t.BaselineP99)})
		}
		row := tailRow{Arm: t.Arm, More: t.More, Slow: slow(t.Slow, t.N, t.Share), Size: size(t.Size), P95: percentile(t.P95),
			P99:        percentile(t.P99),
			Difference: fmt.Sprintf("%s … %s points", report.Percent(100*t.Low), report.Percent(100*t.High))}
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
