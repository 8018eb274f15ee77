package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
)

// TestIsolationTable: the table has the slowdown of each arm beside native's and
// the lost guests, and keeps slowdown and cost apart.
func TestIsolationTable(t *testing.T) {
	about := func(arm, base string, ratio float64) analyze.Comparison {
		return analyze.Comparison{Workload: "cpu", Metric: "time", Unit: "s", Better: "lower", Primary: true, Arm: arm,
			Baseline: base,
			N:        10, Estimate: claim.Between(ratio, ratio*0.99, ratio*1.01), Verdict: analyze.NotResolved,
			HasControl:     true,
			FartherPercent: 100*ratio*1.01 - 100}
	}
	lost := about("runc@noisy", "runc", 0)
	lost.N, lost.Interval = 0, nil
	res := &analyze.Result{Baseline: "native", Blocks: 10, Alpha: 0.05, Delta: 0.02,
		Comparisons: []analyze.Comparison{about("lxc", "native", 1.01), about("lxc@four", "native@four", 1.2)},
		Arms: []analyze.ArmResult{{Arm: "native", Workload: "cpu", Scenario: "solo"},
			{Arm: "lxc", Workload: "cpu", Scenario: "solo"},
			{Arm: "native@four", Workload: "cpu", Scenario: "four"}, {Arm: "lxc@four", Workload: "cpu", Scenario: "four"}},
		TrialSpread: []analyze.TrialSpread{{Workload: "cpu", Metric: "time", Scenario: "solo", Percent: 2, Pairs: 10},
			{Workload: "cpu", Metric: "time", Scenario: "four", Percent: 5, Pairs: 10}},
		Isolation: []analyze.Isolation{
			{Comparison: about("lxc@four", "lxc", 2.3), Scenario: "four", Guests: 4, Native: 2.01, Excess: 1.14, Jain: 0.9876,
				Unfairness: 1.5, Trials: 40, SkewP99: 0.0007},
			{Comparison: lost, Scenario: "noisy", Guests: 1, Neighbours: []string{"cpu", "fork"}, Lost: 10, Trials: 10},
		},
		CapAccuracy: []analyze.CapAccuracy{{Workload: "cpu", Metric: "time", System: "lxc", Scenario: "solo",
			Arm: "lxc-quarter", Flavor: "quarter", Against: "lxc",
			Reference: "whole", N: 10, Ideal: 4, Estimate: claim.Between(3.977, 3.9, 4.1)}},
		RateCaps: []analyze.RateCap{{Workload: "cpu", Metric: "time", Arm: "lxc", Cap: "read_ops", Limit: 500, Unit: "1/s",
			N: 10, Estimate: claim.Between(1.017, 1.01, 1.02), Peak: 1.21, PeakLow: 1.18, PeakHigh: 1.25},
			{Workload: "cpu", Metric: "time", Arm: "lxc", Cap: "write_ops", Limit: 500, Unit: "1/s", N: 10,
				Estimate: claim.Between(0.4, 0.3, 0.5), Peak: 0.6, Untested: true}},
	}
	res.Isolation[0].Verdict = analyze.Costs
	for _, width := range []int{60, 140} {
		if text := tableOf(t, res, Context{Width: width}); strings.Contains(text, "native@four   ") ||
			strings.Contains(text, "5.0 %") {
			t.Errorf("costs beside other guests are in the table of costs alone:\n%s", text)
		}
	}
	text := tableOf(t, res, Context{Campaign: "several", Width: 140, AllMetrics: true})
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"lxc@four 4 2.30× 2.28 … 2.32 2.01× 1.14× 0.988 1.50× 0.70 ms",
		"runc@noisy 1 + cpu, fork did not finish 10 of 10",
		"lxc takes 2.30 times as long as alone (2.28 … 2.32) on cpu in four, where native takes 2.01 times as long",
		"runc 10 of 10 results are missing because guests did not finish",
		"cap: flavor quarter of lxc-quarter takes 3.98× as long as whole of lxc (3.90 … 4.10)",
		"ideal for pure computing, with CPUs to spare: 4.00×",
		"read ops cap: lxc got 1.02× of 500.0 /s (1.01 … 1.02), and 1.21× in its fastest second (1.18 … 1.25)",
		"write ops cap: lxc got 0.400× of 500.0 /s (0.300 … 0.500): not tested, since no arm came near it",
		"differ by up to 5.0 %",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "against native@four") {
		t.Errorf("a baseline of the same scenario needs no name:\n%s", text)
	}
	fits(t, tableOf(t, res, Context{Campaign: "several", Width: 60}), 60)
}

// TestIsolationAnswers: for each system what is resolved, the worst first, then
// what is not, with what is known.
func TestIsolationAnswers(t *testing.T) {
	of := func(arm, scenario string, ratio, far float64, verdict analyze.Verdict) analyze.Isolation {
		return analyze.Isolation{Scenario: scenario, Trials: 10, Native: 1.5, Comparison: analyze.Comparison{Workload: "cpu",
			Metric: "time", Primary: true, Arm: arm + "@" + scenario, Baseline: arm, N: 10,
			Estimate: claim.Between(ratio, 0.99*ratio, 1.01*ratio), FartherPercent: far, Verdict: verdict, HasControl: true}}
	}
	tcg, native, never := of("tcg", "a", 9, 900, analyze.Costs), of("native", "a", 1.5, 51, analyze.Costs),
		of("kvm", "e", 1, 0, analyze.NotResolved)
	tcg.Family, native.Native, never.N = analyze.FamilyEmulated, 0, 1
	lost := of("lxc", "g", 0, 0, analyze.NotResolved)
	lost.Lost, lost.N = 10, 0
	second := of("lxc", "a", 7, 700, analyze.Costs)
	second.Primary = false
	res := &analyze.Result{Baseline: "native", Delta: 0.02, Isolation: []analyze.Isolation{tcg, native,
		of("lxc", "a", 1.6, 62, analyze.Costs), of("lxc", "b", 2, 102, analyze.Costs), of("lxc", "c", 1, 1, analyze.None),
		lost, second,
		of("kvm", "a", 1.02, 3, analyze.NotResolved), of("kvm", "b", 1, -8, analyze.NotResolved),
		of("kvm", "c", 1, 5, analyze.NotResolved), of("kvm", "d", 1, 2, analyze.NotResolved), never}}
	var got []string
	for _, a := range IsolationAnswers(res) {
		got = append(got, a.Arm+", "+string(a.Worst)+": "+a.Text)
	}
	want := []string{
		"native, costs: takes 1.50 times as long as alone (1.48 … 1.52) on cpu in a",
		"lxc, costs: takes 2.00 times as long as alone (1.98 … 2.02) on cpu in b, where native takes 1.50 times as long; " +
			"the slowdown is smaller in 1 more case; 10 of 40 results are missing because guests did not finish; no slower " +
			"than alone, within ±2 %, on cpu in c",
		"kvm, not-resolved: not resolved: at most ±8.0 % on cpu in b, +5.0 % on cpu in c, +3.0 % on cpu in a and less in 1 " +
			"more; nothing is known yet about cpu in e",
		"tcg, not-resolved: emulated: nothing is claimed",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	cell := func(scenario string, low, high float64, verdict analyze.Verdict) {
		res.IsolationMatrix = append(res.IsolationMatrix, analyze.IsolationCell{Of: "lxc", Scenario: scenario,
			Excess: &analyze.Excess{Workload: "cpu", Estimate: claim.Between((low+high)/2, low, high), Verdict: verdict}})
	}
	cell("a", 1.1, 1.3, analyze.Costs)
	cell("b", 0.7, 1.2, analyze.NotResolved)
	cell("c", 0.95, 1.04, analyze.NotResolved)
	said := "lxc, costs: slowed down more than native: 1.20 times (1.10 … 1.30) on cpu in a; as native, within 5 % in " +
		"c; differs from native by at most 30 % on cpu in b; 10 of 40 results are missing because guests did not finish"
	for _, a := range IsolationAnswers(res) {
		if got := a.Arm + ", " + string(a.Worst) + ": " + a.Text; a.Arm == "lxc" && got != said {
			t.Errorf("got\n%s\nwant\n%s", got, said)
		}
	}
}
