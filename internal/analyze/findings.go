package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/stats"
	"github.com/tare-bench/tare/internal/store"
)

// findingAlpha is the chance that a clean run has a finding of one kind, for the
// kinds that test a hypothesis: Holm over all that the kind looks at. A report
// with a false alarm in every tenth run is one that people learn not to read.
const findingAlpha = 0.01

// findings applies all rules, and notes at each comparison what bears on it.
func (a *analysis) findings() []Finding {
	all := []Finding{}
	for _, r := range rules {
		for _, f := range r.find(a) {
			f.ID, f.Remedy = r.ID, r.Remedy
			if f.Severity == "" {
				f.Severity = r.Severity
			}
			all = append(all, f)
		}
	}
	for _, c := range a.comparisons {
		for _, f := range all {
			if f.bearsOn(c.Comparison) && !slices.Contains(c.Findings, f.ID) {
				c.Findings = append(c.Findings, f.ID)
			}
		}
	}
	return all
}

func (f Finding) bearsOn(c Comparison) bool {
	return (f.Workload == "" || f.Workload == c.Workload) &&
		(f.Metric == "" || f.Metric == c.Metric) &&
		(f.Arm == "" || f.Arm == c.Arm || f.Arm == c.Baseline)
}

// about starts a finding on a comparison.
func (c *comparison) about(format string, args ...any) Finding {
	return Finding{Workload: c.Workload, Metric: c.Metric, Arm: c.Arm, Text: fmt.Sprintf(format, args...)}
}

// interval formats a comparison's result: "+9.1 % (95 % interval +8.0 … +10.2 %)".
func (a *analysis) interval(c *comparison) string {
	return fmt.Sprintf("%+.3g %% (%.3g %% interval %+.3g … %+.3g %%, %d pairs)",
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

// Causes of failures: the kinds of events that a run journals for them.
const (
	causeWrong         = store.EventWrongAnswer
	causeContradiction = store.EventContradiction
)

// failuresBy makes a finding of every workload and arm with failures that match.
func (a *analysis) failuresBy(match func(Failure) bool, severity Severity, what string) (out []Finding) {
	type key struct{ workload, arm string }
	counts := map[key]int{}
	first := map[key]Failure{}
	var order []key
	for _, f := range a.in.Failures {
		if !match(f) {
			continue
		}
		k := key{f.Workload, f.Arm}
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
		}
		if counts[k] == 1 || f.Block < first[k].Block {
			first[k] = f
		}
	}
	for _, k := range order {
		out = append(out, Finding{Workload: k.workload, Arm: k.arm, Severity: severity, Text: fmt.Sprintf("%d %s %s; the first, in block %d: %s",
			counts[k], plural(counts[k], "trial"), what, first[k].Block+1, first[k].Text)})
	}
	return out
}

func findWrongAnswer(a *analysis) []Finding {
	return a.failuresBy(func(f Failure) bool { return f.Cause == causeWrong }, Serious,
		"ended well and had not done the work, or not rightly")
}

// findFailures is about those that no other rule explains.
func findFailures(a *analysis) []Finding {
	by := func(guest bool) func(Failure) bool {
		return func(f Failure) bool { return f.Cause == "" && (f.Fault == fault.Guest) == guest }
	}
	return slices.Concat(
		a.failuresBy(by(true), Serious, "did not finish, by fault of the guest, which is a result of its own"),
		a.failuresBy(by(false), Warning, "did not finish, by no fault of the guest"))
}

func findDropped(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if c.Dropped > 0 {
			out = append(out, c.about("%d of %d blocks were dropped because only one of %s and %s has a value there; "+
				"if trials fail when they are slow, the rest flatters the arm that failed", c.Dropped, c.Dropped+c.N, c.Arm, c.Baseline))
		}
	}
	return out
}

func findNoControl(a *analysis) (out []Finding) {
	said := map[int]bool{}
	for _, c := range a.comparisons {
		if c.HasControl || c.Control || c.class == FamilyCPUTime || said[c.metric] {
			continue
		}
		said[c.metric] = true
		out = append(out, Finding{Workload: c.Workload, Metric: c.Metric,
			Text: "there are no A/A pairs, so how much this host varies by itself is unknown and no cost or gain is claimed"})
	}
	return out
}

// findControlDiffers is about the host, so it bears on all arms of the metric.
func findControlDiffers(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if c.Control && c.N > 1 && c.PHolm < findingAlpha {
			out = append(out, Finding{Workload: c.Workload, Metric: c.Metric,
				Text: fmt.Sprintf("the control differs: %s and %s are the same thing and came out different by %s, "+
					"adjusted p = %.2g; this host was not steady, or two of a kind are not alike", c.Arm, c.Baseline, a.interval(c), c.PHolm)})
		}
	}
	return out
}

// findUnsteady tests the series of all baselines, the host's own.
func findUnsteady(a *analysis) (out []Finding) {
	type native struct {
		metric, arm int
		s           stats.Steadiness
	}
	var found []native
	var p []float64
	seen := map[[2]int]bool{}
	for _, c := range a.comparisons {
		if c.Control || seen[[2]int{c.metric, c.base}] {
			continue
		}
		seen[[2]int{c.metric, c.base}] = true
		s, err := stats.Steady(a.metrics.at(c.metric, c.base).blockMeans())
		if err == nil { // else too short to tell
			found, p = append(found, native{c.metric, c.base, s}), append(p, s.P)
		}
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return nil // p-values of Steady are within 0..1
	}
	for i, n := range found {
		if adjusted[i] >= findingAlpha {
			continue
		}
		m := a.in.Metrics[n.metric]
		text := fmt.Sprintf("no steady state: the level changed at measured block %d of %d from %.4g to %.4g %s (Pettitt, p = %.2g)",
			n.s.Change+1, n.s.N, n.s.Before, n.s.After, m.Unit, n.s.ChangeP)
		if n.s.TrendP < n.s.ChangeP {
			text = fmt.Sprintf("no steady state: a trend over %d blocks (Mann-Kendall, tau = %+.2f, p = %.2g), from %.4g to %.4g %s around block %d",
				n.s.N, n.s.Tau, n.s.TrendP, n.s.Before, n.s.After, m.Unit, n.s.Change+1)
		}
		out = append(out, Finding{Workload: m.Workload, Metric: m.Name, Arm: a.in.Arms[n.arm].Name,
			Text: text + "; pairing by block takes out what all arms share"})
	}
	return out
}

func findSpread(a *analysis) (out []Finding) {
	for mi, m := range a.in.Metrics {
		for ai, arm := range a.in.Arms {
			if s := a.summary(mi, ai); s.Wide {
				out = append(out, Finding{Workload: m.Workload, Metric: m.Name, Arm: arm.Name,
					Text: fmt.Sprintf("values from %.4g to %.4g %s: the 95th percentile is %.3g times the 5th (limit %.3g), "+
						"so the mean describes them badly; median %.4g, middle half %.4g … %.4g",
						s.Min, s.Max, m.Unit, s.P95/s.P5, a.in.SpreadLimit, s.Median, s.P25, s.P75)})
			}
		}
	}
	return out
}

func findNotPositive(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if c.notPositive {
			out = append(out, c.about("has values of 0 or less (minimum %.4g %s), so there is no ratio to estimate",
				min(c.BaselineMin, c.ArmMin), c.Unit))
		}
	}
	return out
}

func findNoVariation(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if c.Coarse && c.class != FamilyCPUTime {
			out = append(out, c.about("the values of %d pairs vary less than the metric's own step, or not at all: it is coarser than its noise, or counts something fixed, and nothing is claimed", c.N))
		}
	}
	return out
}

// findFewBoots is about a run that ended before its third round of boots.
func findFewBoots(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if a.in.Boots && !c.Control && c.N > 0 && c.Incarnations < minIncarnations {
			out = append(out, c.about("%d %s of boots of the host: nothing is claimed of fewer than %d", c.Incarnations, plural(c.Incarnations, "round"), minIncarnations))
		}
	}
	return out
}

// findIncarnations tells of incarnations that differ. Where there are enough of
// them the interval takes care of it, and it is only to know.
func findIncarnations(a *analysis) (out []Finding) {
	var of []*comparison
	var p []float64
	for _, c := range a.comparisons {
		if !c.Control && c.N > 1 {
			of, p = append(of, c), append(p, c.est.differP)
		}
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return nil // p-values are within 0..1
	}
	for i, c := range of {
		if adjusted[i] < findingAlpha {
			over := fmt.Sprintf("the interval is over them and takes it into account (%d units)", c.Units)
			if c.Scope == ScopeTheseGuests {
				over = fmt.Sprintf("the interval is of these guests and too narrow for others; re-create the guests %d times at least", minIncarnations)
			}
			out = append(out, c.about("guests differ between incarnations (%d of them, F test, adjusted p = %.2g); %s", c.Incarnations, adjusted[i], over))
		}
	}
	return out
}

func findFaster(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if !c.Control && c.Verdict == Gains {
			out = append(out, c.about("%s is faster than %s: %s; "+
				"ask first what was cached, and whether both did the same work", c.Arm, c.Baseline, a.interval(c)))
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
