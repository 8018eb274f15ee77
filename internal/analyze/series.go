package analyze

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/stats"
)

// point is one observation within its series.
type point struct {
	block, guest, member, position int32
	value                          float64
}

// series holds the points of one metric and one arm, by block.
type series []point

// table holds a series for every metric (or probe) and arm.
type table struct {
	arms   int
	series []series
	means  []series // logMeans of each, where they were asked for
	blocks int      // highest block + 1
	// repeats are the trials made once more without freezing in between, of each
	// series; no other part has them.
	repeats []series
}

func (t *table) at(metric, arm int) series { return t.series[metric*t.arms+arm] }

// logs is logMeans of a positive series.
func (t *table) logs(metric, arm int) series {
	if t.means == nil {
		t.means = make([]series, len(t.series))
	}
	i := metric*t.arms + arm
	if t.means[i] == nil {
		t.means[i] = t.series[i].logMeans()
	}
	return t.means[i]
}

// load reads observations into a table. The order in which they come does not
// matter: each series is sorted.
func load(obs iter.Seq2[dataset.Observation, error], metrics, arms int) (*table, error) {
	t := &table{arms: arms, series: make([]series, metrics*arms), repeats: make([]series, metrics*arms)}
	if obs == nil {
		return t, nil
	}
	for o, err := range obs {
		if err != nil {
			return nil, err
		}
		if o.Metric < 0 || int(o.Metric) >= metrics || o.Arm < 0 || int(o.Arm) >= arms || o.Block < 0 {
			return nil, internalf("observation out of range: metric %d, arm %d, block %d", o.Metric, o.Arm, o.Block)
		}
		if math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			return nil, internalf("value %v of metric %d, arm %d, block %d", o.Value, o.Metric, o.Arm, o.Block)
		}
		i := int(o.Metric)*arms + int(o.Arm)
		p := point{o.Block, o.Guest, o.Member, o.Position, o.Value}
		if o.Repeat {
			t.repeats[i] = append(t.repeats[i], p)
			continue
		}
		t.series[i] = append(t.series[i], p)
		t.blocks = max(t.blocks, int(o.Block)+1)
	}
	for _, s := range slices.Concat(t.series, t.repeats) {
		slices.SortFunc(s, func(a, b point) int {
			return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.guest, b.guest), cmp.Compare(a.member, b.member),
				cmp.Compare(a.value, b.value))
		})
	}
	return t, nil
}

// byBlock yields the points of each block.
func (s series) byBlock() iter.Seq[series] {
	return func(yield func(series) bool) {
		for i := 0; i < len(s); {
			j := i + 1
			for j < len(s) && s[j].block == s[i].block {
				j++
			}
			if !yield(s[i:j]) {
				return
			}
			i = j
		}
	}
}

// has reports whether there is a value of the block.
func (s series) has(block int) bool {
	_, found := slices.BinarySearchFunc(s, block, func(p point, block int) int { return cmp.Compare(int(p.block), block) })
	return found
}

// of returns the points of some members.
func (s series) of(member func(int32) bool) series {
	return slices.DeleteFunc(slices.Clone(s), func(p point) bool { return !member(p.member) })
}

// values returns all values in time order.
func (s series) values() []float64 {
	v := make([]float64, len(s))
	for i, p := range s {
		v[i] = p.value
	}
	return v
}

// sum adds all values up.
func (s series) sum() (total float64) {
	for _, p := range s {
		total += p.value
	}
	return total
}

// blockMeans returns one arithmetic mean a block, in time order.
func (s series) blockMeans() []float64 {
	var means []float64
	for block := range s.byBlock() {
		means = append(means, block.sum()/float64(len(block)))
	}
	return means
}

// positive reports whether every value has a logarithm.
func (s series) positive() bool {
	return !slices.ContainsFunc(s, func(p point) bool { return p.value <= 0 })
}

// logMeans turns a positive series into one point a block: the mean logarithm.
func (s series) logMeans() series {
	out := make(series, 0, len(s))
	for block := range s.byBlock() {
		var sum float64
		for _, p := range block {
			sum += math.Log(p.value)
		}
		out = append(out, point{block: block[0].block, value: sum / float64(len(block))})
	}
	return out
}

// common returns the points of two series in the blocks that both have.
func common(a, b series) (ca, cb series) {
	in := func(other series) func(point) bool {
		return func(p point) bool {
			_, found := slices.BinarySearchFunc(other, p.block,
				func(q point, block int32) int { return cmp.Compare(q.block, block) })
			return !found
		}
	}
	return slices.DeleteFunc(slices.Clone(a), in(b)), slices.DeleteFunc(slices.Clone(b), in(a))
}

// summarize describes a series; an empty one has N = 0.
func (s series) summarize(name, unit string) SeriesSummary {
	v := s.values()
	slices.Sort(v)
	sum, err := stats.Summarize(v)
	if err != nil {
		return SeriesSummary{Name: name, Unit: unit}
	}
	q := func(p float64) float64 {
		x, _ := stats.QuantileSorted(v, p) // v is not empty and p is in range
		return x
	}
	return SeriesSummary{
		Name: name, Unit: unit, N: sum.N, Min: sum.Min, Mean: sum.Mean, Max: sum.Max, SD: sum.SD,
		P5: q(0.05), P25: q(0.25), Median: q(0.5), P75: q(0.75), P95: q(0.95), Spread: sum.Spread,
	}
}

// internalf reports a defect of the caller.
func internalf(format string, args ...any) error {
	return &fault.Error{Kind: fault.Internal, Err: errorf(format, args...)}
}

// grouped yields what has the same key together, in the order in which the keys
// are first there.
func grouped[K comparable, V any](all []V, key func(V) K) iter.Seq2[K, []V] {
	var order []K
	groups := map[K][]V{}
	for _, v := range all {
		k := key(v)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], v)
	}
	return func(yield func(K, []V) bool) {
		for _, k := range order {
			if !yield(k, groups[k]) {
				return
			}
		}
	}
}
