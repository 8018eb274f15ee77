package analyze

import (
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
)

// comparison is a Comparison with what the rules and verdicts need of it.
type comparison struct {
	Comparison
	metric, arm, base int    // indices
	class             Family // of the metric: primary, CPU time, CPU time at once, energy or secondary
	rows              []row
	columns           []column // of the rows
	est               estimate
	tested            bool // est has an interval
	notPositive       bool // a value ≤ 0: no ratio exists
}

// compare starts the comparison of an arm with another one by one metric.
func (a *analysis) compare(metric, arm int, base string, control bool) *comparison {
	m, of := a.in.Metrics[metric], a.in.Arms[arm]
	c := &comparison{metric: metric, arm: arm, base: a.arms[base], class: a.class(metric)}
	c.Comparison = unresolved(m, of.Name)
	c.Baseline, c.Control, c.Across = base, control, of.Scenario != a.in.Arms[c.base].Scenario
	if !control && of.Alone != base {
		c.BaselineControl = a.controlOf(base, metric)
	}
	c.Family = a.family(c)
	a.join(c)
	return c
}

// unresolved is a comparison about which nothing is known yet.
func unresolved(m dataset.Metric, arm string) Comparison {
	return Comparison{
		Workload: m.Workload, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary, Arm: arm,
		Test: claim.Untested(), Phi: 1, Verdict: NotResolved, Findings: []string{},
	}
}

// class is what kind of a metric it is.
func (a *analysis) class(metric int) Family {
	switch {
	case metric >= a.energy:
		return FamilyEnergy
	case metric >= a.atOnce:
		return FamilyAtOnce
	case metric >= a.cpuTime:
		return FamilyCPUTime
	case a.in.Metrics[metric].Primary:
		return FamilyPrimary
	}
	return FamilySecondary
}

// measured reports whether tare measured the metric from outside, beside those of the workload.
func (c *comparison) measured() bool {
	return c.class == FamilyCPUTime || c.class == FamilyAtOnce || c.class == FamilyEnergy
}

// family is where the comparison of an arm with its baseline belongs.
func (a *analysis) family(c *comparison) Family {
	switch arm := a.in.Arms[c.arm]; {
	case c.Control:
		return FamilyControl
	case arm.Emulated || a.in.Arms[c.base].Emulated:
		return FamilyEmulated
	case arm.Scenario != a.first():
		return FamilyBeside
	}
	return c.class
}

// first is the scenario that the run's baseline is in.
func (a *analysis) first() string { return a.in.Arms[a.arms[a.in.Baseline]].Scenario }

// controlOf is the first control of a baseline that has values of the metric,
// none of which is without a logarithm.
func (a *analysis) controlOf(base string, metric int) string {
	for ai, arm := range a.in.Arms {
		if s := a.metrics.at(metric, ai); a.in.Controls[arm.Name] == base && len(s) > 0 && s.positive() {
			return arm.Name
		}
	}
	return ""
}

// column is one side of a comparison. Of a mix of flavors against the same arm
// alone only guests of its own flavor do what that does.
func (a *analysis) column(metric, arm int, against string) column {
	s := a.metrics.at(metric, arm)
	if of := a.in.Arms[arm]; of.Alone == against && against != "" && !of.Uniform() {
		s = s.of(func(m int32) bool { return int(m) < len(of.Members) && of.Members[m].Flavor == of.Flavor })
		return column{s.logMeans(), []series{s}}
	}
	return column{a.metrics.logs(metric, arm), []series{s}}
}

// join fills in the rows of a comparison.
func (a *analysis) join(c *comparison) {
	if !a.metrics.at(c.metric, c.base).positive() || !a.metrics.at(c.metric, c.arm).positive() {
		c.notPositive = true
		return
	}
	x, y, control := a.column(c.metric, c.arm, c.Baseline), a.column(c.metric, c.base, ""), column{}
	if c.BaselineControl != "" {
		control = a.column(c.metric, a.arms[c.BaselineControl], "")
	}
	c.columns = []column{x, y, control}
	c.rows = rowsOf(x, y, control, c.Better)
	c.N = len(c.rows)
	if c.class != FamilyAtOnce { // the blocks of duets are others
		c.Dropped = a.dropped(c, x, y)
	}
}

// dropped counts the blocks that are left out as one side has a value and the
// other failed. An arm that took no part is no such thing: costly ones are not
// in every block.
func (a *analysis) dropped(c *comparison, x, y column) (n int) {
	for f := range a.failed {
		if f.workload != c.Workload || slices.ContainsFunc(c.rows, func(r row) bool { return int(r.block) == f.block }) {
			continue
		}
		if f.arm == c.Arm && y.logs.has(f.block) || f.arm == c.Baseline && x.logs.has(f.block) {
			n++
		}
	}
	return n
}

// pointers to the elements of a list, which Adjust changes.
func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
