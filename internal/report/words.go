package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/store"
)

// The words and figures of the table, for everything that shows a result: they must
// not differ between the terminal and a page.

// BlocksText says how many blocks there are, as a range if workloads differ.
func BlocksText(res *analyze.Result) string {
	of := map[string]int{} // blocks by workload
	for _, c := range res.Comparisons {
		if c.Primary && c.N > 0 {
			of[c.Workload] = max(of[c.Workload], c.N)
		}
	}
	least, most := res.Blocks, 0
	for _, n := range of {
		least, most = min(least, n), max(most, n)
	}
	switch {
	case least < most:
		return fmt.Sprintf("%d to %d blocks, by workload", least, most)
	case res.Planned > 0 && res.Blocks != res.Planned:
		return fmt.Sprintf("%d of %d %s", res.Blocks, res.Planned, plural(res.Planned, "block"))
	}
	return fmt.Sprintf("%d %s", res.Blocks, plural(res.Blocks, "block"))
}

// Size words how much a trial does: "1 piece of a kernel source tree".
func Size(s store.Size) string {
	unit := s.Unit
	if noun := nounAtFront.FindString(unit); s.Size == 1 && noun != "" && !strings.HasSuffix(noun, "ss") {
		one := strings.TrimSuffix(noun, "s")
		switch {
		case strings.HasSuffix(noun, "sses"):
			one = strings.TrimSuffix(noun, "es")
		case strings.HasSuffix(noun, "ies"):
			one = strings.TrimSuffix(noun, "ies") + "y"
		}
		unit = one + strings.TrimPrefix(unit, noun)
	}
	return fmt.Sprintf("%d %s", s.Size, unit)
}

// nounAtFront is the first word of a unit if it is in the plural. Symbols, as s and MiB, are in none.
var nounAtFront = regexp.MustCompile(`^[a-z-]{3,}s\b`)

// Verdict words what may be said about a comparison of res. If it is not resolved,
// the words include what is known.
func Verdict(res *analyze.Result, c analyze.Comparison) string {
	switch {
	case c.N == 0 && Failures(res, c) > 0:
		return "did not finish"
	case c.N == 0:
		return "no values yet"
	case c.Verdict == analyze.Costs && c.OverheadPercent >= 100:
		return fmt.Sprintf("costs %s %% (%s×)", Percent(c.OverheadPercent), Digits(c.Ratio, 3))
	case c.Verdict == analyze.Costs:
		return fmt.Sprintf("costs %s %%", Percent(c.OverheadPercent))
	case c.Verdict == analyze.Gains:
		return fmt.Sprintf("gains %s %%", size(c.OverheadPercent))
	case c.Verdict == analyze.None:
		return fmt.Sprintf("none (within ±%.3g %%)", 100*res.Delta)
	case c.N == 1:
		return "not resolved: one pair"
	case c.Coarse:
		return "not resolved: too coarse"
	case !Known(c):
		return tooWide
	case !c.HasControl:
		return "no control, " + AtMost(c)
	}
	return NotResolved(c.FartherPercent)
}

const tooWide = "not resolved: interval too wide"

// NotResolved says that an overhead or a change is not resolved, and how much it is at most: farther is the end of its
// interval, in percent, that is farther from 0.
func NotResolved(farther float64) string {
	if math.Abs(farther) > MostPercent {
		return tooWide
	}
	return "not resolved, at most " + bound(farther)
}

// ManyComparisons explains why a comparison is not resolved although its interval excludes 0.
const ManyComparisons = "not resolved although the interval excludes 0: with as many comparisons as this run makes, " +
	"some intervals exclude 0 by chance; the result takes that into account (Holm), a single interval does not"

// manyComparisons reports whether c is not resolved only because it is one of many.
func manyComparisons(res *analyze.Result, c analyze.Comparison) bool {
	return !c.Control && c.Verdict == analyze.NotResolved && Known(c) && c.HasControl && c.P < res.Alpha &&
		c.PHolm >= res.Alpha
}

// ShortVerdict is Verdict for a narrow column: the overhead if it is resolved, else
// what is known about it.
func ShortVerdict(c analyze.Comparison) string {
	switch {
	case c.Verdict == analyze.Costs && c.OverheadPercent >= 100:
		return Digits(c.Ratio, 3) + "×"
	case c.Verdict == analyze.Costs, c.Verdict == analyze.Gains:
		return Percent(c.OverheadPercent) + " %"
	case c.Verdict == analyze.None:
		return "none"
	case !Known(c):
		return "not known"
	}
	return AtMost(c)
}

// ByMetric is the comparison of the same two arms by another metric, such as CPU time; nil if there is none, or if c
// is that.
func ByMetric(res *analyze.Result, c analyze.Comparison, metric string) *analyze.Comparison {
	if c.Metric == metric {
		return nil
	}
	for i, other := range res.Comparisons {
		if other.Metric == metric && other.Workload == c.Workload && other.Arm == c.Arm && other.Baseline == c.Baseline {
			return &res.Comparisons[i]
		}
	}
	return nil
}

// CPUTimeOf is the comparison of the same two arms by CPU time: in duets, if they say anything and trials alone do not
// overrule them, otherwise alone; nil if there is none, or if c is one of them.
func CPUTimeOf(res *analyze.Result, c analyze.Comparison) *analyze.Comparison {
	if c.Metric == analyze.CPUTimeAtOnce {
		return nil
	}
	if atOnce := ByMetric(res, c, analyze.CPUTimeAtOnce); c.Metric != analyze.CPUTime && atOnce != nil &&
		!atOnce.Overruled && Known(*atOnce) {
		return atOnce
	}
	return ByMetric(res, c, analyze.CPUTime)
}

// AtOnceLegend explains the verdicts of CPUVerdict on duets.
const AtOnceLegend = "at once: CPU time of duets, in which the arms run the same work at once on the same CPUs, so " +
	"that noise meets all of them alike"

// CPUVerdict is ShortVerdict on a comparison by CPU time, and says if it is of duets.
func CPUVerdict(c analyze.Comparison) string {
	if c.Metric == analyze.CPUTimeAtOnce {
		return ShortVerdict(c) + " at once"
	}
	return ShortVerdict(c)
}

// widest is from how many times its lower end on the upper end of an interval tells
// nothing: two pairs of an emulated arm make it "+320 … +17126 %".
const widest = 10

// Known reports whether a comparison has an interval that says anything.
func Known(c analyze.Comparison) bool {
	return c.N > 1 && !c.Coarse && c.Interval != nil && c.CIHigh < widest*c.CILow &&
		math.Abs(c.FartherPercent) <= MostPercent
}

// AtMost words the most that a known comparison may cost: the end of its interval
// that is farther from 0.
func AtMost(c analyze.Comparison) string { return "at most " + bound(c.FartherPercent) }

// bound words the farther end of an interval as a bound: "+7.6 %" for -2.9 … +7.6 %, and "±4.2 %" for -4.2 … +3.6 %,
// because the size of a lower end that is farther from 0 bounds both sides.
func bound(farther float64) string {
	if farther < 0 {
		return "±" + size(farther) + " %"
	}
	return Percent(farther) + " %"
}

// OfTheseGuests reports whether a claim holds for the measured guests, but may not
// hold for others of the same kind.
func OfTheseGuests(c analyze.Comparison) bool {
	return c.Scope == analyze.ScopeTheseGuests && c.Verdict != analyze.NotResolved && !c.Control
}

// TheseGuests explains the mark of such claims.
const TheseGuests = "these guests only: fewer than 4 guests of an arm were created, and another one may differ"

// Interval formats the interval of a comparison's overhead in percent; "" if it has
// none, or none that can be trusted.
func Interval(c analyze.Comparison) string {
	if c.N < 2 || c.Interval == nil || c.Coarse {
		return ""
	}
	if high := 100 * (c.CIHigh - 1); high <= MostPercent {
		return Percent(100*(c.CILow-1)) + " … " + Percent(high) + " %"
	}
	return Percent(100*(c.CILow-1)) + " … more than +99999 %"
}

// Cost words a ratio as an overhead.
func Cost(ratio float64) string {
	if ratio >= 2 {
		return Digits(ratio, 3) + "×"
	}
	return Percent(100*(ratio-1)) + " %"
}

// CostInterval words an interval of ratios as Cost words a ratio in the middle of it.
func CostInterval(low, high float64) string {
	if math.Sqrt(low*high) >= 2 {
		upTo := Digits(high, 3)
		if 100*(high-1) > MostPercent {
			upTo = "more than 1000"
		}
		return Digits(low, 3) + " … " + upTo + "×"
	}
	return Percent(100*(low-1)) + " … " + Percent(min(100*(high-1), MostPercent)) + " %"
}

// Doubts returns the serious findings of res about a comparison, except for the
// emulation of an arm, which has its own mark.
func Doubts(res *analyze.Result, c analyze.Comparison) []analyze.Finding {
	var out []analyze.Finding
	for _, f := range res.Findings {
		if f.Severity == analyze.Serious && f.ID != "emulated" && slices.Contains(c.Findings, f.ID) && concerns(f, c) {
			out = append(out, f)
		}
	}
	return out
}

// concerns reports whether a finding is about a comparison.
func concerns(f analyze.Finding, c analyze.Comparison) bool {
	return (f.Workload == "" || f.Workload == c.Workload) && (f.Metric == "" || f.Metric == c.Metric) &&
		(f.Arm == "" || f.Arm == c.Arm || f.Arm == c.Baseline)
}

// Failures is how many trials of the arm of a comparison did not finish.
func Failures(res *analyze.Result, c analyze.Comparison) int {
	if a := res.Arm(c.Arm, c.Workload); a != nil {
		return a.Failures
	}
	return 0
}

// NoiseTexts says for a metric how much single trials vary, and whether that widened
// the intervals: a sentence for each of these scenarios; nil: of all. It says so if
// there are no A/A pairs.
func NoiseTexts(res *analyze.Result, workload, metric string, scenarios []string) (texts []string) {
	for _, s := range res.TrialSpread {
		if s.Workload != workload || s.Metric != metric || scenarios != nil && !slices.Contains(scenarios, s.Scenario) {
			continue
		}
		base, phi := res.Baseline, 1.0
		for _, c := range res.Comparisons {
			if a := res.Arm(c.Arm, workload); c.Workload != workload || c.Metric != metric || a == nil ||
				a.Scenario != s.Scenario {
				continue
			} else if c.Control {
				base = c.Baseline
			} else {
				phi = max(phi, c.Phi)
			}
		}
		by := "differ by up to " + Digits(s.Percent, 2) + " %"
		switch {
		case s.Percent == 0:
			by = "do not differ"
		case s.Pairs == 1:
			by = "differ by " + Digits(s.Percent, 2) + " %"
		}
		text := fmt.Sprintf("single trials of %s and its identical control %s (%d %s)", base, by, s.Pairs,
			plural(s.Pairs, "pair"))
		if phi >= 1.05 {
			text += fmt.Sprintf("; in this run the two differ by more than chance explains, so intervals are %s times wider",
				Digits(phi, 2))
		}
		texts = append(texts, text)
	}
	if texts == nil {
		return []string{"no A/A pairs, so no cost or gain is claimed"}
	}
	return texts
}

// WideText says what the mean of widely spread values hides.
func WideText(s analyze.SeriesSummary) string {
	sc := ScaleFor(s.Unit, s.Median)
	return fmt.Sprintf("median %s, middle half %s … %s", sc.With(s.Median), sc.Figure(s.P25), sc.With(s.P75))
}

// StallText says how much more often trials of an arm stall than its baseline's.
func StallText(t analyze.Tail) string {
	share := func(slow, n int, share float64) string {
		return fmt.Sprintf("%d of %d trials (%s %%)", slow, n, Digits(100*share, 2))
	}
	return fmt.Sprintf("stalls: %s is over %s times slower than its own median in %s, %s in %s; a slow trial is "+
		"typically %s times slower",
		t.Arm, Digits(t.Factor, 3), share(t.Slow, t.N, t.Share), t.Baseline,
		share(t.BaselineSlow, t.BaselineN, t.BaselineShare), Digits(t.Size, 2))
}

// RankingText words a ranking of res with its ties, and marks arms whose figure has
// a serious finding: "1. native, runc (tied); 3. lxc !".
func RankingText(res *analyze.Result, r analyze.Ranking) string {
	doubted := func(arm string) bool {
		return slices.ContainsFunc(res.Comparisons, func(c analyze.Comparison) bool {
			return c.Workload == r.Workload && c.Metric == r.Metric && c.Arm == arm && len(Doubts(res, c)) > 0
		})
	}
	var places []string
	for _, p := range r.Places {
		names := slices.Clone(p.Arms)
		for i, arm := range names {
			if doubted(arm) {
				names[i] += " !"
			}
		}
		places = append(places, fmt.Sprintf("%d. %s%s", p.Rank, strings.Join(names, ", "), when(len(names) > 1, " (tied)")))
	}
	return strings.Join(places, "; ")
}

// EndingOf says in words why a run has no more blocks; complete is false if it
// ended early or is still running.
func EndingOf(ctx Context) (words string, complete bool) {
	if ctx.Incomplete != "" {
		return ctx.Incomplete, false
	}
	return endings[ctx.Ended], true
}
