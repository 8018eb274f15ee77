package analyze

import (
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/model"
)

// Result is what a report shows. It holds no NaN and no infinity.
type Result struct {
	Baseline    string       `json:"baseline"`
	Planned     int          `json:"planned_blocks,omitempty"`
	Blocks      int          `json:"blocks"` // blocks with any observation, up to the last one
	Alpha       float64      `json:"alpha"`
	Delta       float64      `json:"delta"`
	Comparisons []Comparison `json:"comparisons"` // in the order of metrics, then arms
	// Answers has every arm of the first scenario except the baseline and controls, in
	// the order of arms. Rankings has every metric and scenario with two arms to rank.
	Answers  []Answer  `json:"answers"`
	Rankings []Ranking `json:"rankings"`
	// TrialSpread, by metric and scenario, decides nothing.
	TrialSpread []TrialSpread `json:"trial_spread"`
	// Tails has the primary metrics of every arm that is compared, except emulated ones
	// and mixes of flavors.
	Tails     []Tail     `json:"tails"`
	Positions []Position `json:"positions"`
	Thaws     []Thaw     `json:"thaws"`
	// Latencies compares percentiles of single latencies, and LatencyCurves has all of them.
	Latencies     []Latency      `json:"latencies,omitempty"`
	LatencyCurves []LatencyCurve `json:"latency_curves,omitempty"`
	// Curves has every arm but controls and mixes of flavors, in the order of workloads, then arms.
	Curves []Curve `json:"curves,omitempty"`
	// Packets has every arm of workloads that count packets, including baselines and
	// controls.
	Packets  []Packets   `json:"packets,omitempty"`
	Arms     []ArmResult `json:"arms"` // every arm and workload with any value
	Findings []Finding   `json:"findings"`
	// Isolation has every arm beside other guests, in the order of metrics, then arms.
	Isolation []Isolation `json:"isolation,omitempty"`
	// IsolationMatrix has every arm but the baseline beside neighbours, in the order of arms.
	IsolationMatrix []IsolationCell `json:"isolation_matrix,omitempty"`
	// Attacks are those of guests on their limits, in the order in which they were made.
	Attacks     []Attack      `json:"attacks,omitempty"`
	CapAccuracy []CapAccuracy `json:"cap_accuracy,omitempty"`
	// RateCaps has every arm with caps of I/O or of the network, for each workload whose rate is known.
	RateCaps []RateCap `json:"rate_caps,omitempty"`
	Density  []Density `json:"density,omitempty"`
	// Starts has every arm of workloads that create guests, including baselines and
	// controls.
	Starts []Start `json:"starts,omitempty"`
	// Fills has every arm of workloads that fill the host, including baselines and
	// controls.
	Fills []Fill `json:"fills,omitempty"`
	// Memory has what guests cost besides time, by arm and flavor, in the order in which
	// the first guest of each was created.
	Memory []Memory `json:"memory,omitempty"`
	// Swap is nil if nobody looked.
	Swap *Swapping `json:"swap,omitempty"`
	// Energy has every arm whose energy is known, including baselines and controls.
	Energy []EnergyUse `json:"energy,omitempty"`
	// Requests has every arm of workloads with requests at a constant rate, including baselines and controls.
	Requests []RequestUse `json:"requests,omitempty"`
}

// Attack is a guest's attack on one of its limits.
type Attack struct {
	model.Attack
	Held model.Held `json:"held"`
}

// Verdict is what may be said about a comparison: see claim.Verdict. Costs and Gains need a control with 4 units or
// more, and None at least 5 units (or 8 batches).
type Verdict = claim.Verdict

// The verdicts of package claim.
const (
	Costs       = claim.Costs
	Gains       = claim.Gains
	None        = claim.None
	NotResolved = claim.NotResolved
)

// Family is a group of hypotheses: see claim.Family.
type Family = claim.Family

// The families. Primary has the primary metrics of arms that are not emulated, in the first scenario; CPUTime has
// their CPU time, AtOnce their CPU time in duets, Energy their energy, Secondary their other metrics, and Tails the
// percentiles of single latencies. Beside has costs in the other scenarios, against the baseline there. Baseline has
// changes of the baselines' own figures, which comparisons of runs and of fleets add.
const (
	FamilyPrimary   Family = "primary"
	FamilyCPUTime   Family = "cpu-time"
	FamilyAtOnce    Family = "at-once"
	FamilyEnergy    Family = "energy"
	FamilySecondary Family = "secondary"
	FamilyTails     Family = "tails"
	FamilyBeside    Family = "beside"
	FamilyEmulated  Family = "emulated"
	FamilyIsolation Family = "isolation"
	FamilyControl   Family = "control"
	FamilyBaseline  Family = "baseline"
)

// Scope is what an interval holds for.
type Scope string

const (
	// ScopeGuests: units are distinct guests, 4 at least; the interval
	// holds for other guests of the same kind.
	ScopeGuests Scope = "guests"
	// ScopeTheseGuests: units are batches of blocks of fewer guests; the interval
	// holds for these, and another guest of the same kind may differ from them.
	ScopeTheseGuests Scope = "these-guests"
)

// Comparison is one metric of one arm against its baseline, paired by block.
type Comparison struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Unit     string `json:"unit"`
	Better   string `json:"better"`
	Primary  bool   `json:"primary"`
	Baseline string `json:"baseline"`
	Arm      string `json:"arm"`
	// Across: the two are in different scenarios.
	Across  bool   `json:"-"`
	Control bool   `json:"control"` // an A/A pair, never a claim
	Family  Family `json:"family"`  // the hypotheses among which P is adjusted
	// BaselineControl is the A/A control that is pooled into the baseline; "": there is
	// none. HasControl: there is an A/A pair; without one, nothing is claimed.
	BaselineControl string `json:"baseline_control,omitempty"`
	HasControl      bool   `json:"has_control"`

	N       int `json:"n"`       // blocks in which the arm, and its baseline or the control, have a value
	Dropped int `json:"dropped"` // blocks in which one of the two has a value and the other failed
	// DistinctGuests is how many groups of blocks share no guest of either arm.
	DistinctGuests int `json:"distinct_guests"`
	// Units is the number of independent values behind the interval. Scope says what they
	// are, and thus what the interval holds for.
	Units int   `json:"units"`
	Scope Scope `json:"scope,omitempty"`
	// StdErr is the standard error of ln Ratio, with DF degrees of freedom. Phi ≥ 1 is
	// the factor by which the placebo widened it.
	StdErr float64 `json:"std_err,omitzero"`
	DF     float64 `json:"df,omitzero"`
	Phi    float64 `json:"phi,omitzero"`
	// Coarse: the metric's step is coarser than its noise; nothing is claimed.
	Coarse bool `json:"coarse,omitempty"`

	// Estimate is what the arm costs as a multiple of the baseline: above 1 always means
	// "costs more". For better=lower it is arm/baseline, for better=higher baseline/arm
	// (80 % of the throughput is a ratio of 1.25). It describes the typical trial
	// (Huber's location of the logarithms), with a 1-alpha interval. It is absent (0)
	// without pairs; the interval is absent (nil) with only one unit.
	claim.Estimate
	// OverheadPercent is 100*(Ratio-1): positive always means "costs more".
	OverheadPercent float64 `json:"overhead_percent"`
	// FartherPercent is the end of the interval that is farther from 0, with its
	// sign, as an overhead in percent: "at most +7.6 %".
	FartherPercent float64 `json:"farther_percent"`
	// MeanRatio is the same comparison by plain means of logarithms, in which every stall
	// counts; Ratio describes the typical trial.
	MeanRatio float64 `json:"mean_ratio,omitzero"`
	MeanLow   float64 `json:"mean_low,omitzero"`
	MeanHigh  float64 `json:"mean_high,omitzero"`

	// Of all values, in Unit.
	BaselineMin  float64 `json:"baseline_min"`
	BaselineMean float64 `json:"baseline_mean,omitzero"`
	BaselineMax  float64 `json:"baseline_max"`
	ArmMin       float64 `json:"arm_min"`
	ArmMean      float64 `json:"arm_mean,omitzero"`
	ArmMax       float64 `json:"arm_max"`
	// Max/min of the baseline, of the arm, and the larger of the two.
	BaselineSpread float64 `json:"baseline_spread,omitzero"`
	ArmSpread      float64 `json:"arm_spread,omitzero"`
	Spread         float64 `json:"spread,omitzero"`
	// Wide: the 95th percentile of a side is more than the limit times its 5th, so its
	// mean must not be quoted alone. This does not affect the comparison.
	Wide bool `json:"wide,omitempty"`

	claim.Test
	Verdict Verdict `json:"verdict"`
	// Overruled: it is of duets, and trials alone say another cost, which counts.
	Overruled bool `json:"overruled,omitempty"`
	// Findings are the ids of the findings that concern this comparison.
	Findings []string `json:"findings"`
}

// TrialSpread is the 95th percentile (definition 7) of the size of the ln ratio
// of single A/A pairs, in percent: "one trial alone differs by up to 8 %".
type TrialSpread struct {
	Workload string  `json:"workload"`
	Metric   string  `json:"metric"`
	Scenario string  `json:"scenario,omitempty"`
	Percent  float64 `json:"percent"`
	Pairs    int     `json:"pairs"`
}

// ArmResult describes what one arm did on one workload.
type ArmResult struct {
	Arm      string          `json:"arm"`
	Workload string          `json:"workload"`
	System   string          `json:"system"`
	Flavor   string          `json:"flavor"`
	Scenario string          `json:"scenario"`
	Emulated bool            `json:"emulated,omitempty"`
	Failures int             `json:"failures"`
	Metrics  []SeriesSummary `json:"metrics"`
	Probes   []SeriesSummary `json:"probes,omitempty"`
}

// Arm returns the result of an arm on a workload; nil if there is none.
func (r *Result) Arm(name, workload string) *ArmResult {
	for i, a := range r.Arms {
		if a.Arm == name && a.Workload == workload {
			return &r.Arms[i]
		}
	}
	return nil
}

// Metric returns the metric of a by its name; nil if a is nil or has no such metric.
func (a *ArmResult) Metric(name string) *SeriesSummary {
	if a == nil {
		return nil
	}
	return summaryOf(a.Metrics, name)
}

// Probe returns the probe of a by its name; nil if a is nil or has no such probe.
func (a *ArmResult) Probe(name string) *SeriesSummary {
	if a == nil {
		return nil
	}
	return summaryOf(a.Probes, name)
}

func summaryOf(list []SeriesSummary, name string) *SeriesSummary {
	for i, s := range list {
		if s.Name == name {
			return &list[i]
		}
	}
	return nil
}

// SeriesSummary describes all values of one series, in Unit.
type SeriesSummary struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Mean   float64 `json:"mean"`
	Max    float64 `json:"max"`
	SD     float64 `json:"sd"`
	P5     float64 `json:"p5"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	P95    float64 `json:"p95"`
	Spread float64 `json:"spread,omitzero"` // max/min; of a mix, within the flavor that has most
	Wide   bool    `json:"wide,omitempty"`  // P95/P5 is above the limit: do not quote Mean alone
	// Parts describes the guests of each flavor of a mix; nil: it is no mix.
	Parts map[string]SeriesSummary `json:"-"`
}

// Severity says what a finding does to the numbers it is about.
type Severity string

const (
	Info    Severity = "info"    // to know when reading them
	Warning Severity = "warning" // they may mislead
	Serious Severity = "serious" // do not use them as they are
)

// Finding is something that the evidence says about the numbers. An empty
// Workload, Metric or Arm means all of them.
type Finding struct {
	ID       string   `json:"id"` // of its Kind: "spread", "control-differs" …
	Severity Severity `json:"severity"`
	Workload string   `json:"workload,omitempty"`
	Metric   string   `json:"metric,omitempty"`
	Arm      string   `json:"arm,omitempty"`
	Text     string   `json:"text"`   // one sentence or two, with the numbers
	Remedy   string   `json:"remedy"` // what to do about it: its Kind's
	// Score says how bad it is compared with others of its kind, which are sorted by it,
	// the highest first.
	Score float64 `json:"-"`
}
