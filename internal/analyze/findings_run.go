package analyze

import (
	"fmt"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// steadied is a series that was tested for a steady state.
type steadied struct {
	c    *comparison
	base bool // the series is the baseline's values; otherwise the arm's overhead
	s    stats.Steadiness
}

// findUnsteady tests the values of all baselines, which show changes of the host, and the overheads
// of all arms, which do not contain them.
func findUnsteady(a *analysis) (out []Finding) {
	var tested []steadied
	test := func(c *comparison, base bool, x []float64) {
		if s, err := stats.Steady(x); err == nil { // otherwise the series is too short
			tested = append(tested, steadied{c, base, s})
		}
	}
	seen := map[metricOf]bool{}
	for _, c := range a.comparisons {
		if c.Control || c.N == 0 || c.measured() {
			continue
		}
		if k := (metricOf{c.metric, c.base}); !seen[k] {
			seen[k] = true
			test(c, true, a.metrics.at(c.metric, c.base).blockMeans())
		}
		if c.Primary && c.Family != FamilyEmulated {
			test(c, false, c.est.course)
		}
	}
	adjusted, err := claim.Adjusted(tested, func(t steadied) float64 { return t.s.P })
	if err != nil {
		return nil // p-values of Steady are within 0..1
	}
	for i, t := range tested {
		if adjusted[i] < findingAlpha {
			out = append(out, t.finding())
		}
	}
	return out
}

// finding says what changed, and when.
func (t steadied) finding() Finding {
	s, c := t.s, t.c
	what, unit, from, to := "the level", " "+c.Unit, s.Before, s.After
	count, after := fmt.Sprintf("%d blocks", s.N), "; pairing by block removes what all arms share"
	f := Finding{Workload: c.Workload, Metric: c.Metric, Arm: c.Baseline,
		Score: math.Abs(math.Log(math.Abs(s.After / s.Before)))}
	if !t.base {
		what, unit, from, to = "the overhead of "+c.Arm, " %", claim.Percent(s.Before), claim.Percent(s.After)
		count, after = fmt.Sprintf("%d %s", s.N, map[bool]string{true: "blocks", false: "guests"}[c.DistinctGuests == 1]),
			"; the other arms did not change, so its cost is a mean over both states"
		f.Arm, f.Score = c.Arm, math.Abs(s.After-s.Before)
	}
	if math.IsNaN(f.Score) || math.IsInf(f.Score, 0) {
		f.Score = 0
	}
	f.Text = fmt.Sprintf("%s changed after %d of %s, from %.4g to %.4g%s (Pettitt, p = %.2g)", what, s.Change, count, from,
		to, unit, s.ChangeP)
	if s.TrendP < s.ChangeP {
		f.Text = fmt.Sprintf("%s has a trend over %s (Mann-Kendall, tau = %+.2f, p = %.2g), from %.4g to %.4g%s around "+
			"the %dth",
			what, count, s.Tau, s.TrendP, from, to, unit, s.Change)
	}
	f.Text += after
	return f
}

// findSlowTrials reports arms that stall more often than their baselines.
func findSlowTrials(a *analysis) (out []Finding) {
	for _, t := range a.result.Tails {
		if !t.More {
			continue
		}
		text := fmt.Sprintf("%d of %d trials (%.2g %%) took more than %.3g times the median of their guest (half of these "+
			"more than %.3g times); of %s and its control %d of %d (%.2g %%); "+
			"the difference is %.2g … %.2g percentage points, adjusted p = %.2g",
			t.Slow, t.N, 100*t.Share, t.Factor, t.Size, t.Baseline, t.BaselineSlow, t.BaselineN, 100*t.BaselineShare, 100*t.Low,
			100*t.High, t.PHolm)
		out = append(out, Finding{Workload: t.Workload, Metric: t.Metric, Arm: t.Arm, Text: text,
			Score: t.Difference * t.Size})
	}
	return out
}

// findPosition reports the remaining effect of the order of trials in a group.
func findPosition(a *analysis) (out []Finding) {
	for _, p := range a.result.Positions {
		if p.PHolm >= findingAlpha {
			continue
		}
		f := Finding{Workload: p.Workload, Metric: p.Metric, Score: math.Abs(p.Percent), Text: fmt.Sprintf(
			"the first trial of a group costs %+.3g %% (%.3g %% interval %+.3g … %+.3g %%) compared with the later ones, "+
				"whichever arm runs it; this widens intervals but favours no arm",
			p.Percent, 100*(1-a.in.Alpha), p.Low, p.High)}
		if math.Abs(p.Percent) > 100*a.in.Delta {
			f.Severity = Warning
		}
		out = append(out, f)
	}
	return out
}

// findThaw names the arms with an effect of freezing, and warns if the effects differ: the
// difference is in the comparison, and is not a cost of the work.
func findThaw(a *analysis) []Finding {
	var said []string
	var worst float64
	for _, t := range a.result.Thaws {
		if t.Low > 0 || t.High < 0 {
			said = append(said, fmt.Sprintf("%s %+.3g %% (%+.3g … %+.3g %%)", t.Arm, t.Percent, t.Low, t.High))
			worst = max(worst, math.Abs(t.Percent))
		}
	}
	if said == nil {
		return nil
	}
	f := Finding{Score: worst, Text: "the first trial after a thaw costs more or less than a trial right after it: " +
		strings.Join(said, ", ")}
	var groups [][]float64
	for ai := range a.in.Arms {
		if d := a.thawed(ai); len(d) >= minUnits {
			groups = append(groups, d)
		}
	}
	p, err := stats.GroupsDiffer(stats.Huberize(groups))
	switch {
	case err == nil && p < findingAlpha:
		f.Severity = Warning
		f.Text += fmt.Sprintf("; arms differ in this (F test, p = %.2g), so part of the difference between them is the thaw",
			p)
	case len(groups) > 1:
		f.Text += "; nothing shows that arms differ in this, and an effect that they share cancels out"
	}
	return []Finding{f}
}

// findFewGuests reports comparisons with so few guests that they hold for these guests only.
func findFewGuests(a *analysis) []Finding {
	few, all, most := 0, 0, 0
	for _, c := range a.comparisons {
		if c.Control || !c.Primary || !c.tested || c.Family == FamilyEmulated || a.in.Boots {
			continue
		}
		all++
		if c.Scope == ScopeTheseGuests {
			few++
			most = max(most, c.DistinctGuests)
		}
	}
	if few == 0 {
		return nil
	}
	of := fmt.Sprintf("%d of %d comparisons have", few, all)
	if few == all {
		of = "all comparisons have"
	}
	return []Finding{{Text: fmt.Sprintf("%s at most %d %s: intervals are over batches of blocks and hold for these "+
		"guests only; an interval for other guests needs at least %d of them",
		of, most, plural(most, "guest")+" of each arm", minGuests)}}
}
