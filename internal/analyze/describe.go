package analyze

import (
	"math"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// describe fills in min, mean, max and spread of both sides.
func (a *analysis) describe(c *comparison) {
	base := a.summary(c.metric, c.base)
	arm := a.summary(c.metric, c.arm)
	c.BaselineMin, c.BaselineMean, c.BaselineMax, c.BaselineSpread = base.Min, base.Mean, base.Max, base.Spread
	c.ArmMin, c.ArmMean, c.ArmMax, c.ArmSpread = arm.Min, arm.Mean, arm.Max, arm.Spread
	c.Spread = max(base.Spread, arm.Spread)
	c.Wide = base.Wide || arm.Wide
}

// summarize describes every metric of every arm.
func (a *analysis) summarize() {
	a.summaries = make([]SeriesSummary, len(a.metrics.series))
	for i, s := range a.metrics.series {
		m := a.in.Metrics[i/len(a.in.Arms)]
		sum := s.summarize(m.Name, m.Unit)
		if arm := a.in.Arms[i%len(a.in.Arms)]; arm.Uniform() {
			sum.Wide = sum.wide(a.in.SpreadLimit)
		} else {
			// That guests of different flavors differ is what a mix is made for.
			sum.Spread, sum.Parts = 0, map[string]SeriesSummary{}
			for _, member := range arm.Members {
				if _, done := sum.Parts[member.Flavor]; done {
					continue
				}
				like := func(n int32) bool { return int(n) < len(arm.Members) && arm.Members[n].Flavor == member.Flavor }
				one := s.of(like).summarize(m.Name, m.Unit)
				one.Wide = one.wide(a.in.SpreadLimit)
				sum.Parts[member.Flavor] = one
				sum.Spread, sum.Wide = max(sum.Spread, one.Spread), sum.Wide || one.Wide
			}
		}
		a.summaries[i] = sum
	}
}

// wide reports whether the 95th percentile is more than limit times the 5th.
func (s SeriesSummary) wide(limit float64) bool { return s.P5 > 0 && s.P95 > limit*s.P5 }

func (a *analysis) summary(metric, arm int) SeriesSummary {
	return a.summaries[metric*len(a.in.Arms)+arm]
}

// trialSpread pools the A/A pairs of each metric and scenario.
func (a *analysis) trialSpread() ([]TrialSpread, error) {
	out := []TrialSpread{}
	for _, scenario := range a.scenarios() {
		for mi, m := range a.in.Metrics {
			var d []float64
			for _, c := range a.comparisons {
				if c.Control && c.metric == mi && a.in.Arms[c.arm].Scenario == scenario {
					for _, r := range c.rows {
						d = append(d, math.Abs(r.d()))
					}
				}
			}
			if len(d) == 0 {
				continue
			}
			q, err := stats.Quantile(d, 0.95)
			if err != nil {
				return nil, errorf("spread of trials: %w", err)
			}
			out = append(out, TrialSpread{m.Workload, m.Name, scenario, claim.Percent(q), len(d)})
		}
	}
	return out, nil
}

// armResults describes every arm on every workload for which there are values.
func (a *analysis) armResults() []ArmResult {
	out := []ArmResult{}
	for _, w := range a.workloads() {
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
