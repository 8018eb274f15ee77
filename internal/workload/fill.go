package workload

import (
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/model"
)

// Fill makes a trial of a workload that Creates one fill: a probe guest repeats the workload's step while
// more and more guests are created beside it, until they break the service level. The workload's metrics
// are FillGuests and FillAlone.
type Fill struct {
	Mix []Share // of the guests beside the probe guest
	// Step is how many guests are added before the level is checked, Most how many there are in the end
	// if nothing breaks it. Both count the probe guest.
	Step, Most int
	Level      Level
	// Swap: the host's free swap counts as its memory.
	Swap bool
	// P99 reads the 99th percentile of the probe's single latencies from a run of its step.
	P99 func(StepResult) (time.Duration, error)
	// Serving measures the requests to the guests that serve; nil: they are not measured.
	Serving *Serving
}

// Metrics of a workload that fills the host.
const (
	FillGuests = "guests"     // the most that kept the level
	FillAlone  = "probe-time" // of the probe's step, alone
)

// Share is how many of the guests of a fill do the same.
type Share struct {
	Does  string // "idle", "serving", "computing"
	Parts int    // in proportion to those of the other shares
	// Load is what such a guest runs until the fill ends: background steps, none for one that is idle.
	Load []Step
}

// Serves reports whether the mix has guests whose requests can be measured.
func (f *Fill) Serves() bool {
	return f.Serving != nil && slices.ContainsFunc(f.Mix, func(s Share) bool {
		return s.Parts > 0 && slices.ContainsFunc(s.Load, func(l Step) bool { return l.Name == f.Serving.Client })
	})
}

// At returns the share to which the i-th guest belongs, from 0. It is always the one that lacks most, so
// that a fill has the shares of the mix at any time. A mix without parts has idle guests only.
func (f *Fill) At(i int) Share {
	sum := 0
	for _, s := range f.Mix {
		sum += s.Parts
	}
	if sum == 0 {
		return Share{Does: "idle"}
	}
	have := make([]int, len(f.Mix))
	next := 0
	for n := 1; n <= i+1; n++ {
		next = 0
		for k, s := range f.Mix {
			if n*s.Parts-have[k]*sum > n*f.Mix[next].Parts-have[next]*sum {
				next = k
			}
		}
		have[next]++
	}
	return f.Mix[next]
}

// Level is the service level that the guests of a fill must keep. 0: no limit, but for MemoryLeft.
type Level struct {
	Start         time.Duration // until the agent of a guest answers
	Slowdown, P99 float64       // of the probe against itself alone: its time, and its 99th percentile
	Serving       time.Duration // 99th percentile of the latencies of requests to the guests that serve
	MemoryLeft    int64         // bytes that the host must have available
}

// Filled is what was seen of a number of guests.
type Filled struct {
	Guests        int           // the probe guest included
	Start         time.Duration // the longest of those that were added last
	Slowdown, P99 float64
	Serving       time.Duration // 0: not measured
	Served        int64         // requests of which Serving is the 99th percentile
	MemoryLeft    int64         // the least since guests were added
	Lost          int           // guests that did not start, or ended, or whose load did
}

// Broken returns the limits of the level that the guests broke, of model.FillLimits and in their order.
func (l Level) Broken(f Filled) []string {
	is := map[string]bool{
		model.LimitLost:     f.Lost > 0,
		model.LimitMemory:   f.MemoryLeft < l.MemoryLeft,
		model.LimitStart:    l.Start > 0 && f.Start > l.Start,
		model.LimitSlowdown: l.Slowdown > 0 && f.Slowdown > l.Slowdown,
		model.LimitP99:      l.P99 > 0 && f.P99 > l.P99,
		model.LimitServing:  l.Serving > 0 && f.Serving > l.Serving,
	}
	var broken []string
	for _, limit := range model.FillLimits {
		if is[limit] {
			broken = append(broken, limit)
		}
	}
	return broken
}

// Slow reports whether the probe, or the guests that serve, were slower than the level permits.
func (l Level) Slow(f Filled) bool {
	return slices.ContainsFunc(l.Broken(f), func(limit string) bool {
		return limit == model.LimitSlowdown || limit == model.LimitP99 || limit == model.LimitServing
	})
}
