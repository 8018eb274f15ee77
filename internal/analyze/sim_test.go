package analyze

import (
	"math"
	"math/rand/v2"
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
	within(t, "runs with a false claim", float64(claims)/runs, 0, 0.01)
	within(t, "runs with any Holm-adjusted p < 5 %", float64(excluded)/runs, 0.01, 0.06)
	within(t, "runs whose control differs", float64(controls)/runs, 0.005, 0.02)
	within(t, "runs with no steady state", float64(unsteady)/runs, 0, 0.015)
	within(t, "runs with a guest faster than the host", float64(faster)/runs, 0, 0.02)
}

// simPairs draws the ln ratios of blocks in incarnations of k blocks, which
// differ by sd boot where the noise of a pair is 7 %.
func simPairs(r *rand.Rand, blocks, k int, boot float64) []pair {
	pairs := make([]pair, blocks)
	var effect float64
	for b := range pairs {
		if b%k == 0 {
			effect = boot * r.NormFloat64()
		}
		pairs[b] = pair{block: int32(b), epoch: int32(b / k), d: effect + 0.05*math.Sqrt2*r.NormFloat64()}
	}
	return pairs
}

// How well intervals cover what guests cost on average over incarnations.
func TestSimIncarnations(t *testing.T) {
	const runs = 2000
	for i, c := range []struct {
		name      string
		blocks, k int
		boot      float64
		n0        int
		low, high float64
	}{
		{"8 incarnations, no effect", 40, 5, 0, 0, 0.93, 0.97},
		{"8 incarnations, 3 % effect", 40, 5, 0.03, 0, 0.93, 0.97},
		{"5 incarnations, 10 % effect", 25, 5, 0.10, 0, 0.93, 0.97},
		{"5 incarnations, the last cut short", 23, 5, 0.03, 0, 0.93, 0.97},
		{"a new guest every block", 20, 1, 0.03, 0, 0.93, 0.97},
		{"one incarnation, no effect", 20, 20, 0, 0, 0.93, 0.97},
		{"4 incarnations, no effect", 20, 5, 0, 0, 0.93, 0.97},
		{"4 incarnations, 3 % effect", 20, 5, 0.03, 0, 0.93, 0.97},
		{"3 incarnations, 3 % effect", 15, 5, 0.03, 0, 0.93, 0.97},
		{"2 incarnations, no effect", 10, 5, 0, 0, 0.93, 0.97},
		{"2 incarnations, 3 % effect: these guests only", 10, 5, 0.03, 0, 0.80, 0.93},
		{"Stein, 10 first blocks, 3 % effect", 40, 2, 0.03, 10, 0.93, 0.97},
	} {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		var covered int
		for range runs {
			e, err := estimatePairs(simPairs(r, c.blocks, c.k, c.boot), c.n0, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if e.Low <= 0 && e.High >= 0 {
				covered++
			}
		}
		within(t, "coverage, "+c.name, float64(covered)/runs, c.low, c.high)
	}
}

// The whole of Stein's procedure as a run does it, guests re-created every k blocks.
func TestSimStopping(t *testing.T) {
	const runs = 1000
	for i, c := range []struct {
		name string
		k    int
		boot float64
	}{{"one incarnation", 5000, 0}, {"new guests every 2 blocks, 3 % effect", 2, 0.03}, {"every 4 blocks, 3 % effect", 4, 0.03}} {
		r := rand.New(rand.NewPCG(uint64(i), 8))
		var covered, total int
		for range runs {
			pairs := simPairs(r, 2000, c.k, c.boot)
			n, ok, err := steinBlocks(pairs, 10, math.Log1p(0.03), 0.05)
			if err != nil || !ok || n > len(pairs) {
				t.Fatal(n, ok, err)
			}
			e, err := estimatePairs(pairs[:n], 10, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if e.Low <= 0 && e.High >= 0 {
				covered++
			}
			total += n
		}
		within(t, "coverage with stopping, "+c.name, float64(covered)/runs, 0.93, 0.97)
		t.Logf("blocks on average %d", total/runs)
	}
}
