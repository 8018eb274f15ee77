package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// disturbed is a run of known truth with three workloads, alone and beside a neighbour that loads the disk or the CPUs.
// Natively they take 1.5 and 2 times as long there. Beside the disk's, lxc is slowed down by as much; kvm 1.05, 1.3 and
// 1.1 times more. Beside the CPU's both are slowed down as much as native. Guests are made anew every four blocks; they
// differ by 2 %, which is in both of their trials, and by 1 % beside neighbours.
func disturbed(seed uint64, blocks int, cv float64) *fake {
	f := &fake{Set: dataset.Set{Baseline: "native", Controls: map[string]string{}, Planned: blocks}}
	excess := []float64{1.05, 1.3, 1.1}
	for w := range excess {
		f.Metrics = append(f.Metrics, dataset.Metric{Workload: string(rune('a' + w)), Name: "time", Unit: "s",
			Better: "lower", Primary: true})
		f.Probes = append(f.Probes, dataset.Probe{Workload: string(rune('a' + w)), Name: model.ProbeNeighbourTime, Unit: "s"},
			dataset.Probe{Workload: string(rune('a' + w)), Name: model.ProbeNeighbourCPU, Unit: "s"},
			dataset.Probe{Workload: string(rune('a' + w)), Name: model.ProbeNeighbourBytes, Unit: "B"})
	}
	names := []string{"native", "native-control", "lxc", "kvm"}
	slower := map[string]float64{"solo": 1, "disk": 1.5, "cpu": 2}
	for _, scenario := range []string{"solo", "disk", "cpu"} {
		for _, name := range names {
			arm := dataset.Arm{Name: name, System: name, Flavor: "f", Scenario: scenario}
			if scenario != "solo" {
				arm.Name, arm.Alone, arm.Baseline = name+"@"+scenario, name, "native@"+scenario
				arm.Neighbours, arm.FirstNeighbour = []string{scenario}, 1
			}
			if name == "native-control" {
				f.Controls[arm.Name], arm.Alone, arm.Baseline = "native", "", ""
				if scenario != "solo" {
					f.Controls[arm.Name] = "native@" + scenario
				}
			}
			f.Arms = append(f.Arms, arm)
		}
	}
	r := rand.New(rand.NewPCG(seed, 15))
	guest, beside := map[string]float64{}, map[string]float64{}
	for b := range int32(blocks) {
		drift := 0.02 * r.NormFloat64()
		for ai, arm := range f.Arms {
			name := names[ai%len(names)]
			if b%4 == 0 && arm.Scenario == "solo" {
				guest[name] = 0.02 * r.NormFloat64()
			}
			if b%4 == 0 {
				beside[arm.Name] = 0.01 * r.NormFloat64()
			}
			for w := range excess {
				ln := drift + guest[name] + math.Log(slower[arm.Scenario]) + cv*r.NormFloat64()
				if arm.Scenario != "solo" {
					ln += beside[arm.Name]
				}
				if name == "kvm" && arm.Scenario == "disk" {
					ln += math.Log(excess[w])
				}
				f.obs = append(f.obs, dataset.Observation{Metric: int32(w), Arm: int32(ai), Block: b, Guest: b / 4,
					Value: math.Exp(ln)})
				if len(arm.Neighbours) > 0 {
					for i, v := range []float64{2, 0.9, 50 * mebi} {
						f.probe = append(f.probe, dataset.Observation{Metric: int32(3*w + i), Arm: int32(ai), Block: b,
							Guest: 1000 + b/4, Member: 1, Value: v})
					}
				}
			}
		}
	}
	return f
}

func (r *Result) cell(arm string) *IsolationCell {
	i := slices.IndexFunc(r.IsolationMatrix, func(c IsolationCell) bool { return c.Arm == arm })
	if i < 0 {
		return nil
	}
	return &r.IsolationMatrix[i]
}

func (r *Result) findingOf(id, arm string) *Finding {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == id && f.Arm == arm })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

func TestIsolationMatrix(t *testing.T) {
	r := analyzed(t, disturbed(1, 32, 0.02).input())
	if len(r.IsolationMatrix) != 4 {
		t.Fatalf("%+v", r.IsolationMatrix)
	}
	c := r.cell("kvm@disk")
	if e := c.Excess; c.Alone != "kvm" || c.NativeArm != "native@disk" || c.Scenario != "disk" ||
		!slices.Equal(c.Neighbours, []string{"disk"}) || c.Trials != 96 || c.Lost != 0 || c.P99 != nil ||
		c.Missing != nil || e.Workload != "b" || e.Workloads != 3 || e.Verdict != Costs ||
		!near(e.Ratio, 1.3, 0.05) || e.CILow > 1.3 || e.CIHigh < 1.3 || e.CILow < 1.15 || e.Units != 8 ||
		e.Scope != ScopeGuests {
		t.Errorf("%+v: %+v", c, e)
	}
	// The interval of a single workload is narrower.
	one := r.isolationOf(t, "kvm@disk", "time")
	if one.Workload != "a" || one.ExcessHigh-one.ExcessLow >= c.Excess.CIHigh-1.05 {
		t.Errorf("%+v", one)
	}
	for _, arm := range []string{"lxc@disk", "lxc@cpu", "kvm@cpu"} {
		if e := r.cell(arm).Excess; e.Verdict != NotResolved || e.CILow > 1 || e.CIHigh < 1 {
			t.Errorf("%s: %+v", arm, e)
		}
	}
	if f := r.findingOf(idleNeighbour, "kvm@disk"); f != nil {
		t.Errorf("%+v", f)
	}
}

// TestSimMatrix: how often the interval of a cell contains the largest of the true excesses, and how often anything is
// claimed of a system that is not worse than native.
func TestSimMatrix(t *testing.T) {
	runs := 200
	if raced {
		runs = 40
	}
	covers, found, wrong := map[string]int{}, 0, 0
	for seed := range uint64(runs) {
		r := analyzed(t, disturbed(1000+seed, 32, 0.05).input())
		claimed := false
		for _, c := range r.IsolationMatrix {
			truth := 1.0
			if c.Arm == "kvm@disk" {
				truth = 1.3
				if c.Excess.Verdict == Costs {
					found++
				}
			} else {
				claimed = claimed || c.Excess.Verdict != NotResolved
			}
			if c.Excess.CILow <= truth && truth <= c.Excess.CIHigh {
				covers[c.Arm]++
			}
		}
		if claimed {
			wrong++
		}
	}
	for _, arm := range []string{"kvm@disk", "kvm@cpu", "lxc@disk", "lxc@cpu"} {
		within(t, "intervals of "+arm+" that contain the truth", float64(covers[arm])/float64(runs), 0.94, 1)
	}
	within(t, "runs with a false claim", float64(wrong)/float64(runs), 0, 0.05)
	within(t, "an excess of 30 % that is found", float64(found)/float64(runs), 0.9, 1)
}

// besideNoise makes a run of requests, alone and beside a neighbour that loads the disk: natively nothing changes
// there, lxc's requests all take 1.2 times as long, and of kvm's a share takes 20 ms more.
func besideNoise(seed uint64, n int, share float64) dataset.Set {
	in := serving(seed, n, served{"lxc", 1, 0}, served{"kvm", 1, 0}, served{"native@noisy", 1, 0},
		served{"control@noisy", 1, 0}, served{"lxc@noisy", 1.2, 0}, served{"kvm@noisy", 1, share})
	for i := range in.Arms {
		arm := &in.Arms[i]
		arm.Scenario = "solo"
		if i > 3 {
			arm.Scenario, arm.Neighbours, arm.Baseline = "noisy", []string{"disk"}, "native@noisy"
			arm.Alone = in.Arms[i-4].Name
		}
	}
	in.Controls["control@noisy"], in.Arms[5].Alone = "native@noisy", ""
	return in
}

// TestMatrixByP99: a neighbour that delays one request in fifty hardly shows in the mean time, and in p99 by a lot.
func TestMatrixByP99(t *testing.T) {
	r := analyzed(t, besideNoise(7, 600, 0.02))
	if c := r.cell("kvm@noisy"); c == nil || c.P99 == nil || c.P99.CILow < 20 || c.P99.Verdict != Costs ||
		c.P99.Workloads != 1 || c.P99.Metric != "latency" {
		t.Errorf("%+v", c)
	}
	if c := r.cell("lxc@noisy"); c == nil || c.P99 == nil || !near(c.P99.Ratio, 1.2, 0.1) {
		t.Errorf("%+v", c)
	}
	// With 200 requests a trial, a guest has 800, of which 8 are beyond p99.
	if c := analyzed(t, besideNoise(8, 200, 0.02)).cell("kvm@noisy"); c.P99 != nil || c.Excess == nil {
		t.Errorf("%+v", c)
	}
}

// TestSimMatrixByP99 is TestSimMatrix for percentiles.
func TestSimMatrixByP99(t *testing.T) {
	runs := 60
	if raced {
		runs = 20
	}
	covers, wrong := 0, 0
	for seed := range uint64(runs) {
		r := analyzed(t, besideNoise(200+seed, 300, 0))
		if e := r.cell("lxc@noisy").P99; e.CILow <= 1.2 && 1.2 <= e.CIHigh {
			covers++
		}
		if r.cell("kvm@noisy").P99.Verdict != NotResolved {
			wrong++
		}
	}
	within(t, "intervals of p99 that contain the truth", float64(covers)/float64(runs), 0.90, 1)
	within(t, "runs with a false claim by p99", float64(wrong)/float64(runs), 0, 0.10)
}

// TestIdleNeighbour: beside neighbours that failed or did nothing, nothing is claimed, and a finding says so.
func TestIdleNeighbour(t *testing.T) {
	const worked = "" // no finding
	fail := func(f *fake, arm string, blocks int) {
		for b := range blocks {
			f.NeighbourFailures = append(f.NeighbourFailures, dataset.Failure{Workload: "b", Arm: arm, Block: b,
				Member: 1, Fault: fault.Guest, Text: "exit status 2"})
		}
	}
	idle := func(f *fake, arm, probe int, v float64, blocks int32) {
		for i := range f.probe {
			o := &f.probe[i]
			if o.Arm == int32(arm) && int(o.Metric)%3 == probe && int(o.Metric)/3 == 1 && o.Block < blocks {
				o.Value = v
			}
		}
	}
	const kvmDisk, kvmCPU = 7, 11
	for _, c := range []struct {
		name      string
		change    func(*fake)
		text, arm string
		severity  Severity
		claimed   bool // of kvm beside the disk's neighbour
	}{
		{"all worked", func(*fake) {}, worked, "kvm@disk", "", true},
		{"failed", func(f *fake) { fail(f, "kvm@disk", 20) },
			"the neighbour that loads disk did not work in 20 of 52 trials: in 20 of them it failed; the first, in block 1: " +
				"exit status 2", "kvm@disk", Serious, false},
		{"failed once", func(f *fake) { fail(f, "kvm@disk", 1) },
			"the neighbour that loads disk did not work in 1 of 33 trials: in 1 of them it failed; the first, in block 1: " +
				"exit status 2", "kvm@disk", Warning, true},
		{"native's failed", func(f *fake) { fail(f, "native@disk", 32) },
			"the neighbour that loads disk did not work in 32 of 64 trials: in 32 of them it failed; the first, in block 1: " +
				"exit status 2", "native@disk", Serious, false},
		{"wrote nothing", func(f *fake) { idle(f, kvmDisk, 2, 0, 12) },
			"the neighbour that loads disk did not work in 12 of 32 trials: in 12 of them it wrote nothing", "kvm@disk",
			Serious, false},
		{"no CPU time", func(f *fake) { idle(f, kvmCPU, 1, 0.001, 32) },
			"the neighbour that loads cpu did not work in 32 of 32 trials: in 32 of them it used less than 0.01 CPUs",
			"kvm@cpu", Serious, true},
		{"feeble", func(f *fake) { idle(f, kvmCPU, 1, 0.08, 32) },
			"the neighbour that loads cpu used 0.04 CPUs; beside native@cpu it used 0.45 CPUs", "kvm@cpu", Warning,
			true},
		{"the whole trial failed", func(f *fake) {
			fail(f, "kvm@disk", 20)
			for b := range 20 {
				f.Failures = append(f.Failures, dataset.Failure{Workload: "b", Arm: "kvm@disk", Block: b,
					Fault: fault.Guest, Text: "no guest"})
			}
		}, worked, "kvm@disk", "", true},
	} {
		f := disturbed(3, 32, 0.02)
		c.change(f)
		r := analyzed(t, f.input())
		got := Finding{}
		if f := r.findingOf(idleNeighbour, c.arm); f != nil {
			got = *f
		}
		if got.Text != c.text || got.Severity != c.severity || c.text != "" && got.Workload != "b" {
			t.Errorf("%s: %+v", c.name, got)
		}
		cell := r.cell("kvm@disk")
		if claimed := cell.Excess.Verdict == Costs; claimed != c.claimed || claimed == slices.Contains(cell.Idle, "b") {
			t.Errorf("%s: %+v, %+v", c.name, cell, cell.Excess)
		}
	}
}

// TestUnfinishedBesideNeighbour: a workload that never finishes beside a neighbour is no silent gap in its cell.
func TestUnfinishedBesideNeighbour(t *testing.T) {
	f := disturbed(4, 16, 0.02)
	const kvmDisk = 7
	f.drop(func(o dataset.Observation) bool { return o.Metric == 1 && o.Arm == kvmDisk })
	for b := range 16 {
		f.Failures = append(f.Failures, dataset.Failure{Workload: "b", Arm: "kvm@disk", Block: b, Fault: fault.Guest,
			Text: "killed"})
	}
	f.Arms[6].Emulated = true // lxc
	r := analyzed(t, f.input())
	c := r.cell("kvm@disk")
	if !slices.Equal(c.Missing, []string{"b"}) || !slices.Equal(c.Unfinished, []string{"b"}) || c.Lost != 16 ||
		c.Trials != 48 || c.Excess.Workloads != 2 || c.Excess.Workload == "b" {
		t.Errorf("%+v: %+v", c, c.Excess)
	}
	if c := r.cell("lxc@disk"); !c.Emulated || c.Excess == nil || c.Excess.Verdict != NotResolved || c.Excess.PHolm != 1 {
		t.Errorf("%+v: %+v", c, c.Excess)
	}
}
