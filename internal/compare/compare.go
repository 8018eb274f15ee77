// Package compare says what changed between runs of one campaign: at two times,
// with two versions of something, or on two machines. It compares what each arm
// costs against the baseline of its own run, so a machine that is slower on Tuesday
// changes nothing. The baselines' own figures are listed separately: they show
// whether the machine is the same.
//
// # What may be claimed
//
// A run's estimate comes from package analyze: Student's t over the locations of its
// guests. With one run per side, the difference of two such estimates has Welch's
// interval over their units, widened by the placebo inflation φ (stats.Placebo): by
// how much the contrasts of the controls, which are identical to their baselines,
// changed between the runs. Such an interval holds for these runs only: "these runs
// differ". A boot of the host draws some properties, such as the layout of memory,
// once for all that a run measures, and no placebo shows that for an arm. So "the
// system changed" requires three boots per side or more: the boots are then the
// independent values for Student's t. With three runs per side from fewer boots, it
// goes over the runs, and the claim holds for these runs. Two runs per side are
// averaged, with intervals as for one.
//
// Hypotheses are adjusted for their number (Holm) within the families of package
// analyze. Sameness within ± delta is claimed by two one-sided tests only.
//
// # Measured properties
//
// From the simulations in sim_test.go: 7 workloads with 2 arms each, 40 blocks of
// CV 3 %; in the two columns on the right, one of the 14 overheads is larger. False
// claims are the share of comparisons with any claim, "these runs differ" or "the
// system changed", about an overhead that is truly the same on both sides.
//
//	guests                            per side false claims  coverage  finds 3 %   5 %
//	8 guests, alike                   1 run            .044      .964        .44   .93
//	8 guests, sd 1 %                  1 run            .014      .968        .27   .77
//	8, sd 1 %, shared by workloads    1 run            .030      .963        .26   .70
//	8 guests, sd 2 %                  1 run            .020      .966        .10   .33
//	8 guests, sd 1 %                  2 runs           .033      .965        .63   .99
//	1 guest, alike                    1 run            .046      .961        .50   .96
//	1 guest, sd 1 %                   1 run            .088      .943        .08   .22
//	1, sd 1 %, shared by workloads    1 run            .152      .885        .16   .37
//	8, sd 1 %, and boots sd 1 %       1 run            .396      .818        .34   .68
//	8, sd 1 %, and boots sd 1 %       3 boots          .020      .963        .04   .19
//	8, sd 1 %, and boots sd 1 %       5 boots          .053      .950        .38   .86
//	8, sd 1 %, and boots sd 0.3 %     3 boots          .010      .961        .18   .51
//	8, sd 1 %, and boots sd 0.3 %     5 boots          .040      .953        .81   .98
//
// (500 comparisons with one run per side, 300 with more.) A claim from one run per
// side may be due to single guests or to a boot, which is why it is limited to these
// runs.
package compare

import (
	"cmp"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/stats"
)

// Verdict is what may be said about a change.
type Verdict = claim.Verdict

const (
	Worse       Verdict = "worse"
	Better      Verdict = "better"
	Same        Verdict = "same-within-delta" // no claim of a change, and shown to be within ± delta
	NotResolved         = claim.NotResolved   // there is an interval, but no claim; not evidence of sameness
	NotCompared Verdict = "not-compared"      // the figures are not comparable, or there are none
	// Shown: a baseline's own figures, from too few runs to say anything about the machine.
	Shown Verdict = "shown"
)

// changes are the verdicts of package claim on a change.
var changes = map[claim.Verdict]Verdict{claim.Costs: Worse, claim.Gains: Better, claim.None: Same}

// Scope is what a claim holds for.
type Scope string

const (
	TheseRuns Scope = "these-runs" // other runs of the same systems may differ as much
	System    Scope = "system"     // the systems changed, or what they run on
)

const (
	// fewest is how many boots per side a claim about the system needs, and how many
	// runs per side Student's t needs to go over runs.
	fewest = 3
	// minUnits is how many independent values a run must have for an interval.
	minUnits = 3
)

// Side is one or more runs of the same thing.
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
	Arm      string         `json:"arm"`    // the arm of an overhead; else the baseline

	// Before and After are ratios to the baseline, where above 1 costs more; or a
	// baseline's typical value in Unit, if sizes differ for the work Per.
	Before  float64 `json:"before,omitzero"`
	After   float64 `json:"after,omitzero"`
	Per     string  `json:"per,omitempty"`
	NBefore int     `json:"n_before"` // independent values behind the interval
	NAfter  int     `json:"n_after"`

	// Estimate above 1 always means "worse than before", whatever direction is better
	// for the metric.
	claim.Estimate
	ChangePercent float64 `json:"change_percent"` // 100*(Ratio-1)
	// FartherPercent is the end of the interval that is farther from 0: "at most +7.6 %".
	FartherPercent float64 `json:"farther_percent,omitzero"`
	DF             float64 `json:"df,omitzero"`
	Phi            float64 `json:"phi,omitzero"` // placebo inflation: how many times wider it made the interval; ≥ 1
	claim.Test
	Scope   Scope   `json:"scope,omitempty"` // of the claim, or of one that might have been made
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"` // why nothing is claimed, or compared

	claimable bool
}

// Difference is something other than a figure that is not the same on both sides.
type Difference struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
	Note   string `json:"note,omitempty"` // its consequence
}

// Against is what changed from the first side to another one.
type Against struct {
	Name string   `json:"name"`
	Runs []string `json:"runs"`
	// Scope is the widest scope of its claims.
	Scope Scope `json:"scope"`
	// FewGuests: a run created fewer guests than an interval over them needs, so the
	// difference may be due to single guests.
	FewGuests   bool         `json:"few_guests,omitempty"`
	Differences []Difference `json:"differences"` // to read before any figure
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

// Sides compares each side with the first. Without all, it compares only the primary
// metric of each workload, as the table of a run does.
func Sides(sides []Side, all bool) (*Comparison, error) {
	if len(sides) < 2 {
		return nil, fault.Campaignf("a comparison needs two runs")
	}
	first := sides[0]
	c := &Comparison{First: first.Name, Runs: first.names(), Alpha: first.Runs[0].Result.Alpha,
		Delta: first.Runs[0].Result.Delta}
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
		return nil, fault.WithRemedy(fault.Campaignf("%s and the others have no workload and metric in common", c.First),
			"compare runs of one campaign")
	}
	return c, c.judge()
}

// every returns all changes.
func (c *Comparison) every() []*Change {
	var list []*Change
	for _, a := range c.Against {
		for _, of := range [][]Change{a.Changes, a.Baselines} {
			for i := range of {
				list = append(list, &of[i])
			}
		}
	}
	return list
}

// judge adjusts the p-values within each family and sets the verdicts.
func (c *Comparison) judge() error {
	var all []claim.Hypothesis
	for _, ch := range c.every() {
		if ch.claimable {
			all = append(all, claim.Hypothesis{Family: ch.Family, Estimate: ch.Estimate, Test: &ch.Test, Verdict: &ch.Verdict})
		}
	}
	err := claim.Rule{Alpha: c.Alpha, Delta: c.Delta}.Judge(all)
	for _, h := range all {
		*h.Verdict = cmp.Or(changes[*h.Verdict], *h.Verdict)
	}
	return err
}

// Above returns the claimed changes for the worse whose estimate exceeds a fraction.
func (c *Comparison) Above(fraction float64) []Change {
	var out []Change
	for _, ch := range c.every() {
		if ch.Verdict == Worse && ch.Ratio > 1+fraction {
			out = append(out, *ch)
		}
	}
	return out
}

// set fills in what follows from an interval of the logarithm of the change, where
// above 0 is for the worse.
func (ch *Change) set(ln stats.Interval, delta float64) (err error) {
	ch.Estimate, ch.DF = claim.Of(ln), ln.DF
	ch.ChangePercent, ch.FartherPercent = claim.Percent(ln.Estimate), claim.FartherPercent(ln)
	ch.Test, err = claim.Rule{Delta: delta}.Test(ln)
	return err
}

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
