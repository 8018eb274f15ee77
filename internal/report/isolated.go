package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// IsolationAnswer is what a run found about one system's guests beside others.
type IsolationAnswer struct {
	Arm      string // without a scenario
	Emulated bool
	Worst    analyze.Verdict // of those in Text
	Text     string          // one sentence, without a full stop
}

// IsolationAnswers says for every system how other guests slow its guests down, by
// primary metrics: what is resolved of that, the worst first. What a system costs
// there is not included. Beside neighbours, that is the excess over native, where it is
// known: sharing a CPU takes twice the time on any system.
func IsolationAnswers(res *analyze.Result) (out []IsolationAnswer) {
	var arms []string
	of := map[string][]analyze.Isolation{}
	for _, i := range res.Isolation {
		if !i.Primary || i.Baseline == "" {
			continue
		}
		if of[i.Baseline] == nil {
			arms = append(arms, i.Baseline)
		}
		of[i.Baseline] = append(of[i.Baseline], i)
	}
	for _, arm := range arms {
		out = append(out, isolationAnswer(res, arm, of[arm]))
	}
	slices.SortStableFunc(out, func(a, b IsolationAnswer) int {
		return map[bool]int{true: 1}[a.Emulated] - map[bool]int{true: 1}[b.Emulated]
	})
	return out
}

func isolationAnswer(res *analyze.Result, arm string, of []analyze.Isolation) IsolationAnswer {
	a := IsolationAnswer{Arm: view.Clean(arm), Worst: analyze.NotResolved}
	if of[0].Family == analyze.FamilyEmulated {
		a.Emulated, a.Text = true, "emulated: nothing is claimed"
		return a
	}
	var slower, open []analyze.Isolation
	var unhurt, unknown, parts []string
	excess := map[string]analyze.Excess{} // by scenario
	for _, c := range res.IsolationMatrix {
		if c.Of == arm && c.Excess != nil && len(c.Idle) == 0 {
			excess[c.Scenario] = *c.Excess
		}
	}
	lost, trials := 0, 0
	for _, i := range of {
		lost, trials = lost+i.Lost, trials+i.Trials
		_, told := excess[i.Scenario]
		switch doubted := len(Doubts(res, i.Comparison)) > 0; {
		case told:
		case i.N == 0 && i.Lost == i.Trials: // counted below
		case i.Verdict == analyze.Costs && !doubted:
			slower = append(slower, i)
		case i.Verdict == analyze.None && !doubted:
			unhurt = append(unhurt, where(i))
		case Known(i.Comparison):
			open = append(open, i)
		default:
			unknown = append(unknown, where(i))
		}
	}
	if len(excess) > 0 {
		a.Worst, parts = excessText(res.Baseline, excess)
	}
	if slower != nil {
		a.Worst = analyze.Costs
		parts = append(parts, slowerText(res, slower))
	}
	if lost > 0 {
		a.Worst = analyze.Costs
		parts = append(parts, fmt.Sprintf("%d of %d results are missing because guests did not finish", lost, trials))
	}
	if unhurt != nil {
		if a.Worst == analyze.NotResolved {
			a.Worst = analyze.None
		}
		parts = append(parts, fmt.Sprintf("no slower than alone, within ±%.3g %%, on %s", 100*res.Delta, some(unhurt)))
	}
	if open != nil {
		parts = append(parts, openText(open))
	}
	switch {
	case len(unknown) == len(of):
		parts = append(parts, "nothing is known yet")
	case unknown != nil:
		parts = append(parts, "nothing is known yet about "+some(unknown))
	}
	a.Text = view.Clean(strings.Join(parts, "; "))
	return a
}

// asNative is the largest excess, either way, up to which a system is said to isolate as native does.
const asNative = 0.10

// excessText says in which scenarios neighbours slow a system's guests down more or less than native's, and within what
// they do as much.
func excessText(native string, excess map[string]analyze.Excess) (worst analyze.Verdict, parts []string) {
	worst = analyze.None
	var more, less, same, open []string
	for _, scenario := range slices.Sorted(maps.Keys(excess)) {
		e := excess[scenario]
		in := fmt.Sprintf("%s times (%s) on %s in %s", Digits(e.Ratio, 3), span(e.Ends()), e.Workload, scenario)
		far := max(e.CIHigh-1, 1-e.CILow)
		switch {
		case e.Verdict == analyze.Costs:
			more = append(more, in)
		case e.Verdict == analyze.Gains:
			less = append(less, in)
		case far <= asNative:
			same = append(same, fmt.Sprintf("%.2g %% in %s", 100*far, scenario))
		default:
			open = append(open, fmt.Sprintf("%s %% on %s in %s", Digits(100*far, 2), e.Workload, scenario))
		}
	}
	if more != nil {
		worst = analyze.Costs
		parts = append(parts, "slowed down more than "+native+": "+view.And(more))
	}
	if less != nil {
		parts = append(parts, "slowed down less than "+native+": "+view.And(less))
	}
	if same != nil {
		parts = append(parts, "as "+native+", within "+view.And(same))
	}
	if open != nil {
		if more == nil {
			worst = analyze.NotResolved
		}
		parts = append(parts, "differs from "+native+" by at most "+view.And(open))
	}
	return worst, parts
}

// slowerText names the largest slowdown, and counts the others.
func slowerText(res *analyze.Result, slower []analyze.Isolation) string {
	worst := slices.MaxFunc(slower, func(x, y analyze.Isolation) int { return cmp.Compare(x.Ratio, y.Ratio) })
	text := fmt.Sprintf("takes %s times as long as alone (%s) on %s", Digits(worst.Ratio, 3),
		span(worst.Ends()), where(worst))
	text += when(worst.Native > 0, ", where "+res.Baseline+" takes "+Digits(worst.Native, 3)+" times as long")
	if n := len(slower) - 1; n > 0 {
		text += fmt.Sprintf("; the slowdown is smaller in %d more %s", n, plural(n, "case"))
	}
	return text
}

// openText names the largest slowdowns that there may be.
func openText(open []analyze.Isolation) string {
	slices.SortStableFunc(open, func(x, y analyze.Isolation) int {
		return -cmp.Compare(math.Abs(x.FartherPercent), math.Abs(y.FartherPercent))
	})
	var bounds []string
	for _, i := range open[:min(len(open), maxNamed)] {
		bounds = append(bounds, longBound(i.FartherPercent)+" on "+where(i))
	}
	if n := len(open) - maxNamed; n > 0 {
		bounds = append(bounds, fmt.Sprintf("less in %d more", n))
	}
	return "not resolved: at most " + view.And(bounds)
}

// longBound is bound of a slowdown: "21.6× as long" for +2060 %.
func longBound(farther float64) string {
	if farther >= manyPercent {
		return multiple(farther) + " as long"
	}
	return bound(farther)
}

func where(i analyze.Isolation) string { return i.Workload + " in " + i.Scenario }

// some names the first few, and counts the rest.
func some(names []string) string {
	if n := len(names) - maxNamed; n > 0 {
		names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("%d more", n))
	}
	return view.And(names)
}
