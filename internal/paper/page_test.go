package paper

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// TestHolds: only a resolved cost of a system that is not emulated says whether an
// article holds here.
func TestHolds(t *testing.T) {
	then := func(percent float64) *Cost { return &Cost{Percent: percent} }
	now := func(claim analyze.Verdict, low, high float64) *Cost {
		return &Cost{Percent: (low + high) / 2, claim: claim, low: low, high: high}
	}
	here := 1.
	for _, c := range []struct {
		cell Cell
		want string
	}{
		{Cell{Then: then(7.4), Now: now(analyze.Costs, 5, 9)}, "holds here: about as much"},
		{Cell{Then: then(7.4), Now: now(analyze.Costs, 300, 400)}, "holds here: but more"},
		{Cell{Then: then(7.4), Now: now(analyze.Costs, 1, 5)}, "holds here: but less"},
		{Cell{Then: then(7.4), Now: now(analyze.Gains, -9, -5)}, "does not hold here: it gains something here"},
		{Cell{Then: then(7.4), Now: now(analyze.None, -1, 1)},
			"does not hold here: it neither costs nor gains anything here"},
		{Cell{Then: then(-40), Now: now(analyze.Gains, -60, -50)}, "holds here: but more"},
		{Cell{Then: then(-40), Now: now(analyze.Gains, -30, -20)}, "holds here: but less"},
		{Cell{Then: then(1.1), Now: now(analyze.None, -1, 1)}, "holds here: it neither costs nor gains anything here"},
		{Cell{Then: then(1.1), Now: now(analyze.Costs, 5, 9)}, "does not hold here: it costs something here"},
		{Cell{Then: &Cost{claim: analyze.Costs}, Now: now(analyze.Costs, 5, 9)}, "holds here: it costs something here"},
		{Cell{Then: then(7.4), Now: &Cost{claim: analyze.NotResolved, Verdict: "not resolved: one pair"}},
			"cannot be told: not resolved: one pair"},
		{Cell{Then: then(7.4), Now: &Cost{Percent: 7.4}}, "cannot be told: single figures have no interval"},
		{Cell{Then: then(7.4), Now: now(analyze.Costs, 5, 9), Emulated: true, As: "qemu-tcg"},
			"cannot be told: it needs hardware virtualization, and qemu-tcg emulates the CPU"},
		{Cell{Then: then(7.4), Here: &here}, "cannot be told: nothing to compare it with"},
		{Cell{Then: then(7.4)}, "cannot be told: not measured here"},
		{Cell{Then: then(7.4), Why: "its trials failed: no space; it wrote nothing"}, "cannot be told: its trials failed"},
		{Cell{Now: now(analyze.Costs, 5, 9)}, ""},
	} {
		if got := c.cell.verdict().String(); got != c.want {
			t.Errorf("%+v, now %+v: %q, not %q", c.cell.Then, c.cell.Now, got, c.want)
		}
	}
}

// TestPage: the page has every figure once, what the others give for it, and what the
// audit found.
func TestPage(t *testing.T) {
	a, err := Get("abclinuxu-xen-vs-kvm")
	if err != nil {
		t.Fatal(err)
	}
	rep := repeat(t, "abclinuxu", here(), RepeatOptions{Systems: []string{"kvm", "runc"}})
	runs := NewResults(rep)
	runs.values[Key{Stage: "solo", Series: "openssl-enc", Metric: "time", System: "native",
		Scenario: "solo"}] = Stats{N: 3, Min: 1, Mean: 2, Max: 3}
	runs.values[Key{Stage: "solo", Series: "openssl-enc", Metric: "time", System: "kvm", Scenario: "solo"}] =
		Stats{N: 3, Min: 2, Mean: 3, Max: 4, Cost: &Cost{Percent: 50, claim: analyze.Costs, Interval: "+45 … +55 %"}}
	runs.values[Key{Stage: "solo", Series: "openssl-enc", Metric: "time", System: "runc", Scenario: "solo"}] = Stats{N: 3,
		Min: 1, Mean: 2, Max: 3}
	for _, measured := range []*Results{nil, runs} {
		figures, wrong, held, only := 0, 0, 0, 0
		for _, table := range Page(a, measured) {
			for _, l := range table.Lines {
				if l.Cell.System == "" {
					only++
					continue
				}
				figures++
				if l.Wrong {
					wrong++
				}
				if l.Verdict.Holds == HoldsHere {
					held++
				}
				if table.Name == "cpu.1" && l.Cell.Printed == "50,674 s (+6,3 %)" && (l.Recomputed != "+6.4 %" || !l.Wrong) {
					t.Errorf("%+v", l)
				}
			}
		}
		// Eight rows have a finding; three more findings are about claims or the same row.
		if figures != len(a.Results) || wrong != 8 {
			t.Errorf("%d figures, not %d; %d are wrong", figures, len(a.Results), wrong)
		}
		if measured != nil && (held == 0 || only != 3) || measured == nil && held+only > 0 {
			t.Errorf("%d hold here; %d lines of a system that only this machine has", held, only)
		}
	}
}

// TestPageClaims: what an article says in words is judged by the measurement that its
// file names.
func TestPageClaims(t *testing.T) {
	a, err := Get("yunweiku")
	if err != nil {
		t.Fatal(err)
	}
	runs := NewResults(repeat(t, "yunweiku", here(), RepeatOptions{Systems: []string{"lxc"}}))
	key := Key{Stage: "kernel", Series: "kernel-ops", Metric: "syscall", System: "lxc", Scenario: "solo"}
	runs.values[key] = Stats{N: 9, Cost: &Cost{Percent: 34, claim: analyze.Costs, low: 11, high: 61}}
	key.Series, key.Metric = "cpu-kernels", "integer"
	runs.values[key] = Stats{N: 9, Cost: &Cost{Percent: 0.1, claim: analyze.None, low: -1, high: 1}}
	told := map[string]Holds{}
	claims := PageClaims(a, runs)
	for _, c := range claims {
		if c.Where == "" {
			t.Errorf("%q is not a claim of the article", c.Text)
		}
		if strings.Contains(c.Says, " than ") { // of TestCompare
			continue
		}
		told[c.Cell.System+" "+c.Cell.Series+" "+c.Cell.Metric] = c.Verdict.Holds
	}
	for what, want := range map[string]Holds{
		"lxc-32core kernel-ops syscall": HoldsNot, "lxc-32core cpu-kernels integer": HoldsHere,
		"lxc-32core fio-randread bandwidth": CannotBeTold, "domU-lvm kernel-ops syscall": CannotBeTold,
	} {
		if told[what] != want {
			t.Errorf("%s: %q, not %q", what, told[what], want)
		}
	}
	tally := TallyOf(nil, claims)
	if tally.Count[HoldsHere] != 1 || tally.Count[HoldsNot] != 1 || len(tally.Untold) < 3 || tally.Untold[0].Count == 0 {
		t.Errorf("%+v", tally)
	}
	for _, c := range PageClaims(a, nil) {
		if c.Verdict.String() != "cannot be told: not measured here" {
			t.Errorf("without a run: %s", c.Verdict)
		}
	}
}
