package fleet

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/stats"
)

// sharesOf splits the variance of single blocks. It is nil for metrics whose blocks are not kept.
func sharesOf(c analyze.Comparison, machines []Machine) ([]Share, error) {
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
			for _, g := range r.costs[analyze.CostOf{Workload: c.Workload, Metric: c.Metric, Arm: c.Arm}] {
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
	parts, err := stats.NestedComponents(values, path)
	if err != nil {
		return nil, err
	}
	total := 0.0
	for _, p := range parts {
		total += max(0, p.Variance)
	}
	var out []Share
	for i, level := range []string{"machine", "boot", "guest", "trial"} {
		v := max(0, parts[i].Variance)
		s := Share{Level: level, Known: parts[i].Known, SD: math.Sqrt(v), DF: parts[i].DF}
		if total > 0 {
			s.Percent = 100 * v / total
		}
		out = append(out, s)
	}
	return out, nil
}
