package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// A simRun is a run of known truth: a baseline, its control and two arms, which
// do several kinds of work.
type simRun struct {
	workloads, blocks, guests int
	slow, times               float64 // share of the trials that take so many times as long
	guestSD                   float64 // of guests' luck, relative
	shared                    bool    // a guest's luck is that of all its workloads
	ar                        float64 // correlation of one trial of an arm with its next
	lognormal                 bool
	drift                     float64 // over the whole run, which all arms share
}

const simCV = 0.05 // of single trials

// input draws a run in which the two arms cost so much, relative.
func (s simRun) input(r *rand.Rand, costs [2]float64) Input {
	in := Input{Baseline: "native", Controls: map[string]string{"control": "native"}}
	for _, name := range []string{"native", "control", "one", "other"} {
		in.Arms = append(in.Arms, Arm{Name: name, System: name})
	}
	luck := make([][]float64, 4)
	for a := range luck {
		for range s.guests {
			luck[a] = append(luck[a], s.guestSD*r.NormFloat64())
		}
	}
	var obs []Observation
	for w := range s.workloads {
		in.Metrics = append(in.Metrics, Metric{Workload: fmt.Sprint("w", w), Name: "time", Unit: "s", Better: "lower", Primary: true})
		noise, own := make([]float64, 4), slices.Clone(luck)
		if !s.shared {
			for a := range own {
				own[a] = slices.Clone(luck[a])
				for g := range own[a] {
					own[a][g] = s.guestSD * r.NormFloat64()
				}
			}
		}
		walk := 0.0
		for b := range s.blocks {
			walk += 0.02*r.NormFloat64() + s.drift/float64(s.blocks)
			guest := b * s.guests / s.blocks
			for a := range 4 {
				e := simCV * r.NormFloat64()
				if s.lognormal {
					e = math.Exp(0.5*r.NormFloat64()) * 0.08 // skewed; about the same spread
				}
				if s.ar > 0 {
					noise[a] = s.ar*noise[a] + math.Sqrt(1-s.ar*s.ar)*e
					e = noise[a]
				}
				if r.Float64() < s.slow {
					e += math.Log(s.times)
				}
				if a > 1 {
					e += math.Log1p(costs[a-2])
				}
				obs = append(obs, Observation{Metric: int32(w), Arm: int32(a), Block: int32(b), Epoch: int32(guest), Value: math.Exp(walk + own[a][guest] + e)})
			}
		}
	}
	in.Observations = stream(obs)
	return in
}

// simResult is what came of many runs; shares of comparisons, but of runs where
// it says so.
type simResult struct {
	covered, half  float64 // of arms that cost nothing; half in percent
	falseRuns      float64 // share of runs with a claim, or "no overhead" beyond delta
	found3, found5 float64
	phi            float64
}

func (s simRun) simulate(t *testing.T, runs int, seed uint64) (res simResult) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 40))
	comparisons := float64(runs * 2 * s.workloads)
	for range runs {
		null, err := Analyze(s.input(r, [2]float64{}))
		if err != nil {
			t.Fatal(err)
		}
		claimed := false
		for _, c := range null.Comparisons {
			if c.Control {
				continue
			}
			if c.CILow <= 1 && c.CIHigh >= 1 {
				res.covered += 1 / comparisons
			}
			res.half += 50 * math.Log(c.CIHigh/c.CILow) / comparisons
			claimed = claimed || c.Verdict == Costs || c.Verdict == Gains
			res.phi += c.Phi / comparisons
		}
		if claimed {
			res.falseRuns += 1 / float64(runs)
		}
		real, err := Analyze(s.input(r, [2]float64{0.03, 0.05}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range real.Comparisons {
			switch {
			case c.Control || c.Verdict != Costs:
			case c.Arm == "one":
				res.found3 += 2 / comparisons
			default:
				res.found5 += 2 / comparisons
			}
		}
	}
	return res
}

func TestScratch(t *testing.T) {
	if os.Getenv("SCRATCH") == "" {
		t.Skip()
	}
	for _, s := range []simRun{

		{workloads: 7, blocks: 20, guests: 1},
		{workloads: 7, blocks: 20, guests: 1, ar: .4},
		{workloads: 7, blocks: 30, guests: 1},
		{workloads: 7, blocks: 30, guests: 1, ar: .4},
		{workloads: 7, blocks: 50, guests: 1},
		{workloads: 7, blocks: 50, guests: 1, ar: .4},
		{workloads: 7, blocks: 10, guests: 1},
		{workloads: 7, blocks: 10, guests: 1, ar: .2},
		{workloads: 7, blocks: 20, guests: 1, ar: .2},
	} {
		res := s.simulate(t, 300, 1)
		fmt.Printf("%+v\n   cov %.3f half %.2f false %.3f p3 %.2f p5 %.2f phi %.2f\n", s, res.covered, res.half, res.falseRuns, res.found3, res.found5, res.phi)
	}
}
