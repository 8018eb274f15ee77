package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
)

// neighbourhood is the noise of a shared machine: how much longer work takes, as a logarithm, in every slice of 5 ms.
// It is a sum of processes with correlation times of 5 ms, 80 ms and 1 s, and of neighbours that come for some tens of
// milliseconds and take up to a third of the speed.
type neighbourhood struct {
	*rand.Rand
	parts [3]float64
	busy  int     // slices for which a neighbour stays
	takes float64 // by it
}

func (n *neighbourhood) next() float64 {
	sum := 0.0
	for i, keep := range []float64{math.Exp(-1), math.Exp(-5. / 80), math.Exp(-5. / 1000)} {
		sd := []float64{0.05, 0.04, 0.03}[i]
		n.parts[i] = keep*n.parts[i] + sd*math.Sqrt(1-keep*keep)*n.NormFloat64()
		sum += n.parts[i]
	}
	if n.busy == 0 && n.Float64() < 0.01 {
		n.busy, n.takes = 2+n.IntN(15), math.Min(0.4, 0.05/math.Sqrt(n.Float64()))
	}
	if n.busy > 0 {
		n.busy--
		sum += n.takes
	}
	return sum
}

// shared is a run on such a machine: a baseline, its control and two arms. Each makes trials of 20 slices, once one
// arm after the other, and once in duets, in which the arms take turns with every slice.
type shared struct {
	blocks, guests int
	costs          [4]float64 // relative
	company        [4]float64 // what an arm pays for company besides, relative
	guestSD        float64
}

func (s shared) draw(seed uint64) dataset.Set {
	const slices, arms = 20, 4
	n := &neighbourhood{Rand: rand.New(rand.NewPCG(seed, 50))}
	in := dataset.Set{Baseline: "native", Controls: map[string]string{"control": "native"},
		Probes: []dataset.Probe{{Workload: "w", Name: model.ProbeGuestGroupCPU, Unit: "s"}}}
	for _, name := range []string{"native", "control", "one", "other"} {
		in.Arms = append(in.Arms, dataset.Arm{Name: name, System: name})
	}
	var luck [arms][]float64
	for a := range luck {
		for range s.guests {
			luck[a] = append(luck[a], s.guestSD*n.NormFloat64())
		}
	}
	var alone, atOnce []dataset.Observation
	add := func(to *[]dataset.Observation, b, a int, took float64) {
		guest := b * s.guests / s.blocks
		*to = append(*to, dataset.Observation{Arm: int32(a), Block: int32(b), Guest: int32(guest),
			Value: 0.1 * took / slices * math.Exp(luck[a][guest])})
	}
	for b := range s.blocks {
		for _, a := range n.Perm(arms) {
			took := 0.0
			for range slices {
				took += (1 + s.costs[a]) * math.Exp(n.next())
			}
			add(&alone, b, a, took)
		}
		var took [arms]float64
		for range slices {
			for _, a := range n.Perm(arms) {
				took[a] += (1 + s.costs[a]) * (1 + s.company[a]) * math.Exp(n.next())
			}
		}
		for a := range took {
			add(&atOnce, b, a, took[a])
		}
	}
	in.ProbeObservations, in.Duets = stream(alone), stream(atOnce)
	return in
}

// of is the comparison of an arm by a metric.
func of(t *testing.T, in dataset.Set, metric, arm string) (*Result, *Comparison) {
	t.Helper()
	r, err := Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	return r, r.find(metric, arm)
}

// TestSimDuets: on a machine with that noise, duets err far less than trials alone of the same length, keep their
// promise on false claims and on coverage, find a cost of 1 % that trials alone do not, and agree with them.
func TestSimDuets(t *testing.T) {
	const runs = 300
	s := shared{blocks: 40, guests: 8, guestSD: 0.001, costs: [4]float64{0, 0, 0, 0.01}}
	var alone, atOnce, falsely, covers, found, foundAlone, differ float64
	for seed := range uint64(runs) {
		r, c := of(t, s.draw(seed), CPUTimeAtOnce, "one")
		if c.Family != FamilyAtOnce || c.Units != s.guests || c.N != s.blocks || c.BaselineControl != "control" {
			t.Fatalf("%+v", c)
		}
		atOnce += math.Pow(math.Log(c.Ratio), 2) / runs
		if c.Verdict == Costs || c.Verdict == Gains {
			falsely += 1. / runs
		}
		solo := r.find(CPUTime, "one")
		alone += math.Pow(math.Log(solo.Ratio), 2) / runs
		other := r.find(CPUTimeAtOnce, "other")
		if other.CILow < 1.01 && 1.01 < other.CIHigh {
			covers += 1. / runs
		}
		if other.Verdict == Costs {
			found += 1. / runs
		}
		if r.find(CPUTime, "other").Verdict == Costs {
			foundAlone += 1. / runs
		}
		if slices.Contains(ids(r.Findings), duetDiffers) {
			differ += 1. / runs
		}
	}
	within(t, "error of duets over that of trials alone", math.Sqrt(atOnce/alone), 0, 0.4)
	within(t, "false claims of duets", falsely, 0, 0.06)
	within(t, "coverage of duets", covers, 0.93, 1)
	within(t, "1 % found by duets", found, 0.6, 1)
	within(t, "1 % found by trials alone", foundAlone, 0, found/2)
	within(t, "runs in which duets differ from trials alone", differ, 0, 0.02)
}

// TestDuetsOfFewGuests: the luck of a guest is no cost of its system.
func TestDuetsOfFewGuests(t *testing.T) {
	for guests, want := range map[int]Verdict{2: NotResolved, 8: Costs} {
		s := shared{blocks: 80, guests: guests, guestSD: 0.001, costs: [4]float64{0, 0, 0, 0.03}}
		if _, c := of(t, s.draw(3), CPUTimeAtOnce, "other"); c.Verdict != want {
			t.Errorf("with %d guests: %s, want %s", guests, c.Verdict, want)
		}
	}
}

// TestDuetDiffers: an arm that pays for company what others do not gets the finding, and no claim from duets.
func TestDuetDiffers(t *testing.T) {
	s := shared{blocks: 160, guests: 16, guestSD: 0.001, company: [4]float64{0.1, 0.1, 0.1, 0.14}}
	r, c := of(t, s.draw(1), CPUTimeAtOnce, "other")
	if !c.Overruled || c.Verdict != NotResolved || !slices.Contains(c.Findings, duetDiffers) {
		t.Errorf("%+v", c)
	}
	if c := r.find(CPUTimeAtOnce, "one"); c.Overruled || slices.Contains(c.Findings, duetDiffers) {
		t.Errorf("company that all pay for alike: %+v", c)
	}
}

// TestDuetAnswers: what duets say is told beside the answer by the primary metrics, but for what was overruled.
func TestDuetAnswers(t *testing.T) {
	for company, want := range map[float64]string{0: "[w]", 0.05: "nothing"} {
		s := shared{blocks: 160, guests: 16, guestSD: 0.001, costs: [4]float64{0, 0, 0, 0.03}}
		s.company[3] = company
		in := s.draw(2)
		in.Metrics = []dataset.Metric{{Workload: "w", Name: "time", Unit: "s", Better: "lower", Primary: true}}
		in.Observations = in.ProbeObservations
		r, err := Analyze(in)
		if err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		if a := r.Answers[1].AtOnce; a != nil {
			var costs []string
			for _, c := range a.Costs {
				costs = append(costs, c.Workload)
			}
			got = fmt.Sprint(costs)
		}
		if got != want {
			t.Errorf("with company that costs %v: %s, want %s", company, got, want)
		}
	}
}
