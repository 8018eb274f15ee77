package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/stats"
)

// pairing is the comparison of two sides while it is computed.
type pairing struct {
	before, after Side
	alpha, delta  float64
	all           bool
	placebos      map[group]stats.Placebo
	fewGuests     bool // of a run whose own interval was used
}

// group identifies the overheads that share a placebo: those of one class of metrics
// in one scenario, as in package analyze.
type group struct {
	scenario string
	primary  bool
	measured string // CPU time or energy, which tare measures from outside; "": a metric of the workload
}

// groupOf is the group of a comparison of r.
func groupOf(r *Run, c analyze.Comparison) group {
	g := group{scenario: r.arms[c.Arm].Scenario, primary: c.Primary}
	if c.Metric == analyze.CPUTime || c.Metric == analyze.CPUTimeAtOnce || c.Metric == analyze.Energy {
		g.measured = c.Metric
	}
	return g
}

// against compares the two sides.
func (p *pairing) against() (Against, error) {
	a := Against{Name: p.after.Name, Runs: p.after.names(), Scope: TheseRuns, Changes: []Change{}, Baselines: []Change{}}
	a.Differences = p.differences()
	if err := p.findPlacebos(); err != nil {
		return a, err
	}
	done := map[analyze.CostOf]bool{} // of baselines
	for _, c := range p.before.Runs[0].Result.Comparisons {
		if c.Control || !p.all && !c.Primary {
			continue
		}
		if base := (analyze.CostOf{Workload: c.Workload, Metric: c.Metric, Arm: c.Baseline}); !done[base] {
			done[base] = true
			ch, ok, err := p.baseline(c)
			if err != nil {
				return a, err
			}
			if ok {
				a.Baselines = append(a.Baselines, ch)
			}
		}
		ch, ok, err := p.overhead(c)
		if err != nil {
			return a, err
		}
		if ok {
			a.Changes = append(a.Changes, ch)
		}
		if ch.Scope == System {
			a.Scope = System
		}
	}
	a.FewGuests = p.fewGuests
	return a, nil
}

func start(c analyze.Comparison) Change {
	return Change{Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, Primary: c.Primary,
		Family: c.Family, Arm: c.Arm,
		Test: claim.Untested(), Phi: 1, Verdict: NotCompared}
}

// overhead compares what an arm costs against the baselines of its runs; ok is false
// if the other side does not have the arm or the metric.
func (p *pairing) overhead(c analyze.Comparison) (ch Change, ok bool, err error) {
	ch = start(c)
	before, after := p.before.figures(c.Of()), p.after.figures(c.Of())
	if !p.after.has(c.Arm) || !p.after.measures(c) {
		return ch, false, nil
	}
	ch.Before, ch.After = typical(before), typical(after)
	if len(before) == 0 || len(after) == 0 {
		ch.Why = "one side has no values"
		return ch, true, nil
	}
	if was, is := before[0].against(), after[0].against(); was != is {
		ch.Why = fmt.Sprintf("the baseline is another system: %s, then %s", was, is)
		return ch, true, nil
	}
	if _, ch.Why = p.perUnit(c.Workload, c.Metric); ch.Why != "" {
		return ch, true, nil
	}
	iv, overRuns, err := p.estimate(&ch, before, after)
	if err != nil {
		return ch, true, err
	}
	guarded := true
	if !overRuns {
		if iv, err = p.within(&ch, before, after); err != nil || ch.Why != "" {
			return ch, true, err
		}
		placebo := p.placebo(groupOf(p.before.Runs[0], c))
		iv, ch.Phi, guarded = placebo.Widen(iv, p.alpha), placebo.Phi(), placebo.W > 0
	}
	ch.Verdict = NotResolved
	switch ch.Why = doubt(slices.Concat(before, after)); {
	case ch.Why != "":
	case iv.Degenerate:
		ch.Why = "the runs of each side agree to the last digit"
	case !guarded:
		ch.Why = "the controls have too few blocks to show how much varies without a change"
	}
	ch.claimable = ch.Why == ""
	return ch, true, ch.set(iv, p.delta)
}

// measures reports whether any run of the side has the metric of c.
func (s Side) measures(c analyze.Comparison) bool {
	return slices.ContainsFunc(s.Runs, func(r *Run) bool {
		return slices.ContainsFunc(r.Result.Comparisons, func(d analyze.Comparison) bool {
			return d.Workload == c.Workload && d.Metric == c.Metric && d.Unit == c.Unit && d.Better == c.Better
		})
	})
}

// figure is what one run found about an overhead.
type figure struct {
	analyze.Comparison
	run *Run
	// own holds the parts of the interval without the run's placebo inflation.
	own stats.Interval
}

// against is the system of the baseline.
func (f figure) against() string { return f.run.arms[f.Baseline].System }

// figures returns the figures of the runs that have one.
func (s Side) figures(of analyze.CostOf) []figure {
	var list []figure
	for _, r := range s.Runs {
		if c, ok := r.comparisons[of]; ok && c.Ratio > 0 {
			f := figure{Comparison: c, run: r}
			f.own = stats.Interval{Estimate: math.Log(c.Ratio), N: c.Units, DF: float64(c.Units - 1)}
			if c.Phi > 0 {
				f.own.StdErr = c.StdErr / c.Phi
			}
			list = append(list, f)
		}
	}
	return list
}

// typical is the geometric mean of the runs' estimates; 0 if there are none.
func typical(of []figure) float64 {
	if len(of) == 0 {
		return 0
	}
	return claim.Alone(stats.Mean(estimates(of))).Ratio
}

// estimate finds the scope of a change and, if there are enough runs, its interval
// over boots or runs; else ok is false.
func (p *pairing) estimate(ch *Change, before, after []figure) (iv stats.Interval, ok bool, err error) {
	ch.Scope = TheseRuns
	x, y := byBoot(before), byBoot(after)
	switch {
	case len(x) >= fewest && len(y) >= fewest:
		ch.Scope = System
	case len(before) >= fewest && len(after) >= fewest:
		x, y = estimates(before), estimates(after)
	default:
		if rounds(before) && rounds(after) {
			ch.Scope = System
		}
		return iv, false, nil
	}
	ch.NBefore, ch.NAfter = len(x), len(y)
	iv, err = stats.Welch(y, x, p.alpha)
	return iv, true, err
}

// within is the interval from the variation within the runs, without placebo
// inflation; or it says in ch.Why why there is none.
func (p *pairing) within(ch *Change, before, after []figure) (stats.Interval, error) {
	for _, f := range slices.Concat(before, after) {
		if f.Units < minUnits {
			ch.Why = fmt.Sprintf("%s has too few blocks", f.run.Name)
			return stats.Interval{}, nil
		}
		p.fewGuests = p.fewGuests || f.Scope == analyze.ScopeTheseGuests
		if !f.HasControl && !f.Control {
			ch.Why = fmt.Sprintf("%s has no control to show how much varies without a change", f.run.Name)
			return stats.Interval{}, nil
		}
	}
	var parts []stats.Interval
	var weights []float64
	add := func(of []figure, sign float64) (n int) {
		for _, f := range of {
			parts, weights = append(parts, f.own), append(weights, sign/float64(len(of)))
			n += f.Units
		}
		return n
	}
	ch.NBefore, ch.NAfter = add(before, -1), add(after, 1)
	return stats.Contrast(parts, weights, p.alpha)
}

// byBoot returns the mean estimate of the runs of each boot of the host.
func byBoot(of []figure) []float64 {
	var groups [][]figure
	for _, f := range of {
		i := slices.IndexFunc(groups, func(g []figure) bool {
			return slices.ContainsFunc(g, func(other figure) bool { return shares(other.run.boots, f.run.boots) })
		})
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], f)
	}
	var means []float64
	for _, g := range groups {
		means = append(means, stats.Mean(estimates(g)))
	}
	return means
}

// estimates are those of the runs, which are logarithms.
func estimates(of []figure) []float64 {
	var values []float64
	for _, f := range of {
		values = append(values, f.own.Estimate)
	}
	return values
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// rounds reports whether the units of each of the runs are boots of the host.
func rounds(of []figure) bool {
	return !slices.ContainsFunc(of, func(f figure) bool { return !f.run.rounds || f.Scope != analyze.ScopeGuests })
}

// findPlacebos finds how much the contrasts of the controls changed between the
// sides, or within the runs if that is more. The former alone has few values, and
// leads to twice as many false claims that are due to single guests.
func (p *pairing) findPlacebos() error {
	between, within := map[group][]stats.Interval{}, map[group][]stats.Interval{}
	for _, c := range p.before.Runs[0].Result.Comparisons {
		before, after := p.before.figures(c.Of()), p.after.figures(c.Of())
		if !c.Control || len(before) == 0 || len(after) == 0 {
			continue
		}
		if _, why := p.perUnit(c.Workload, c.Metric); why != "" {
			continue
		}
		var ch Change
		iv, err := p.within(&ch, before, after)
		if err != nil {
			return err
		}
		if ch.Why != "" {
			continue
		}
		g := groupOf(p.before.Runs[0], c)
		between[g] = append(between[g], iv)
		for _, f := range slices.Concat(before, after) {
			within[g] = append(within[g], f.own)
		}
	}
	p.placebos = map[group]stats.Placebo{}
	for g, of := range between {
		p.placebos[g] = stats.NewPlacebo(of)
		if w := stats.NewPlacebo(within[g]); w.Phi2 > p.placebos[g].Phi2 {
			p.placebos[g] = w
		}
	}
	return nil
}

// placebo is that of a group; without any, nothing is widened.
func (p *pairing) placebo(g group) stats.Placebo {
	if of, ok := p.placebos[g]; ok {
		return of
	}
	return stats.NewPlacebo(nil)
}

// doubt says why nothing may be claimed from these figures; "" if it may.
func doubt(of []figure) string {
	for _, f := range of {
		if f.Family == analyze.FamilyEmulated {
			return "emulated: its times say nothing about real hardware"
		}
		if f.Coarse {
			return fmt.Sprintf("in %s the metric's step is coarser than its noise", f.run.Name)
		}
		for _, found := range report.Doubts(f.run.Result, f.Comparison) {
			return fmt.Sprintf("a serious finding in %s: %s", f.run.Name, found.ID)
		}
	}
	return ""
}

// baseline compares a baseline's own figures. One or two runs per side say nothing
// about the machine, whose clock rate, temperature and memory layout change from run
// to run. No placebo covers that, so the figures are only shown.
func (p *pairing) baseline(c analyze.Comparison) (ch Change, ok bool, err error) {
	ch = start(c)
	ch.Arm, ch.Family, ch.Scope = c.Baseline, analyze.FamilyBaseline, TheseRuns
	perUnit, why := p.perUnit(c.Workload, c.Metric)
	size := p.size(c.Workload)
	work := 0.0
	if perUnit {
		work, ch.Per = float64(size.Size), fmt.Sprintf("%d %s", size.Size, unitOf(size.Unit))
	}
	before, after := p.before.levels(c, work), p.after.levels(c, work)
	if len(before) == 0 || len(after) == 0 {
		return ch, false, nil
	}
	ch.Before, ch.After = typical(before), typical(after)
	if ch.Why = why; why != "" {
		return ch, true, nil
	}
	turn := 1.0
	if c.Better == "higher" {
		turn = -1
	}
	ch.Verdict = Shown
	for _, list := range [][]figure{before, after} {
		for i := range list {
			list[i].own.Estimate *= turn
		}
	}
	iv, ok, err := p.estimate(&ch, before, after)
	if err != nil {
		return ch, true, err
	}
	if !ok {
		ln := math.Log(typical(after)) - math.Log(typical(before))
		ch.Estimate, ch.ChangePercent = claim.Alone(ln), claim.Percent(ln)
		return ch, true, nil
	}
	ch.Verdict, ch.claimable = NotResolved, !iv.Degenerate
	return ch, true, ch.set(iv, p.delta)
}

// levels are the medians of a baseline in each run; above 0, work is the size that
// they are scaled to.
func (s Side) levels(c analyze.Comparison, work float64) []figure {
	var list []figure
	for _, r := range s.Runs {
		m := r.Result.Arm(c.Baseline, c.Workload).Metric(c.Metric)
		if m == nil || !(m.Median > 0) {
			continue
		}
		v := math.Log(m.Median)
		if size := float64(r.sizes[c.Workload].Size); work > 0 && size > 0 {
			v += math.Log(work / size)
		} else if work > 0 {
			continue
		}
		list = append(list, figure{run: r, own: stats.Interval{Estimate: v}})
	}
	return list
}
