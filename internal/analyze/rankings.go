package analyze

import (
	"cmp"
	"slices"

	"github.com/tare-bench/tare/internal/stats"
)

// Ranking orders the arms of one scenario by one metric, the cheapest first. It includes
// the baseline but no controls.
type Ranking struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Scenario string  `json:"scenario,omitempty"`
	Places   []Place `json:"places"`
}

// Place holds arms that the run cannot tell apart.
type Place struct {
	Rank int      `json:"rank"` // from 1; the place after one with two arms is higher by two
	Arms []string `json:"arms"` // by their estimates
}

// ranked is an arm with its estimate against the baseline.
type ranked struct {
	arm int
	ln  float64
}

// rankings orders the arms of each scenario by each primary metric. Emulated
// arms are left out: what they take is no system's.
func (a *analysis) rankings() ([]Ranking, error) {
	out := []Ranking{}
	for _, scenario := range a.scenarios() {
		for mi, m := range a.in.Metrics {
			if !m.Primary {
				continue
			}
			all := a.order(mi, scenario)
			if len(all) < 2 {
				continue
			}
			apart, err := a.apart(mi, all)
			if err != nil {
				return nil, err
			}
			out = append(out, Ranking{m.Workload, m.Name, scenario, places(all, func(i int) bool { return apart[i-1] },
				func(r ranked) string { return a.in.Arms[r.arm].Name })})
		}
	}
	return out, nil
}

// order sorts a scenario's baseline and the arms that are compared with it. An arm without an interval has no place: of
// single trials, nothing is known.
func (a *analysis) order(metric int, scenario string) []ranked {
	var all []ranked
	for _, c := range a.comparisons {
		if c.metric != metric || c.Control || c.est.N == 0 || c.Family == FamilyEmulated ||
			a.in.Arms[c.arm].Scenario != scenario {
			continue
		}
		if len(all) == 0 {
			all = append(all, ranked{c.base, 0})
		}
		if all[0].arm != c.base {
			continue // it is measured by another baseline
		}
		all = append(all, ranked{c.arm, c.est.Estimate})
	}
	slices.SortStableFunc(all, func(x, y ranked) int { return cmp.Compare(x.ln, y.ln) })
	return all
}

// apart compares each arm with the next one directly, Holm over all of them,
// and reports which are told apart.
func (a *analysis) apart(metric int, all []ranked) ([]bool, error) {
	p := make([]float64, len(all)-1)
	for i := range p {
		var err error
		if p[i], err = a.differ(metric, all[i].arm, all[i+1].arm); err != nil {
			return nil, err
		}
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return nil, errorf("ranking: %w", err)
	}
	apart := make([]bool, len(p))
	for i := range p {
		apart[i] = adjusted[i] < a.in.Alpha
	}
	return apart, nil
}

// differ is the p-value of two arms of a scenario being alike, by the rules of
// a comparison; 1 where those would let nothing be claimed.
func (a *analysis) differ(metric, one, other int) (float64, error) {
	if base, _ := a.in.BaselineOf(a.in.Arms[other]); base == "" {
		one, other = other, one // the baseline has a control to be pooled with
	}
	c := a.compare(metric, other, a.in.Arms[one].Name, false)
	if err := a.split(c); err != nil {
		return 1, err
	}
	if err := a.widen(c); err != nil || !c.guarded() || !a.testable(c) {
		return 1, err
	}
	return c.P, nil
}
