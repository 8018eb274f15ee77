// Package compare says what changed between runs of one campaign: at two
// times, with two versions of something, or on two machines. Two things are
// compared, apart: the baseline's own figure, which says whether the machine
// is the same, and what each arm costs against the baseline of its own run,
// which is what a change of hypervisor, kernel or setting shows in.
//
// The runs are independent samples, so changes are differences of means of
// logarithms with Welch's interval. What is independent within a run is as in
// package analyze: incarnations of guests from three on, blocks before that.
// As there, a change is claimed only where its p-value, adjusted for all
// claims of the comparison (Holm), is below alpha and the change is outside of
// the noise floor of both runs.
package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/stats"
)

// Verdict is what may be said of a change.
type Verdict string

const (
	Worse       Verdict = "worse"
	Better      Verdict = "better"
	Same        Verdict = "same-within-delta" // no claim of a change, and the interval lies inside ± delta
	NotResolved Verdict = "not-resolved"      // anything else; it is no evidence of sameness
)

// Kind is what a change is of.
type Kind string

const (
	Native   Kind = "native"   // the baseline's own figure
	Overhead Kind = "overhead" // what an arm costs against its baseline, of its run and in its company
)

// Change is one figure in two runs.
type Change struct {
	Run      string `json:"run"` // compared with the first one
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	Better   string `json:"better"`
	Primary  bool   `json:"primary"`
	Kind     Kind   `json:"kind"`
	Arm      string `json:"arm"`

	// Before and After are geometric means in Unit, or ratios to the baseline.
	Before  float64 `json:"before,omitzero"`
	After   float64 `json:"after,omitzero"`
	NBefore int     `json:"n_before"` // independent values behind it
	NAfter  int     `json:"n_after"`

	// Ratio above 1 always means "worse than before", whatever is better for
	// the metric; with its interval. Absent (0) where there is none.
	Ratio         float64 `json:"ratio,omitzero"`
	CILow         float64 `json:"ci_low,omitzero"`
	CIHigh        float64 `json:"ci_high,omitzero"`
	ChangePercent float64 `json:"change_percent"` // 100*(Ratio-1)
	P             float64 `json:"p_value"`
	PHolm         float64 `json:"p_holm"`
	NoisePercent  float64 `json:"noise_floor_percent,omitzero"` // the larger of both runs'
	Verdict       Verdict `json:"verdict"`
	Why           string  `json:"why,omitempty"` // nothing is claimed
	ln            stats.Interval
	claimable     bool
}

// Comparison is what changed from the first run to each of the others.
type Comparison struct {
	First       string       `json:"first"`
	Alpha       float64      `json:"alpha"`
	Delta       float64      `json:"delta"`
	Changes     []Change     `json:"changes"`
	Differences []Difference `json:"differences"`
}

// Difference is something that is not the same in two runs, other than figures.
type Difference struct {
	Run    string `json:"run"`
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Runs compares each run with the first. Without all, only the primary metric
// of each workload is looked at, as the table of a run does.
func Runs(runs []*Run, all bool) (*Comparison, error) {
	if len(runs) < 2 {
		return nil, fault.Campaignf("a comparison needs two runs")
	}
	c := &Comparison{First: runs[0].Name, Alpha: runs[0].Result.Alpha, Delta: runs[0].Result.Delta, Changes: []Change{}, Differences: []Difference{}}
	for _, after := range runs[1:] {
		if err := c.add(runs[0], after, all); err != nil {
			return nil, err
		}
		c.Differences = append(c.Differences, differences(runs[0], after)...)
	}
	if len(c.Changes) == 0 {
		return nil, fault.WithRemedy(fault.Campaignf("%s and the others have no workload and metric in common", runs[0].Name), "compare runs of one campaign")
	}
	return c, c.judge()
}

func (c *Comparison) add(before, after *Run, all bool) error {
	for _, m := range before.metrics {
		i := slices.IndexFunc(after.metrics, func(n analyze.Metric) bool {
			return n.Workload == m.Workload && n.Name == m.Name && n.Unit == m.Unit && n.Better == m.Better
		})
		if i < 0 || !all && !m.Primary {
			continue
		}
		base := Change{Run: after.Name, Workload: m.Workload, Metric: m.Name, Unit: m.Unit, Better: m.Better, Primary: m.Primary, P: 1, PHolm: 1, Verdict: NotResolved}
		for _, arm := range before.arms {
			if before.controls[arm] || after.controls[arm] || arm != before.Result.Baseline && !slices.Contains(after.arms, arm) {
				continue
			}
			ch := base
			ch.Kind, ch.Arm = Overhead, arm
			x, y := before.overhead(m, arm), after.overhead(m, arm)
			if arm == before.of[arm].Baseline {
				ch.Kind = Native
				x, y = before.native(m, arm), after.native(m, after.of[arm].Baseline)
				switch {
				case before.Result.Baseline != after.Result.Baseline:
					ch.Why = fmt.Sprintf("the baseline is another: %s", after.Result.Baseline)
				case before.sizes[m.Workload] != after.sizes[m.Workload] && absolute(m.Unit):
					ch.Why = fmt.Sprintf("trials are of another size: %d, then %d", before.sizes[m.Workload], after.sizes[m.Workload])
				}
			}
			if err := c.change(&ch, before, after, x, y); err != nil {
				return err
			}
		}
	}
	return nil
}

// absolute reports whether values of a unit grow with the work of a trial.
func absolute(unit string) bool { return unit == "s" || unit == "ns" || unit == "B" }

// change estimates ch from the independent logarithms of two runs, and adds it.
func (c *Comparison) change(ch *Change, before, after *Run, x, y []float64) error {
	ch.NBefore, ch.NAfter = len(x), len(y)
	if len(x)+len(y) == 0 {
		return nil // neither run has it
	}
	defer func() { c.Changes = append(c.Changes, *ch) }()
	ch.Before, ch.After = geometric(x), geometric(y)
	doubt := first(before.doubt(ch), after.doubt(ch))
	floorBefore, floorAfter := before.floor(ch), after.floor(ch)
	ch.NoisePercent = max(floorBefore, floorAfter)
	switch {
	case ch.Why != "":
		return nil
	case len(x) == 0 || len(y) == 0:
		ch.Why = "no values in one of the runs"
		return nil
	case len(x) == 1 || len(y) == 1:
		ch.Why = "one value says nothing"
		return nil
	case doubt != "":
		ch.Why = doubt
	case floorBefore == 0 || floorAfter == 0:
		ch.Why = "noise unknown"
	}
	iv, err := stats.Welch(y, x, c.Alpha)
	if err != nil {
		return fmt.Errorf("compare: %s %s of %s: %w", ch.Workload, ch.Metric, ch.Arm, err)
	}
	// Logarithms of overheads are turned already: above 0 costs more.
	if ch.Kind == Native && ch.Better == "higher" {
		iv.Estimate, iv.Low, iv.High = -iv.Estimate, -iv.High, -iv.Low
	}
	ch.ln, ch.claimable = iv, ch.Why == ""
	e := iv.Exp()
	ch.Ratio, ch.CILow, ch.CIHigh, ch.P = e.Estimate, e.Low, e.High, iv.P
	ch.ChangePercent = min(100*math.Expm1(iv.Estimate), math.MaxFloat64)
	return nil
}

// judge sets the verdicts; all changes that can be claimed are one family.
func (c *Comparison) judge() error {
	var p []float64
	var family []*Change
	for i := range c.Changes {
		if ch := &c.Changes[i]; ch.claimable {
			p, family = append(p, ch.P), append(family, ch)
		}
	}
	adjusted, err := stats.Holm(p)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for i, ch := range family {
		ch.PHolm = adjusted[i]
		outside := math.Abs(ch.ln.Estimate) > math.Log1p(ch.NoisePercent/100)
		switch {
		case ch.PHolm < c.Alpha && outside && ch.ln.Low > 0:
			ch.Verdict = Worse
		case ch.PHolm < c.Alpha && outside && ch.ln.High < 0:
			ch.Verdict = Better
		case stats.Equivalent(ch.ln, c.Delta):
			ch.Verdict = Same
		case !outside:
			ch.Why = fmt.Sprintf("less than the noise of %s %%", report.Digits(ch.NoisePercent, 2))
		}
	}
	return nil
}

// Above returns the changes for the worse of more than a fraction: what is
// claimed, and whose estimate is above it.
func (c *Comparison) Above(fraction float64) []Change {
	var out []Change
	for _, ch := range c.Changes {
		if ch.Verdict == Worse && ch.Ratio > 1+fraction {
			out = append(out, ch)
		}
	}
	return out
}

func geometric(ln []float64) float64 {
	if len(ln) == 0 {
		return 0
	}
	var sum float64
	for _, v := range ln {
		sum += v / float64(len(ln))
	}
	return min(math.Exp(sum), math.MaxFloat64)
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
