package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// Energy is the metric of the joules that the host's processors and memory took in a trial. Only arms
// whose guest runs alone have it: the energy of several guests cannot be told apart.
const Energy = "energy"

// minEnergyTime is the shortest trial whose energy counts, in seconds. The counters are updated about
// every millisecond, so its ends make an error of up to 1 % of its energy each.
const minEnergyTime = 0.1

// EnergyUse is the energy that the host took for the trials of an arm.
type EnergyUse struct {
	Workload string  `json:"workload"`
	Arm      string  `json:"arm"`
	System   string  `json:"system"`
	Emulated bool    `json:"emulated,omitempty"`
	N        int     `json:"n"`      // blocks
	Joules   float64 `json:"joules"` // of a trial, mean
	// PerUnit is the joules for one unit of the workload's size, which is SizeUnit; 0: the size is not known.
	PerUnit  float64 `json:"joules_per_unit,omitzero"`
	SizeUnit string  `json:"size_unit,omitempty"`
	Watts    float64 `json:"watts"` // mean power during the trials
	// RestWatts is the power before there were guests, the mean of all sessions; 0: not known.
	RestWatts float64 `json:"rest_watts,omitzero"`
}

// joules is the energy of an arm's trials by block: of the processors, and of the memory where that has a
// counter. why says why there is none although it was measured.
func (a *analysis) joules(workload string, arm int) (joules series, why Finding) {
	all := []series{a.probe(workload, model.ProbeEnergyPackage, arm)}
	if memory := a.probe(workload, model.ProbeEnergyDRAM, arm); len(memory) > 0 {
		all = append(all, memory)
	}
	if len(all[0]) == 0 || len(a.probe(workload, model.ProbeFillLost, arm)) > 0 { // a fill has many guests
		return nil, why
	}
	count := func(probe string, is func(float64) bool) (n int) {
		for _, p := range a.probe(workload, probe, arm) {
			if is(p.value) {
				n++
			}
		}
		return n
	}
	if n := count(model.ProbeEnergyFaults, func(v float64) bool { return v > 0 }); n > 0 {
		why.Text = fmt.Sprintf("in %d of %d trials an energy counter stood still, or was set back", n, len(all[0]))
		return nil, why
	}
	if n := count(model.ProbeEnergyTime, func(v float64) bool { return v < minEnergyTime }); n > 0 {
		why.Severity = Info
		why.Text = fmt.Sprintf("%d of %d trials are shorter than %.3g s, in which the counters are updated too few times",
			n, len(all[0]), minEnergyTime)
		return nil, why
	}
	return combine(func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x
		}
		return sum
	}, all...), why
}

// addEnergy makes a metric of the energy. All arms of a workload have it, or none: an arm that is left out
// for what its counters showed would make the others look complete.
func (a *analysis) addEnergy() {
	a.energy = len(a.in.Metrics)
	for _, workload := range a.workloads() {
		if slices.ContainsFunc(a.in.Metrics,
			func(m dataset.Metric) bool { return m.Workload == workload && m.Name == Energy }) {
			continue
		}
		of, left := make([]series, len(a.in.Arms)), false
		for ai, arm := range a.in.Arms {
			if !arm.Solo() {
				continue
			}
			s, why := a.joules(workload, ai)
			if why.Text != "" {
				why.Workload, why.Arm, left = workload, arm.Name, true
				a.noEnergy = append(a.noEnergy, why)
			}
			of[ai] = s
		}
		if !left {
			a.addMetric(workload, Energy, "J", of)
		}
	}
}

func findNoEnergy(a *analysis) []Finding { return a.noEnergy }

// energyUses lists what energy each arm took, baselines and controls too.
func (a *analysis) energyUses() (out []EnergyUse) {
	rest := a.restWatts()
	for mi := a.energy; mi < len(a.in.Metrics); mi++ {
		workload := a.in.Metrics[mi].Workload
		for ai, arm := range a.in.Arms {
			joules := a.metrics.at(mi, ai)
			if len(joules) == 0 {
				continue
			}
			j, t := common(joules, a.probe(workload, model.ProbeEnergyTime, ai))
			use := EnergyUse{Workload: workload, Arm: arm.Name, System: arm.System, Emulated: arm.Emulated, N: len(joules),
				Joules: joules.mean(), Watts: j.sum() / t.sum(), RestWatts: rest}
			if i := slices.IndexFunc(a.in.Sizes, func(s store.Size) bool { return s.Workload == workload }); i >= 0 &&
				a.in.Sizes[i].Size > 0 {
				use.PerUnit, use.SizeUnit = use.Joules/float64(a.in.Sizes[i].Size), a.in.Sizes[i].Unit
			}
			out = append(out, use)
		}
	}
	return out
}

// restWatts is the mean of what the events say of the power before there were guests; 0: none does.
func (a *analysis) restWatts() float64 {
	var sum float64
	n := 0
	for _, e := range a.in.Events {
		number, _, _ := strings.Cut(e.Text, " ")
		if watts, err := strconv.ParseFloat(number, 64); e.Kind == store.EventPower && err == nil && watts > 0 {
			sum, n = sum+watts, n+1
		}
	}
	return sum / float64(max(n, 1))
}
