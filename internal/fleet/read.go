package fleet

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/compare"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/host/doctor"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// Run is what a fleet needs of a run. The file is not needed afterwards.
type Run struct {
	Name   string // of its file
	HostID string // "" if the run does not know it
	Type   string // of the machine: its CPU, how many, and what it is a guest of

	*compare.Run
	facts compare.Facts // what may explain that a machine is odd
	noise []doctor.NoiseSource
	costs map[analyze.CostOf][][]float64
	// booted: the host was booted anew for each guest, so that the groups of costs are boots.
	booted     bool
	incomplete string // why it is; "" if it is complete
}

// Read reads and analyzes a run.
func Read(r *store.Run) (*Run, error) {
	c, err := compare.Read(r)
	if err != nil {
		return nil, err
	}
	in, err := dataset.Read(r)
	if err != nil {
		return nil, err
	}
	run := &Run{Name: filepath.Base(r.Path()), Run: c, booted: in.Boots}
	if run.costs, err = analyze.GuestCosts(in); err != nil {
		return nil, err
	}
	sessions, err := r.Sessions()
	if err != nil {
		return nil, err
	}
	run.incomplete = report.Incomplete(sessions)
	var env host.Environment
	if err := r.Decode(store.DocEnvironment, &env); err != nil {
		return nil, err
	}
	run.HostID, run.Type = env.HostID, typeOf(&env)
	run.facts = factsOf(c, &env)
	var cpus []string
	for _, a := range in.Arms {
		if len(a.Size.CPUs) > 0 && !slices.Contains(cpus, a.Size.CPUs.String()) {
			cpus = append(cpus, a.Size.CPUs.String())
		}
	}
	run.noise = doctor.NoiseSources(&env, nil, doctor.Needs{CPUs: strings.Join(cpus, ",")})
	return run, nil
}

// typeOf names the type of a machine, by which machines are grouped if nobody says how.
func typeOf(env *host.Environment) string {
	name := cmp.Or(env.CPU.Model, "unknown CPU")
	if env.CPU.Threads > 0 {
		name += fmt.Sprintf(", %d CPUs", env.CPU.Threads)
	}
	switch {
	case env.Virt.Emulated:
		name += ", emulated"
	case env.Virt.Role == host.InGuest && env.Virt.Of != "":
		name += ", a guest of " + env.Virt.Of
	case env.Virt.Role == host.InGuest:
		name += ", a guest"
	}
	return name
}

// factsOf are those of a comparison of runs, and some that only matter between machines.
func factsOf(c *compare.Run, env *host.Environment) (facts compare.Facts) {
	for _, f := range c.Facts() {
		if f[0] != "machine" && f[0] != "campaign" { // each machine has its own; campaigns are checked
			facts = append(facts, f)
		}
	}
	if env.CPU.SMT != nil {
		facts = append(facts, [2]string{"hyper-threads", map[bool]string{true: "in use", false: "off"}[*env.CPU.SMT]})
	}
	return append(facts, [2]string{"control groups", string(env.Cgroup.Layout)},
		[2]string{"container", env.Virt.Container})
}
