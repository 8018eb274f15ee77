package analyze

import (
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// Isolation is how the guests of an arm fare beside others, by one metric. It compares
// them with the same arm alone: the ratio is the slowdown s = T_shared / T_alone,
// inverted for metrics of which more is better. It is not a cost; a cost is against the
// native baseline beside the same guests. Without a scenario in which the arm is alone,
// there is no ratio.
type Isolation struct {
	Comparison
	Scenario   string   `json:"scenario"`
	Guests     int      `json:"guests"` // that run the workload at once
	Neighbours []string `json:"neighbours,omitempty"`

	// NativeArm is the baseline beside the same guests, and Native its slowdown:
	// what sharing the machine costs without virtualization. Excess is the
	// slowdown over that, paired by block and over the same units; 1 is "no worse than processes".
	// All are absent for the baseline itself.
	NativeArm  string  `json:"native_arm,omitempty"`
	Native     float64 `json:"native_ratio,omitzero"`
	NativeLow  float64 `json:"native_ci_low,omitzero"`
	NativeHigh float64 `json:"native_ci_high,omitzero"`
	Excess     float64 `json:"excess,omitzero"`
	ExcessLow  float64 `json:"excess_ci_low,omitzero"`
	ExcessHigh float64 `json:"excess_ci_high,omitzero"`

	// Jain is the index (Σx)²/(nΣx²) over the guests of a trial, where x is a guest's
	// speed over its share of the CPUs, and 0 for a guest that did not finish. It is 1 if
	// all got the same, and 1/n if one got everything. Unfairness is the largest slowdown
	// over the smallest among those that finished. Both are means over blocks (geometric
	// for Unfairness), and have the worst block beside them; absent with one guest.
	Jain            float64 `json:"jain,omitzero"`
	JainWorst       float64 `json:"jain_worst,omitzero"`
	Unfairness      float64 `json:"unfairness,omitzero"`
	UnfairnessWorst float64 `json:"unfairness_worst,omitzero"`

	// P99 is the slowdown by the 99th percentile of single latencies of the workload; absent where it has none, or
	// too few.
	P99        float64 `json:"p99_ratio,omitzero"`
	P99Low     float64 `json:"p99_ci_low,omitzero"`
	P99High    float64 `json:"p99_ci_high,omitzero"`
	P99Verdict Verdict `json:"p99_verdict,omitzero"`

	Members []MemberResult `json:"members"`
	Lost    int            `json:"lost"`   // results that there are not, as guests did not finish
	Trials  int            `json:"trials"` // those, and those that there are

	// Skew is how far from the agreed instant the guests started, by their own clocks, in
	// seconds: the median, the 99th percentile and the largest over all guests in all
	// trials.
	SkewMedian float64 `json:"skew_median,omitzero"`
	SkewP99    float64 `json:"skew_p99,omitzero"`
	SkewMax    float64 `json:"skew_max,omitzero"`
}

// MemberResult is the result of one of several guests.
type MemberResult struct {
	Member   int     `json:"member"`
	Flavor   string  `json:"flavor"`
	N        int     `json:"n"`
	Lost     int     `json:"lost,omitempty"`
	Slowdown float64 `json:"slowdown,omitzero"` // against the arm alone; geometric mean over blocks
}

// isolation describes every arm beside other guests, controls left out.
func (a *analysis) isolation() ([]Isolation, error) {
	var out []Isolation
	for mi, m := range a.in.Metrics {
		for ai, arm := range a.in.Arms {
			_, control := a.in.Controls[arm.Name]
			lost := a.failures[[2]string{m.Workload, arm.Name}]
			if control || !arm.Shared() || len(a.metrics.at(mi, ai))+lost == 0 {
				continue
			}
			iso := Isolation{
				Comparison: unresolved(m, arm.Name), Scenario: arm.Scenario,
				Guests: max(len(arm.Members), 1), Neighbours: arm.Neighbours,
				Lost: lost, Trials: lost + len(a.metrics.at(mi, ai)),
			}
			iso.Family = FamilyIsolation
			own := a.isolationOf(mi, ai)
			if own != nil {
				iso.Comparison = own.Comparison
			}
			if err := a.besideNative(&iso, mi, arm, own); err != nil {
				return nil, err
			}
			a.fairness(&iso, mi, ai)
			a.skew(&iso, ai)
			iso.p99(a.latencies)
			out = append(out, iso)
		}
	}
	return out, nil
}

// isolationOf returns the comparison of an arm with itself alone; nil: none.
func (a *analysis) isolationOf(metric, arm int) *comparison {
	for _, c := range a.isolations {
		if c.metric == metric && c.arm == arm {
			return c
		}
	}
	return nil
}

// besideNative puts the same ratio of the baseline beside an arm's.
func (a *analysis) besideNative(iso *Isolation, metric int, arm dataset.Arm, own *comparison) error {
	base, _ := a.in.BaselineOf(arm)
	if base == "" || own == nil {
		return nil
	}
	native := a.isolationOf(metric, a.arms[base])
	if native == nil || native.N == 0 {
		return nil
	}
	iso.NativeArm, iso.Native = base, native.Ratio
	iso.NativeLow, iso.NativeHigh = native.Ends()
	return a.excess(iso, metric, own, native)
}

// excess is the slowdown over that of the baseline, and of its control where
// both scenarios have one.
func (a *analysis) excess(iso *Isolation, metric int, own, native *comparison) error {
	est, ok, err := a.excessOf(metric, own, native, a.in.Alpha)
	if err != nil || !ok {
		return err
	}
	iv := est.Exp()
	iso.Excess, iso.ExcessLow, iso.ExcessHigh = iv.Estimate, iv.Low, iv.High
	return nil
}

// excessOf estimates by how much the slowdown of an arm is beyond that of the baseline, with an interval of level
// 1-alpha; ok is false with fewer than two units.
func (a *analysis) excessOf(metric int, own, native *comparison, alpha float64) (est estimate, ok bool, err error) {
	slowdown := func(c *comparison) column {
		return a.column(metric, c.arm, c.Baseline).minus(a.column(metric, c.base, ""))
	}
	x, y, control := slowdown(own), slowdown(native), column{}
	shared, alone := a.controlOf(a.in.Arms[native.arm].Name, metric), a.controlOf(a.in.Arms[native.base].Name, metric)
	if shared != "" && alone != "" {
		control = a.column(metric, a.arms[shared], "").minus(a.column(metric, a.arms[alone], ""))
	}
	rows := rowsOf(x, y, control, own.Better)
	if len(rows) < 2 {
		return est, false, nil
	}
	est, err = estimateRows(rows, x, y, control)
	if err != nil || len(est.values) < 2 {
		return est, false, err
	}
	err = est.interval(a.placebo(a.groupOf(own.arm, own.class), a.groupOf(own.base, own.class)), alpha)
	if err != nil {
		return est, false, errorf("isolation of %s beside %s: %w", own.Arm, native.Arm, err)
	}
	return est, true, nil
}

// fairness fills in what each guest got, and how evenly.
func (a *analysis) fairness(iso *Isolation, metric, ai int) {
	arm, all := a.in.Arms[ai], a.metrics.at(metric, ai)
	members := arm.Members
	if len(members) == 0 {
		members = []dataset.Member{{Flavor: arm.Flavor, Share: 1}}
	}
	iso.Members = make([]MemberResult, len(members))
	for i, m := range members {
		iso.Members[i] = MemberResult{Member: i, Flavor: m.Flavor}
	}
	for _, f := range a.in.Failures {
		if f.Arm == arm.Name && f.Workload == iso.Workload && f.Member < len(members) {
			iso.Members[f.Member].Lost++
		}
	}
	if !all.positive() {
		return
	}
	alone := a.logAlone(metric, arm)
	turn := 1.0 // ln slowdown is turn * (ln value - ln alone)
	if iso.Better == "higher" {
		turn = -1
	}
	slow := make([]float64, len(members))
	slowN := make([]int, len(members))
	var jain, unfair []float64
	for block := range all.byBlock() {
		x := make([]float64, len(members)) // of those that did not finish 0
		var finished []float64
		for _, p := range block {
			m := p.member
			if int(m) >= len(members) {
				continue
			}
			iso.Members[m].N++
			speed := math.Exp(-turn*math.Log(p.value)) / members[m].Share
			x[m] = speed
			finished = append(finished, speed)
			if was, ok := alone[p.block]; ok {
				slow[m] += turn * (math.Log(p.value) - was)
				slowN[m]++
			}
		}
		if len(members) > 1 && len(finished) > 0 {
			if index, err := stats.Jain(x); err == nil { // else nobody finished
				jain = append(jain, index)
			}
			unfair = append(unfair, slices.Max(finished)/slices.Min(finished))
		}
	}
	for i := range members {
		if slowN[i] > 0 {
			iso.Members[i].Slowdown = math.Exp(slow[i] / float64(slowN[i]))
		}
	}
	if len(jain) > 0 {
		iso.Jain, iso.JainWorst = stats.Mean(jain), slices.Min(jain)
		for i, u := range unfair {
			unfair[i] = math.Log(u)
		}
		iso.Unfairness, iso.UnfairnessWorst = math.Exp(stats.Mean(unfair)), math.Exp(slices.Max(unfair))
	}
}

// logAlone returns, by block, the logarithms of what an arm's guest reached alone.
func (a *analysis) logAlone(metric int, arm dataset.Arm) map[int32]float64 {
	alone := map[int32]float64{}
	if i, ok := a.arms[arm.Alone]; ok && a.metrics.at(metric, i).positive() {
		for _, p := range a.metrics.at(metric, i).logMeans() {
			alone[p.block] = p.value
		}
	}
	return alone
}

// skew fills in how far apart the guests started.
func (a *analysis) skew(iso *Isolation, arm int) {
	v := a.probe(iso.Workload, model.ProbeBarrierSkew, arm).values()
	for i := range v {
		v[i] = math.Abs(v[i])
	}
	slices.Sort(v)
	if len(v) == 0 {
		return
	}
	iso.SkewMedian, _ = stats.QuantileSorted(v, 0.5)
	iso.SkewP99, _ = stats.QuantileSorted(v, 0.99)
	iso.SkewMax = v[len(v)-1]
}
