package paper

import (
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// TestHolds: only a resolved cost of a system that is not emulated says whether an
// article holds here.
func TestHolds(t *testing.T) {
	then := func(percent float64) *Cost { return &Cost{Percent: percent} }
	now := func(claim analyze.Verdict) *Cost { return &Cost{Percent: 5, claim: claim} }
	for _, c := range []struct {
		cell Cell
		want Holds
	}{
		{Cell{Then: then(7.4), Now: now(analyze.Costs)}, HoldsHere},
		{Cell{Then: then(7.4), Now: now(analyze.Gains)}, HoldsNot},
		{Cell{Then: then(7.4), Now: now(analyze.None)}, HoldsNot},
		{Cell{Then: then(-40), Now: now(analyze.Gains)}, HoldsHere},
		{Cell{Then: then(1.1), Now: now(analyze.None)}, HoldsHere},
		{Cell{Then: then(1.1), Now: now(analyze.Costs)}, HoldsNot},
		{Cell{Then: then(7.4), Now: now(analyze.NotResolved)}, CannotBeTold},
		{Cell{Then: then(7.4), Now: &Cost{Percent: 7.4}}, CannotBeTold}, // a quotient, without an interval
		{Cell{Then: then(7.4), Now: now(analyze.Costs), Emulated: true}, CannotBeTold},
		{Cell{Then: then(7.4)}, CannotBeTold},
		{Cell{Now: now(analyze.Costs)}, ""},
	} {
		if got := c.cell.holds(); got != c.want {
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
		Company: "solo"}] = Stats{N: 3, Min: 1, Mean: 2, Max: 3}
	runs.values[Key{Stage: "solo", Series: "openssl-enc", Metric: "time", System: "kvm", Company: "solo"}] =
		Stats{N: 3, Min: 2, Mean: 3, Max: 4, Cost: &Cost{Percent: 50, claim: analyze.Costs, Interval: "+45 … +55 %"}}
	runs.values[Key{Stage: "solo", Series: "openssl-enc", Metric: "time", System: "runc", Company: "solo"}] = Stats{N: 3,
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
				if l.Holds == HoldsHere {
					held++
				}
				if table.Name == "cpu.1" && l.Cell.Printed == "50,674 s (+6,3 %)" && (l.Recomputed != "+6.4 %" || !l.Wrong) {
					t.Errorf("%+v", l)
				}
			}
		}
		// Seven rows have a finding; three more findings are about claims or the same row.
		if figures != len(a.Results) || wrong != 7 {
			t.Errorf("%d figures, not %d; %d are wrong", figures, len(a.Results), wrong)
		}
		if measured != nil && (held == 0 || only != 3) || measured == nil && held+only > 0 {
			t.Errorf("%d hold here; %d lines of a system that only this machine has", held, only)
		}
	}
}
