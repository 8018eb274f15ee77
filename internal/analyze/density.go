package analyze

import (
	"cmp"
	"slices"
)

// Density is how many guests of an arm fit at once: as many as are at most
// Limit times slower than one alone, and all finish. It is known only for the
// numbers of guests that were tried.
type Density struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Arm      string  `json:"arm"` // alone
	Limit    float64 `json:"limit"`
	Tried    []int   `json:"tried"` // in rising order
	// Fits is the most of the tried for which, and for all fewer, the interval
	// of the slowdown lies within the limit and no guest was lost; 1: none of
	// them. Breaks is the fewest whose interval lies beyond it, or of whom some
	// were lost; 0: none of them. What lies between is not resolved.
	Fits   int `json:"fits"`
	Breaks int `json:"breaks,omitempty"`
	// Slowdown and Lost are what Breaks guests came to.
	Slowdown float64 `json:"slowdown,omitzero"`
	Lost     int     `json:"lost,omitempty"`
}

// density finds out how many guests fit, for each primary metric and arm of
// which several numbers of guests share a limit.
func (a *analysis) density(all []Isolation) []Density {
	type of struct {
		workload, arm string
		limit         float64
	}
	arm := func(i Isolation) Arm { return a.in.Arms[a.arms[i.Arm]] }
	asked := slices.DeleteFunc(slices.Clone(all), func(i Isolation) bool {
		return !i.Primary || arm(i).SlowdownLimit == 0 || arm(i).Alone == ""
	})
	var out []Density
	for k, group := range grouped(asked, func(i Isolation) of { return of{i.Workload, arm(i).Alone, arm(i).SlowdownLimit} }) {
		slices.SortStableFunc(group, func(a, b Isolation) int { return cmp.Compare(a.Guests, b.Guests) })
		d := Density{Workload: k.workload, Metric: group[0].Metric, Arm: k.arm, Limit: k.limit, Fits: 1}
		fit := true
		for _, i := range group {
			d.Tried = append(d.Tried, i.Guests)
			if fit = fit && i.Lost == 0 && i.CIHigh > 0 && i.CIHigh <= k.limit; fit {
				d.Fits = i.Guests
			}
			if d.Breaks == 0 && (i.Lost > 0 || i.CILow > k.limit) {
				d.Breaks, d.Slowdown, d.Lost = i.Guests, i.Ratio, i.Lost
			}
		}
		out = append(out, d)
	}
	return out
}
