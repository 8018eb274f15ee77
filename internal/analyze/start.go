package analyze

import (
	"errors"
	"slices"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// How the intervals of a Start were made.
const (
	// OrderStatistics lie between two of the values; each is a start of its own.
	OrderStatistics = "order-statistics"
	// BlockBootstrap draws blocks, since guests that started at the same moment are not independent.
	BlockBootstrap = "block-bootstrap"
)

// startMetrics are those of a start that have percentiles, besides its primary one, by package workload's
// names.
var startMetrics = struct{ stop, remove, memory string }{"stop-time", "remove-time", "peak-memory"}

// Start is how long the guests of one arm take to start, in seconds.
type Start struct {
	Workload string `json:"workload"`
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"` // of the same scenario; "": the arm is the baseline
	Control  bool   `json:"control,omitempty"`
	Guests   int    `json:"guests"` // that start at the same moment
	Cold     bool   `json:"cold"`   // the page cache was dropped before
	Emulated bool   `json:"emulated,omitempty"`

	N      int    `json:"n"`      // starts
	Blocks int    `json:"blocks"` // independent moments
	Failed int    `json:"failed,omitempty"`
	Method string `json:"method"` // of the intervals
	StartPercentiles
	StartRatios

	// Phases are in their order; their means add up to Mean, except for Rest.
	Mean   float64           `json:"mean"`
	Phases []StartPhase      `json:"phases"`
	Rest   float64           `json:"rest"`
	Own    float64           `json:"own"` // mean of what was tare's own, which is not in Mean
	OwnAt  *StartPercentiles `json:"own_percentiles,omitempty"`
	Error  float64           `json:"error"`           // mean ± of phases that end by the guest's clock
	Stop   Ending            `json:"stop"`            // until nothing of the guest runs
	Remove Ending            `json:"remove"`          // until nothing is left of it
	CPU    float64           `json:"cpu,omitzero"`    // mean CPU time of all that belongs to the guest, until its program ended
	Memory Range             `json:"memory,omitzero"` // most that the group was charged with, in bytes
	Cached Range             `json:"cached,omitzero"` // share of the files that the page cache held
	Read   float64           `json:"read,omitzero"`   // mean that the whole host read from its disks, in bytes

	// Restored: the starts are restorations of guests that were saved.
	Restored *Restored `json:"restored,omitempty"`
}

// StartPhase is one phase of an arm's starts.
type StartPhase struct {
	Name             string  `json:"name"`  // the probe
	Mean             float64 `json:"mean"`  // over all starts: a phase that a start lacks counts as 0
	Share            float64 `json:"share"` // of the whole, 0..1
	StartPercentiles         // of the starts that have the phase; those of different phases do not add up
}

// StartPercentiles are the percentiles of single starts, in seconds. With too few blocks, P50 has no interval and
// the others are absent.
type StartPercentiles struct {
	P50 Percentile  `json:"p50"`
	P95 *Percentile `json:"p95,omitempty"`
	P99 *Percentile `json:"p99,omitempty"`
}

// Ending is how long the guests of an arm take to end, in seconds, with the percentiles and ratios that their starts
// have.
type Ending struct {
	Percentile             // the median; zero: not known
	P95        *Percentile `json:"p95,omitempty"`
	P99        *Percentile `json:"p99,omitempty"`
	StartRatios
}

// StartRatios are the ratios to the same percentiles of the baseline, with an interval that follows from
// those of both at half of alpha each. Absent if one of the two is absent.
type StartRatios struct {
	P50Ratio *Percentile `json:"p50_ratio,omitempty"`
	P95Ratio *Percentile `json:"p95_ratio,omitempty"`
	P99Ratio *Percentile `json:"p99_ratio,omitempty"`
}

// ending describes how long an arm's guests take to end by one metric, which not all workloads have.
func (a *analysis) ending(workload, metric string, arm int, base string) (e Ending, err error) {
	times := a.named(workload, metric, arm)
	if len(times) == 0 {
		return e, nil
	}
	of, err := percentilesOf(times, a.in.Alpha)
	if err != nil {
		return e, err
	}
	e.Percentile, e.P95, e.P99 = of.P50, of.P95, of.P99
	if base == "" {
		return e, nil
	}
	e.StartRatios, err = quantileRatios(times, a.named(workload, metric, a.arms[base]), a.in.Alpha)
	return e, err
}

// percentilesOf describes a series of single starts, which is not empty.
func percentilesOf(s series, alpha float64) (of StartPercentiles, err error) {
	if of.P50, err = median(s, alpha); err != nil {
		return of, err
	}
	if of.P95, err = startQuantile(s, 0.95, alpha); err != nil {
		return of, err
	}
	of.P99, err = startQuantile(s, 0.99, alpha)
	return of, err
}

// starts describes every arm of every workload that creates its guests.
func (a *analysis) starts() (all []Start, err error) {
	err = a.creating(model.ProbePhaseProgram, func(metric, arm int) error {
		s, err := a.start(metric, arm)
		all = append(all, s)
		return err
	})
	return all, err
}

// creating calls f for every primary metric and arm with values of a workload that creates guests, as its probe shows.
func (a *analysis) creating(probe string, f func(metric, arm int) error) error {
	for mi, m := range a.in.Metrics {
		for ai, arm := range a.in.Arms {
			if !m.Primary || len(a.metrics.at(mi, ai)) == 0 || len(a.probe(m.Workload, probe, ai)) == 0 {
				continue
			}
			if err := f(mi, ai); err != nil {
				return errorf("%s with %s: %w", arm.Name, m.Workload, err)
			}
		}
	}
	return nil
}

func (a *analysis) start(metric, arm int) (Start, error) {
	who, workload, times := a.in.Arms[arm], a.in.Metrics[metric].Workload, a.metrics.at(metric, arm)
	base, control := a.in.BaselineOf(who)
	own := a.probe(workload, model.ProbeStartOwn, arm)
	s := Start{
		Workload: workload, Arm: who.Name, Baseline: base, Control: control, Guests: max(1, len(who.Members)),
		Cold: slices.Contains(a.in.Cold, workload), Emulated: who.Emulated,
		N: len(times), Failed: a.failures[[2]string{workload, who.Name}],
		Method: OrderStatistics, Mean: times.mean(),
		Memory: rangeOf(a.named(workload, startMetrics.memory, arm).values()),
		Own:    average(own),
		Error:  average(a.probe(workload, model.ProbeStartError, arm)),
		CPU:    average(a.probe(workload, model.ProbeGuestGroupCPU, arm)),
		Cached: rangeOf(a.probe(workload, model.ProbeCached, arm).values()),
		Read:   average(a.probe(workload, model.ProbeDiskRead, arm)),
	}
	for range times.byBlock() {
		s.Blocks++
	}
	if s.Guests > 1 {
		s.Method = BlockBootstrap
	}
	s.Rest = s.Mean
	for _, name := range model.StartPhases {
		if p := a.probe(workload, name, arm); len(p) > 0 {
			mean := p.sum() / float64(len(times))
			at, err := percentilesOf(p, a.in.Alpha)
			if err != nil {
				return s, err
			}
			s.Phases = append(s.Phases, StartPhase{Name: name, Mean: mean, Share: mean / s.Mean, StartPercentiles: at})
			s.Rest -= mean
		}
	}
	if len(own) > 0 {
		at, err := percentilesOf(own, a.in.Alpha)
		if err != nil {
			return s, err
		}
		s.OwnAt = &at
	}
	var err error
	if s.StartPercentiles, err = percentilesOf(times, a.in.Alpha); err != nil {
		return s, err
	}
	var baseline series
	if base != "" {
		baseline = a.metrics.at(metric, a.arms[base])
	}
	if s.StartRatios, err = quantileRatios(times, baseline, a.in.Alpha); err != nil {
		return s, err
	}
	if s.Stop, err = a.ending(workload, startMetrics.stop, arm, base); err != nil {
		return s, err
	}
	if s.Remove, err = a.ending(workload, startMetrics.remove, arm, base); err != nil {
		return s, err
	}
	s.Restored, err = a.restored(workload, arm, times)
	return s, err
}

// median is that of single starts, without an interval if there are too few; zero if there are none.
func median(s series, alpha float64) (p Percentile, err error) {
	if len(s) == 0 {
		return p, nil
	}
	q, err := startQuantile(s, 0.5, alpha)
	if err != nil {
		return p, err
	}
	if q != nil {
		return *q, nil
	}
	p.Value, err = stats.Quantile(s.values(), 0.5)
	return p, err
}

// average is the mean of a series; 0 if it is empty.
func average(s series) float64 { return s.sum() / max(1, float64(len(s))) }

// startQuantile is a quantile of single starts; nil: there are too few for an interval.
func startQuantile(s series, p, alpha float64) (*Percentile, error) {
	var groups [][]float64
	for block := range s.byBlock() {
		groups = append(groups, block.values())
	}
	var iv stats.Interval
	var err error
	if len(groups) == len(s) {
		v := slices.Sorted(slices.Values(s.values()))
		iv, err = stats.QuantileInterval(v, p, alpha)
	} else {
		iv, err = stats.ClusterQuantileInterval(groups, p, alpha)
	}
	if errors.Is(err, stats.ErrTooFew) {
		return nil, nil
	}
	return &Percentile{iv.Estimate, iv.Low, iv.High}, err
}

// quantileRatio is a quantile of one series over that of another; nil: there are too few values. If both
// intervals cover with 1-alpha/2, their quotient does with 1-alpha.
func quantileRatio(s, base series, p, alpha float64) (*Percentile, error) {
	if len(s) == 0 || len(base) == 0 {
		return nil, nil
	}
	x, err := startQuantile(s, p, alpha/2)
	if err != nil || x == nil {
		return nil, err
	}
	y, err := startQuantile(base, p, alpha/2)
	if err != nil || y == nil || y.Low <= 0 {
		return nil, err
	}
	return &Percentile{x.Value / y.Value, x.Low / y.High, x.High / y.Low}, nil
}

// quantileRatios are those of p50, p95 and p99.
func quantileRatios(s, base series, alpha float64) (of StartRatios, err error) {
	for p, ratio := range map[float64]**Percentile{0.5: &of.P50Ratio, 0.95: &of.P95Ratio, 0.99: &of.P99Ratio} {
		if *ratio, err = quantileRatio(s, base, p, alpha); err != nil {
			return of, err
		}
	}
	return of, nil
}

// named returns the series of a metric by its name; empty if there is none.
func (a *analysis) named(workload, name string, arm int) series {
	for i, m := range a.in.Metrics {
		if m.Workload == workload && m.Name == name {
			return a.metrics.at(i, arm)
		}
	}
	return nil
}
