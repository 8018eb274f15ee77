package analyze

import (
	"cmp"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
)

// CapAccuracy is how much longer guests of a system take under a CPU cap than guests with
// a larger share. For work that only computes, the ideal is time in inverse proportion to
// the share.
type CapAccuracy struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	System   string `json:"system"`
	Scenario string `json:"scenario"`
	// The guests with the cap, and those with the largest share: arms and flavors.
	Arm       string `json:"arm"`
	Flavor    string `json:"flavor"`
	Against   string `json:"against"`
	Reference string `json:"reference_flavor"`

	N              int     `json:"n"` // blocks that have both
	Ideal          float64 `json:"ideal"`
	claim.Estimate         // a geometric mean, paired by block; the interval is absent with one block
}

// side is the guests of one flavor in one arm.
type side struct {
	arm    int
	flavor string
	share  float64
}

// capAccuracy compares, for each primary metric, system and scenario, guests
// with a cap with those of the largest share.
func (a *analysis) capAccuracy() ([]CapAccuracy, error) {
	var out []CapAccuracy
	for mi, m := range a.in.Metrics {
		if !m.Primary {
			continue
		}
		for _, group := range a.sides() {
			most := slices.MaxFunc(group, func(a, b side) int { return cmp.Compare(a.share, b.share) })
			for _, s := range group {
				if s.share >= most.share {
					continue
				}
				x, y := a.sideColumn(mi, s), a.sideColumn(mi, most)
				rows := rowsOf(x, y, column{}, m.Better)
				if len(rows) == 0 {
					continue
				}
				est, err := estimateRows(rows, x, y)
				if err != nil {
					return nil, errorf("cap accuracy of %s: %w", a.in.Arms[s.arm].Name, err)
				}
				arm := a.in.Arms[s.arm]
				c := CapAccuracy{
					Workload: m.Workload, Metric: m.Name, System: arm.System, Scenario: arm.Scenario, Arm: arm.Name, Flavor: s.flavor,
					Against: a.in.Arms[most.arm].Name, Reference: most.flavor, N: len(rows), Ideal: most.share / s.share,
					Estimate: claim.Alone(est.values[0]),
				}
				if len(est.values) > 1 {
					if err := est.interval(a.placebo(a.groupOf(s.arm, FamilyPrimary)), a.in.Alpha); err != nil {
						return nil, errorf("cap accuracy of %s: %w", arm.Name, err)
					}
					c.Estimate = claim.Of(est.Interval)
				}
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// sides groups arms, split by flavor where they mix some, by system and
// scenario; neighbours would blur what the cap does.
func (a *analysis) sides() [][]side {
	type of struct{ system, scenario string }
	var sides []side
	for i, arm := range a.in.Arms {
		if _, control := a.in.Controls[arm.Name]; control || len(arm.Neighbours) > 0 {
			continue
		}
		members := arm.Members
		if members == nil {
			members = []dataset.Member{{Flavor: arm.Flavor, Share: arm.Size.Share()}}
		}
		for _, m := range members {
			s := side{i, m.Flavor, m.Share}
			if m.Share > 0 && !slices.Contains(sides, s) {
				sides = append(sides, s)
			}
		}
	}
	var all [][]side
	for _, group := range grouped(sides, func(s side) of {
		return of{a.in.Arms[s.arm].System, a.in.Arms[s.arm].Scenario}
	}) {
		if len(group) > 1 {
			all = append(all, group)
		}
	}
	return all
}

// sideColumn is the metric's column of one side; empty where it has no logarithm.
func (a *analysis) sideColumn(metric int, s side) column {
	all := a.metrics.at(metric, s.arm)
	if members := a.in.Arms[s.arm].Members; members != nil {
		all = all.of(func(m int32) bool { return int(m) < len(members) && members[m].Flavor == s.flavor })
	}
	if !all.positive() {
		return column{}
	}
	return column{all.logMeans(), []series{all}}
}
