package experiment

import (
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/run"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/all"
	"github.com/tare-bench/tare/internal/workload"
)

// System is what a run file and `tare systems --json` say of a system.
type System struct {
	Name         string              `json:"name"`
	Usable       bool                `json:"usable"`
	Reason       string              `json:"reason,omitempty"`
	Remedy       string              `json:"remedy,omitempty"`
	VerifiedOn   string              `json:"verified_on"`
	Capabilities system.Capabilities `json:"capabilities"`
	Proof        string              `json:"proof,omitempty"`
	Versions     map[string]string   `json:"versions,omitempty"`
}

// Entries describes the systems that have a status, in display order.
func (t *Testbed) Entries(status map[string]system.Status) []System {
	entries := []System{}
	for _, d := range all.Drivers() {
		if st, asked := status[d.Name()]; asked {
			caps := d.Capabilities()
			entries = append(entries, System{d.Name(), st.Usable, st.Reason, st.Remedy, caps.VerifiedOn, caps, st.Proof,
				st.Versions})
		}
	}
	return entries
}

// Arms describes the arms of a plan as run files have them. hostEmulated says that
// this host is an emulated machine, and all arms with it.
func Arms(p *plan.Plan, drivers map[string]system.Driver, hostEmulated bool) (arms []store.Arm, err error) {
	for _, a := range p.Arms {
		f, err := run.WithCPUs(a.Flavor, 0)
		if err != nil {
			return nil, err
		}
		arms = append(arms, store.Arm{
			Name: a.Name, System: a.System, Scenario: a.Scenario, Flavor: f, ControlOf: a.Control,
			Emulated: hostEmulated || drivers[a.System].Capabilities().Emulated,
		})
	}
	return arms, nil
}

// Metrics describes the metrics and probes of a plan's workloads as run files have
// them. A workload is in workloads by the name of its series.
func Metrics(p *plan.Plan, workloads map[string]*workload.Workload) (metrics []store.Metric) {
	for _, series := range p.Workloads {
		for i, m := range workloads[series].Metrics {
			metrics = append(metrics, store.Metric{Workload: series, Name: m.Name, Unit: m.Unit, Better: string(m.Better),
				Primary: i == 0})
		}
		w := workloads[series]
		for _, c := range w.Curves {
			for _, m := range c.Points() {
				metrics = append(metrics, store.Metric{Workload: series, Name: m.Name, Unit: m.Unit, Better: string(m.Better)})
			}
		}
		for _, u := range probe.UnitsOf(w.Kind()) {
			metrics = append(metrics, store.Metric{Workload: series, Name: u.Name, Unit: u.Unit, Probe: true})
		}
	}
	return metrics
}
