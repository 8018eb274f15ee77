package workload

import (
	"github.com/tare-bench/tare/internal/model"
)

// Curve is a quantity that each trial measures at several values of a parameter, such as a rate by the length of
// messages. Each of its points is a metric of its own in a run file.
type Curve struct {
	Metric              // what each point is; its name is the curve's
	Parameter string    `json:"parameter"`      // what varies: "length"
	In        string    `json:"parameter_unit"` // the unit of its values: "B"
	At        []float64 `json:"at"`             // its values, rising, above 0
}

// Point is the name of the metric at a value of the parameter.
func (c Curve) Point(at float64) string {
	return model.Point{Curve: c.Name, Parameter: c.Parameter, At: at, Unit: c.In}.String()
}

// Points are the metrics of the curve, in the order of At.
func (c Curve) Points() []Metric {
	all := make([]Metric, len(c.At))
	for i, at := range c.At {
		all[i] = c.Metric
		all[i].Name = c.Point(at)
	}
	return all
}
