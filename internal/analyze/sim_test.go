package analyze

import (
	"slices"
	"testing"
)

func within(t *testing.T, name string, got, low, high float64) {
	t.Helper()
	t.Logf("%-50s %5.1f %%", name, 100*got)
	if got < low || got > high {
		t.Errorf("%s: %.4f is not within %v..%v", name, got, low, high)
	}
}

// Whole runs in which every arm is the same thing: 4 arms and a control, 2
// metrics, CV 5 %, 15 blocks. A run with any wrong word counts.
func TestSimFalseAlarms(t *testing.T) {
	const runs = 1000
	var claims, controls, unsteady, excluded, faster int
	saved := slices.Clone(costs)
	defer copy(costs, saved)
	for i := range costs {
		costs[i] = 1
	}
	for seed := range uint64(runs) {
		r, err := Analyze(newFake(seed, 0.05, 15).input())
		if err != nil {
			t.Fatal(err)
		}
		found := ids(r.Findings)
		if slices.Contains(found, "control-differs") {
			controls++
		}
		if slices.Contains(found, "no-steady-state") {
			unsteady++
		}
		if slices.Contains(found, "faster-than-baseline") {
			faster++
		}
		claimed, significant := false, false
		for _, c := range r.Comparisons {
			claimed = claimed || c.Verdict == Costs || c.Verdict == Gains
			significant = significant || !c.Control && c.PHolm < 0.05
		}
		if claimed {
			claims++
		}
		if significant {
			excluded++
		}
	}
	within(t, "runs with a false claim", float64(claims)/runs, 0.01, 0.08)
	within(t, "runs with any Holm-adjusted p < 5 %", float64(excluded)/runs, 0.01, 0.08)
	within(t, "runs whose control differs", float64(controls)/runs, 0.005, 0.02)
	within(t, "runs with no steady state", float64(unsteady)/runs, 0, 0.015)
	within(t, "runs with a guest faster than the host", float64(faster)/runs, 0, 0.05)
}
