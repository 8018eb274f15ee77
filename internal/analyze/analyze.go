// Package analyze turns the observations of a run into estimates, verdicts and
// findings. It is pure: the same input gives the same answer, whatever the
// order in which observations come. The method (estimates, stopping, claims)
// is package stats'; this package decides what is compared with what, which
// values are independent, and what may be claimed.
//
// Measured by the simulations in sim_test.go, where all arms are the same
// thing (CV 5 %, 15 blocks, 6 comparisons and 2 controls a run): a false claim
// in 0 of 1,000 runs, any Holm-adjusted p below 5 % in 4.3 % of the runs, and
// "the control differs" in 1.4 %. That no claim comes through is the work of
// the noise floor, which is the spread of single A/A pairs: a real effect must
// exceed it too, however many blocks there are (see stats.NoiseFloor).
package analyze

import (
	"slices"

	"github.com/tare-bench/tare/internal/stats"
)

// comparison is a Comparison with what the rules and verdicts need of it.
type comparison struct {
	Comparison
	metric, arm, base int // indices
	pairs             []pair
	est               estimate
	floor             float64 // ln noise floor, where HasNoiseFloor
	notPositive       bool    // a value ≤ 0: no ratio exists
}

// floorOf is what A/A pairs were measured on: a metric under a scenario. Who
// has company varies more than who is alone.
type floorOf struct {
	metric   int
	scenario string
}

// analysis is an Input that was read, and what was made of it so far.
type analysis struct {
	in          *Input
	arms        map[string]int
	metrics     *table
	probes      *table
	summaries   []SeriesSummary     // of each metric and arm, as in metrics
	comparisons []*comparison       // of cost, and the controls'
	isolations  []*comparison       // of arms in company with the same arms alone
	floors      map[floorOf]float64 // ln noise floor
	floorPairs  map[floorOf]int
	failures    map[[2]string]int // workload, arm -> count
}

// Analyze reads in and returns what a report shows. Errors are the input's:
// fault.Campaign for a baseline or control that is no arm, fault.Internal for
// values that should never have been stored, and whatever Observations yields.
func Analyze(in Input) (*Result, error) {
	a, err := read(&in)
	if err != nil {
		return nil, err
	}
	a.summarize()
	for _, c := range a.all() {
		if err := a.estimate(c); err != nil {
			return nil, err
		}
	}
	if err := a.noiseFloors(); err != nil {
		return nil, err
	}
	for _, control := range []bool{true, false} {
		if err := a.adjust(control); err != nil {
			return nil, err
		}
	}
	for _, c := range a.all() {
		c.Verdict = a.verdict(c)
	}
	findings := a.findings()
	r := &Result{
		Baseline: in.Baseline, Planned: in.Planned, Blocks: a.metrics.blocks, Alpha: in.Alpha, Delta: in.Delta,
		NoiseFloors: []NoiseFloor{}, Arms: a.armResults(), Findings: findings, Comparisons: []Comparison{},
	}
	for _, scenario := range a.scenarios() {
		for i, m := range in.Metrics {
			of := floorOf{i, scenario}
			if f, ok := a.floors[of]; ok {
				r.NoiseFloors = append(r.NoiseFloors, NoiseFloor{m.Workload, m.Name, scenario, percent(f), a.floorPairs[of]})
			}
		}
	}
	for _, c := range a.comparisons {
		r.Comparisons = append(r.Comparisons, c.Comparison)
	}
	r.Memory = a.memory()
	if r.Isolation, err = a.isolation(); err != nil {
		return nil, err
	}
	r.Density = a.density(r.Isolation)
	r.CapAccuracy, err = a.capAccuracy()
	return r, err
}

// all are the comparisons of which something may be claimed, and the controls'.
func (a *analysis) all() []*comparison { return slices.Concat(a.comparisons, a.isolations) }

// scenarios returns those of the arms, in their order.
func (a *analysis) scenarios() []string {
	var all []string
	for _, arm := range a.in.Arms {
		if !slices.Contains(all, arm.Scenario) {
			all = append(all, arm.Scenario)
		}
	}
	return all
}

// read loads the observations and lists what is to be compared.
func read(in *Input) (*analysis, error) {
	arms, err := in.prepare()
	if err != nil {
		return nil, err
	}
	a := &analysis{in: in, arms: arms, failures: map[[2]string]int{}}
	for _, f := range in.Failures {
		a.failures[[2]string{f.Workload, f.Arm}]++
	}
	if a.metrics, err = load(in.Observations, len(in.Metrics), len(in.Arms)); err != nil {
		return nil, err
	}
	if a.probes, err = load(in.ProbeObservations, len(in.Probes), len(in.Arms)); err != nil {
		return nil, err
	}
	for mi, m := range in.Metrics {
		for ai, arm := range in.Arms {
			base, control := in.baselineOf(arm)
			ran := len(a.metrics.at(mi, ai)) > 0 || a.failures[[2]string{m.Workload, arm.Name}] > 0
			compare := func(base string) *comparison {
				c := &comparison{metric: mi, arm: ai, base: arms[base]}
				c.Comparison = Comparison{
					Workload: m.Workload, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary,
					Baseline: base, Arm: arm.Name, Control: control, P: 1, PHolm: 1, Verdict: NotResolved, Findings: []string{},
				}
				a.pair(c)
				return c
			}
			if ran && base != "" {
				a.comparisons = append(a.comparisons, compare(base))
			}
			if ran && arm.Alone != "" && !control {
				a.isolations = append(a.isolations, compare(arm.Alone))
			}
		}
	}
	return a, nil
}

// pair fills in the pairs of a comparison.
func (a *analysis) pair(c *comparison) {
	base, arm := a.metrics.at(c.metric, c.base), a.metrics.at(c.metric, c.arm)
	if of := a.in.Arms[c.arm]; of.Alone == c.Baseline && !of.uniform() {
		// Of a mix, only guests of its own flavor do what the arm does alone.
		arm = arm.of(func(m int32) bool { return int(m) < len(of.Crew) && of.Crew[m].Flavor == of.Flavor })
	}
	if !base.positive() || !arm.positive() {
		c.notPositive = true
		return
	}
	c.pairs, c.Dropped = pairUp(base, arm, c.Better)
	c.N = len(c.pairs)
}

// estimate fills in the numbers of a comparison.
func (a *analysis) estimate(c *comparison) error {
	a.describe(c)
	switch {
	case c.N == 0:
		return nil
	case c.N == 1:
		iv := stats.Interval{Estimate: c.pairs[0].d}.Exp()
		c.Ratio, c.HodgesLehmann, c.Incarnations = iv.Estimate, iv.Estimate, 1
		c.OverheadPercent = percent(c.pairs[0].d)
		return nil
	}
	n0 := 0
	if a.in.Precision > 0 {
		n0 = a.in.N0
	}
	est, err := estimatePairs(c.pairs, n0, a.in.Alpha)
	if err != nil {
		return errorf("%s %s of %s: %w", c.Workload, c.Metric, c.Arm, err)
	}
	c.est = est
	c.Incarnations, c.OverIncarnations = est.incarnations, est.overMeans
	iv, hl := est.Exp(), est.hl.Exp()
	c.Ratio, c.CILow, c.CIHigh, c.P = iv.Estimate, iv.Low, iv.High, iv.P
	c.OverheadPercent = percent(est.Estimate)
	c.HodgesLehmann, c.HodgesLehmannLow, c.HodgesLehmannHigh = hl.Estimate, hl.Low, hl.High
	return nil
}

// describe fills in min, mean, max and spread of both sides.
func (a *analysis) describe(c *comparison) {
	base := a.summary(c.metric, c.base)
	arm := a.summary(c.metric, c.arm)
	c.BaselineMin, c.BaselineMean, c.BaselineMax, c.BaselineSpread = base.Min, base.Mean, base.Max, base.Spread
	c.ArmMin, c.ArmMean, c.ArmMax, c.ArmSpread = arm.Min, arm.Mean, arm.Max, arm.Spread
	c.Spread = max(base.Spread, arm.Spread)
	c.MeanWithheld = base.MeanWithheld || arm.MeanWithheld
}

// summarize describes every metric of every arm, without the mean where that
// misleads.
func (a *analysis) summarize() {
	a.summaries = make([]SeriesSummary, len(a.metrics.series))
	for i, s := range a.metrics.series {
		m := a.in.Metrics[i/len(a.in.Arms)]
		sum := s.summarize(m.Name, m.Unit)
		if arm := a.in.Arms[i%len(a.in.Arms)]; !arm.uniform() {
			sum.Spread = spreadWithinFlavors(s, arm.Crew)
		}
		if sum.Spread > a.in.SpreadLimit {
			sum.MeanWithheld, sum.Mean = true, 0
		}
		a.summaries[i] = sum
	}
}

// spreadWithinFlavors is the largest spread of guests of one flavor: that those
// of different ones differ is what a mix is made for.
func spreadWithinFlavors(s series, crew []Member) (most float64) {
	for _, m := range crew {
		same := s.of(func(n int32) bool { return int(n) < len(crew) && crew[n].Flavor == m.Flavor })
		most = max(most, same.summarize("", "").Spread)
	}
	return most
}

func (a *analysis) summary(metric, arm int) SeriesSummary {
	return a.summaries[metric*len(a.in.Arms)+arm]
}

// noiseFloors pools the A/A pairs of each metric and scenario.
func (a *analysis) noiseFloors() error {
	a.floors, a.floorPairs = map[floorOf]float64{}, map[floorOf]int{}
	pooled := map[floorOf][]float64{}
	for _, c := range a.comparisons {
		if c.Control {
			of := a.floorOf(c, c.arm)
			pooled[of] = append(pooled[of], ratios(c.pairs)...)
		}
	}
	for of, d := range pooled {
		if len(d) == 0 {
			continue
		}
		f, err := stats.NoiseFloor(d)
		if err != nil {
			return errorf("noise floor: %w", err)
		}
		a.floors[of], a.floorPairs[of] = f, len(d)
	}
	for _, c := range a.all() {
		// Both sides vary: the floor is the higher of theirs.
		f, ok := a.floors[a.floorOf(c, c.arm)]
		g, okBase := a.floors[a.floorOf(c, c.base)]
		c.HasNoiseFloor = ok && okBase
		if c.HasNoiseFloor {
			c.floor = max(f, g)
		}
		c.NoiseFloorPercent = percent(c.floor)
	}
	return nil
}

func (a *analysis) floorOf(c *comparison, arm int) floorOf {
	return floorOf{c.metric, a.in.Arms[arm].Scenario}
}

// adjust sets PHolm over the family of controls, or of all else.
func (a *analysis) adjust(control bool) error {
	var family []*comparison
	var p []float64
	for _, c := range a.all() {
		if c.Control == control {
			family, p = append(family, c), append(p, c.P)
		}
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return errorf("%w", err)
	}
	for i, c := range family {
		c.PHolm = adjusted[i]
	}
	return nil
}

// outside reports whether the effect is outside the noise floor that A/A pairs gave.
func (a *analysis) outside(c *comparison) bool {
	return c.HasNoiseFloor && (c.est.Estimate > c.floor || c.est.Estimate < -c.floor)
}

// verdict says what may be claimed of c; see Verdict for the rules. A claim of
// cost or gain goes before "none": it says more, also of a small effect.
func (a *analysis) verdict(c *comparison) Verdict {
	if c.N < 2 || c.MeanWithheld || a.in.Boots && c.Incarnations < minIncarnations {
		return NotResolved
	}
	claimed := !c.Control && c.PHolm < a.in.Alpha && a.outside(c)
	switch {
	case claimed && c.est.Low > 0:
		return Costs
	case claimed && c.est.High < 0:
		return Gains
	case stats.Equivalent(c.est.Interval, a.in.Delta):
		return None
	}
	return NotResolved
}

// armResults describes every arm on every workload of which there is anything.
func (a *analysis) armResults() []ArmResult {
	var workloads []string
	for _, m := range a.in.Metrics {
		if !slices.Contains(workloads, m.Workload) {
			workloads = append(workloads, m.Workload)
		}
	}
	out := []ArmResult{}
	for _, w := range workloads {
		for ai, arm := range a.in.Arms {
			r := ArmResult{
				Arm: arm.Name, Workload: w, System: arm.System, Flavor: arm.Flavor, Scenario: arm.Scenario,
				Emulated: arm.Emulated, Failures: a.failures[[2]string{w, arm.Name}], Metrics: []SeriesSummary{},
			}
			for mi, m := range a.in.Metrics {
				if m.Workload == w && len(a.metrics.at(mi, ai)) > 0 {
					r.Metrics = append(r.Metrics, a.summary(mi, ai))
				}
			}
			for pi, p := range a.in.Probes {
				if s := a.probes.at(pi, ai); p.Workload == w && len(s) > 0 {
					r.Probes = append(r.Probes, s.summarize(p.Name, p.Unit))
				}
			}
			if len(r.Metrics)+len(r.Probes)+r.Failures > 0 {
				out = append(out, r)
			}
		}
	}
	return out
}
