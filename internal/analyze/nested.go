package analyze

import "github.com/tare-bench/tare/internal/dataset"

// CostOf identifies the cost of an arm on a workload by one metric.
type CostOf struct{ Workload, Metric, Arm string }

// Of identifies the cost that is compared.
func (c Comparison) Of() CostOf { return CostOf{c.Workload, c.Metric, c.Arm} }

// GuestCosts returns the costs of single blocks by primary metrics: ln ratios, grouped by the guests
// that gave them. Groups share no guest of either side; where the host was rebooted for each guest,
// groups are boots. Outliers are pulled in, as in the estimates of Analyze, so that the variance is
// that of typical trials.
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
		out[c.Of()] = costs
	}
	return out, nil
}
