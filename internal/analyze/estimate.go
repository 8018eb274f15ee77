package analyze

import (
	"fmt"

	"github.com/tare-bench/tare/internal/stats"
)

// estimate is a comparison on the logarithmic scale.
type estimate struct {
	stats.Interval                // over the units' values, the placebo's variance in it
	means          stats.Interval // the same over the units' means, in which each stall counts
	phi            float64
	placebos       int // that phi was estimated from

	values, plain []float64 // of the units
	weights       []float64 // of the units; see weightOf
	course        []float64 // values in time order, for the question whether they are steady: see courseOf
	scope         Scope
	guests        int     // distinct ones that were seen
	differP       float64 // p-value of "the guests share one mean"; 1 if untested
	coarse        bool
}

// estimateRows finds the units of a comparison and their values, for which
// interval then finds what they say.
func estimateRows(rows []row, columns ...column) (estimate, error) {
	groups := distinctGuests(rows, columns...)
	e := estimate{guests: len(groups), differP: 1, phi: 1}
	merged := mergeShort(groups)
	weigh(merged)
	units, scope := unitsOf(merged)
	e.scope = scope
	for _, u := range units {
		e.values = append(e.values, meanOf(u))
		e.plain = append(e.plain, stats.Mean(overheads(u)))
		e.weights = append(e.weights, weightOf(u))
	}
	e.course = e.courseOf(units)
	if len(groups) > 1 && len(groups) < len(rows) {
		var d [][]float64
		for _, g := range groups {
			d = append(d, overheads(g))
		}
		p, err := stats.GroupsDiffer(d)
		if err != nil {
			return e, err
		}
		e.differP = p
	}
	if scope == ScopeTheseGuests {
		units = [][]row{rows} // a batch may be one block, in which nothing varies
	}
	e.coarse = coarse(units)
	return e, nil
}

// courseOf is how the overhead went on: by blocks where there is one guest all
// the time, else by guests. Blocks of several guests are none, as
// what one draws lasts as long as it does, which would look like a change.
func (e *estimate) courseOf(units [][]row) (v []float64) {
	switch {
	case e.guests == 1:
		for _, u := range units {
			for _, r := range u {
				v = append(v, r.v)
			}
		}
	case e.scope == ScopeGuests:
		v = e.values
	}
	return v
}

// meanOf is the value of a unit.
func meanOf(unit []row) float64 {
	var sum float64
	for _, r := range unit {
		sum += r.v
	}
	return sum / float64(len(unit))
}

// chancePlacebos is how many more placebos are taken to show nothing but chance
// where units are guests, whose intervals hold without any.
const chancePlacebos = 2

// weightOf is the weight of a unit's value, the inverse of its expected variance: of
// units with a few blocks, each block counts the same; of units with hundreds, each
// unit.
func weightOf(unit []row) float64 {
	n := float64(len(unit))
	return n / (1 + n/stats.TrialVariance)
}

// interval fills in the intervals over the units. There must be at least two.
func (e *estimate) interval(p stats.Placebo, alpha float64) (err error) {
	e.placebos = p.W
	if e.scope == ScopeGuests {
		p = p.Shrink(chancePlacebos)
	}
	e.phi = p.Phi()
	if e.Interval, err = stats.WeightedT(e.values, e.weights, alpha); err != nil {
		return err
	}
	if e.means, err = stats.WeightedT(e.plain, e.weights, alpha); err != nil {
		return err
	}
	e.Interval, e.means = p.Widen(e.Interval, alpha), p.Widen(e.means, alpha)
	e.coarse = e.coarse || e.Degenerate
	return nil
}

// half is the half-width of the interval.
func (e *estimate) half() float64 { return e.High/2 - e.Low/2 }

func errorf(format string, args ...any) error { return fmt.Errorf("analyze: "+format, args...) }
