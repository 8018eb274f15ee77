package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
)

// Answer is what a run says about one arm over all its workloads, by their primary
// metrics in the first scenario.
type Answer struct {
	Arm      string `json:"arm"`
	System   string `json:"system"`
	Emulated bool   `json:"emulated,omitempty"`
	// Workloads is how many were compared, each in one of the four lists.
	Workloads int      `json:"workloads"`
	None      []string `json:"none"`  // workloads that cost nothing beyond ± delta
	Costs     []Claim  `json:"costs"` // the largest first
	Gains     []Claim  `json:"gains"` // the largest first
	Open      []Claim  `json:"open"`  // not resolved, the widest first
	// AtMostPercent is the largest absolute FartherPercent over None and Open: no cost
	// that was not found is larger. 0: both are empty, or there is no interval.
	AtMostPercent float64 `json:"at_most_percent,omitzero"`
	// NoneAtMostPercent is the same over None alone.
	NoneAtMostPercent float64 `json:"none_at_most_percent,omitzero"`
	Scope             Scope   `json:"scope,omitempty"` // these-guests if any of them is
	// AtOnce is the same by CPU time in duets, without those that trials alone overrule; nil: there are none.
	AtOnce *Answer `json:"at_once,omitempty"`
}

// Claim is one comparison within an Answer: an overhead and its interval in percent, and
// Ratio as in Comparison. Low and High are 0 if there is no credible interval.
type Claim struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Percent  float64 `json:"percent"`
	Low      float64 `json:"low_percent"`
	High     float64 `json:"high_percent"`
	Ratio    float64 `json:"ratio"`
}

// Farther is the end of the interval that is farther from 0, in percent.
func (c Claim) Farther() float64 { return claim.Farther(c.Low, c.High) }

// answers gathers what is said of every arm of the first scenario.
func (a *analysis) answers() []Answer {
	out := []Answer{}
	for ai, arm := range a.in.Arms {
		if base, control := a.in.BaselineOf(arm); base == "" || control || arm.Scenario != a.first() {
			continue
		}
		ans := a.answer(ai, FamilyPrimary)
		if ans.Workloads == 0 {
			continue
		}
		if duets := a.answer(ai, FamilyAtOnce); duets.Workloads > 0 {
			ans.AtOnce = &duets
		}
		out = append(out, ans)
	}
	return out
}

// answer is what the comparisons of one class say of an arm.
func (a *analysis) answer(arm int, class Family) Answer {
	ans := Answer{Arm: a.in.Arms[arm].Name, System: a.in.Arms[arm].System, Emulated: a.in.Arms[arm].Emulated,
		None: []string{}, Costs: []Claim{}, Gains: []Claim{}, Open: []Claim{}}
	seen := map[string]bool{}
	for _, c := range a.comparisons {
		if c.arm != arm || c.class != class || c.N == 0 || c.Overruled {
			continue
		}
		if !seen[c.Workload] {
			seen[c.Workload] = true
			ans.Workloads++
		}
		ans.take(c)
	}
	slices.SortStableFunc(ans.Costs, func(x, y Claim) int { return cmp.Compare(y.Ratio, x.Ratio) })
	slices.SortStableFunc(ans.Gains, func(x, y Claim) int { return cmp.Compare(x.Ratio, y.Ratio) })
	slices.SortStableFunc(ans.Open, func(x, y Claim) int { return cmp.Compare(y.High-y.Low, x.High-x.Low) })
	return ans
}

// take puts a comparison into one of the lists.
func (ans *Answer) take(c *comparison) {
	said := Claim{Workload: c.Workload, Metric: c.Metric, Percent: c.OverheadPercent, Ratio: c.Ratio}
	if c.Interval != nil && !c.Coarse {
		said.Low, said.High = claim.Percent(c.est.Low), claim.Percent(c.est.High)
	}
	switch c.Verdict {
	case Costs:
		ans.Costs = append(ans.Costs, said)
	case Gains:
		ans.Gains = append(ans.Gains, said)
	case None:
		if !slices.Contains(ans.None, c.Workload) {
			ans.None = append(ans.None, c.Workload)
		}
		ans.NoneAtMostPercent = max(ans.NoneAtMostPercent, math.Abs(c.FartherPercent))
	default:
		ans.Open = append(ans.Open, said)
	}
	if c.Verdict == None || c.Verdict == NotResolved && !c.Coarse {
		ans.AtMostPercent = max(ans.AtMostPercent, math.Abs(c.FartherPercent))
	}
	if ans.Scope != ScopeTheseGuests {
		ans.Scope = c.Scope
	}
}
