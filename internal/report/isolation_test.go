package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// TestIsolationTable: the table says who bore what beside native, who was
// lost, and keeps slowdown and cost apart.
func TestIsolationTable(t *testing.T) {
	about := func(arm, base string, ratio float64) analyze.Comparison {
		return analyze.Comparison{Workload: "cpu", Metric: "time", Unit: "s", Better: "lower", Primary: true, Arm: arm, Baseline: base,
			N: 10, Ratio: ratio, CILow: ratio * 0.99, CIHigh: ratio * 1.01, Verdict: analyze.NotResolved, HasControl: true, FartherPercent: 100*ratio*1.01 - 100}
	}
	lost := about("runc@noisy", "runc", 0)
	lost.N, lost.CILow, lost.CIHigh = 0, 0, 0
	res := &analyze.Result{Baseline: "native", Blocks: 10, Alpha: 0.05, Delta: 0.02,
		Comparisons: []analyze.Comparison{about("lxc", "native", 1.01), about("lxc@four", "native@four", 1.2)},
		TrialSpread: []analyze.TrialSpread{{Workload: "cpu", Metric: "time", Scenario: "solo", Percent: 2, Pairs: 10}, {Workload: "cpu", Metric: "time", Scenario: "four", Percent: 5, Pairs: 10}},
		Isolation: []analyze.Isolation{
			{Comparison: about("lxc@four", "lxc", 2.3), Scenario: "four", Guests: 4, Native: 2.01, Excess: 1.14, Jain: 0.9876, Unfairness: 1.5, Trials: 40, SkewP99: 0.0007},
			{Comparison: lost, Scenario: "noisy", Guests: 1, Neighbours: []string{"cpu", "fork"}, Lost: 10, Trials: 10},
		},
		CapAccuracy: []analyze.CapAccuracy{{Workload: "cpu", Metric: "time", System: "lxc", Scenario: "solo", Arm: "lxc-quarter", Flavor: "quarter", Against: "lxc",
			Reference: "whole", N: 10, Ideal: 4, Ratio: 3.977, CILow: 3.9, CIHigh: 4.1}},
	}
	text := tableOf(t, res, Context{Campaign: "company", Width: 140})
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"lxc@four 4 2.30× 2.28 … 2.32 2.01× 1.14× 0.988 1.50× 0.70 ms",
		"runc@noisy 1 + cpu, fork did not finish 10 of 10",
		"cap: quarter of lxc-quarter take 3.98× as long as whole of lxc (3.90 … 4.10)",
		"ideal for pure computing, with CPUs to spare: 4.00×",
		"noise floor 5.0 %",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "against native@four") {
		t.Errorf("a baseline of the same scenario needs no name:\n%s", text)
	}
	for line := range strings.Lines(tableOf(t, res, Context{Campaign: "company", Width: 60})) {
		if width(strings.TrimRight(line, "\n")) > 60 && !strings.Contains(line, "noise floor") {
			t.Errorf("too wide for 60 columns: %q", line)
		}
	}
}
