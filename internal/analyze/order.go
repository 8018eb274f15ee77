package analyze

import (
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// Position is how much more the first counted trial of a group (a block and
// workload) costs than the later ones, whichever arm makes it.
type Position struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Percent  float64 `json:"percent"`
	Low      float64 `json:"low_percent"`
	High     float64 `json:"high_percent"`
	P        float64 `json:"p_value"`
	PHolm    float64 `json:"p_holm"`
}

// Thaw is how much more an arm's first trial after a thaw costs than the trial right
// after it, without freezing in between.
type Thaw struct {
	Arm     string  `json:"arm"`
	System  string  `json:"system"`
	N       int     `json:"n"` // pairs of trials, of all workloads
	Percent float64 `json:"percent"`
	Low     float64 `json:"low_percent"`
	High    float64 `json:"high_percent"`
}

// positions looks at each primary metric for what the place of a trial in its
// group does.
func (a *analysis) positions() ([]Position, error) {
	out := []Position{}
	for mi, m := range a.in.Metrics {
		if !m.Primary {
			continue
		}
		iv, ok, err := a.location(a.firsts(mi))
		if err != nil {
			return nil, errorf("positions in %s: %w", m.Workload, err)
		}
		if ok {
			out = append(out, Position{m.Workload, m.Name, claim.Percent(iv.Estimate), claim.Percent(iv.Low),
				claim.Percent(iv.High), iv.P, 1})
		}
	}
	return out, claim.Adjust(pointers(out), func(p *Position) (from, to *float64) { return &p.P, &p.PHolm })
}

// placed is a trial of a group by its place, as ln of its cost over what its arm
// usually costs.
type placed struct {
	position int32
	ln       float64
}

// firsts returns, for every block, how much more the first counted trial cost than the
// mean of the others, as a logarithm. Emulated arms are left out, as is a group that has
// only one trial.
func (a *analysis) firsts(metric int) (d []float64) {
	groups := make([][]placed, a.metrics.blocks)
	for ai, arm := range a.in.Arms {
		s := a.metrics.at(metric, ai)
		if arm.Emulated || len(s) == 0 || !s.positive() {
			continue
		}
		logs, usual := a.metrics.logs(metric, ai), a.usual(metric, ai)
		i := 0
		for block := range s.byBlock() {
			groups[block[0].block] = append(groups[block[0].block],
				placed{block[0].position, a.turn(metric) * (logs[i].value - usual)})
			i++
		}
	}
	for _, g := range groups {
		// Files of before numbered the positions of all workloads in one row: the
		// first is the lowest.
		slices.SortStableFunc(g, func(x, y placed) int { return int(x.position - y.position) })
		if len(g) < 2 || g[0].position == g[len(g)-1].position {
			continue // or positions are not known
		}
		var rest float64
		for _, later := range g[1:] {
			rest += later.ln / float64(len(g)-1)
		}
		d = append(d, g[0].ln-rest)
	}
	return d
}

// usual is the median of an arm's logarithms.
func (a *analysis) usual(metric, arm int) float64 {
	median, _ := stats.Quantile(a.metrics.logs(metric, arm).values(), 0.5) // not empty, all finite
	return median
}

// turn is -1 for metrics whose higher values are better, so that a higher value always
// costs more.
func (a *analysis) turn(metric int) float64 {
	if a.in.Metrics[metric].Better == "higher" {
		return -1
	}
	return 1
}

// location is Huber's of values in time order, with Student's interval over
// batches of them, as for comparisons; ok is false with fewer than 3 batches.
func (a *analysis) location(d []float64) (iv stats.Interval, ok bool, err error) {
	rows := make([]row, len(d))
	for i, v := range d {
		rows[i] = row{block: int32(i), x: v, c: math.NaN()}
	}
	if len(rows) < minUnits {
		return iv, false, nil
	}
	one := [][]row{rows}
	weigh(one)
	units, _ := unitsOf(one)
	values := make([]float64, len(units))
	for i, u := range units {
		values[i] = meanOf(u)
	}
	iv, err = stats.MeanT(values, a.in.Alpha)
	return iv, err == nil && !iv.Degenerate, err
}

// thaws looks, for each arm, at the trials that were made twice.
func (a *analysis) thaws() ([]Thaw, error) {
	out := []Thaw{}
	for ai, arm := range a.in.Arms {
		d := a.thawed(ai)
		iv, ok, err := a.location(d)
		if err != nil {
			return nil, errorf("thaws of %s: %w", arm.Name, err)
		}
		if ok {
			out = append(out, Thaw{arm.Name, arm.System, len(d), claim.Percent(iv.Estimate), claim.Percent(iv.Low),
				claim.Percent(iv.High)})
		}
	}
	return out, nil
}

// thawed returns ln of every trial's cost over that of its repetition, over all
// primary metrics.
func (a *analysis) thawed(arm int) (d []float64) {
	for mi, m := range a.in.Metrics[:a.cpuTime] {
		counted, again := a.metrics.at(mi, arm), a.metrics.repeats[mi*len(a.in.Arms)+arm]
		if !m.Primary || len(again) == 0 || !counted.positive() || !again.positive() {
			continue
		}
		first, second := a.metrics.logs(mi, arm), again.logMeans()
		for _, p := range (column{logs: first}).minus(column{logs: second}).logs {
			d = append(d, a.turn(mi)*p.value)
		}
	}
	return d
}
