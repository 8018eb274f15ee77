package report

import (
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

func TestAnswerText(t *testing.T) {
	cost := func(workload string, percent, low, high float64) analyze.Claim {
		return analyze.Claim{Workload: workload, Percent: percent, Low: low, High: high, Ratio: 1 + percent/100}
	}
	execs, writes := cost("stress-ng-exec", 3.1, 2.2, 4), cost("dd-write", 2.31, -2.87, 7.6)
	for want, a := range map[string]analyze.Answer{
		"lxc: at most 1.9 % on any of 7 workloads": {Workloads: 7, None: []string{"a", "b", "c", "d", "e", "f", "g"},
			NoneAtMostPercent: 1.9},
		"lxc: at most 1.9 % on 6 of 7 workloads; costs 3.1 % (2.2 … 4.0) on stress-ng-exec": {Workloads: 7,
			None: []string{"a", "b", "c", "d", "e", "f"}, NoneAtMostPercent: 1.9,
			Costs: []analyze.Claim{execs}},
		"lxc: at most 0.82 % on a and b; costs 31.0 % (25.0 … 37.2) on c, 9.1 % (8.0 … 10.2) on d, 3.1 % (2.2 … 4.0) on " +
			"stress-ng-exec and less on 2 more": {Workloads: 7, None: []string{"a", "b"}, NoneAtMostPercent: 0.82,
			Costs: []analyze.Claim{cost("c", 31, 25, 37.2), cost("d", 9.1, 8, 10.2), execs, cost("e", 2, 1, 3),
				cost("f", 1, 0.5, 1.5)}},
		"lxc: at most 1.9 % on a; gains 23.6 % (22.2 … 25.0) on b": {Workloads: 2, None: []string{"a"},
			NoneAtMostPercent: 1.9, Gains: []analyze.Claim{cost("b", -23.6, -25, -22.2)}},
		"lxc: at most 1.9 % on 4 of 7 workloads; at most +4.0 % on d, +7.6 % on dd-write and " +
			"±11.2 % on c": {Workloads: 7, None: []string{"1", "2", "3", "4"}, NoneAtMostPercent: 1.9, AtMostPercent: 11.2,
			Open: []analyze.Claim{writes, cost("c", -3, -11.2, 7), cost("d", 1, -2, 4)}},
		"lxc: at most +2.0 % on d, +3.0 % on a, +4.0 % on c, and +7.6 % on 2 more": {
			Workloads: 5, AtMostPercent: 7.6,
			Open: []analyze.Claim{cost("a", 1, -1, 3), cost("b", 1, -1, 5), writes, cost("c", 1, -1, 4),
				cost("d", 1, -1, 2)}},
		"lxc: at most +7.6 % on dd-write": {Workloads: 1,
			AtMostPercent: 7.6, Open: []analyze.Claim{writes}},
		"lxc: costs 3.1 % (2.2 … 4.0) on stress-ng-exec (these guests only)": {Workloads: 1,
			Costs: []analyze.Claim{execs}, Scope: analyze.ScopeTheseGuests},
		"lxc: at most +3.0 % on a and +7.6 % on dd-write": {Workloads: 2,
			Open: []analyze.Claim{writes, cost("a", 1, -1, 3)}, Scope: analyze.ScopeTheseGuests},
		"lxc: nothing is known yet about any of 2 workloads": {Workloads: 2,
			Open: []analyze.Claim{cost("a", 4, 0, 0), cost("b", 9, -100, 1e9)}},
		"lxc: nothing is known yet": {Workloads: 1, Open: []analyze.Claim{cost("a", 4, 0, 0)}},
		"lxc: at most +7.6 % on dd-write; nothing is known yet about a": {Workloads: 2,
			Open: []analyze.Claim{cost("a", 4, 0, 0), writes}},
		"lxc: CPU time: costs 1.7 % (1.5 … 1.9) on a; at most +0.40 % on b. Time: at most +7.6 % on dd-write": {Workloads: 1,
			Open: []analyze.Claim{writes}, AtOnce: &analyze.Answer{Workloads: 2,
				Costs: []analyze.Claim{cost("a", 1.7, 1.5, 1.9)}, Open: []analyze.Claim{cost("b", 0.1, -0.2, 0.4)}}},
		"lxc: emulated: its times say nothing about real hardware": {Workloads: 1, Emulated: true,
			Costs: []analyze.Claim{execs}},
	} {
		a.Arm = "lxc"
		if got := AnswerText(a); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	many := []analyze.Claim{cost("a", 2156, 1720, 2500), cost("b", 200, 150, 250), cost("c", 199, 150, 250)}
	open := []analyze.Claim{cost("c", 60, -50, 101), cost("b", 60, -50, 100), cost("a", 300, -50, 1361)}
	for want, a := range map[string]analyze.Answer{
		"costs 22.6× as much (18.2 … 26.0) on a, 3.00× as much (2.50 … 3.50) on b and 199 % (150 … 250) on c": {
			Workloads: 3, Costs: many},
		"at most +100 % on b; nothing is known yet about c and a": {Workloads: 3, Open: open},
		"nothing is known yet": {Workloads: 1, Open: open[2:]},
	} {
		if got := AnswerWords(a); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	ordered := OrderedAnswers([]analyze.Answer{{Arm: "tcg", Emulated: true}, {Arm: "b"}, {Arm: "a"}})
	if ordered[0].Arm != "b" || ordered[1].Arm != "a" || ordered[2].Arm != "tcg" {
		t.Errorf("order %v", ordered)
	}
	if got := AnswerText(analyze.Answer{Arm: "e\x1b[31mvil",
		Emulated: true}); got != "e?[31mvil: emulated: its times say nothing about real hardware" {
		t.Errorf("%q", got)
	}
}
