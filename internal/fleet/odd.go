package fleet

import (
	"slices"

	"github.com/tare-bench/tare/internal/host/doctor"
)

// Odd is a machine on which something costs more or less than on the others of its group, beyond
// chance, with what else is different about it. That is where to look; it is no proof of the cause.
type Odd struct {
	Machine string    `json:"machine"`
	Costs   []OddCost `json:"costs"`
	Facts   []Fact    `json:"facts"`
	// Noise has what tare doctor finds on this machine and not on most others.
	Noise []doctor.NoiseSource `json:"noise"`
}

// OddCost is a cost by which a machine is odd.
type OddCost struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Arm      string  `json:"arm"`
	Here     float64 `json:"here"` // the machine's own ratio; Ratio is that of the others
	Without
}

// Fact is something about a machine that most of the others have otherwise.
type Fact struct {
	What   string `json:"what"`
	Is     string `json:"is"`     // on this machine
	Others string `json:"others"` // on Count of the Of other machines
	Count  int    `json:"count"`
	Of     int    `json:"of"`
}

// oddOnes lists the odd machines of a group.
func oddOnes(g *Group, machines []Machine) []Odd {
	odd := []Odd{}
	for _, m := range machines {
		o := Odd{Machine: m.Name, Facts: []Fact{}, Noise: []doctor.NoiseSource{}}
		for _, c := range g.Costs {
			for _, mc := range c.Machines {
				if mc.Machine == m.Name && mc.Odd {
					o.Costs = append(o.Costs, OddCost{c.Workload, c.Metric, c.Arm, mc.Ratio, *mc.Without})
				}
			}
		}
		if o.Costs == nil {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(machines), func(other Machine) bool { return other.Name == m.Name })
		o.Facts = append(o.Facts, unusualFacts(m.Runs[0], others)...)
		o.Noise = append(o.Noise, unusualNoise(m.Runs[0], others)...)
		odd = append(odd, o)
	}
	return odd
}

// unusualFacts are those for which more than half of the other machines share another value.
func unusualFacts(r *Run, others []Machine) []Fact {
	var out []Fact
	for _, f := range r.facts {
		count := map[string]int{}
		for _, m := range others {
			count[m.Runs[0].facts.Get(f[0])]++
		}
		for is, n := range count {
			if is != f[1] && 2*n > len(others) {
				out = append(out, Fact{f[0], f[1], is, n, len(others)})
			}
		}
	}
	return out
}

// unusualNoise are noise sources that fewer than half of the other machines have.
func unusualNoise(r *Run, others []Machine) []doctor.NoiseSource {
	var out []doctor.NoiseSource
	for _, n := range r.noise {
		have := 0
		for _, m := range others {
			if slices.ContainsFunc(m.Runs[0].noise, func(s doctor.NoiseSource) bool { return s.ID == n.ID }) {
				have++
			}
		}
		if 2*have < len(others) {
			out = append(out, n)
		}
	}
	return out
}
