package fleet

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/stats"
)

// sharesOf splits the variance of single blocks. It is nil for metrics whose blocks are not kept.
func sharesOf(c analyze.Comparison, machines []Machine, alpha float64) ([]Share, error) {
	var values []float64
	var path [][]int
	for i, m := range machines {
		boots := map[string]int{}
		guests := 0 // numbered within the machine, so that runs of one boot have different ones
		for _, r := range m.Runs {
			boot := "run " + r.Name
			if ids := r.Boots(); len(ids) == 1 {
				boot = ids[0]
			}
			for _, g := range r.costs[c.Of()] {
				key := boot
				if guests++; r.booted {
					key = fmt.Sprint("boot of guest ", guests)
				}
				if _, ok := boots[key]; !ok {
					boots[key] = len(boots)
				}
				for _, v := range g {
					values, path = append(values, v), append(path, []int{i, boots[key], guests})
				}
			}
		}
	}
	if len(values) < 2 {
		return nil, nil
	}
	parts, err := stats.NestedShares(values, path, alpha)
	if err != nil {
		return nil, err
	}
	var out []Share
	for i, level := range []string{"machine", "boot", "guest", "trial"} {
		p := parts[i]
		s := Share{Level: level, Known: p.Known, SD: math.Sqrt(max(0, p.Variance)), DF: p.DF, Percent: 100 * p.Share}
		if p.DF >= fewestDF {
			s.Low, s.High = 100*p.ShareLow, 100*p.ShareHigh
		}
		out = append(out, s)
	}
	return out, nil
}

// fewestDF is the degrees of freedom of a level whose share has an interval: with one, as of two
// machines, it is from 0 to 100 %.
const fewestDF = 2
