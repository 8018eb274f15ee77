package analyze

import (
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/stats"
)

// minLive is from how many blocks on the sequence of intervals covers.
const minLive = 10

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

// Live returns, for every comparison that is not a control, an interval that may be
// looked at any number of times: all looks together cover with probability 1-alpha for
// each comparison. It is over blocks (differences between guests are left to Analyze) and
// for display only: neither claims nor the decision to stop may be based on it.
func Live(in dataset.Set) ([]LiveEstimate, error) {
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
		d := overheads(c.rows)
		if c.N >= minLive {
			iv, err := stats.Anytime(d, rho, in.Alpha)
			if err != nil {
				return nil, errorf("live interval: %w", err)
			}
			iv = iv.Exp()
			live.Ratio, live.Low, live.High = iv.Estimate, iv.Low, iv.High
		} else {
			live.Ratio = claim.Alone(stats.Mean(d)).Ratio
		}
		out = append(out, live)
	}
	return out, nil
}
