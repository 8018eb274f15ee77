package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/host/doctor"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// envView is the machine and its noise sources.
type envView struct {
	Noise []doctor.NoiseSource
	Facts [][2]string
	JSON  string
}

// layers names the devices on which guests' data is, each with what is below it; "" if that is just a disk.
func layers(e *host.Environment) string {
	var all []string
	if s := e.Storage; s != nil && len(s.Stack) > 1 {
		all = append(all, strings.Join(s.Stack, " → "))
	}
	for _, d := range e.Devices {
		all = append(all, d.Path+": "+strings.Join(d.Stack, " → "))
	}
	return strings.Join(all, "; ")
}

func envOf(r *store.Run, ctx report.Context, arms []store.Arm, swap *analyze.Swapping) (envView, error) {
	body, err := r.Document(store.DocEnvironment)
	if err != nil {
		return envView{}, err
	}
	var cpus []string
	for _, a := range arms {
		if len(a.Flavor.CPUs) > 0 {
			cpus = append(cpus, a.Flavor.CPUs.String())
		}
	}
	e := &ctx.Machine
	v := envView{Noise: doctor.NoiseSources(e, nil, doctor.Needs{CPUs: strings.Join(cpus, ",")})}
	add := func(name, text string) {
		if text != "" {
			v.Facts = append(v.Facts, [2]string{name, text})
		}
	}
	add("Machine", ctx.Host)
	add("System", e.OS.Pretty)
	add("Kernel", strings.TrimSpace(e.Kernel.Release+" "+e.Kernel.Build))
	add("Command line", e.Kernel.Cmdline)
	add("Clock source", e.Clock.Source)
	add("Microcode", e.CPU.Microcode)
	if e.CPU.SMT != nil {
		add("Hyper-threads", map[bool]string{true: "in use", false: "off"}[*e.CPU.SMT])
	}
	for _, p := range e.CPU.Policies {
		add("Frequency", fmt.Sprintf("CPUs %s: %s, governor %s", p.CPUs, p.Driver, p.Governor))
	}
	if ctx.Programs != "" {
		add("Programs", ctx.Programs)
	}
	if ctx.NoEnergy != "" {
		add("Energy", "not measured: "+ctx.NoEnergy)
	}
	add("Swap", report.Swap(swap, ctx.Machine.Memory.Swaps))
	if ctx.Polite != "" {
		add("Polite", ctx.Polite)
	}
	if ctx.Effects != "" {
		add("Caches", ctx.Effects)
	}
	add("Control groups", string(e.Cgroup.Layout))
	if s := e.Storage; s != nil {
		add("Storage", strings.TrimSuffix(fmt.Sprintf("%s on %s (%s), %s", s.FSType, s.Source, s.Options, s.Model), ", "))
	}
	add("Data on", layers(e))
	var all any
	if err := json.Unmarshal(body, &all); err != nil {
		return envView{}, err
	}
	pretty, err := json.MarshalIndent(all, "", "  ")
	if len(pretty) < 100_000 {
		v.JSON = string(pretty) + "\n"
	}
	return v, err
}
