package analyze

import (
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
	"github.com/tare-bench/tare/internal/store"
)

// Memory is what the guests of one arm and flavor cost the host besides time: its memory,
// in bytes, and how long they take to start. Controls have none.
type Memory struct {
	Arm    string `json:"arm"` // without its scenario
	System string `json:"system"`
	Flavor string `json:"flavor"`
	Size   int64  `json:"size_bytes"` // what a guest was given
	Guests int    `json:"guests"`     // that were made

	Start Range `json:"start"` // until its agent answered, in seconds
	// Idle is the proportional set size of everything that belongs to a guest that has
	// done nothing yet, its VMM included. Charged is what its control group is charged
	// for then, page cache included. Absent if this host cannot measure it.
	Idle    Range `json:"idle_pss,omitzero"`
	Charged Range `json:"idle_charged,omitzero"`
	// HostEach is the decrease of the host's available memory while the guests were
	// created, over their number; below 0 if other programs freed more. Absent without
	// Idle.
	HostEach float64 `json:"host_each,omitzero"`
	// After is Idle of guests whose work is done, after they have had the time to return
	// what they freed.
	After Range `json:"after_pss,omitzero"`
	// Working is Idle in the middle of a trial alone, by workload.
	Working []WorkingMemory `json:"working,omitempty"`
}

// WorkingMemory is the memory that guests held while they ran one workload.
type WorkingMemory struct {
	Workload string `json:"workload"`
	PSS      Range  `json:"pss"`
}

// Range is some values; zero where there are none.
type Range struct {
	N    int     `json:"n"`
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// Overlaps reports whether the ranges have a value in common.
func (r Range) Overlaps(s Range) bool { return r.Min <= s.Max && s.Min <= r.Max }

func rangeOf(v []float64) Range {
	s, err := stats.Summarize(v)
	if err != nil {
		return Range{}
	}
	return Range{s.N, s.Min, s.Mean, s.Max}
}

// memory describes the guests of every arm, in the order of the arms.
func (a *analysis) memory() []Memory {
	type kind struct{ arm, flavor string }
	var out []Memory
	for k, guests := range grouped(a.in.Guests, func(g dataset.Guest) kind { return kind{g.Arm, g.Flavor.Name} }) {
		m := Memory{Arm: k.arm, System: guests[0].System, Flavor: k.flavor, Size: guests[0].Flavor.MemoryBytes,
			Guests: len(guests)}
		var start []float64
		values := map[string][]float64{}
		for _, g := range guests {
			start = append(start, g.Start)
			for name, v := range g.Values {
				values[name] = append(values[name], v)
			}
		}
		m.Start, m.Idle, m.Charged = rangeOf(start), rangeOf(values[store.MemoryPSS]), rangeOf(values[store.MemoryCharged])
		m.After = rangeOf(values[store.MemoryAfter])
		if m.Idle.N > 0 {
			m.HostEach = rangeOf(values[store.MemoryHost]).Mean
		}
		m.Working = a.working(k.arm, k.flavor)
		out = append(out, m)
	}
	return out
}

// working is what was read of an arm's guests in the middle of trials alone, or of those of pairs if the arm is in no
// other trials.
func (a *analysis) working(arm, flavor string) (out []WorkingMemory) {
	for pi, p := range a.in.Probes {
		if p.Name != model.ProbeGuestMemory {
			continue
		}
		ai, alone := a.arms[arm]
		if !alone {
			ai = slices.IndexFunc(a.in.Arms, func(other dataset.Arm) bool { return other.Of == arm && other.Paired })
		}
		if ai < 0 || a.in.Arms[ai].Flavor != flavor {
			continue
		}
		if s := a.probes.at(pi, ai); len(s) > 0 {
			out = append(out, WorkingMemory{p.Workload, rangeOf(s.values())})
		}
	}
	return out
}
