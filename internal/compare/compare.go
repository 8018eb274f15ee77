// Package compare says what changed between runs of one campaign: at two
// times, with two versions of something, or on two machines. What is compared
// is what each arm costs against the baseline of its own run, so that a machine
// that is slower on Tuesday changes nothing. The baselines' own figures are told
// beside it: they say whether the machine is the same.
//
// # What may be claimed
//
// A run's estimate is package analyze's: Student's t over the locations of its
// incarnations of guests. With one run a side, the difference of two such
// estimates has Welch's interval over their units, widened by a placebo: by how
// the contrasts of the controls, which are the same thing as their baselines,
// changed between the runs (φ of stats.Placebo). Such an interval speaks of
// these runs: "these runs differ". What a boot of the host draws, such as the
// layout of memory, is the same for all that a run measures, and no placebo
// shows it for an arm. "The system changed" is said with three boots a side or
// more, when the independent values are those boots, and Student's t goes over
// them. With three runs a side of fewer boots it goes over the runs, and speaks
// of these. Two runs a side are averaged, with the intervals of one.
//
// Hypotheses are adjusted for their number (Holm) by the families of package
// analyze. Sameness within ± delta is claimed by the two one-sided tests alone.
//
// # Measured
//
// By the simulations in sim_test.go: 7 workloads with 2 arms each, 40 blocks of
// CV 3 %, and in the columns on the right one overhead of the 14 that is larger.
// A false claim is any at all in a comparison, "the runs differ" or "the system
// changed", where nothing but luck is another.
//
//	guests                            a side   false claims  coverage  finds 3 %   5 %
//	8 incarnations, alike             1 run            .044      .964        .44   .93
//	8 incarnations, sd 1 %            1 run            .014      .968        .27   .77
//	8, sd 1 %, shared by workloads    1 run            .030      .963        .26   .70
//	8 incarnations, sd 2 %            1 run            .020      .966        .10   .33
//	8 incarnations, sd 1 %            2 runs           .033      .965        .63   .99
//	1 incarnation, alike              1 run            .046      .961        .50   .96
//	1 incarnation, sd 1 %             1 run            .088      .943        .08   .22
//	1, sd 1 %, shared by workloads    1 run            .152      .885        .16   .37
//	8, sd 1 %, and boots sd 1 %       1 run            .396      .818        .34   .68
//	8, sd 1 %, and boots sd 1 %       3 boots          .020      .963        .04   .19
//	8, sd 1 %, and boots sd 1 %       5 boots          .053      .950        .38   .86
//	8, sd 1 %, and boots sd 0.3 %     3 boots          .010      .961        .18   .51
//	8, sd 1 %, and boots sd 0.3 %     5 boots          .040      .953        .81   .98
//
// (500 comparisons of one run a side, 300 of more.) What is claimed of one run a
// side may be the luck of single guests or of a boot, which is why it is said of
// these runs alone.
package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/stats"
)

// Verdict is what may be said of a change.
type Verdict string

const (
	Worse       Verdict = "worse"
	Better      Verdict = "better"
	Same        Verdict = "same-within-delta" // no claim of a change, and surely inside ± delta
	NotResolved Verdict = "not-resolved"      // there is an interval, and nothing is claimed; no evidence of sameness
	NotCompared Verdict = "not-compared"      // the figures are not of the same thing, or there is none
	// Shown: a baseline's own figures, of too few runs to say anything of the machine.
	Shown Verdict = "shown"
)

// Scope is what a claim speaks of.
type Scope string

const (
	TheseRuns Scope = "these-runs" // other runs of the same systems may differ as much
	System    Scope = "system"     // the systems changed, or what they run on
)

const (
	// fewest is how many boots a side a claim of the system needs, and how many
	// runs a side Student's t goes over.
	fewest = 3
	// minUnits is how many independent values a run must have for an interval.
	minUnits = 3
)

// Side is one or several runs of the same thing.
type Side struct {
	Name string
	Runs []*Run
}

// Alone makes a side of each run.
func Alone(runs ...*Run) []Side {
	var sides []Side
	for _, r := range runs {
		sides = append(sides, Side{r.Name, []*Run{r}})
	}
	return sides
}

// Change is one figure on two sides.
type Change struct {
	Workload string         `json:"workload"`
	Metric   string         `json:"metric"`
	Unit     string         `json:"unit"`
	Better   string         `json:"better"`
	Primary  bool           `json:"primary"`
	Family   analyze.Family `json:"family"` // the hypotheses among which P is adjusted
	Arm      string         `json:"arm"`    // of an overhead; of a baseline's own figure, the baseline

	// Before and After are ratios to the baseline, above 1 costs more; or a
	// baseline's typical value in Unit, where sizes differ for the work Per.
	Before  float64 `json:"before,omitzero"`
	After   float64 `json:"after,omitzero"`
	Per     string  `json:"per,omitempty"`
	NBefore int     `json:"n_before"` // independent values behind the interval
	NAfter  int     `json:"n_after"`

	// Ratio above 1 always means "worse than before", whatever is better for
	// the metric; with its interval, where there is one.
	Ratio         float64 `json:"ratio,omitzero"`
	CILow         float64 `json:"ci_low,omitzero"`
	CIHigh        float64 `json:"ci_high,omitzero"`
	ChangePercent float64 `json:"change_percent"` // 100*(Ratio-1)
	// FartherPercent is the end of the interval that is farther from 0: "at most +7.6 %".
	FartherPercent   float64 `json:"farther_percent,omitzero"`
	DF               float64 `json:"df,omitzero"`
	Phi              float64 `json:"phi,omitzero"` // how many times the placebo widened the interval; ≥ 1
	P                float64 `json:"p_value"`
	PHolm            float64 `json:"p_holm"`
	EquivalenceP     float64 `json:"equivalence_p"`
	EquivalencePHolm float64 `json:"equivalence_p_holm"`
	Scope            Scope   `json:"scope,omitempty"` // of what is claimed, or might have been
	Verdict          Verdict `json:"verdict"`
	Why              string  `json:"why,omitempty"` // nothing is claimed, or compared

	ln        stats.Interval
	claimable bool
}

// Difference is something that is not the same on two sides, other than figures.
type Difference struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
	Note   string `json:"note,omitempty"` // what follows from it
}

// Against is what changed from the first side to another one.
type Against struct {
	Name string   `json:"name"`
	Runs []string `json:"runs"`
	// Scope is what its claims speak of at most.
	Scope Scope `json:"scope"`
	// FewGuests: a run had fewer incarnations of guests than an interval over
	// them takes, so the luck of single guests may be all that differs.
	FewGuests   bool         `json:"few_guests,omitempty"`
	Differences []Difference `json:"differences"` // to know before any figure
	Changes     []Change     `json:"changes"`     // of what arms cost against their baseline
	Baselines   []Change     `json:"baselines"`   // the baselines' own figures
}

// Comparison is what changed from the first side to each of the others.
type Comparison struct {
	First   string    `json:"first"`
	Runs    []string  `json:"runs"` // of the first side
	Alpha   float64   `json:"alpha"`
	Delta   float64   `json:"delta"`
	Against []Against `json:"against"`
}

// Sides compares each side with the first. Without all, only the primary metric
// of each workload is looked at, as the table of a run does.
func Sides(sides []Side, all bool) (*Comparison, error) {
	if len(sides) < 2 {
		return nil, fault.Campaignf("a comparison needs two runs")
	}
	first := sides[0]
	c := &Comparison{First: first.Name, Runs: first.names(), Alpha: first.Runs[0].Result.Alpha, Delta: first.Runs[0].Result.Delta}
	found := false
	for _, after := range sides[1:] {
		p := &pairing{before: first, after: after, alpha: c.Alpha, delta: c.Delta, all: all}
		a, err := p.against()
		if err != nil {
			return nil, err
		}
		found = found || len(a.Changes)+len(a.Baselines) > 0
		c.Against = append(c.Against, a)
	}
	if !found {
		return nil, fault.WithRemedy(fault.Campaignf("%s and the others have no workload and metric in common", c.First), "compare runs of one campaign")
	}
	return c, c.judge()
}

// every returns all changes.
func (c *Comparison) every() []*Change {
	var list []*Change
	for i := range c.Against {
		a := &c.Against[i]
		for j := range a.Changes {
			list = append(list, &a.Changes[j])
		}
		for j := range a.Baselines {
			list = append(list, &a.Baselines[j])
		}
	}
	return list
}

// judge adjusts the p-values within each family and sets the verdicts.
func (c *Comparison) judge() error {
	families := map[analyze.Family][]*Change{}
	for _, ch := range c.every() {
		if ch.claimable {
			families[ch.Family] = append(families[ch.Family], ch)
		}
	}
	for _, of := range families {
		if err := adjust(of, func(ch *Change) (p, adjusted *float64) { return &ch.P, &ch.PHolm }); err != nil {
			return err
		}
		if err := adjust(of, func(ch *Change) (p, adjusted *float64) { return &ch.EquivalenceP, &ch.EquivalencePHolm }); err != nil {
			return err
		}
		for _, ch := range of {
			switch {
			case ch.PHolm < c.Alpha && ch.ln.Low > 0:
				ch.Verdict = Worse
			case ch.PHolm < c.Alpha && ch.ln.High < 0:
				ch.Verdict = Better
			case ch.EquivalencePHolm < c.Alpha && stats.Equivalent(ch.ln, c.Delta):
				ch.Verdict = Same
			}
		}
	}
	return nil
}

// adjust corrects p-values of one family for their number.
func adjust(of []*Change, fields func(*Change) (p, adjusted *float64)) error {
	values := make([]float64, len(of))
	for i, ch := range of {
		p, _ := fields(ch)
		values[i] = *p
	}
	adjusted, err := stats.Holm(values)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for i, ch := range of {
		_, to := fields(ch)
		*to = adjusted[i]
	}
	return nil
}

// Above returns the changes for the worse of more than a fraction: what is
// claimed, and whose estimate is above it.
func (c *Comparison) Above(fraction float64) []Change {
	var out []Change
	for _, ch := range c.every() {
		if ch.Verdict == Worse && ch.Ratio > 1+fraction {
			out = append(out, *ch)
		}
	}
	return out
}

// set fills in what follows from an interval of the change's logarithm, above 0
// for the worse.
func (ch *Change) set(iv stats.Interval, delta float64) error {
	ch.ln = iv
	e := iv.Exp()
	ch.Ratio, ch.CILow, ch.CIHigh, ch.P, ch.DF = e.Estimate, e.Low, e.High, iv.P, iv.DF
	ch.ChangePercent = percent(iv.Estimate)
	ch.FartherPercent = percent(iv.High)
	if math.Abs(iv.Low) > math.Abs(iv.High) {
		ch.FartherPercent = percent(iv.Low)
	}
	var err error
	ch.EquivalenceP, err = stats.EquivalenceP(iv, delta)
	return err
}

// percent turns a ln ratio into a change in percent; it is never infinite.
func percent(ln float64) float64 { return min(100*math.Expm1(ln), math.MaxFloat64) }

func (s Side) names() []string {
	var names []string
	for _, r := range s.Runs {
		names = append(names, r.Name)
	}
	return names
}

// has reports whether any run of the side has an arm.
func (s Side) has(arm string) bool {
	return slices.ContainsFunc(s.Runs, func(r *Run) bool { _, ok := r.arms[arm]; return ok })
}
