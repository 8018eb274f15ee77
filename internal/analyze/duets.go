package analyze

import (
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/stats"
)

// CPUTimeAtOnce is the metric of duets: the seconds of CPU that the whole control group of the guest took while the
// other arms ran the same work at once on the same CPUs. Its blocks are others than those of the other metrics.
const CPUTimeAtOnce = "cpu-time-at-once"

// addDuets makes a metric of the CPU time in duets.
func (a *analysis) addDuets() error {
	a.atOnce = len(a.in.Metrics)
	duets, err := load(a.in.Duets, len(a.in.Probes), len(a.in.Arms))
	if err != nil {
		return err
	}
	for pi, p := range a.in.Probes {
		a.addMetric(p.Workload, CPUTimeAtOnce, "s", duets.ofArms(pi))
	}
	return nil
}

// duetDiffers is the kind of finding about a duet that says another cost than trials alone.
const duetDiffers = "duet-differs"

// overrule looks for duets that say another cost in CPU time than trials alone, by more than chance explains: the
// company itself costs one of the arms more than the others. Nothing is then claimed of the duets.
func (a *analysis) overrule() error {
	type pair struct {
		duet, solo *comparison
		iv         stats.Interval
	}
	var pairs []pair
	for _, c := range a.comparisons {
		if c.class != FamilyAtOnce || c.Control || !a.testable(c) {
			continue
		}
		i := slices.IndexFunc(a.comparisons, func(s *comparison) bool {
			return s.Metric == CPUTime && s.Workload == c.Workload && s.Arm == c.Arm && s.Baseline == c.Baseline
		})
		if i < 0 || !a.testable(a.comparisons[i]) {
			continue
		}
		s := a.comparisons[i]
		iv, err := stats.Contrast([]stats.Interval{c.est.Interval, s.est.Interval}, []float64{1, -1}, a.in.Alpha)
		if err != nil {
			return errorf("%s %s of %s: %w", c.Workload, c.Metric, c.Arm, err)
		}
		pairs = append(pairs, pair{c, s, iv})
	}
	adjusted, err := claim.Adjusted(pairs, func(p pair) float64 { return p.iv.P })
	if err != nil {
		return err
	}
	for i, of := range pairs {
		if adjusted[i] >= findingAlpha {
			continue
		}
		of.duet.Verdict, of.duet.Overruled = NotResolved, true
		f := of.duet.about("at once with the others it costs %s, alone %s of CPU time: the difference of %+.3g %% "+
			"(%+.3g … %+.3g %%) is not chance (p = %.2g); the figure alone counts", a.interval(of.duet), a.interval(of.solo),
			claim.Percent(of.iv.Estimate), claim.Percent(of.iv.Low), claim.Percent(of.iv.High), adjusted[i])
		f.Score = math.Abs(of.iv.Estimate)
		a.overruled = append(a.overruled, f)
	}
	return nil
}

func findDuetDiffers(a *analysis) []Finding { return a.overruled }
