package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestLatencies: the table has the median and the highest percentiles of arms that are alone, with AllMetrics all.
func TestLatencies(t *testing.T) {
	res := reporttest.Cases()
	c := func(arm, baseline string, q, percent float64, family analyze.Family, verdict analyze.Verdict) {
		res.Latencies = append(res.Latencies, analyze.Latency{Percentile: q, Value: 0.00123, BaselineValue: 0.001,
			Count: 50_000, BaselineCount: 100_000, Comparison: analyze.Comparison{Workload: "openssl-enc", Metric: "time",
				Arm: arm, Baseline: baseline, Family: family, Control: family == analyze.FamilyControl, N: 8, Units: 8,
				Estimate: claim.Between(1+percent/100, 1+percent/200, 1+percent/50), OverheadPercent: percent,
				FartherPercent: 2 * percent, Verdict: verdict}})
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		c("native-control", "native", q, 1, analyze.FamilyControl, analyze.NotResolved)
		c("lxc", "native", q, 23, analyze.FamilyTails, analyze.Costs)
	}
	c("lxc", "native", 0.9, 5, analyze.FamilyTails, analyze.NotResolved)
	c("native@noisy", "native", 0.99, 300, analyze.FamilyIsolation, analyze.Costs)
	show := func(all bool) string {
		t.Helper()
		_, text, _ := strings.Cut(tableOf(t, res, Context{AllMetrics: all, Width: 120}), "\n  single latencies")
		if !all {
			text, _, _ = strings.Cut(text, "\n\n")
		}
		return text
	}
	for all, want := range map[bool][]string{false: {"p50", "p99 ", "p99.9"}, true: {"p50", "p90", "p99 ", "p99.9",
		"native@noisy"}} {
		text := show(all)
		for _, word := range append(want, "+23", "1.23") {
			if !strings.Contains(text, word) {
				t.Errorf("all %v: no %q in\n%s", all, word, text)
			}
		}
		if !all && strings.Contains(text, "native-control") || !all && strings.Contains(text, "noisy") {
			t.Errorf("all %v:\n%s", all, text)
		}
	}
	l := &figureList{}
	for _, one := range res.Latencies {
		l.latency(figureRow{Workload: one.Workload, Arm: one.Arm}, one)
	}
	names := map[string]string{}
	for _, row := range l.rows {
		names[row.Name] = row.Arm
	}
	for name, arm := range map[string]string{"p99-latency": "lxc", "baseline-p99-latency": "lxc",
		"p99.9-latency-cost":  "lxc",
		"p99-latency-control": "native-control", "p99-latency-slowdown": "native@noisy"} {
		if names[name] != arm {
			t.Errorf("figure %s of %q, want %q", name, names[name], arm)
		}
	}
}
