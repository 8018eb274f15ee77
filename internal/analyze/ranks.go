package analyze

import (
	"cmp"
	"slices"
)

// RankIsolation orders arms by their slowdown beside other guests, by each primary metric
// in each scenario, the smallest first. Neighbours in the order whose intervals overlap
// share a place. Left out are emulated arms, those with guests that did not finish, and
// those without an interval.
func RankIsolation(all []Isolation) []Ranking {
	type key struct{ workload, metric, scenario string }
	known := slices.DeleteFunc(slices.Clone(all), func(i Isolation) bool {
		return !i.Primary || i.Family == FamilyEmulated || i.Lost > 0 || i.Interval == nil || i.Coarse
	})
	var out []Ranking
	for k, list := range grouped(known, func(i Isolation) key { return key{i.Workload, i.Metric, i.Scenario} }) {
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b Isolation) int { return cmp.Compare(a.Ratio, b.Ratio) })
		out = append(out, Ranking{Workload: k.workload, Metric: k.metric, Scenario: k.scenario, Places: places(list,
			func(i int) bool { return list[i-1].Below(list[i].CILow) },
			func(i Isolation) string { return i.Baseline })})
	}
	return out
}

// alike is how far apart idle guests of two arms may be, relative, and share a
// place: of most arms only a few guests are seen.
const alike = 0.1

// RankMemory orders arms by the memory that an idle guest takes from the host, the least
// first; for an arm with guests of several flavors, the first flavor counts. Neighbours
// in the order share a place if their ranges overlap or their means differ by less than a
// tenth. unknown are the arms whose memory could not be read.
func RankMemory(all []Memory) (r Ranking, unknown []string) {
	var known []Memory
	seen := map[string]bool{}
	for _, m := range all {
		switch {
		case seen[m.Arm]:
		case m.Idle.N > 0:
			known = append(known, m)
		default:
			unknown = append(unknown, m.Arm)
		}
		seen[m.Arm] = true
	}
	slices.SortStableFunc(known, func(a, b Memory) int { return cmp.Compare(a.Idle.Mean, b.Idle.Mean) })
	r.Places = places(known,
		func(i int) bool {
			a, b := known[i-1].Idle, known[i].Idle
			return !a.Overlaps(b) && b.Mean > (1+alike)*a.Mean
		},
		func(m Memory) string { return m.Arm })
	return r, unknown
}

// places ranks a sorted list. Those share a place that are not apart from the one before.
func places[T any](list []T, apart func(i int) bool, name func(T) string) (out []Place) {
	for i, v := range list {
		if i == 0 || apart(i) {
			out = append(out, Place{Rank: i + 1})
		}
		last := &out[len(out)-1]
		last.Arms = append(last.Arms, name(v))
	}
	return out
}
