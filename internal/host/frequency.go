package host

import (
	"errors"
	"strconv"

	"github.com/tare-bench/tare/internal/model"
)

// readFrequency reads what affects the speed of the CPUs: SMT, turbo, governors, thermal
// throttling, idle states.
func readFrequency(r *reader, c *CPU, cpus model.CPUList) {
	if n := r.number("cpu.smt", cpuDir+"/smt/active"); n != nil {
		c.SMT = new(*n != 0)
	}
	c.SMTControl = r.optional("cpu.smt_control", cpuDir+"/smt/control")
	c.IdleDriver = r.optional("cpu.idle_driver", cpuDir+"/cpuidle/current_driver")
	c.IdleGov = r.optional("cpu.idle_governor", cpuDir+"/cpuidle/current_governor")
	readTurbo(r, c)
	for _, cpu := range cpus {
		n := r.optionalNumber("cpu.throttled", cpuFile(cpu, "thermal_throttle/core_throttle_count"))
		if n != nil && (c.Throttled == nil || *n > *c.Throttled) {
			c.Throttled = n
		}
	}
	readPolicies(r, c, cpus)
}

// readTurbo reads Linux's switches for turbo, most specific first.
func readTurbo(r *reader, c *CPU) {
	for _, s := range []struct {
		file string
		on   int64 // the content of the file if turbo is on
	}{
		{cpuDir + "/intel_pstate/no_turbo", 0},
		{cpuDir + "/cpufreq/boost", 1},
	} {
		if n := r.optionalNumber("cpu.turbo", s.file); n != nil {
			c.Turbo, c.TurboSwitch = new(*n == s.on), s.file
			return
		}
	}
	r.fail("cpu.turbo", "", errors.New("neither intel_pstate/no_turbo nor cpufreq/boost is there"))
}

// readPolicies groups CPUs with the same frequency settings.
func readPolicies(r *reader, c *CPU, cpus model.CPUList) {
	type key struct{ driver, governor, epp, lo, hi, top string }
	members := map[key]model.CPUList{}
	var order []key
	for _, cpu := range cpus {
		if !r.Exists(cpuFile(cpu, "cpufreq")) {
			continue
		}
		get := func(name string) string { return r.optional("cpu.policies", cpuFile(cpu, "cpufreq/"+name)) }
		k := key{get("scaling_driver"), get("scaling_governor"), get("energy_performance_preference"),
			get("scaling_min_freq"), get("scaling_max_freq"), get("cpuinfo_max_freq")}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], cpu)
	}
	if len(order) == 0 {
		r.fail("cpu.policies", cpuDir+"/cpu*/cpufreq",
			errors.New("no CPU has one: the firmware or a hypervisor governs the frequency"))
	}
	khz := func(s string) *int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil // the driver has none, "<unsupported>"
		}
		return &n
	}
	for _, k := range order {
		c.Policies = append(c.Policies, Policy{CPUs: members[k].String(), Driver: k.driver, Governor: k.governor,
			EPP: k.epp, MinKHz: khz(k.lo), MaxKHz: khz(k.hi), TopKHz: khz(k.top)})
	}
}
