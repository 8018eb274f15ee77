package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// maxNamed is how many of the workloads with the same result an answer names.
const maxNamed = 3

// AnswerText says in one sentence, without a full stop, what a run found about an
// arm: what it costs on which workloads, and what is known about the others.
func AnswerText(a analyze.Answer) string { return view.Clean(a.Arm) + ": " + AnswerWords(a) }

// AnswerWords is AnswerText without the name of the arm. What duets say of the CPU time comes first, as they say more.
func AnswerWords(a analyze.Answer) string {
	switch {
	case a.Emulated:
		return "emulated: its times say nothing about real hardware"
	case a.AtOnce != nil:
		return "CPU time: " + answerWords(*a.AtOnce) + ". Time: " + answerWords(a)
	}
	return answerWords(a)
}

func answerWords(a analyze.Answer) string {
	var parts []string
	if len(a.None) > 0 {
		parts = append(parts, "at most "+size(a.NoneAtMostPercent)+" % on "+nameOrCount(a.None, a.Workloads))
	}
	if len(a.Costs) > 0 {
		parts = append(parts, "costs "+claimed(a.Costs))
	}
	if len(a.Gains) > 0 {
		parts = append(parts, "gains "+claimed(a.Gains))
	}
	open, unknown := bounded(a)
	if len(open) > 0 {
		parts = append(parts, bounds(open))
	}
	switch {
	case len(unknown) > 0 && a.Workloads == 1:
		parts = append(parts, "nothing is known yet") // the table below has the workload's name
	case len(unknown) > 0:
		parts = append(parts, "nothing is known yet about "+nameOrCount(unknown, a.Workloads))
	}
	text := strings.Join(parts, "; ")
	if a.Scope == analyze.ScopeTheseGuests && len(open)+len(unknown) < a.Workloads {
		text += " (these guests only)"
	}
	return view.Clean(text)
}

// bounded are the workloads of a.Open with a bound that says something, the lowest first, and the others.
func bounded(a analyze.Answer) (open []analyze.Claim, unknown []string) {
	for _, c := range a.Open {
		if c.Low == 0 && c.High == 0 || math.Abs(c.Farther()) > boundPercent {
			unknown = append(unknown, c.Workload)
		} else {
			open = append(open, c)
		}
	}
	slices.SortStableFunc(open, func(x, y analyze.Claim) int {
		return cmp.Compare(math.Abs(x.Farther()), math.Abs(y.Farther()))
	})
	return open, unknown
}

// OrderedAnswers puts those of emulated arms last, because they say the least.
func OrderedAnswers(all []analyze.Answer) []analyze.Answer {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y analyze.Answer) int {
		return map[bool]int{true: 1}[x.Emulated] - map[bool]int{true: 1}[y.Emulated]
	})
	return all
}

// claimed words what is resolved, the largest first: "21.6× as much (18.2 … 25.6) on
// dd-write and 2.4 % (1.1 … 3.7) on untar-kernel".
func claimed(claims []analyze.Claim) string {
	var parts []string
	for _, c := range claims[:min(len(claims), maxNamed)] {
		if c.Percent >= manyPercent {
			parts = append(parts, fmt.Sprintf("%s as much (%s) on %s", multiple(c.Percent), span(1+c.Low/100, 1+c.High/100),
				c.Workload))
			continue
		}
		from, to := size(c.Low), size(c.High)
		if c.Percent < 0 {
			from, to = to, from
		}
		parts = append(parts, fmt.Sprintf("%s %% (%s … %s) on %s", size(c.Percent), from, to, c.Workload))
	}
	if more := len(claims) - maxNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("less on %d more", more))
	}
	return view.And(parts)
}

// bounds says what each of these workloads costs at most, the best known first: "at most +2.3 % on openssl-enc, +2.9 %
// on sysbench-cpu, +6.5 % on dd-write, and +34.9 % on 4 more". That they are not resolved is said in the tables.
func bounds(open []analyze.Claim) string {
	var parts []string
	for _, c := range open[:min(len(open), maxNamed)] {
		parts = append(parts, bound(c.Farther())+" on "+c.Workload)
	}
	if more := len(open) - maxNamed; more > 0 {
		last := bound(open[len(open)-1].Farther())
		return fmt.Sprintf("at most %s, and %s on %d more", strings.Join(parts, ", "), last, more)
	}
	return "at most " + view.And(parts)
}

// MostPercent is the overhead beyond which a bound says nothing.
const MostPercent = 99_999

// boundPercent is the overhead beyond which sentences leave out the bound of a cost that is not resolved: that it is at
// most some times as much helps nobody.
const boundPercent = 100

// manyPercent is the overhead from which sentences say how many times as much it is.
const manyPercent = 200

// multiple words a large overhead: "21.6×" for +2060 %.
func multiple(percent float64) string { return Digits(1+percent/100, 3) + "×" }

// nameOrCount names one or two workloads, or counts more of them.
func nameOrCount(names []string, of int) string {
	switch n := len(names); {
	case n == of && of > 1:
		return fmt.Sprintf("any of %d workloads", of)
	case n <= 2:
		return view.And(names)
	default:
		return fmt.Sprintf("%d of %d workloads", n, of)
	}
}

// size formats a percentage without its sign.
func size(p float64) string { return strings.TrimLeft(Percent(p), "+-") }
