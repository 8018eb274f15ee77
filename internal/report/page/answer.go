package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
)

// answer is what the run says of one arm, in sentences.
type answer struct {
	Arm       string
	Class     string // of the worst that is said: costs, gains, none, open
	Sentences []string
	InCompany bool // it is about a scenario in which others run too
}

// answers says of every arm what it costs on which workload, and what is not
// resolved. Only primary metrics are spoken of.
func answers(res *analyze.Result, d *data, titles map[string]string) []answer {
	var out []answer
	for _, arm := range d.arms {
		var of []analyze.Comparison
		for _, c := range res.Comparisons {
			if c.Primary && !c.Control && c.Arm == arm.Name {
				of = append(of, c)
			}
		}
		if len(of) > 0 {
			a := answerOf(res, arm.Emulated, of, titles)
			a.InCompany = arm.Scenario != d.arms[0].Scenario
			out = append(out, a)
		}
	}
	return out
}

// isolated says of every system how its guests bore company: what of that is
// resolved, the worst first. Costs are not spoken of.
func isolated(res *analyze.Result, d *data) []answer {
	var out []answer
	for _, arm := range d.arms {
		var of []analyze.Isolation
		for _, i := range res.Isolation {
			if i.Primary && i.Baseline == arm.Name {
				of = append(of, i)
			}
		}
		if len(of) > 0 {
			out = append(out, isolatedOf(res, arm.Emulated, of))
		}
	}
	return out
}

func isolatedOf(res *analyze.Result, emulated bool, of []analyze.Isolation) answer {
	a := answer{Arm: of[0].Baseline, Class: "open"}
	say := func(format string, args ...any) { a.Sentences = append(a.Sentences, fmt.Sprintf(format, args...)) }
	if emulated {
		say("It is emulated: nothing is claimed of it.")
		return a
	}
	where := func(i analyze.Isolation) string { return i.Workload + " in " + i.Scenario }
	var slower []analyze.Isolation
	var unhurt, open []string
	lost, trials := 0, 0
	for _, i := range of {
		lost, trials = lost+i.Lost, trials+i.Trials
		switch doubted := len(report.Doubts(res, i.Comparison)) > 0; {
		case i.N == 0 && i.Lost == i.Trials: // said below
		case i.Verdict == analyze.Costs && !doubted:
			slower = append(slower, i)
		case i.Verdict == analyze.None && !doubted:
			unhurt = append(unhurt, where(i))
		default:
			open = append(open, where(i))
		}
	}
	if unhurt != nil {
		a.Class = "none"
		say("No slower than alone, within ±%.3g %%, on %s.", 100*res.Delta, someOr(unhurt, len(of)))
	}
	if slower != nil {
		a.Class = "costs"
		worst := slices.MaxFunc(slower, func(x, y analyze.Isolation) int { return compareFloat(x.Ratio, y.Ratio) })
		text := fmt.Sprintf("Takes %s times as long as alone (%s … %s) on %s", report.Digits(worst.Ratio, 3), report.Digits(worst.CILow, 3), report.Digits(worst.CIHigh, 3), where(worst))
		if worst.Native > 0 {
			text += fmt.Sprintf("; %s takes %s times as long there", res.Baseline, report.Digits(worst.Native, 3))
		}
		if n := len(slower) - 1; n > 0 {
			text += fmt.Sprintf(". Slower by less in %d more", n)
		}
		say("%s.", text)
	}
	if lost > 0 {
		a.Class = "costs"
		say("Of %d results in company %d are missing: guests did not finish.", trials, lost)
	}
	if open != nil {
		say("Not resolved: %s.", someOr(open, len(of)))
	}
	return a
}

// someOr names a few of so many workloads in company, and counts more of them.
func someOr(names []string, of int) string {
	if len(names) > 4 {
		return fmt.Sprintf("%d of %d combinations of workload and company", len(names), of)
	}
	return joinAnd(names)
}

func answerOf(res *analyze.Result, emulated bool, of []analyze.Comparison, titles map[string]string) answer {
	a := answer{Arm: of[0].Arm, Class: "open"}
	say := func(format string, args ...any) { a.Sentences = append(a.Sentences, fmt.Sprintf(format, args...)) }
	if emulated {
		say("It is emulated: its times say nothing about real hardware, so no cost is claimed here.")
		return a
	}
	groups := map[analyze.Verdict][]analyze.Comparison{}
	var failed, doubted []string
	for _, c := range of {
		if c.N == 0 && failures(res, c) > 0 {
			failed = append(failed, c.Workload)
			continue
		}
		if len(report.Doubts(res, c)) > 0 {
			doubted = append(doubted, c.Workload)
		}
		groups[c.Verdict] = append(groups[c.Verdict], c)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(x, y analyze.Comparison) int {
			return -compareFloat(math.Abs(math.Log(max(x.Ratio, 1e-300))), math.Abs(math.Log(max(y.Ratio, 1e-300))))
		})
	}
	if g := groups[analyze.Costs]; g != nil {
		a.Class = "costs"
		say("Costs %s.", joinAnd(each(g, func(c analyze.Comparison) string { return amount(c, titles) })))
	}
	if g := groups[analyze.Gains]; g != nil {
		if a.Class != "costs" {
			a.Class = "gains"
		}
		say("Is faster than %s by %s, which is seldom real: see its findings.", of[0].Baseline,
			joinAnd(each(g, func(c analyze.Comparison) string { return amount(c, titles) })))
	}
	if g := groups[analyze.None]; g != nil {
		if a.Class == "open" {
			a.Class = "none"
		}
		say("No cost beyond ±%.3g %% on %s.", 100*res.Delta, joinAnd(each(g, workloadOf)))
	}
	if failed != nil {
		say("Did not finish %s.", allOr(failed, len(of)))
	}
	if g := groups[analyze.NotResolved]; g != nil {
		say("Not resolved: %s.", unresolved(g, len(of)))
	}
	if doubted != nil {
		say("A serious finding stands against %s on %s.", map[bool]string{true: "the figure", false: "the figures"}[len(doubted) == 1], allOr(doubted, len(of)))
	}
	return a
}

// amount says how much a comparison resolved, with its interval.
func amount(c analyze.Comparison, titles map[string]string) string {
	text := strings.TrimLeft(report.Percent(c.OverheadPercent), "+-") + " %"
	switch {
	case c.OverheadPercent >= 100:
		text = report.Digits(c.Ratio, 3) + " times as much"
	case c.OverheadPercent > 0:
		text += " more"
	}
	text += " (" + report.Interval(c) + ") on " + c.Workload
	name, _, _ := strings.Cut(c.Workload, "[")
	if does, _, _ := strings.Cut(titles[name], ":"); does != "" {
		text += " (" + does + ")"
	}
	return text
}

// unresolved names workloads by why nothing is said of them; of is how many there are in all.
func unresolved(g []analyze.Comparison, of int) string {
	var reasons []string
	by := map[string][]analyze.Comparison{}
	for _, c := range g {
		why := whyOpen(c)
		if by[why] == nil {
			reasons = append(reasons, why)
		}
		by[why] = append(by[why], c)
	}
	return strings.Join(each(reasons, func(why string) string {
		text := allOr(each(by[why], workloadOf), of) + " (" + why
		if why == withinNoise {
			text += floors(by[why])
		}
		return text + ")"
	}), "; ")
}

// withinNoise is why most comparisons resolve nothing.
const withinNoise = "less than the noise of "

// floors is the range of the noise floors of comparisons.
func floors(g []analyze.Comparison) string {
	low, high := math.Inf(1), 0.0
	for _, c := range g {
		low, high = min(low, c.NoiseFloorPercent), max(high, c.NoiseFloorPercent)
	}
	if report.Digits(low, 2) == report.Digits(high, 2) {
		return report.Digits(high, 2) + " %"
	}
	return report.Digits(low, 2) + " to " + report.Digits(high, 2) + " %"
}

// whyOpen says why a comparison resolved nothing.
func whyOpen(c analyze.Comparison) string {
	switch {
	case c.N == 0:
		return "no values"
	case c.MeanWithheld:
		return "values too far apart"
	case c.N == 1:
		return "one pair only"
	case !c.HasNoiseFloor:
		return "noise unknown"
	case math.Abs(math.Log(c.Ratio)) <= math.Log1p(c.NoiseFloorPercent/100):
		return withinNoise
	case c.CILow <= 1 && c.CIHigh >= 1:
		return "the interval holds both more and less"
	}
	return "may be chance, with so many comparisons and so few blocks"
}

// allOr names workloads, or says that it is all of them.
func allOr(names []string, of int) string {
	if len(names) == of && of > 2 {
		return fmt.Sprintf("all %d workloads", of)
	}
	return joinAnd(names)
}

func workloadOf(c analyze.Comparison) string { return c.Workload }

func failures(res *analyze.Result, c analyze.Comparison) int {
	for _, a := range res.Arms {
		if a.Arm == c.Arm && a.Workload == c.Workload {
			return a.Failures
		}
	}
	return 0
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func each[T any](list []T, f func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

func joinAnd(list []string) string {
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		sep := ", "
		if strings.Contains(strings.Join(list, ""), ",") {
			sep = "; "
		}
		last := sep[:1] + " and "
		if n == 2 && sep == ", " {
			last = " and "
		}
		return strings.Join(list[:n-1], sep) + last + list[n-1]
	}
}
