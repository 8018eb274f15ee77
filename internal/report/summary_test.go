package report

import (
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/model"
)

func TestSummaries(t *testing.T) {
	cost := func(workload string, percent, low, high float64) analyze.Claim {
		return analyze.Claim{Workload: workload, Metric: "time", Percent: percent, Low: low, High: high,
			Ratio: 1 + percent/100}
	}
	attack := func(arm, on, lost string, held model.Held) analyze.Attack {
		return analyze.Attack{Attack: model.Attack{Arm: arm, On: on, Lost: lost}, Held: held}
	}
	cell := func(arm, scenario string, ratio, high float64, v analyze.Verdict) analyze.IsolationCell {
		return analyze.IsolationCell{Of: arm, Scenario: scenario,
			Excess: &analyze.Excess{Estimate: claim.Between(ratio, ratio/2, high), Verdict: v}}
	}
	value := func(v float64) analyze.Range { return analyze.Range{N: 1, Min: v, Mean: v, Max: v} }
	res := &analyze.Result{Baseline: "native", Alpha: 0.05, Delta: 0.02,
		Answers: []analyze.Answer{
			{Arm: "qemu-tcg", Emulated: true, Workloads: 1},
			{Arm: "lxc", Workloads: 7, None: []string{"a", "b"},
				Open: []analyze.Claim{cost("c", 3, -1, 120), cost("d", 1, -2.5, 2), cost("e", 0, -1, 2), cost("f", 1, -1, 2.2),
					cost("g", 4, 0, 0)},
				AtOnce: &analyze.Answer{Arm: "lxc", Workloads: 4, None: []string{"b", "c", "d"},
					Costs: []analyze.Claim{{Workload: "a", Metric: analyze.CPUTimeAtOnce, Percent: 1.7, Low: 1.5, High: 1.9}}}},
			{Arm: "runc", Workloads: 2, Open: []analyze.Claim{cost("a", 1, -1, 3), cost("b", 1, -3.5, 2)},
				AtOnce: &analyze.Answer{Arm: "runc", Workloads: 1, Open: []analyze.Claim{cost("a", 0, 0, 0)}}},
			{Arm: "kvm", Workloads: 6, None: []string{"f"}, Scope: analyze.ScopeTheseGuests,
				Costs: []analyze.Claim{cost("a", 300, 250, 350), cost("b", 50, 40, 60), cost("c", 40, 30, 50),
					cost("d", 30, 20, 40)},
				Gains: []analyze.Claim{cost("e", -20, -25, -15)}},
			{Arm: "uml", Workloads: 1, Open: []analyze.Claim{cost("a", 1, 0, 0)}},
		},
		Comparisons: []analyze.Comparison{{Arm: "kvm", Baseline: "native", Workload: "e", Metric: "time", Primary: true,
			Findings: []string{"cached-writes"}}},
		Findings: []analyze.Finding{{ID: "cached-writes", Severity: analyze.Serious, Workload: "e", Arm: "kvm"}},
		Attacks: []analyze.Attack{attack("native", "memory", "", model.HeldYes), attack("native", "disk", "", model.HeldYes),
			attack("native", "processes", "", model.HeldYes),
			attack("lxc", "memory", "", model.HeldNo), attack("lxc", "disk", "", model.HeldYes),
			attack("lxc", "processes", "", model.HeldUnknown), attack("kvm", "memory", "it died", model.HeldYes)},
		IsolationMatrix: []analyze.IsolationCell{cell("lxc", "cpu", 1.1, 1.3, analyze.NotResolved),
			cell("lxc", "disk", 1, 1.2, analyze.None), cell("runc", "cpu", 1, 5, analyze.NotResolved),
			cell("runc", "disk", 1.25, 1.3, analyze.Costs), cell("kvm", "cpu", 1, 44, analyze.NotResolved)},
		Memory: []analyze.Memory{{Arm: "lxc", Idle: value(4 << 20), Start: value(0.0431)},
			{Arm: "native", Start: value(0.022)},
			{Arm: "kvm", Flavor: "small", Start: value(1)}, {Arm: "kvm", Flavor: "large", Start: value(2)}},
	}
	want := []Summary{
		{"native", false, "limits hold; starts in 22 ms"},
		{"lxc", false, "CPU +1.7 % on a, none on 3; time none on 2, at most ±2.5 % on 3, not known on 2; " +
			"limit on " +
			"memory does not hold, limit on disk holds, limit on processes not reached; " +
			"beside neighbours at most 1.30× native; " +
			"4.00 MiB idle; starts in 43 ms"},
		{"runc", false, "at most ±3.5 %; beside disk 1.25× native"},
		{"kvm", false, "4.00× on a, +50.0 % on b, +40.0 % on c and less on 1 more, -20.0 % on e !, " +
			"none on f (these guests only); " +
			"limit on memory holds, the guest beside did not finish during attacks on memory"},
		{"uml", false, nothingKnown},
		{"qemu-tcg", true, "emulated: its times say nothing about real hardware"},
	}
	got := Summaries(res)
	for i, s := range got {
		if i >= len(want) || s != want[i] {
			t.Errorf("got %+v", s)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d systems instead of %d", len(got), len(want))
	}
	res.Answers = nil
	if got := Summaries(res); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
