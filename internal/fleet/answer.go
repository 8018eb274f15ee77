package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// Answer says what to expect of an arm on the next machine of a group.
type Answer struct {
	Arm  string
	Text string // a sentence without its full stop
	// Class is the worst that is sure to come: analyze.Costs if the prediction of a cost is above 0.
	Class analyze.Verdict
}

// AnswersLead introduces the answers.
func (g *Group) AnswersLead(r *Result) string {
	baseline := "its baseline"
	if len(g.Costs) > 0 {
		baseline = "its own " + g.Costs[0].Baseline
	}
	return fmt.Sprintf("What to expect on the next machine of this kind, against %s, with %.4g %% confidence for each "+
		"figure:", baseline, 100*(1-r.Alpha))
}

// Answers says for each arm what to expect of its primary metrics on the next machine of the group.
func (g *Group) Answers(r *Result) []Answer {
	var arms []string
	of := map[string][]Cost{}
	for _, c := range g.Costs {
		if c.Family != analyze.FamilyPrimary && c.Family != analyze.FamilyEmulated {
			continue
		}
		if of[c.Arm] == nil {
			arms = append(arms, c.Arm)
		}
		of[c.Arm] = append(of[c.Arm], c)
	}
	var out []Answer
	for _, arm := range arms {
		out = append(out, answer(arm, of[arm], r.Delta))
	}
	return out
}

// namedMost is how many workloads with the same outcome are named.
const namedMost = 3

// answer sorts an arm's costs by what the prediction says: surely more, surely less, surely within
// ± delta, and neither.
func answer(arm string, costs []Cost, delta float64) Answer {
	var more, less, none, open []Cost
	var few, nothing []string
	for _, c := range costs {
		p := c.Pooled
		switch {
		case len(c.Machines) == 0:
			nothing = append(nothing, c.Workload)
		case p == nil || p.NextHigh == 0:
			few = append(few, c.Workload)
		case p.NextLow > 1/(1+delta) && p.NextHigh < 1+delta:
			none = append(none, c)
		case p.NextLow > 1:
			more = append(more, c)
		case p.NextHigh < 1:
			less = append(less, c)
		default:
			open = append(open, c)
		}
	}
	slices.SortStableFunc(more, func(a, b Cost) int { return cmp.Compare(b.Pooled.Ratio, a.Pooled.Ratio) })
	slices.SortStableFunc(less, func(a, b Cost) int { return cmp.Compare(a.Pooled.Ratio, b.Pooled.Ratio) })
	slices.SortStableFunc(open, func(a, b Cost) int { return cmp.Compare(a.Pooled.NextHigh, b.Pooled.NextHigh) })
	a := Answer{Arm: arm, Class: analyze.NotResolved}
	var parts []string
	if len(more) > 0 {
		parts = append(parts, "costs "+predicted(more))
		a.Class = analyze.Costs
	}
	if len(less) > 0 {
		parts = append(parts, "gains: "+predicted(less))
		a.Class = cmp.Or(map[bool]analyze.Verdict{true: analyze.Gains}[len(more) == 0], a.Class)
	}
	if len(none) > 0 {
		names := make([]string, len(none))
		for i, c := range none {
			names[i] = c.Workload
		}
		parts = append(parts, fmt.Sprintf("within ±%.3g %% on %s", 100*delta, counted(names, len(costs))))
		if len(none) == len(costs) {
			a.Class = analyze.None
		}
	}
	if len(open) > 0 {
		parts = append(parts, "may cost or gain: "+predicted(open))
	}
	if len(few) > 0 {
		parts = append(parts, fmt.Sprintf("no prediction for %s, which needs %d machines", counted(few, len(costs)),
			fewestMachines))
	}
	if len(nothing) > 0 {
		parts = append(parts, "nothing is known about "+counted(nothing, len(costs)))
	}
	a.Text = view.And(parts)
	return a
}

// predicted words the predictions of costs, the first ones by name.
func predicted(costs []Cost) string {
	var parts []string
	for _, c := range costs[:min(len(costs), namedMost)] {
		parts = append(parts, report.CostInterval(c.Pooled.NextLow, c.Pooled.NextHigh)+" on "+c.Workload+c.withoutOdd())
	}
	if rest := costs[len(parts):]; len(rest) > 0 {
		low, high := rest[0].Pooled.NextLow, rest[0].Pooled.NextHigh
		for _, c := range rest {
			low, high = min(low, c.Pooled.NextLow), max(high, c.Pooled.NextHigh)
		}
		parts = append(parts, fmt.Sprintf("%s on %d more", report.CostInterval(low, high), len(rest)))
	}
	return view.And(parts)
}

// withoutOdd says what to expect if the only odd machine of a cost does not count.
func (c Cost) withoutOdd() string {
	i := slices.IndexFunc(c.Machines, func(m MachineCost) bool { return m.Odd })
	if i < 0 || slices.ContainsFunc(c.Machines[i+1:], func(m MachineCost) bool { return m.Odd }) {
		return ""
	}
	m := c.Machines[i]
	return fmt.Sprintf(" (without %s, which is odd, %s)", m.Machine,
		report.CostInterval(m.Without.NextLow, m.Without.NextHigh))
}

// counted names one or two workloads, or counts more of them.
func counted(names []string, of int) string {
	switch n := len(names); {
	case n == of && of > 1:
		return fmt.Sprintf("all %d workloads", of)
	case n <= 2:
		return view.And(names)
	default:
		return fmt.Sprintf("%d of %d workloads", n, of)
	}
}
