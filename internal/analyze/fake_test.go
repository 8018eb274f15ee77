package analyze

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
)

// fake builds a Set with known truth: a workload "cpu" with a metric of each
// direction, on a native arm, its control, and three guests, which are made anew
// every three blocks.
type fake struct {
	dataset.Set
	obs   []dataset.Observation
	probe []dataset.Observation
}

// Arms of a fake, and what they cost.
const (
	native = iota
	control
	kvm  // costs 9 %
	lxc  // costs nothing
	jail // gains 10 %
)

var costs = []float64{1, 1, 1.09, 1, 0.9}

func newFake(seed uint64, cv float64, blocks int) *fake {
	f := &fake{Set: dataset.Set{
		Baseline: "native",
		Controls: map[string]string{"native-again": "native"},
		Arms: []dataset.Arm{{Name: "native", System: "native"}, {Name: "native-again", System: "native"},
			{Name: "kvm", System: "kvm"}, {Name: "lxc", System: "lxc"}, {Name: "jail", System: "jail"}},
		Metrics: []dataset.Metric{
			{Workload: "cpu", Name: "time", Unit: "s", Better: "lower", Primary: true},
			{Workload: "cpu", Name: "rate", Unit: "MB/s", Better: "higher"},
		},
		Planned: blocks,
	}}
	r := rand.New(rand.NewPCG(seed, 1))
	for b := range blocks {
		drift := math.Exp(0.01 * r.NormFloat64())
		for a, cost := range costs {
			f.add(0, a, b, 10*cost*drift*math.Exp(cv*r.NormFloat64()))
			f.add(1, a, b, 500/cost/drift*math.Exp(cv*r.NormFloat64()))
		}
	}
	return f
}

func (f *fake) add(metric, arm, block int, v float64) {
	f.obs = append(f.obs, dataset.Observation{Metric: int32(metric), Arm: int32(arm), Block: int32(block),
		Guest: int32(block / 3), Value: v})
}

// probes adds a probe with one value a block for an arm.
func (f *fake) probes(name string, arm int, value func(block int) float64) {
	i := slices.IndexFunc(f.Probes, func(p dataset.Probe) bool { return p.Name == name })
	if i < 0 {
		i = len(f.Probes)
		f.Probes = append(f.Probes, dataset.Probe{Workload: "cpu", Name: name, Unit: "x"})
	}
	for b := range f.Planned {
		f.probe = append(f.probe, dataset.Observation{Metric: int32(i), Arm: int32(arm), Block: int32(b), Value: value(b)})
	}
}

// each changes the observations of one metric and arm.
func (f *fake) each(metric, arm int, change func(*dataset.Observation)) {
	for i := range f.obs {
		if o := &f.obs[i]; int(o.Metric) == metric && int(o.Arm) == arm {
			change(o)
		}
	}
}

// renew makes all guests anew every so many blocks.
func (f *fake) renew(every int32) {
	for i := range f.obs {
		f.obs[i].Guest = f.obs[i].Block / every
	}
}

func (f *fake) drop(match func(dataset.Observation) bool) { f.obs = slices.DeleteFunc(f.obs, match) }

func (f *fake) input() dataset.Set {
	f.Observations, f.ProbeObservations = stream(f.obs), stream(f.probe)
	return f.Set
}

func stream(obs []dataset.Observation) iter.Seq2[dataset.Observation, error] {
	return func(yield func(dataset.Observation, error) bool) {
		for _, o := range obs {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (r *Result) find(metric, arm string) *Comparison {
	i := slices.IndexFunc(r.Comparisons, func(c Comparison) bool { return c.Metric == metric && c.Arm == arm })
	return &r.Comparisons[i]
}

func ids(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		if !slices.Contains(out, f.ID) {
			out = append(out, f.ID)
		}
	}
	return out
}
