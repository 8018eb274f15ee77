package fleet

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
)

// HealthCampaign measures a machine against itself: native guests and their A/A control, at a fixed size.
//
//go:embed health.yaml
var HealthCampaign []byte

// Margins beyond which a machine is unhealthy. Intervals and standard errors count in its favour.
const (
	ControlMargin = 0.02 // by which identical guests may differ
	EarlierMargin = 0.05 // by which a machine may differ from its own check before
	GroupMargin   = 0.10 // by which it may differ from the median of the others in its group
	// groupLeast is how many others a group must have for that.
	groupLeast = 2
	// certain is how many standard errors a difference must have beyond its margin.
	certain = 2
)

// Check is what a machine's last check of health measured.
type Check struct {
	Machine string
	Group   string // "": that of its type
	// Run is the last one; Earlier is the one before, or nil.
	Run, Earlier *Run
}

// Unhealthy returns the reasons for which each machine's figures are not to be trusted, by its name. Healthy machines
// are not in it.
func Unhealthy(checks []Check) map[string][]string {
	reasons := map[string][]string{}
	for i, c := range checks {
		var why []string
		add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
		controlDiffers(c.Run.Result, add)
		mine, ok := calibrationOf(c.Run.Result)
		if !ok {
			add("no trial of its health check succeeded")
		}
		if c.Earlier != nil && ok {
			if before, ok := calibrationOf(c.Earlier.Result); ok {
				if d, differs := mine.differs(before, EarlierMargin); differs {
					add("it takes %s than in its previous check, beyond the margin of %.0f %%", slower(d), 100*EarlierMargin)
				}
			}
		}
		if ok {
			comparedToGroup(checks, i, mine, add)
		}
		for _, n := range c.Run.noise {
			if n.ID == "clocksource" || n.ID == "cpu-throttled" {
				add("%s", n.What)
			}
		}
		for _, f := range c.Run.Result.Findings {
			if f.ID == "guest-clock" {
				add("%s", f.Text)
			}
		}
		if why != nil {
			reasons[c.Machine] = why
		}
	}
	return reasons
}

// controlDiffers finds A/A controls whose interval excludes 0 by more than the margin.
func controlDiffers(r *analyze.Result, add func(string, ...any)) {
	for _, c := range r.Comparisons {
		if c.Control && c.Primary && (c.Above(1+ControlMargin) || c.Below(1/(1+ControlMargin))) {
			add("identical native guests differ on %s by %+.3g … %+.3g %%, beyond the margin of %.0f %%", c.Workload,
				100*(c.CILow-1), 100*(c.CIHigh-1), 100*ControlMargin)
		}
	}
}

// calibration is the time of a typical native trial as a logarithm, with its standard error.
type calibration struct{ log, stdErr float64 }

// calibrationOf is that of the baseline and its control together. How far the two are apart counts as error, too.
func calibrationOf(r *analyze.Result) (c calibration, ok bool) {
	var logs []float64
	for _, a := range r.Arms {
		for _, m := range a.Metrics {
			if a.System != "native" || m.Name != "time" || m.N < 2 || m.P25 <= 0 {
				continue
			}
			logs = append(logs, math.Log(m.Median))
			// The standard error of the median of normal values, from their quartiles.
			c.stdErr = max(c.stdErr, 1.2533*math.Log(m.P75/m.P25)/1.349/math.Sqrt(float64(m.N)))
		}
	}
	if logs == nil {
		return c, false
	}
	low, high := slices.Min(logs), slices.Max(logs)
	return calibration{(low + high) / 2, math.Hypot(c.stdErr, (high-low)/2)}, true
}

// differs returns by which logarithm a machine is slower, and whether that is beyond the margin, and certainly so.
func (c calibration) differs(other calibration, margin float64) (by float64, yes bool) {
	by = c.log - other.log
	return by, math.Abs(by)-certain*math.Hypot(c.stdErr, other.stdErr) > math.Log1p(margin)
}

func slower(log float64) string {
	if log < 0 {
		return fmt.Sprintf("%.3g %% less time", 100*(1-math.Exp(log)))
	}
	return fmt.Sprintf("%.3g %% more time", 100*math.Expm1(log))
}

// comparedToGroup finds a machine that is faster or slower than the others of its group.
func comparedToGroup(checks []Check, i int, mine calibration, add func(string, ...any)) {
	var others []calibration
	for j, o := range checks {
		if c, ok := calibrationOf(o.Run.Result); j != i && ok && groupOf(o) == groupOf(checks[i]) {
			others = append(others, c)
		}
	}
	if len(others) < groupLeast {
		return
	}
	slices.SortFunc(others, func(a, b calibration) int { return int(math.Copysign(1, a.log-b.log)) })
	// With an even number, the one of the two in the middle that is nearer, in the machine's favour.
	middle := others[len(others)/2]
	if low := others[(len(others)-1)/2]; math.Abs(mine.log-low.log) < math.Abs(mine.log-middle.log) {
		middle = low
	}
	if d, differs := mine.differs(middle, GroupMargin); differs {
		add("it takes %s than the %d others of its group, beyond the margin of %.0f %%", slower(d), len(others),
			100*GroupMargin)
	}
}

func groupOf(c Check) string {
	return cmp.Or(c.Group, c.Run.Type)
}
