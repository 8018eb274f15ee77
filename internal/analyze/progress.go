package analyze

import (
	"math"

	"github.com/tare-bench/tare/internal/stats"
)

// NextBlocks returns how many blocks the run needs in all for intervals of
// half-width precision (0.02: ± 2 %, more exactly ± ln 1.02 on the log scale)
// over the primary metrics of every comparison that is not a control: the
// largest of Stein's second stages. The first stage is in.N0 ≥ 10 blocks;
// until they have run, and for comparisons with less than two pairs in them,
// it is the answer. Blocks after the first stage do not change it, so it can be
// asked again after a resume.
//
// Where guests are re-created and the first stage holds less than 5
// incarnations, N counts on blocks alone; if incarnations differ, the interval
// comes out wider than asked for (it still covers: TestSimStopping).
// The caller may stop earlier (a time limit): coverage holds, and the
// interval is only wider than asked for.
func NextBlocks(in Input, precision float64) (int, error) {
	a, err := read(&in)
	if err != nil {
		return 0, err
	}
	n := in.N0
	if a.metrics.blocks < in.N0 {
		return n, nil
	}
	for _, c := range a.comparisons {
		if c.Control || !c.Primary {
			continue
		}
		need, ok, err := steinBlocks(c.pairs, in.N0, math.Log1p(precision), in.Alpha)
		if err != nil {
			return 0, errorf("blocks for ± %v: %w", precision, err)
		}
		if ok {
			n = max(n, need)
		}
	}
	return n, nil
}

// LiveEstimate is a comparison while the run goes on.
type LiveEstimate struct {
	Workload string `json:"workload"`
	Metric   string `json:"metric"`
	Arm      string `json:"arm"`
	N        int    `json:"n"`
	// Ratio is as in Comparison. Low and High are 0 before 10 pairs.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low,omitzero"`
	High  float64 `json:"high,omitzero"`
}

// Live returns for every comparison that is not a control an interval that
// may be looked at as often as one likes: all looks together cover with
// probability 1-alpha for each comparison. It is over blocks (how guest
// incarnations differ is left to Analyze) and for display only: claims, and
// the decision to stop, are not to be made from it.
func Live(in Input) ([]LiveEstimate, error) {
	a, err := read(&in)
	if err != nil {
		return nil, err
	}
	rho := stats.AnytimeRho(stats.AnytimeTarget, in.Alpha)
	var out []LiveEstimate
	for _, c := range a.comparisons {
		if c.Control || c.N == 0 {
			continue
		}
		live := LiveEstimate{Workload: c.Workload, Metric: c.Metric, Arm: c.Arm, N: c.N}
		d := ratios(c.pairs)
		if c.N >= minFirstStage {
			iv, err := stats.Anytime(d, rho, in.Alpha)
			if err != nil {
				return nil, errorf("live interval: %w", err)
			}
			iv = iv.Exp()
			live.Ratio, live.Low, live.High = iv.Estimate, iv.Low, iv.High
		} else {
			live.Ratio = stats.Interval{Estimate: groupMeans([][]float64{d})[0]}.Exp().Estimate
		}
		out = append(out, live)
	}
	return out, nil
}
