package analyze

import (
	"slices"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// RequestUse is what the requests of an arm's trials were, and what each of them took.
type RequestUse struct {
	Workload string  `json:"workload"`
	Arm      string  `json:"arm"`
	System   string  `json:"system"`
	Emulated bool    `json:"emulated,omitempty"`
	N        int     `json:"n"`        // blocks
	Due      float64 `json:"due"`      // a second, mean of the trials
	Answered float64 `json:"answered"` // a second, mean of the trials
	// CPU is the CPU time in seconds that the control group of the guest took for each request: of the server, and of
	// the load generator if that runs in the same guest. 0: not known, or trials do not make the same number of
	// requests.
	CPU float64 `json:"cpu,omitzero"`
}

// requests lists the requests of every arm of workloads with a constant rate, baselines and controls too.
func (a *analysis) requests() (out []RequestUse) {
	for _, workload := range a.workloads() {
		size := slices.IndexFunc(a.in.Sizes, func(s store.Size) bool { return s.Workload == workload })
		for ai, arm := range a.in.Arms {
			due, answered := common(a.probe(workload, model.ProbeStatedRate, ai),
				a.probe(workload, model.ProbeAchievedRate, ai))
			if len(due) == 0 {
				continue
			}
			use := RequestUse{Workload: workload, Arm: arm.Name, System: arm.System, Emulated: arm.Emulated, N: len(due),
				Due: due.mean(), Answered: answered.mean()}
			cpu := a.probe(workload, model.ProbeGuestGroupCPU, ai)
			if size >= 0 && a.in.Sizes[size].Size > 0 && len(cpu) > 0 {
				use.CPU = cpu.mean() / float64(a.in.Sizes[size].Size)
			}
			out = append(out, use)
		}
	}
	return out
}
