package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
)

func within(t *testing.T, name string, got, low, high float64) {
	t.Helper()
	t.Logf("%-50s %5.1f %%", name, 100*got)
	if got < low || got > high {
		t.Errorf("%s: %.4f is not within %v..%v", name, got, low, high)
	}
}

// Whole runs in which every arm is the same thing: 3 arms and a control, 2
// metrics, CV 5 %, 15 blocks of 5 guests. A run with any wrong word counts.
func TestSimFalseAlarms(t *testing.T) {
	const runs = 1000
	saved := slices.Clone(costs)
	defer copy(costs, saved)
	for i := range costs {
		costs[i] = 1
	}
	count := map[string]float64{}
	for seed := range uint64(runs) {
		r, err := Analyze(newFake(seed, 0.05, 15).input())
		if err != nil {
			t.Fatal(err)
		}
		said := ids(r.Findings)
		for _, c := range r.Comparisons {
			if c.Verdict == Costs || c.Verdict == Gains {
				said = append(said, string(c.Family))
			}
		}
		slices.Sort(said)
		for _, id := range slices.Compact(said) {
			count[id] += 1.0 / runs
		}
	}
	// Each is promised to be wrong in 5 % of the runs at most; a single placebo, as
	// here, errs on the safe side.
	within(t, "runs with a false claim, primary", count[string(FamilyPrimary)], 0.01, 0.06)
	within(t, "runs with a false claim, secondary", count[string(FamilySecondary)], 0.01, 0.06)
	// And each of these in 1 %.
	within(t, "runs whose control differs", count["control-differs"], 0.002, 0.02)
	within(t, "runs with no steady state", count["no-steady-state"], 0, 0.015)
	within(t, "runs with slow trials", count["slow-trials"], 0, 0.015)
	within(t, "runs whose guests differ", count["guests-differ"], 0, 0.02)
	// As often as a gain is claimed.
	within(t, "runs with a guest faster than the host", count["faster-than-baseline"], 0, 0.05)
}

// A simRun is a run of known truth: a baseline, its control and two arms, which
// do several kinds of work. Single trials vary by 5 %, all trials of a block by
// a random walk of 2 % a block.
type simRun struct {
	name                      string
	workloads, blocks, guests int
	slow, times               float64 // share of the trials that take so many times as long
	guestSD                   float64 // of guests' luck, relative
	shared                    bool    // a guest's luck is that of all its workloads
	ar                        float64 // correlation of one trial of an arm with its next
	lognormal                 bool    // trials are skewed
	drift                     float64 // over the whole run, relative
	unequal                   bool    // the first guest serves as many blocks as all others
}

// draw makes a run in which the two arms cost so much, relative.
func (s simRun) draw(seed uint64, costs [2]float64) dataset.Set {
	r := rand.New(rand.NewPCG(seed, 40))
	in := dataset.Set{Baseline: "native", Controls: map[string]string{"control": "native"}}
	for _, name := range []string{"native", "control", "one", "other"} {
		in.Arms = append(in.Arms, dataset.Arm{Name: name, System: name})
	}
	var luck [4][]float64
	renew := func() {
		for a := range luck {
			luck[a] = luck[a][:0]
			for range s.guests {
				luck[a] = append(luck[a], s.guestSD*r.NormFloat64())
			}
		}
	}
	renew()
	var obs []dataset.Observation
	for w := range s.workloads {
		in.Metrics = append(in.Metrics, dataset.Metric{Workload: fmt.Sprint("w", w), Name: "time", Unit: "s", Better: "lower",
			Primary: true})
		if !s.shared {
			renew()
		}
		var last [4]float64
		walk := 0.0
		for b := range s.blocks {
			walk += 0.02*r.NormFloat64() + s.drift/float64(s.blocks)
			guest := b * s.guests / s.blocks
			if s.unequal {
				guest = 0
				if later := 2*b - s.blocks; later >= 0 {
					guest = 1 + later*(s.guests-1)/s.blocks
				}
			}
			for a := range 4 {
				e := 0.05 * r.NormFloat64()
				if s.lognormal {
					e = 0.08 * math.Exp(0.5*r.NormFloat64())
				}
				if s.ar > 0 {
					e = s.ar*last[a] + math.Sqrt(1-s.ar*s.ar)*e
					last[a] = e
				}
				if r.Float64() < s.slow {
					e += math.Log(s.times)
				}
				if a > 1 {
					e += math.Log1p(costs[a-2])
				}
				obs = append(obs, dataset.Observation{Metric: int32(w), Arm: int32(a), Block: int32(b), Guest: int32(guest),
					Value: math.Exp(walk + luck[a][guest] + e)})
			}
		}
	}
	in.Observations = stream(obs)
	return in
}

// simResult is what came of many runs. Shares are of comparisons, but for
// falseRuns, which is of runs in which nothing costs anything.
type simResult struct {
	covered, half    float64 // half-width in percent
	falseRuns        float64
	found3, found5   float64 // costs of 3 and of 5 % that were claimed
	meanHalf         float64 // of the interval over plain means
	noneOfTwo, none0 float64 // "no overhead within 2 %" of arms that cost 3 %, and nothing
}

// powerEvery: power is measured on every fourth run, as its comparisons are many.
const powerEvery = 4

func (s simRun) simulate(t *testing.T, runs int) (res simResult) {
	t.Helper()
	each := 1 / float64(runs*2*s.workloads)
	for seed := range uint64(runs) {
		null, err := Analyze(s.draw(seed, [2]float64{}))
		if err != nil {
			t.Fatal(err)
		}
		claimed := false
		for _, c := range null.Comparisons {
			if c.Control {
				continue
			}
			if c.CILow <= 1 && c.CIHigh >= 1 {
				res.covered += each
			}
			if c.Verdict == None {
				res.none0 += each
			}
			res.half += 50 * math.Log(c.CIHigh/c.CILow) * each
			res.meanHalf += 50 * math.Log(c.MeanHigh/c.MeanLow) * each
			claimed = claimed || c.Verdict == Costs || c.Verdict == Gains
		}
		if claimed {
			res.falseRuns += 1 / float64(runs)
		}
		if seed%powerEvery > 0 {
			continue
		}
		for i, cost := range []float64{0.03, 0.05} {
			r, err := Analyze(s.draw(seed+1e6, [2]float64{cost, cost}))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Comparisons {
				switch {
				case c.Control:
				case c.Verdict == Costs && i == 0:
					res.found3 += each * powerEvery
				case c.Verdict == Costs:
					res.found5 += each * powerEvery
				case c.Verdict == None && i == 0:
					res.noneOfTwo += each * powerEvery
				}
			}
		}
	}
	return res
}

// TestSimRuns measures the table of the package's documentation. A rule that
// claims nothing fails it, as does one that claims too much.
func TestSimRuns(t *testing.T) {
	runs, slack := 240, 0.0
	if testing.Short() || raced {
		runs, slack = 16, 0.2
	}
	type bounds struct {
		covered   float64 // at least
		falseRuns float64 // at most
		found5    float64 // at least
	}
	for _, c := range []struct {
		simRun
		bounds
	}{
		{simRun{name: "Gaussian", blocks: 50, guests: 10, guestSD: 0.01}, bounds{0.93, 0.1, 0.85}},
		{simRun{name: "Gaussian, 100 blocks", blocks: 100, guests: 10, guestSD: 0.01}, bounds{0.93, 0.1, 0.95}},
		{simRun{name: "lognormal", blocks: 50, guests: 10, guestSD: 0.01, lognormal: true}, bounds{0.93, 0.1, 0.9}},
		{simRun{name: "5 % of the trials x3", blocks: 50, guests: 10, guestSD: 0.01, slow: 0.05, times: 3},
			bounds{0.93, 0.1, 0.6}},
		{simRun{name: "2 % of the trials x2", blocks: 50, guests: 10, guestSD: 0.01, slow: 0.02, times: 2},
			bounds{0.93, 0.1, 0.75}},
		{simRun{name: "1 % of the trials x5", blocks: 50, guests: 10, guestSD: 0.01, slow: 0.01, times: 5},
			bounds{0.93, 0.1, 0.8}},
		{simRun{name: "AR(1) of 0.4", blocks: 50, guests: 10, guestSD: 0.01, ar: 0.4}, bounds{0.92, 0.12, 0.4}},
		{simRun{name: "8 guests alike", blocks: 40, guests: 8}, bounds{0.93, 0.1, 0.75}},
		{simRun{name: "8 guests, sd 2 %", blocks: 40, guests: 8, guestSD: 0.02}, bounds{0.93, 0.1, 0.35}},
		{simRun{name: "8 guests, sd 2 % of all their work, drift", blocks: 40, guests: 8, guestSD: 0.02, shared: true,
			drift: 0.2}, bounds{0.93, 0.1, 0.35}},
		{simRun{name: "8 guests of 3 blocks, 5 % x3", blocks: 24, guests: 8, guestSD: 0.01, slow: 0.05, times: 3},
			bounds{0.93, 0.1, 0.12}},
		{simRun{name: "10 guests, one of half the blocks", blocks: 50, guests: 10, guestSD: 0.01, unequal: true},
			bounds{0.93, 0.1, 0.55}},
		{simRun{name: "10 guests, one of half the blocks, sd 2 %", blocks: 50, guests: 10, guestSD: 0.02, unequal: true},
			bounds{0.92, 0.12, 0.2}},
		{simRun{name: "4 guests", blocks: 20, guests: 4, guestSD: 0.01}, bounds{0.92, 0.12, 0.04}},
		{simRun{name: "one guest", blocks: 50, guests: 1}, bounds{0.93, 0.1, 0.9}},
		{simRun{name: "one guest, 5 % x3", blocks: 50, guests: 1, slow: 0.05, times: 3}, bounds{0.93, 0.1, 0.7}},
		// Said of these guests, as other guests differ: that is why.
		{simRun{name: "one guest, sd 1 %", blocks: 50, guests: 1, guestSD: 0.01}, bounds{0.85, 0.3, 0.4}},
		{simRun{name: "2 guests, sd 1 % of all their work", blocks: 50, guests: 2, guestSD: 0.01, shared: true},
			bounds{0.88, 0.22, 0.5}},
		{simRun{name: "one workload", workloads: 1, blocks: 50, guests: 10, guestSD: 0.01}, bounds{0.93, 0.1, 0.7}},
	} {
		if c.workloads == 0 {
			c.workloads = 7
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.simulate(t, runs)
			t.Logf("n=%d G=%d: covers %.1f %%, ± %.2f %% (means ± %.2f %%), false %.1f %%, finds 3 %%: %.0f %%, 5 %%: %.0f "+
				"%%; none: %.0f %% (false: %.1f %%)", c.blocks, c.guests,
				100*r.covered, r.half, r.meanHalf, 100*r.falseRuns, 100*r.found3, 100*r.found5, 100*r.none0, 100*r.noneOfTwo)
			if r.covered < c.bounds.covered-slack || r.covered > 0.985+slack {
				t.Errorf("intervals cover in %.3f, want %v..0.985", r.covered, c.bounds.covered)
			}
			if r.falseRuns > c.bounds.falseRuns+slack {
				t.Errorf("false claims in %.3f of the runs, want %v at most", r.falseRuns, c.bounds.falseRuns)
			}
			if r.found5 < c.bounds.found5-slack {
				t.Errorf("a cost of 5 %% is found in %.3f, want %v at least", r.found5, c.bounds.found5)
			}
			if r.noneOfTwo > 0.01+slack/10 {
				t.Errorf("a cost of 3 %% is called none within 2 %% in %.3f", r.noneOfTwo)
			}
		})
	}
}

// "No overhead" is said where there is none, by enough blocks.
func TestSimNone(t *testing.T) {
	runs := 40
	if testing.Short() || raced {
		runs = 8
	}
	r := simRun{workloads: 7, blocks: 150, guests: 30, guestSD: 0.005}.simulate(t, runs)
	within(t, "no overhead within 2 % found, 150 blocks", r.none0, 0.5, 1)
	within(t, "3 % called no overhead within 2 %", r.noneOfTwo, 0, 0.005)
}
