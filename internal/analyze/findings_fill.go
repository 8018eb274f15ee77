package analyze

import "fmt"

// findMostReached finds fills whose result is only a lower bound.
func findMostReached(a *analysis) (out []Finding) {
	for _, f := range a.result.Fills {
		if f.Ended > 0 {
			out = append(out, Finding{Workload: f.Workload, Arm: f.Arm, Text: fmt.Sprintf(
				"%d of %d fills ended at %.0f guests, the campaign's most, and broke no limit: more may fit", f.Ended, f.N,
				f.Greatest)})
		}
	}
	return out
}

// fillReference is by how much the probe may differ alone: a fill whose probe was disturbed then seems to
// keep a slowdown that it does not.
const fillReference = 1.25

func findDisturbedProbe(a *analysis) (out []Finding) {
	for _, f := range a.result.Fills {
		if f.Alone.Max > fillReference*f.Alone.Min {
			out = append(out, Finding{Workload: f.Workload, Arm: f.Arm, Text: fmt.Sprintf(
				"the probe alone took %.3g s in one fill and %.3g s in another: where it was slow, too many guests seem to fit",
				f.Alone.Min, f.Alone.Max)})
		}
	}
	return out
}

func findFewFills(a *analysis) (out []Finding) {
	for _, f := range a.result.Fills {
		if f.Control || f.Emulated || f.Least != nil {
			continue
		}
		missing := "a lower tolerance limit"
		if f.Fits.High == 0 {
			missing = "an interval of the median and " + missing
		}
		fills := "fills are"
		if f.N == 1 {
			fills = "fill is"
		}
		out = append(out, Finding{Workload: f.Workload, Arm: f.Arm,
			Text: fmt.Sprintf("%d %s too few for %s", f.N, fills, missing)})
	}
	return out
}
