// Package analyze turns the observations of a run into estimates, verdicts and
// findings. It is pure: the same input gives the same answer, whatever the
// order in which observations come. The formulas are package stats'; this
// package decides what is compared with what, which values are independent, and
// what may be claimed.
//
// Units are guests; if there are too few, units are batches of blocks, and claims hold
// for "these guests" only. The values of units are Huber's locations of the pairs with
// the baseline and with its control. Student's t over them, weighted by their numbers of
// blocks, is widened by what the controls show beyond chance. That interval alone
// decides, with p-values adjusted by Holm within a family. No claim is withheld because
// single trials vary much.
//
// Measured by the simulations in sim_test.go: whole runs of 7 kinds of work, 2
// arms, a baseline and its control, CV of a trial 5 %, all trials of a block
// sharing a random walk of 2 %. Coverage and half-width of the 95 % intervals,
// runs with any false claim among their 14 comparisons, and how many costs of 3
// and of 5 % are claimed:
//
//	                                     blocks guests  covers  half   false   3 %   5 %
//	Gaussian, guests differ by sd 1 %        50     10  95.3%  2.3 %   6.7 %  32 %  94 %
//	  the same                              100     10  95.2%  1.7 %   4.2 %  76 %  99 %
//	lognormal                                50     10  95.5%  2.0 %   3.8 %  48 %  99 %
//	5 % of the trials take ×3                50     10  95.7%  2.7 %   4.2 %  20 %  83 %
//	2 % ×2                                   50     10  95.5%  2.4 %   4.6 %  28 %  92 %
//	1 % ×5                                   50     10  95.7%  2.3 %   5.8 %  30 %  94 %
//	trials correlate by 0.4                  50     10  94.3%  3.0 %   9.2 %  15 %  55 %
//	one guest serves half of the blocks      50     10  96.1%  2.7 %   1.7 %  13 %  73 %
//	  and guests' sd 2 %                     50     10  95.2%  3.4 %   2.5 %   8 %  41 %
//	guests alike                             40      8  95.6%  2.4 %   5.8 %  27 %  92 %
//	guests' sd 2 %                           40      8  95.1%  3.2 %   5.0 %  12 %  47 %
//	  of all their work, 20 % of drift       40      8  95.1%  3.2 %   2.9 %  16 %  60 %
//	3 blocks a guest, 5 % ×3                 24      8  95.4%  3.9 %   3.8 %   5 %  26 %
//	4 guests                                 20      4  94.7%  4.5 %   9.6 %   4 %  13 %
//	one guest                                50      1  96.0%  2.1 %   5.8 %  42 %  97 %
//	  5 % ×3                                 50      1  96.0%  2.5 %   4.2 %  25 %  83 %
//	one guest, guests' sd 1 %                50      1  91.0%  3.0 %  18.3 %  27 %  61 %
//	2 guests, sd 1 % of all their work       50      2  92.0%  2.6 %  10.4 %  28 %  74 %
//	one kind of work instead of 7            50     10  94.2%  2.3 %   5.4 %  63 %  96 %
//
// (240 runs each; over 1,500 runs the first row has 4.6 % of false runs, that of
// one guest 4.1 %, that of 4 guests 6.7 %.) With 150 blocks of 30 guests, 73 % of
// the arms that cost nothing are said to cost nothing within 2 %, and none of
// those that cost 3 %. A finding that tests something is wrong in 1 to 2 % of the
// runs, and stalls are claimed falsely in 0.1 %.
package analyze

import (
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// group is the comparisons that share a placebo: those of one class of metrics
// under one scenario. Arms beside others vary more than those alone.
type group struct {
	scenario string
	class    Family
}

// metricIn is a metric under one scenario.
type metricIn struct {
	metric   int
	scenario string
}

// analysis is an Input that was read, and what was made of it so far.
type analysis struct {
	in          *dataset.Set
	arms        map[string]int
	metrics     *table
	probes      *table
	cpuTime     int             // index of the first metric that is CPU time
	atOnce      int             // … that is CPU time in duets; those up to energy are, too
	energy      int             // … that is energy; those after it are, too
	noEnergy    []Finding       // why workloads have no such metric although energy was measured
	summaries   []SeriesSummary // of each metric and arm, as in metrics
	comparisons []*comparison   // of cost, and the controls'
	latencies   []latency       // of percentiles of single latencies
	singles     map[metricOf]singles
	fewSingles  []fewSingles
	isolations  []*comparison // of arms beside others with the same arms alone
	placebos    map[group]stats.Placebo
	paired      map[metricIn]bool // there are A/A pairs
	failures    map[[2]string]int // workload, arm -> count
	result      *Result           // as far as it is made, for the findings
	failed      map[lostTrial]bool
	overruled   []Finding // duets that trials alone contradict
}

// lostTrial is one without a result.
type lostTrial struct {
	workload, arm string
	block         int
}

// Analyze reads in and returns what a report shows. Its errors are about the input:
// fault.Campaign for a baseline or control that is not an arm, fault.Internal for values
// that should never have been stored, and any error that Observations yields.
func Analyze(in dataset.Set) (*Result, error) {
	a, err := read(&in)
	if err != nil {
		return nil, err
	}
	a.summarize()
	for _, c := range slices.Concat(a.comparisons, a.isolations) {
		a.describe(c)
	}
	if err := a.estimateAll(a.all()); err != nil {
		return nil, err
	}
	if err := a.decide(); err != nil {
		return nil, err
	}
	if err := a.overrule(); err != nil {
		return nil, err
	}
	r := &Result{
		Baseline: in.Baseline, Planned: in.Planned, Blocks: a.metrics.blocks, Alpha: in.Alpha, Delta: in.Delta,
		Arms: a.armResults(), Comparisons: []Comparison{},
	}
	if r.Tails, err = a.tails(); err != nil {
		return nil, err
	}
	if r.Positions, err = a.positions(); err != nil {
		return nil, err
	}
	if r.Thaws, err = a.thaws(); err != nil {
		return nil, err
	}
	if r.Starts, err = a.starts(); err != nil {
		return nil, err
	}
	if r.Fills, err = a.fills(); err != nil {
		return nil, err
	}
	if r.RateCaps, err = a.rateCaps(); err != nil {
		return nil, err
	}
	a.result = r
	r.Findings = a.findings()
	for _, c := range a.comparisons {
		r.Comparisons = append(r.Comparisons, c.Comparison)
	}
	r.Answers = a.answers()
	if r.Rankings, err = a.rankings(); err != nil {
		return nil, err
	}
	if r.TrialSpread, err = a.trialSpread(); err != nil {
		return nil, err
	}
	r.Latencies = a.latencyResults()
	r.Packets = a.packets()
	if r.LatencyCurves, err = a.latencyCurves(); err != nil {
		return nil, err
	}
	if r.Curves, err = a.curves(); err != nil {
		return nil, err
	}
	r.Memory, r.Swap = a.memory(), a.swapping()
	r.Energy = a.energyUses()
	r.Requests = a.requests()
	if r.Isolation, err = a.isolation(); err != nil {
		return nil, err
	}
	if r.IsolationMatrix, err = a.matrix(r.Isolation); err != nil {
		return nil, err
	}
	for _, attack := range in.Attacks {
		r.Attacks = append(r.Attacks, Attack{attack, attack.Held()})
	}
	r.Density = a.density(r.Isolation)
	r.CapAccuracy, err = a.capAccuracy()
	return r, err
}

// all are the comparisons that may make a claim, and those of the controls.
func (a *analysis) all() []*comparison {
	all := slices.Concat(a.comparisons, a.isolations)
	for _, l := range a.latencies {
		all = append(all, l.comparison)
	}
	return all
}

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
func read(in *dataset.Set) (*analysis, error) {
	arms, err := in.Prepare()
	if err != nil {
		return nil, err
	}
	a := &analysis{in: in, arms: arms, cpuTime: len(in.Metrics), failures: map[[2]string]int{},
		failed: map[lostTrial]bool{}}
	for _, f := range in.Failures {
		a.failures[[2]string{f.Workload, f.Arm}]++
		a.failed[lostTrial{f.Workload, f.Arm, f.Block}] = true
	}
	if a.metrics, err = load(in.Observations, len(in.Metrics), len(in.Arms)); err != nil {
		return nil, err
	}
	if a.probes, err = load(in.ProbeObservations, len(in.Probes), len(in.Arms)); err != nil {
		return nil, err
	}
	a.addCPUTime()
	a.addPacketCPU()
	if err := a.addDuets(); err != nil {
		return nil, err
	}
	a.addEnergy()
	for mi, m := range in.Metrics {
		for ai, arm := range in.Arms {
			base, control := in.BaselineOf(arm)
			ran := len(a.metrics.at(mi, ai)) > 0 || mi < a.cpuTime && a.failures[[2]string{m.Workload, arm.Name}] > 0
			if ran && base != "" {
				a.comparisons = append(a.comparisons, a.compare(mi, ai, base, control))
			}
			if ran && arm.Alone != "" && !control {
				c := a.compare(mi, ai, arm.Alone, false)
				if c.Family != FamilyEmulated {
					c.Family = FamilyIsolation
				}
				a.isolations = append(a.isolations, c)
			}
		}
	}
	if err := a.readSingles(); err != nil {
		return nil, err
	}
	return a, a.compareLatencies()
}

// CPUTime is the metric that every workload has beside its own: the seconds of
// CPU that the whole control group of the guest took, from ProbeGuestGroupCPU.
const CPUTime = "cpu-time"

// addCPUTime makes a metric of the CPU time that the guest's whole control group
// took. Series that are not positive throughout have no logarithm and stay out.
func (a *analysis) addCPUTime() {
	a.in.Metrics = slices.Clone(a.in.Metrics)
	for pi, p := range a.in.Probes {
		known := func(m dataset.Metric) bool { return m.Workload == p.Workload && m.Name == CPUTime }
		if p.Name != model.ProbeGuestGroupCPU || slices.ContainsFunc(a.in.Metrics, known) {
			continue
		}
		a.addMetric(p.Workload, CPUTime, "s", a.probes.ofArms(pi))
	}
}

// addMetric adds a metric of which less is better, by arm, unless no arm has any value.
func (a *analysis) addMetric(workload, name, unit string, of []series) {
	if slices.ContainsFunc(of, func(s series) bool { return len(s) > 0 }) {
		a.in.Metrics = append(a.in.Metrics, dataset.Metric{Workload: workload, Name: name, Unit: unit, Better: "lower"})
		a.metrics.series = append(a.metrics.series, of...)
		a.metrics.repeats = append(a.metrics.repeats, make([]series, len(of))...)
	}
}

// ofArms are the series of all arms, without those that are not positive throughout.
func (t *table) ofArms(metric int) []series {
	of := make([]series, t.arms)
	for arm := range of {
		if s := t.at(metric, arm); s.positive() {
			of[arm] = s
		}
	}
	return of
}

// estimateAll fills in the numbers of comparisons, the controls' first: they
// are the placebo of the others.
func (a *analysis) estimateAll(all []*comparison) error {
	contrasts := map[group][]stats.Interval{}
	workloads := map[group]map[string]bool{}
	a.paired = map[metricIn]bool{}
	for _, c := range all {
		if err := a.split(c); err != nil {
			return err
		}
		if c.Control && c.tested {
			if err := a.fill(c, stats.Placebo{Phi2: 1}); err != nil {
				return err
			}
			g := a.groupOf(c.arm, c.class)
			contrasts[g] = append(contrasts[g], c.est.Interval)
			if workloads[g] == nil {
				workloads[g] = map[string]bool{}
			}
			workloads[g][c.Workload] = true
			a.paired[metricIn{c.metric, g.scenario}] = true
		}
	}
	a.placebos = map[group]stats.Placebo{}
	for g, of := range contrasts {
		p := stats.NewPlacebo(of)
		// Metrics of one workload are of the same trials, and are one placebo together.
		p.W = min(p.W, len(workloads[g]))
		a.placebos[g] = p
	}
	for _, c := range all {
		if c.Control {
			continue
		}
		if err := a.widen(c); err != nil {
			return err
		}
	}
	return nil
}

// split finds the units of a comparison.
func (a *analysis) split(c *comparison) (err error) {
	if c.N == 0 {
		return nil
	}
	if c.class != FamilyTails { // their units are made already
		if c.est, err = estimateRows(c.rows, c.columns...); err != nil {
			return errorf("%s %s of %s: %w", c.Workload, c.Metric, c.Arm, err)
		}
	}
	c.columns = nil
	if !c.Control {
		c.rows = nil // a control's are wanted once more
	}
	c.DistinctGuests, c.Units, c.Scope, c.Coarse = c.est.guests, len(c.est.values), c.est.scope,
		len(c.est.values) > 1 && c.est.coarse
	c.tested = c.Units > 1
	c.Estimate, c.OverheadPercent = claim.Alone(c.est.values[0]), claim.Percent(c.est.values[0]) // of the only unit
	return nil
}

// widen fills in the numbers of a comparison whose units are known, with the
// placebo of both sides.
func (a *analysis) widen(c *comparison) error {
	g, base := a.groupOf(c.arm, c.class), a.groupOf(c.base, c.class)
	c.HasControl = a.paired[metricIn{c.metric, g.scenario}] && a.paired[metricIn{c.metric, base.scenario}]
	if !c.tested {
		return nil
	}
	return a.fill(c, a.placebo(g, base))
}

func (a *analysis) groupOf(arm int, class Family) group {
	return group{a.in.Arms[arm].Scenario, class}
}

// placebo is the one that widens most; without any, nothing is widened.
func (a *analysis) placebo(of ...group) stats.Placebo {
	most := stats.Placebo{Phi2: 1}
	for _, g := range of {
		if p, ok := a.placebos[g]; ok && (most.W == 0 || p.Phi2 > most.Phi2) {
			most = p
		}
	}
	return most
}

// fill sets the numbers of a comparison that has an interval.
func (a *analysis) fill(c *comparison, p stats.Placebo) error {
	if err := c.est.interval(p, a.in.Alpha); err != nil {
		return errorf("%s %s of %s: %w", c.Workload, c.Metric, c.Arm, err)
	}
	means := c.est.means.Exp()
	c.MeanRatio, c.MeanLow, c.MeanHigh = means.Estimate, means.Low, means.High
	c.Estimate = claim.Of(c.est.Interval)
	c.OverheadPercent, c.FartherPercent = claim.Percent(c.est.Estimate), claim.FartherPercent(c.est.Interval)
	c.StdErr, c.DF, c.Phi, c.Coarse = c.est.StdErr, c.est.DF, c.est.phi, c.est.coarse
	var err error
	c.Test, err = a.rule().Test(c.est.Interval)
	return err
}
