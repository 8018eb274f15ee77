package page

import (
	"cmp"
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
	Emulated  bool
	Class     string // of the worst that is said: costs, gains, none, open
	Sentences []string
}

// answers says of every arm what it costs, emulated ones last; then what did not
// finish, and where a serious finding stands against a figure.
func answers(res *analyze.Result, d *data) []answer {
	var out []answer
	said := map[string]bool{}
	for _, a := range report.OrderedAnswers(res.Answers) {
		said[a.Arm] = true
		out = append(out, answerOf(res, a))
	}
	for _, arm := range d.arms { // of which nothing was compared
		if of := primaryOf(res, arm.Name); !said[arm.Name] && len(of) > 0 && of[0].Baseline == res.Baseline {
			out = append(out, answerOf(res, analyze.Answer{Arm: arm.Name, Emulated: arm.Emulated}))
		}
	}
	return out
}

// primaryOf are the comparisons of an arm by primary metrics.
func primaryOf(res *analyze.Result, arm string) (of []analyze.Comparison) {
	for _, c := range res.Comparisons {
		if c.Primary && !c.Control && c.Arm == arm {
			of = append(of, c)
		}
	}
	return of
}

func answerOf(res *analyze.Result, a analyze.Answer) answer {
	out := answer{Arm: a.Arm, Emulated: a.Emulated, Class: "open"}
	say := func(text string) { out.Sentences = append(out.Sentences, text+".") }
	if a.Workloads > 0 || a.Emulated {
		say(capital(report.AnswerWords(a)))
	}
	switch {
	case a.Emulated:
		return out
	case len(a.Costs) > 0:
		out.Class = "costs"
	case len(a.Gains) > 0:
		out.Class = "gains"
	case len(a.None) > 0:
		out.Class = "none"
	}
	var failed, doubted []string
	all := primaryOf(res, a.Arm)
	for _, c := range all {
		if c.N == 0 && failures(res, c) > 0 {
			failed = append(failed, c.Workload)
		} else if len(report.Doubts(res, c)) > 0 {
			doubted = append(doubted, c.Workload)
		}
	}
	if failed != nil {
		say("Did not finish " + allOr(failed, len(all)))
	}
	if doubted != nil {
		say(fmt.Sprintf("A serious finding stands against %s on %s", map[bool]string{true: "the figure", false: "the figures"}[len(doubted) == 1], allOr(doubted, len(all))))
	}
	return out
}

// capital makes the first letter of a sentence a capital one.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

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
	var slower, open []analyze.Isolation
	var unhurt []string
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
			open = append(open, i)
		}
	}
	if unhurt != nil {
		a.Class = "none"
		say("No slower than alone, within ±%.3g %%, on %s.", 100*res.Delta, someOr(unhurt, len(of)))
	}
	if slower != nil {
		a.Class = "costs"
		worst := slices.MaxFunc(slower, func(x, y analyze.Isolation) int { return cmp.Compare(x.Ratio, y.Ratio) })
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
		slices.SortStableFunc(open, func(x, y analyze.Isolation) int {
			return -cmp.Compare(math.Abs(x.FartherPercent), math.Abs(y.FartherPercent))
		})
		var names []string
		for _, i := range open {
			name := where(i)
			if report.Known(i.Comparison) {
				name += " (" + report.AtMost(i.Comparison) + ")"
			}
			names = append(names, name)
		}
		if len(names) > maxOpen {
			names = append(names[:maxOpen], fmt.Sprintf("less in %d more", len(open)-maxOpen))
		}
		say("Not resolved: %s.", joinAnd(names))
	}
	return a
}

// maxOpen is how many combinations of workload and company are named.
const maxOpen = 3

// someOr names a few of so many workloads in company, and counts more of them.
func someOr(names []string, of int) string {
	if len(names) > 4 {
		return fmt.Sprintf("%d of %d combinations of workload and company", len(names), of)
	}
	return joinAnd(names)
}

// allOr names workloads, or says that it is all of them.
func allOr(names []string, of int) string {
	if len(names) == of && of > 2 {
		return fmt.Sprintf("all %d workloads", of)
	}
	return joinAnd(names)
}

func failures(res *analyze.Result, c analyze.Comparison) int {
	if a := res.Arm(c.Arm, c.Workload); a != nil {
		return a.Failures
	}
	return 0
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
