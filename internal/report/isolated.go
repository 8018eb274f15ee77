package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
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
// there is not included.
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
	a := IsolationAnswer{Arm: Clean(arm), Worst: analyze.NotResolved}
	if of[0].Family == analyze.FamilyEmulated {
		a.Emulated, a.Text = true, "emulated: nothing is claimed"
		return a
	}
	var slower, open []analyze.Isolation
	var unhurt, unknown, parts []string
	lost, trials := 0, 0
	for _, i := range of {
		lost, trials = lost+i.Lost, trials+i.Trials
		switch doubted := len(Doubts(res, i.Comparison)) > 0; {
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
	a.Text = Clean(strings.Join(parts, "; "))
	return a
}

// slowerText names the largest slowdown, and counts the others.
func slowerText(res *analyze.Result, slower []analyze.Isolation) string {
	worst := slices.MaxFunc(slower, func(x, y analyze.Isolation) int { return cmp.Compare(x.Ratio, y.Ratio) })
	text := fmt.Sprintf("takes %s times as long as alone (%s) on %s", Digits(worst.Ratio, 3),
		span(worst.CILow, worst.CIHigh), where(worst))
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
		bounds = append(bounds, saidBound(i.FartherPercent, "long")+" on "+where(i))
	}
	if n := len(open) - maxNamed; n > 0 {
		bounds = append(bounds, fmt.Sprintf("less in %d more", n))
	}
	return "not resolved: at most " + And(bounds)
}

func where(i analyze.Isolation) string { return i.Workload + " in " + i.Scenario }

// some names the first few, and counts the rest.
func some(names []string) string {
	if n := len(names) - maxNamed; n > 0 {
		names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("%d more", n))
	}
	return And(names)
}
