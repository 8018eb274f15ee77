package analyze

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/claim"
)

// primaryFirst is a score that puts primary metrics first.
func primaryFirst(c *comparison) float64 {
	if c.Primary {
		return 1
	}
	return 0
}

func findNoControl(a *analysis) (out []Finding) {
	said := map[int]bool{}
	for _, c := range a.comparisons {
		if c.HasControl || c.Control || c.measured() || said[c.metric] {
			continue
		}
		said[c.metric] = true
		out = append(out, Finding{Workload: c.Workload, Metric: c.Metric, Score: primaryFirst(c),
			Text: "there are fewer than two A/A pairs, so how much this host varies by itself is unknown and no cost or " +
				"gain is claimed"})
	}
	return out
}

// findControlDiffers reports on the host, so its findings concern all arms of the metric.
func findControlDiffers(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if c.Control && c.PHolm < findingAlpha {
			out = append(out, Finding{Workload: c.Workload, Metric: c.Metric, Score: math.Abs(c.OverheadPercent),
				Text: fmt.Sprintf("%s and %s are identical but differ by %s, "+
					"adjusted p = %.2g; this host was not steady, or identical guests are not treated alike", c.Arm, c.Baseline,
					a.interval(c), c.PHolm)})
		}
	}
	return out
}

func findSpread(a *analysis) (out []Finding) {
	for mi, m := range a.in.Metrics {
		for ai, arm := range a.in.Arms {
			if s := a.summary(mi, ai); s.Wide {
				out = append(out, Finding{Workload: m.Workload, Metric: m.Name, Arm: arm.Name, Score: s.P95 / s.P5,
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
		if c.Coarse && !c.measured() {
			out = append(out, c.about("the values of %d pairs vary by less than the metric's own step, or not at all: the "+
				"metric is coarser than its noise, or counts something fixed, so nothing is claimed", c.N))
		}
	}
	return out
}

// findFewBoots reports a run that has fewer than minGuests rounds of boots.
func findFewBoots(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if a.in.Boots && !c.Control && c.N > 0 && c.DistinctGuests < minGuests {
			out = append(out, c.about("the run has %d %s of boots of the host; nothing is claimed from fewer than %d",
				c.DistinctGuests, plural(c.DistinctGuests, "round"), minGuests))
		}
	}
	return out
}

// findGuestsDiffer reports guests of an arm that differ. With enough guests the interval accounts
// for the difference, and the finding is only information.
func findGuestsDiffer(a *analysis) (out []Finding) {
	var of []*comparison
	for _, c := range a.comparisons {
		if !c.Control && c.tested {
			of = append(of, c)
		}
	}
	adjusted, err := claim.Adjusted(of, func(c *comparison) float64 { return c.est.differP })
	if err != nil {
		return nil // p-values are within 0..1
	}
	for i, c := range of {
		if adjusted[i] < findingAlpha {
			over := fmt.Sprintf("the interval is over guests and takes this into account (%d units)", c.Units)
			if c.Scope == ScopeTheseGuests {
				over = fmt.Sprintf("the interval holds for these guests only; an interval for other guests needs at least %d "+
					"of them", minGuests)
			}
			out = append(out, c.about("its guests differ from each other (%d of them, F test, adjusted p = %.2g); %s",
				c.DistinctGuests, adjusted[i], over))
		}
	}
	return out
}

// findFaster finds guests that were faster than the machine on which they run. That one system is faster than
// another is no reason for doubt.
func findFaster(a *analysis) (out []Finding) {
	for _, c := range a.comparisons {
		if !c.Control && c.Verdict == Gains && bare(a.in.Arms[c.base].System) {
			f := c.about("%s is faster than %s: %s; first ask what was cached, and whether both did the same work", c.Arm,
				c.Baseline, a.interval(c))
			f.Score = -c.OverheadPercent
			out = append(out, f)
		}
	}
	return out
}
