package analyze

import "github.com/tare-bench/tare/internal/dataset"

// CostOf names the cost of an arm on a workload by one metric.
type CostOf struct{ Workload, Metric, Arm string }

// GuestCosts returns what single blocks say of the costs by primary metrics: ln ratios, grouped by
// the guests that gave them. Groups share no guest of either side; where the host was booted anew for
// each guest, they are boots. Values far out are drawn in, as in the estimates of Analyze, so that
// their variance is that of typical trials.
func GuestCosts(in dataset.Set) (map[CostOf][][]float64, error) {
	a, err := read(&in)
	if err != nil {
		return nil, err
	}
	out := map[CostOf][][]float64{}
	for _, c := range a.comparisons {
		if c.Control || !c.Primary || c.N == 0 {
			continue
		}
		groups := distinctGuests(c.rows, c.columns...)
		weigh(groups)
		var costs [][]float64
		for _, g := range groups {
			var values []float64
			for _, r := range g {
				values = append(values, r.v)
			}
			costs = append(costs, values)
		}
		out[CostOf{c.Workload, c.Metric, c.Arm}] = costs
	}
	return out, nil
}
