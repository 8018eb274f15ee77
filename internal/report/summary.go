package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/view"
)

// Summary is what a run knows about one system, in one sentence.
type Summary struct {
	Arm      string `json:"arm"` // clean
	Emulated bool   `json:"emulated,omitempty"`
	Text     string `json:"text"` // without a full stop
}

// SummaryLead introduces the sentences of Summaries.
func SummaryLead(res *analyze.Result) string {
	return fmt.Sprintf(
		"What is known, costs against %s (%.4g %% intervals; none: within ±%.3g %%):",
		view.Clean(res.Baseline),
		100*(1-res.Alpha),
		100*res.Delta,
	)
}

// Summaries says in one sentence per system what is known: costs, isolation, memory, start. The baseline comes
// first if anything but costs is known about it, and emulated arms last. A run that compares nothing has none.
func Summaries(res *analyze.Result) (out []Summary) {
	if len(res.Answers) == 0 {
		return nil
	}
	if text := known(summaryFacts(res, res.Baseline)...); text != "" {
		out = append(out, Summary{Arm: view.Clean(res.Baseline), Text: text})
	}
	for _, a := range OrderedAnswers(res.Answers) {
		parts := append([]string{summaryCosts(res, a)}, summaryFacts(res, a.Arm)...)
		out = append(out, Summary{view.Clean(a.Arm), a.Emulated, known(parts...)})
	}
	return out
}

// known joins the parts of a sentence that are not empty.
func known(parts ...string) string {
	return view.Clean(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; "))
}

// summaryCosts has the costs in CPU time first, as far as duets know them.
func summaryCosts(res *analyze.Result, a analyze.Answer) string {
	if a.Emulated {
		return "emulated: its times say nothing about real hardware"
	}
	cost := shortCost(res, a, a.Workloads)
	if a.AtOnce != nil {
		if cpu := shortCost(res, *a.AtOnce, a.Workloads); cpu != nothingKnown {
			return "CPU " + cpu + "; time " + cost
		}
	}
	return cost
}

const nothingKnown = "nothing is known yet"

// shortCost words an answer without intervals: claims with their workloads, and bounds. The run has so many workloads.
func shortCost(res *analyze.Result, a analyze.Answer, workloads int) string {
	var parts []string
	for _, claims := range [][]analyze.Claim{a.Costs, a.Gains} {
		var said []string
		for _, c := range claims[:min(len(claims), maxNamed)] {
			figure := Percent(c.Percent) + " %"
			if c.Percent >= manyPercent {
				figure = multiple(c.Percent)
			}
			said = append(said, figure+" on "+c.Workload+when(doubtful(res, a.Arm, c.Workload, c.Metric), " !"))
		}
		if more := len(claims) - maxNamed; more > 0 {
			said = append(said, fmt.Sprintf("less on %d more", more))
		}
		parts = append(parts, view.And(said))
	}
	if n := len(a.None); n > 0 {
		parts = append(parts, "none on "+nameOf(a.None[0], n))
	}
	open, unknown := bounded(a)
	parts = append(parts, shortBounds(open, workloads))
	if n := len(unknown); n == a.Workloads {
		parts = append(parts, nothingKnown)
	} else if n > 0 {
		parts = append(parts, "not known on "+nameOf(unknown[0], n))
	}
	text := strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
	return text + when(a.Scope == analyze.ScopeTheseGuests && len(open)+len(unknown) < a.Workloads, " (these guests only)")
}

// shortBounds words the bounds of costs that are not resolved, the lowest first: "at most +2.5 % on 4 of 7 and +120 %
// on 3", the half that is known best and the rest. One bound stands for all if it is at most twice the other.
func shortBounds(open []analyze.Claim, of int) string {
	n := len(open)
	if n == 0 {
		return ""
	}
	most := func(of []analyze.Claim) string {
		last := of[len(of)-1]
		return bound(last.Farther()) + " on " + nameOf(of[0].Workload, len(of))
	}
	switch half := (n + 1) / 2; {
	case n > 1 && math.Abs(open[n-1].Farther()) > 2*math.Abs(open[half-1].Farther()):
		return "at most " + most(open[:half]) + " and " + most(open[half:])
	case n == of:
		return "at most " + bound(open[n-1].Farther())
	}
	return "at most " + most(open)
}

// nameOf names a single workload, and counts several.
func nameOf(first string, n int) string {
	if n == 1 {
		return first
	}
	return fmt.Sprint(n)
}

// doubtful reports whether a serious finding concerns a cost.
func doubtful(res *analyze.Result, arm, workload, metric string) bool {
	return slices.ContainsFunc(res.Comparisons, func(c analyze.Comparison) bool {
		return c.Arm == arm && c.Workload == workload && c.Metric == metric && len(Doubts(res, c)) > 0
	})
}

// summaryFacts are what is known about the guests of an arm besides costs: limits, neighbours, memory, start.
func summaryFacts(res *analyze.Result, arm string) []string {
	facts := []string{shortAttacks(res, arm), shortExcess(res, arm)}
	of := slices.DeleteFunc(slices.Clone(res.Memory), func(m analyze.Memory) bool { return m.Arm != arm })
	if len(of) != 1 { // several flavors: the table has a row for each
		return facts
	}
	return append(facts, when(of[0].Idle.N > 0, memorySpan(of[0].Idle)+" idle"),
		when(of[0].Start.N > 0, "starts in "+InUnit("s", of[0].Start.Mean, 2)))
}

// shortAttacks says whether the limits of an arm held.
func shortAttacks(res *analyze.Result, arm string) string {
	on := map[model.Held][]string{}
	var lost []string
	made := map[string]bool{}
	for _, a := range res.Attacks {
		made[a.On] = true
		if a.Arm == arm {
			on[a.Held] = append(on[a.Held], a.On)
			if a.Lost != "" {
				lost = append(lost, a.On)
			}
		}
	}
	var parts []string
	say := func(of []string, one, more string) {
		if of != nil {
			parts = append(
				parts,
				plural(len(of), "limit")+" on "+view.And(of)+" "+when(len(of) == 1, one)+when(len(of) > 1, more),
			)
		}
	}
	say(on[model.HeldNo], "does not hold", "do not hold")
	if held := on[model.HeldYes]; len(held) > 0 && len(held) == len(made) {
		parts = append(parts, "limits hold")
	} else {
		say(on[model.HeldYes], "holds", "hold")
	}
	say(on[model.HeldUnknown], "not reached", "not reached")
	if lost != nil {
		parts = append(parts, "the guest beside did not finish during attacks on "+view.And(lost))
	}
	return strings.Join(parts, ", ")
}

// widestExcess is the excess from which a bound says nothing.
const widestExcess = 10

// shortExcess says how much more neighbours slow the guests of an arm down than those of the baseline: the largest
// excess that is resolved or, if there is none, the largest that there may be.
func shortExcess(res *analyze.Result, arm string) string {
	var worst, widest *analyze.IsolationCell
	for i, c := range res.IsolationMatrix {
		if c.Of != arm || c.Excess == nil || len(c.Idle) > 0 || c.Emulated {
			continue
		}
		cell := &res.IsolationMatrix[i]
		if c.Excess.Verdict == analyze.Costs && (worst == nil || c.Excess.Ratio > worst.Excess.Ratio) {
			worst = cell
		}
		if widest == nil || c.Excess.CIHigh > widest.Excess.CIHigh {
			widest = cell
		}
	}
	native := "× " + view.Clean(res.Baseline)
	switch {
	case worst != nil:
		return "beside " + worst.Scenario + " " + Digits(worst.Excess.Ratio, 3) + native
	case widest != nil && widest.Excess.CIHigh < widestExcess:
		return "beside neighbours at most " + Digits(widest.Excess.CIHigh, 3) + native
	}
	return ""
}
