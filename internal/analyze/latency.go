package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
)

// Percentiles are those of single latencies that are compared.
var Percentiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}

// minBeyond is how many single latencies must be beyond a percentile, in each unit and on both sides, or it is not
// compared: with fewer, it is mostly chance which of them it is.
const minBeyond = 10

// Latency is one percentile of the single latencies of an arm against that of its baseline, in seconds. The histograms
// of a unit's trials are added up, including those of the baseline and its control. The percentiles of the units are
// compared. Under FamilyIsolation, the baseline is the same arm alone.
type Latency struct {
	Comparison
	Percentile    float64 `json:"percentile"` // 0..1
	Value         float64 `json:"value"`      // s, of all trials of the arm
	BaselineValue float64 `json:"baseline_value"`
	Count         int64   `json:"count"` // single latencies of the arm
	BaselineCount int64   `json:"baseline_count"`
}

// LatencyCurve is the distribution of all single latencies of an arm on a workload.
type LatencyCurve struct {
	Workload string         `json:"workload"`
	Metric   string         `json:"metric"` // which describes them with one number
	Arm      string         `json:"arm"`
	Control  bool           `json:"control,omitempty"`
	Scenario string         `json:"scenario"`
	Count    int64          `json:"count"`
	Points   []LatencyPoint `json:"points"` // rising, up to where minBeyond latencies are left
}

// LatencyPoint is a point on a curve: this share of the latencies is no longer than this many
// seconds.
type LatencyPoint struct {
	Share   float64 `json:"share"`
	Seconds float64 `json:"seconds"`
}

// latency is a Latency with its comparison.
type latency struct {
	*comparison
	Latency
}

// singles are the single latencies of one metric and arm, by block.
type singles []single

type single struct {
	point
	*histogram.Histogram
}

// readSingles sorts the single latencies of a run.
func (a *analysis) readSingles() error {
	a.singles = map[metricOf]singles{}
	for _, l := range a.in.Latencies {
		if l.Metric < 0 || int(l.Metric) >= a.cpuTime || l.Arm < 0 || int(l.Arm) >= len(a.in.Arms) || l.Block < 0 {
			return internalf("latencies out of range: metric %d, arm %d, block %d", l.Metric, l.Arm, l.Block)
		}
		k := metricOf{int(l.Metric), int(l.Arm)}
		a.singles[k] = append(a.singles[k],
			single{point{block: l.Block, guest: l.Guest, member: l.Member}, l.Histogram})
	}
	for _, s := range a.singles {
		slices.SortFunc(s, func(x, y single) int {
			return cmp.Or(cmp.Compare(x.block, y.block), cmp.Compare(x.guest, y.guest), cmp.Compare(x.member, y.member))
		})
	}
	return nil
}

// column is where the arm has latencies; its values say nothing.
func (s singles) column() column {
	var guests series
	for _, one := range s {
		p := one.point
		p.value = 1
		guests = append(guests, p)
	}
	return column{guests.logMeans(), []series{guests}}
}

// of adds up the latencies of the blocks of some rows.
func (s singles) of(rows []row) (*histogram.Histogram, error) {
	var all []*histogram.Histogram
	for _, one := range s {
		if slices.ContainsFunc(rows, func(r row) bool { return r.block == one.block }) {
			all = append(all, one.Histogram)
		}
	}
	return histogram.Merge(all...)
}

// whole adds up all latencies.
func (s singles) whole() (*histogram.Histogram, error) {
	var all []*histogram.Histogram
	for _, one := range s {
		all = append(all, one.Histogram)
	}
	return histogram.Merge(all...)
}

// compareLatencies starts the comparisons of single latencies: with the baseline and, for arms beside others, with
// the same arm alone.
func (a *analysis) compareLatencies() error {
	for mi := range a.in.Metrics[:a.cpuTime] {
		for ai, arm := range a.in.Arms {
			if len(a.singles[metricOf{mi, ai}]) == 0 {
				continue
			}
			if base, control := a.in.BaselineOf(arm); base != "" {
				if err := a.comparePercentiles(mi, ai, base, control, false); err != nil {
					return err
				}
			}
			if _, control := a.in.Controls[arm.Name]; arm.Alone != "" && !control {
				if err := a.comparePercentiles(mi, ai, arm.Alone, false, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sharedSingles are the single latencies of an arm that compare with those of the same arm alone: of a mix of flavors,
// only guests of its own flavor do what it does alone.
func (a *analysis) sharedSingles(metric, arm int) singles {
	x, of := a.singles[metricOf{metric, arm}], a.in.Arms[arm]
	if of.Uniform() {
		return x
	}
	return slices.DeleteFunc(slices.Clone(x), func(s single) bool {
		return int(s.member) >= len(of.Members) || of.Members[s.member].Flavor != of.Flavor
	})
}

// comparePercentiles starts the comparisons of an arm with another one by all percentiles for which there are enough
// latencies.
func (a *analysis) comparePercentiles(metric, arm int, base string, control, isolation bool) error {
	x, y := a.singles[metricOf{metric, arm}], a.singles[metricOf{metric, a.arms[base]}]
	if isolation {
		x = a.sharedSingles(metric, arm)
	}
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	var again singles
	name := ""
	if !control && !isolation {
		if name = a.controlOf(base, metric); name != "" {
			again = a.singles[metricOf{metric, a.arms[name]}]
		}
	}
	columns := []column{x.column(), y.column(), again.column()}
	rows := rowsOf(columns[0], columns[1], columns[2], "lower")
	if len(rows) == 0 {
		return nil
	}
	groups := distinctGuests(rows, columns...)
	units, scope := unitsOf(mergeShort(groups))
	type pair struct{ arm, base *histogram.Histogram }
	pairs, least := make([]pair, len(units)), int64(math.MaxInt64)
	for i, unit := range units {
		var err error
		if pairs[i].arm, err = x.of(unit); err != nil {
			return errorf("latencies: %w", err)
		}
		if pairs[i].base, err = slices.Concat(y, again).of(unit); err != nil {
			return errorf("latencies: %w", err)
		}
		least = min(least, pairs[i].arm.Count(), pairs[i].base.Count())
	}
	whole, err := x.whole()
	if err != nil {
		return errorf("latencies: %w", err)
	}
	baseWhole, err := slices.Concat(y, again).whole()
	if err != nil {
		return errorf("latencies: %w", err)
	}
	m := a.in.Metrics[metric]
	for _, q := range Percentiles {
		if !enough(least, q) {
			a.fewSingles = append(a.fewSingles, fewSingles{m.Workload, m.Name, a.in.Arms[arm].Name, q, least})
			break
		}
		c := &comparison{metric: metric, arm: arm, base: a.arms[base], class: FamilyTails}
		c.Comparison = unresolved(dataset.Metric{Workload: m.Workload, Name: m.Name, Unit: "s", Better: "lower"},
			a.in.Arms[arm].Name)
		c.Baseline, c.Control, c.BaselineControl, c.N = base, control, name, len(rows)
		if c.Family = a.family(c); isolation && c.Family != FamilyEmulated {
			c.Family = FamilyIsolation
		}
		c.est = estimate{guests: len(groups), scope: scope, differP: 1, phi: 1}
		resolution := 0.0
		for i, unit := range units {
			resolution = max(resolution, resolutionOf(pairs[i].arm, q), resolutionOf(pairs[i].base, q))
			d := math.Log(pairs[i].arm.Quantile(q)) - math.Log(pairs[i].base.Quantile(q))
			c.est.values, c.est.weights = append(c.est.values, d), append(c.est.weights, weightOf(unit))
		}
		c.est.plain = c.est.values
		c.est.coarse = withinResolution(c.est.values, resolution)
		a.latencies = append(a.latencies, latency{c, Latency{Percentile: q, Value: whole.Quantile(q) / 1e9,
			BaselineValue: baseWhole.Quantile(q) / 1e9, Count: whole.Count(), BaselineCount: baseWhole.Count()}})
	}
	return nil
}

// enough reports whether of n latencies enough are beyond a percentile.
func enough(n int64, q float64) bool { return math.Round(float64(n)*(1-q)*1e6)/1e6 >= minBeyond }

// resolutionOf is how exact a percentile can be: that of the histogram, or that of the tool that printed the latencies
// if it is coarser.
func resolutionOf(h *histogram.Histogram, q float64) float64 {
	return max(histogram.Resolution, float64(h.Step())/h.Quantile(q))
}

// withinResolution reports whether ln ratios differ from each other, and from 0, by less than the resolution of a
// tool, relative to the percentile: then nothing can be said of them.
func withinResolution(d []float64, resolution float64) bool {
	all := append(slices.Clone(d), 0)
	return slices.Max(all)-slices.Min(all) < resolution
}

// fewSingles is a percentile that is not compared.
type fewSingles struct {
	workload, metric, arm string
	percentile            float64
	least                 int64 // latencies of the unit that has fewest
}

// findFewLatencies reports percentiles that are not compared, the lowest of each arm.
func findFewLatencies(a *analysis) (out []Finding) {
	seen := map[[2]string]bool{}
	for _, f := range a.fewSingles {
		if seen[[2]string{f.workload, f.arm}] || slices.ContainsFunc(a.in.Arms, func(arm dataset.Arm) bool {
			_, control := a.in.Controls[arm.Name]
			return arm.Name == f.arm && control
		}) {
			continue
		}
		seen[[2]string{f.workload, f.arm}] = true
		out = append(out, Finding{Workload: f.workload, Metric: f.metric, Arm: f.arm, Text: fmt.Sprintf(
			"%s is not compared: it needs %d single latencies beyond it for each guest; the guest with the fewest has %d in all",
			PercentileName(f.percentile), minBeyond, f.least)})
	}
	return out
}

// Limits of the findings on requests that are due at a constant rate.
const (
	keptUp    = 0.95 // of the stated rate, in the mean of all trials
	lateShare = 0.01 // of the requests: more than that move p99
)

// findOverload reports arms in which the server did not keep up with the requests.
func findOverload(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		if stated, achieved := common(p[0], p[1]); achieved.sum() < keptUp*stated.sum() {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%.4g requests a second were due, but only %.4g were answered: each waited for those before it, "+
					"so the longer a trial, the longer its latencies", stated.mean(), achieved.mean())})
		}
	}, model.ProbeStatedRate, model.ProbeAchievedRate)
	return out
}

// findLateRequests reports arms in which the load generator sent requests late by its own fault.
func findLateRequests(a *analysis) (out []Finding) {
	a.eachProbe(func(workload string, arm dataset.Arm, p []series) {
		if late := p[0].mean(); late > lateShare {
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Text: fmt.Sprintf(
				"%.3g %% of the requests were sent late, because the load generator got no CPU in time; "+
					"their latencies count from when they were due and include that delay", 100*late)})
		}
	}, model.ProbeLateShare)
	return out
}

// PercentileName is "p99.9" for 0.999.
func PercentileName(q float64) string { return fmt.Sprintf("p%.6g", 100*q) }

// latencyResults returns the comparisons of single latencies.
func (a *analysis) latencyResults() (out []Latency) {
	for _, l := range a.latencies {
		l.Latency.Comparison = l.comparison.Comparison
		out = append(out, l.Latency)
	}
	return out
}

// curvePoints is how many points a curve has at most, evenly spread by the logarithm of the odds.
const curvePoints = 80

// latencyCurves describes the single latencies of all arms.
func (a *analysis) latencyCurves() (out []LatencyCurve, err error) {
	for mi, m := range a.in.Metrics[:a.cpuTime] {
		for ai, arm := range a.in.Arms {
			s := a.singles[metricOf{mi, ai}]
			if len(s) == 0 {
				continue
			}
			h, err := s.whole()
			if err != nil {
				return nil, errorf("latencies of %s: %w", arm.Name, err)
			}
			_, control := a.in.Controls[arm.Name]
			c := LatencyCurve{Workload: m.Workload, Metric: m.Name, Arm: arm.Name, Control: control,
				Scenario: arm.Scenario, Count: h.Count(), Points: []LatencyPoint{}}
			const first = 0.01
			last := 1 - minBeyond/float64(h.Count())
			logit := func(q float64) float64 { return math.Log(q / (1 - q)) }
			for i := range curvePoints {
				if last <= first {
					break
				}
				x := logit(first) + (logit(last)-logit(first))*float64(i)/(curvePoints-1)
				q := 1 / (1 + math.Exp(-x))
				c.Points = append(c.Points, LatencyPoint{q, h.Quantile(q) / 1e9})
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// p99 fills in the slowdown of an arm beside others by the 99th percentile of its single latencies.
func (i *Isolation) p99(all []latency) {
	for _, l := range all {
		if c := l.comparison; l.Percentile == 0.99 && c.Family == FamilyIsolation && c.Arm == i.Arm &&
			c.Workload == i.Workload {
			i.P99, i.P99Verdict = c.Ratio, c.Verdict
			i.P99Low, i.P99High = c.Ends()
		}
	}
}
