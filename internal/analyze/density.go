package analyze

import (
	"cmp"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// Density is how many guests of an arm fit at once: as many as keep within the
// limits that the campaign states, and all finish. It is known only for the
// numbers of guests that were tried.
type Density struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Arm      string `json:"arm"` // alone
	// Limit is the largest slowdown against one guest alone, and MemoryLimit the bytes
	// that the host must have left; absent: no limit.
	Limit       float64 `json:"limit,omitzero"`
	MemoryLimit float64 `json:"memory_limit,omitzero"`
	Tried       []int   `json:"tried"` // in rising order
	// Fits is the largest number tried for which, as for all smaller ones, the interval
	// of the slowdown lies within the limit, enough memory was left in every trial, and
	// no guest was lost; 1: none of them. Breaks is the smallest number whose interval
	// lies beyond the limit, that left too little memory (or could not all be created
	// because of that), or of which guests were lost; 0: none of them. Numbers in between
	// are not resolved.
	Fits   int `json:"fits"`
	Breaks int `json:"breaks,omitempty"`
	// Broke is the limit that Breaks guests broke: the first that holds of BrokeMemory,
	// BrokeLost and BrokeSlowdown. Slowdown and Lost are the figures of these guests, and
	// MemoryLeft is the least memory that the host had left.
	Broke      string  `json:"broke,omitempty"`
	Slowdown   float64 `json:"slowdown,omitzero"`
	Lost       int     `json:"lost,omitempty"`
	MemoryLeft float64 `json:"memory_left,omitzero"`
}

// What breaks when there are too many guests.
const (
	BrokeMemory   = "memory"
	BrokeLost     = "lost"
	BrokeSlowdown = "slowdown"
)

// density finds out how many guests fit, for each primary metric and arm of
// which several numbers of guests share limits.
func (a *analysis) density(all []Isolation) []Density {
	type of struct {
		workload, arm    string
		slowdown, memory float64
	}
	arm := func(i Isolation) dataset.Arm { return a.in.Arms[a.arms[i.Arm]] }
	asked := slices.DeleteFunc(slices.Clone(all), func(i Isolation) bool {
		arm := arm(i)
		return !i.Primary || arm.SlowdownLimit == 0 && arm.MemoryLimit == 0 || arm.Alone == ""
	})
	var out []Density
	for k, group := range grouped(asked, func(i Isolation) of {
		return of{i.Workload, arm(i).Alone, arm(i).SlowdownLimit, arm(i).MemoryLimit}
	}) {
		slices.SortStableFunc(group, func(a, b Isolation) int { return cmp.Compare(a.Guests, b.Guests) })
		d := Density{Workload: k.workload, Metric: group[0].Metric, Arm: k.arm, Limit: k.slowdown, MemoryLimit: k.memory,
			Fits: 1}
		fit := true
		for _, i := range group {
			d.Tried = append(d.Tried, i.Guests)
			left, short := a.memoryLeft(i, k.memory)
			broke := ""
			switch {
			case short:
				broke = BrokeMemory
			case i.Lost > 0:
				broke = BrokeLost
			case k.slowdown > 0 && i.Above(k.slowdown):
				broke = BrokeSlowdown
			}
			within := k.slowdown == 0 || i.Interval != nil && i.CIHigh <= k.slowdown
			if fit = fit && broke == "" && within; fit {
				d.Fits = i.Guests
			}
			if d.Breaks == 0 && broke != "" {
				d.Breaks, d.Broke, d.Slowdown, d.Lost, d.MemoryLeft = i.Guests, broke, i.Ratio, i.Lost, left
			}
		}
		out = append(out, d)
	}
	return out
}

// memoryLeft is the least memory that the host had left with those guests, 0
// where that is not known, and whether it was less than the limit, or guests
// were not made for want of it.
func (a *analysis) memoryLeft(i Isolation, limit float64) (left float64, short bool) {
	if limit == 0 {
		return 0, false
	}
	if v := a.probe(i.Workload, model.ProbeMemoryLeft, a.arms[i.Arm]).values(); len(v) > 0 {
		left = slices.Min(v)
	}
	return left, left > 0 && left < limit || slices.ContainsFunc(a.in.Failures, func(f dataset.Failure) bool {
		return f.Workload == i.Workload && f.Arm == i.Arm && f.Cause == store.EventMemoryLimit
	})
}
