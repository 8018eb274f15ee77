package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report/reporttest"
	"github.com/tare-bench/tare/internal/store"
)

// TestCases: every kind of result has the intended wording.
func TestCases(t *testing.T) {
	res := reporttest.Cases()
	ctx := Context{Campaign: "cases", Path: "cases.tare", Seed: 7, Host: "Example CPU 3000, 2 CPUs",
		Sizes: []store.Size{{Workload: "openssl-enc", Size: 32, Unit: "MiB encrypted"}}, Width: 110}
	golden(t, "cases.txt", tableOf(t, res, ctx))
	all := ctx
	all.AllMetrics = true
	golden(t, "cases-all.txt", tableOf(t, res, all))
	ctx.Width = 80
	narrow := tableOf(t, res, ctx)
	golden(t, "cases-80.txt", narrow)
	fits(t, narrow, 80)
	if old := regexp.MustCompile(`noise floor|\(<`).FindString(narrow); old != "" {
		t.Errorf("a bound that no interval has: %q", old)
	}
}

// TestCostInterval: an interval has the unit of the cost in it.
func TestCostInterval(t *testing.T) {
	for _, c := range []struct {
		low, mid, high float64
		cost, interval string
	}{
		{0.95, 1.02, 1.1, "+2.0 %", "-5.0 … +10.0 %"},
		{1.932, 2.015, 2.1025, "2.02×", "1.93 … 2.10×"},
		{0.2, 1.2, 6.2, "+20.0 %", "-80.0 … +520 %"},
		{1.5, 1.9, 2.4, "+90.0 %", "+50.0 … +140 %"},
		{500, 5000, 50000, "5000×", "500 … more than 1000×"},
	} {
		if cost, interval := Cost(c.mid), CostInterval(c.low, c.high); cost != c.cost || interval != c.interval {
			t.Errorf("%v: %q and %q, want %q and %q", c, cost, interval, c.cost, c.interval)
		}
	}
}

// TestVerdicts: a comparison that is not resolved says what is known about it, with the
// same words in the table and on the page, and the narrow column agrees.
func TestVerdicts(t *testing.T) {
	res := reporttest.Cases()
	var got []string
	for _, c := range res.Comparisons {
		if !c.Control && c.Metric != analyze.CPUTime {
			cpu := ""
			if of := CPUTimeOf(res, c); of != nil {
				cpu = CPUVerdict(*of)
			}
			got = append(got, fmt.Sprintf("%s, %s: %s; %s; %v", c.Workload, c.Arm, Verdict(res, c), cpu, OfTheseGuests(c)))
		}
	}
	want := []string{
		"openssl-enc, lxc: none (within ±2 %); +1.7 % at once; false",
		"openssl-enc, runc: costs +4.2 %; none; true",
		"openssl-enc, qemu-tcg: costs +2945 % (30.4×); 31.1×; false",
		"openssl-enc, lxc@noisy: costs +6.1 %; ; false",
		"openssl-enc, lxc: costs +1.7 %; ; false",
		"openssl-enc, runc: not resolved, at most +2.6 %; ; false",
		"dd-write, lxc: not resolved, at most +7.6 %; +5.1 %; false",
		"dd-write, runc: gains 12.1 %; -3.3 %; false",
		"stress-ng-exec, lxc: costs +3.1 %; ; false",
		"stress-ng-exec, runc: not resolved, at most ±6.1 %; ; false",
		"hackbench-pipe, lxc: not resolved: too coarse; ; false",
		"hackbench-pipe, runc: did not finish; ; false",
		"cyclictest, lxc: not resolved: one pair; ; false",
		"cyclictest, runc: no control, at most +19.0 %; ; false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wild := analyze.Comparison{N: 9, Units: 9, Estimate: claim.Between(3, 0.0001, 1e9), FartherPercent: 1e11,
		HasControl: true, Verdict: analyze.NotResolved}
	if got := Verdict(res, wild) + "; " + ShortVerdict(wild); got != "not resolved: interval too wide; not known" {
		t.Errorf("of an interval that holds everything: %s", got)
	}
}

// TestNotResolved: one rule words the end of an interval that is farther from 0.
func TestNotResolved(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{-4.2, 3.6, "not resolved, at most ±4.2 %"},
		{-2.9, 7.6, "not resolved, at most +7.6 %"},
		{-4.2, 4.2, "not resolved, at most +4.2 %"},
		{0.5, 7.6, "not resolved, at most +7.6 %"}, // Holm's correction leaves such ones open
		{-7.6, -0.5, "not resolved, at most ±7.6 %"},
		{-0.04, 0.01, "not resolved, at most ±0.04 %"},
		{-62.4, 1361, "not resolved, at most +1361 %"},
		{-99, 1e6, "not resolved: interval too wide"},
	} {
		far := claim.Farther(c.low, c.high)
		if got := NotResolved(far); got != c.want {
			t.Errorf("%v … %v %%: %q, want %q", c.low, c.high, got, c.want)
		}
		known := analyze.Comparison{N: 9, Units: 9, Estimate: claim.Between(1, 1+c.low/100, 1+c.high/100),
			FartherPercent: far, HasControl: true, Verdict: analyze.NotResolved}
		if got := Verdict(&analyze.Result{}, known); Known(known) && got != c.want {
			t.Errorf("the table says %q, the sentence %q", got, c.want)
		}
	}
}

// TestCauses: findings of one cause are grouped, the worst first, and say where.
func TestCauses(t *testing.T) {
	var got []string
	for _, c := range Causes(reporttest.Cases().Findings) {
		got = append(got, fmt.Sprintf("%s %s: %d, %s", c.Severity, c.Kind.ID, len(c.Findings), c.Where()))
	}
	want := []string{
		"warning did-not-finish: 1, runc on hackbench-pipe", "serious emulated: 1, qemu-tcg",
		"serious cached-writes: 1, runc on dd-write", "warning no-control: 1, cyclictest",
		"warning spread: 3, lxc on dd-write and 2 more", "warning faster-than-baseline: 1, runc on dd-write",
		"warning other-load: 12, w0 and 11 more workloads",
		"warning hidden-cpu: 1, lxc on openssl-enc", "warning no-variation: 1, lxc on openssl-enc", "info steal: 1, ",
		"info guests-differ: 1, lxc on openssl-enc",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	where := func(of ...[2]string) string {
		var c Cause
		for _, f := range of {
			c.Findings = append(c.Findings, analyze.Finding{Arm: f[0], Workload: f[1]})
		}
		return c.Where()
	}
	for want, of := range map[string][][2]string{
		"lxc on a and 1 more workload": {{"lxc", "a"}, {"lxc", "b"}, {"lxc", "a"}},
		"lxc on a and 2 more arms":     {{"lxc", "a"}, {"runc", "a"}, {"kvm", "a"}},
		"lxc and 1 more arm":           {{"lxc", ""}, {"runc", ""}},
		"lxc on a":                     {{"lxc", "a"}, {"lxc", "a"}},
		"":                             {{"", ""}},
	} {
		if got := where(of...); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
