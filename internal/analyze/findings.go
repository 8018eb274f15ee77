package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
)

// findingAlpha is the probability that a clean run has a finding of one kind, for the kinds that
// test a hypothesis (Holm-adjusted over all tests of the kind). Readers would learn to ignore a
// report with a false alarm in every tenth run.
const findingAlpha = 0.01

// findings applies all rules, and adds to each comparison the findings that concern it.
func (a *analysis) findings() []Finding {
	all := []Finding{}
	for _, r := range rules {
		found := r.find(a)
		slices.SortStableFunc(found, func(x, y Finding) int { return cmp.Compare(y.Score, x.Score) })
		for _, f := range found {
			f.ID, f.Remedy = r.ID, r.Remedy
			if f.Severity == "" {
				f.Severity = r.Severity
			}
			all = append(all, f)
		}
	}
	for _, c := range a.comparisons {
		for _, f := range all {
			if f.concerns(c.Comparison) && !slices.Contains(c.Findings, f.ID) {
				c.Findings = append(c.Findings, f.ID)
			}
		}
	}
	return all
}

func (f Finding) concerns(c Comparison) bool {
	return (f.Workload == "" || f.Workload == c.Workload) &&
		(f.Metric == "" || f.Metric == c.Metric) &&
		(f.Arm == "" || f.Arm == c.Arm || f.Arm == c.Baseline)
}

// about starts a finding about a comparison.
func (c *comparison) about(format string, args ...any) Finding {
	return Finding{Workload: c.Workload, Metric: c.Metric, Arm: c.Arm, Text: fmt.Sprintf(format, args...)}
}

// interval formats a comparison's result: "+9.1 % (95 % interval +8.0 … +10.2 %)".
func (a *analysis) interval(c *comparison) string {
	return fmt.Sprintf("%+.3g %% (%.3g %% interval %+.3g … %+.3g %%, %d blocks)",
		c.OverheadPercent, 100*(1-a.in.Alpha), 100*(c.CILow-1), 100*(c.CIHigh-1), c.N)
}

func findEmulated(a *analysis) (out []Finding) {
	for _, arm := range a.in.Arms {
		if arm.Emulated {
			out = append(out, Finding{Arm: arm.Name,
				Text: "ran on an emulated machine: its timings say nothing about real hardware"})
		}
	}
	return out
}

// failuresBy makes a finding for every workload and arm with failures that match.
func (a *analysis) failuresBy(match func(dataset.Failure) bool, severity Severity, what string) (out []Finding) {
	type key struct{ workload, arm string }
	matching := slices.DeleteFunc(slices.Clone(a.in.Failures), func(f dataset.Failure) bool { return !match(f) })
	for k, of := range grouped(matching, func(f dataset.Failure) key { return key{f.Workload, f.Arm} }) {
		first := slices.MinFunc(of, func(x, y dataset.Failure) int { return cmp.Compare(x.Block, y.Block) })
		out = append(out, Finding{Workload: k.workload, Arm: k.arm, Severity: severity,
			Text: fmt.Sprintf("%d %s %s; the first, in block %d: %s", len(of), plural(len(of), "trial"), what,
				first.Block+1, strings.ReplaceAll(first.Text, "\n  to fix:", "; to fix:"))})
	}
	return out
}

func findWrongAnswer(a *analysis) []Finding {
	return a.failuresBy(func(f dataset.Failure) bool { return f.Cause == store.EventWrongAnswer }, Serious,
		"exited normally but did not do the work, or did it wrong")
}

// findFailures reports failures that no other rule explains.
func findFailures(a *analysis) []Finding {
	by := func(guest bool) func(dataset.Failure) bool {
		return func(f dataset.Failure) bool { return f.Cause == "" && (f.Fault == fault.Guest) == guest }
	}
	return slices.Concat(
		a.failuresBy(by(true), Serious, "did not finish because of the guest, which is a result in itself"),
		a.failuresBy(by(false), Warning, "did not finish, through no fault of the guest"))
}

func findDropped(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if c.Dropped > 0 {
			out = append(out, c.about("%d of %d blocks were dropped because only one of %s and %s has a value there; "+
				"if slow trials are the ones that fail, the other blocks flatter the arm that failed", c.Dropped, c.Dropped+c.N,
				c.Arm, c.Baseline))
		}
	}
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// worst returns the largest absolute value of s.
func (s series) worst() (w float64) {
	for _, p := range s {
		w = max(w, math.Abs(p.value))
	}
	return w
}
