package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/model"
)

// cpuRules: why the same work takes different times on this CPU.
var cpuRules = []rule{
	{"cpu-governor", governor, "the CPU clock follows the load, so an arm that sleeps more runs slower when it wakes"},
	{"cpu-turbo", turbo,
		"the CPU clock depends on temperature and on how many cores are busy, and thus on what ran before"},
	{"cpu-frequency", frequency, "CPUs run at different clock rates, so a trial depends on where it was scheduled"},
	{"cpu-throttled", throttled, "a CPU that gets too hot slows down, by an amount that depends on the previous trials"},
	{"on-battery", onBattery, "the firmware saves power, and more of it as the charge falls"},
	{"hybrid-cores", hybrid, "a trial on a slow core is a different measurement from one on a fast core"},
	{"smt", smt, "two hyper-threads share one core and slow each other down by a third or more"},
	{"numa", numa, "memory on another node is slower, and chance decides which node a guest gets"},
	{"microcode", microcode, "CPUs with different microcode have different mitigations, and thus different costs"},
	{"cpu-isolated", isolated,
		"the scheduler does not balance load over them: tasks that are not pinned there stay away, and a task that is " +
			"pinned to several stays on one"},
	{"cpu-affinity", affinity, "processes that tare starts inherit this limit, but guests that a daemon starts do not"},
	{"mitigations", mitigations,
		"their cost differs between native and guests, and a guest may use other mitigations than the host"},
}

func governor(v view) *NoiseSource {
	bad := map[string]model.CPUList{} // CPUs by governor and driver
	for _, p := range v.CPU.Policies {
		if p.Governor != "" && p.Governor != "performance" {
			cpus, _ := model.ParseCPUList(p.CPUs)
			key := p.Governor + " of " + p.Driver
			bad[key] = append(bad[key], cpus...)
		}
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(bad)) {
		slices.Sort(bad[key])
		list = append(list, fmt.Sprintf("%s on CPUs %s", key, bad[key]))
	}
	if list == nil {
		return nil
	}
	return found(Spoils, "cpupower frequency-set -g performance", "governor %s", strings.Join(list, ", "))
}

func turbo(v view) *NoiseSource {
	if !is(v.CPU.Turbo, true) {
		return nil
	}
	off := "0"
	if strings.HasSuffix(v.CPU.TurboSwitch, "/no_turbo") {
		off = "1"
	}
	top := ""
	for _, p := range v.CPU.Policies {
		if p.TopKHz != nil {
			top = fmt.Sprintf(", up to %.2f GHz", float64(*p.TopKHz)/1e6)
			break
		}
	}
	return found(Disturbs, fmt.Sprintf("echo %s > %s", off, v.CPU.TurboSwitch), "turbo is on%s", top)
}

func frequency(v view) *NoiseSource {
	lo, known := value(v.CPU.MHzMin)
	hi, known2 := value(v.CPU.MHzMax)
	if !known || !known2 || len(v.CPU.Kinds) > 1 || hi <= lo*1.05 {
		return nil
	}
	level, remedy := Note, "normal for a governor that follows the load: see cpu-governor"
	if governor(v) == nil {
		level = Disturbs
		remedy = "the governor does not explain it: look for heat, power limits (turbostat) and firmware power profiles"
	}
	return found(level, remedy, "CPUs run at %.0f to %.0f MHz", lo, hi)
}

func throttled(v view) *NoiseSource {
	if n, known := value(v.CPU.Throttled); known && n > 0 {
		return found(Disturbs, "improve the cooling, turn turbo off, and watch whether the count grows during a run",
			"a core was throttled because of heat %d times since boot", n)
	}
	return nil
}

func onBattery(v view) *NoiseSource {
	if !is(v.Power.OnBattery, true) {
		return nil
	}
	return found(Spoils, "plug it in", "the machine runs on battery")
}

func hybrid(v view) *NoiseSource {
	if len(v.CPU.Kinds) < 2 {
		return nil
	}
	return found(Spoils, "pin every arm to CPUs of one kind in the campaign (cpuset:)", "cores of %d kinds: %s",
		len(v.CPU.Kinds), strings.Join(v.CPU.Kinds, "; "))
}

// smt is worse if all threads of a core are in use.
func smt(v view) *NoiseSource {
	if !is(v.CPU.SMT, true) || len(v.CPU.Siblings) == 0 {
		return nil
	}
	const inUse = 0.1
	shared := 0
	for _, list := range v.CPU.Siblings {
		cpus, _ := model.ParseCPUList(list)
		if len(cpus) > 1 && !slices.ContainsFunc(cpus, func(n int) bool { return v.sample.Busy[n] < inUse }) {
			shared++
		}
	}
	level, seen := Disturbs, ""
	if shared > 0 {
		level, seen = Spoils, fmt.Sprintf("; on %d of them all threads are in use now", shared)
	}
	return found(level, "echo off > /sys/devices/system/cpu/smt/control, or pin arms to one thread of each core",
		"SMT is on: %d cores have more than one thread (%s)%s", len(v.CPU.Siblings), some(v.CPU.Siblings, " "), seen)
}

// some joins the first few of a list.
func some(list []string, sep string) string {
	const few = 4
	if len(list) <= few {
		return strings.Join(list, sep)
	}
	return strings.Join(list[:few], sep) + sep + "…"
}

func numa(v view) *NoiseSource {
	if len(v.CPU.Nodes) < 2 {
		return nil
	}
	var nodes []string
	for _, n := range v.CPU.Nodes {
		nodes = append(nodes, fmt.Sprintf("node %d: CPUs %s", n.ID, n.CPUs))
	}
	return found(Disturbs, "pin every arm to the CPUs and the memory of one node", "%d NUMA nodes (%s)", len(nodes),
		some(nodes, ", "))
}

func microcode(v view) *NoiseSource {
	if !strings.Contains(v.CPU.Microcode, ",") {
		return nil
	}
	return found(Disturbs, "update the microcode and reboot", "CPUs have microcode %s", v.CPU.Microcode)
}

func isolated(v view) *NoiseSource {
	if v.CPU.Isolated == "" {
		return nil
	}
	return found(Disturbs, "boot without isolcpus=, or pin all arms to isolated CPUs and give each guest one vCPU",
		"CPUs %s of %s are isolated", v.CPU.Isolated, v.CPU.Online)
}

func affinity(v view) *NoiseSource {
	if v.CPU.Allowed == "" || v.CPU.Online == "" {
		return nil
	}
	allowed, err := model.ParseCPUList(v.CPU.Allowed)
	online, err2 := model.ParseCPUList(v.CPU.Online)
	if err != nil || err2 != nil {
		return nil
	}
	// Only tasks that are pinned to an isolated CPU run on it.
	isolated, _ := model.ParseCPUList(v.CPU.Isolated)
	missing := online.Without(allowed).Without(isolated)
	if len(missing) == 0 {
		return nil
	}
	return found(Disturbs, "start tare without taskset and outside a restricted cpuset", "tare may not use %s of %s",
		cpuNames(missing), v.CPU.Online)
}

// mitigationParams are boot parameters that, with one of the values, switch off a default
// mitigation.
var mitigationParams = map[string][]string{
	"mitigations": {"off"}, "nopti": {""}, "pti": {"off"}, "nospectre_v1": {""}, "nospectre_v2": {""},
	"spectre_v2": {"off"}, "spec_store_bypass_disable": {"off"}, "l1tf": {"off"}, "mds": {"off"},
	"tsx_async_abort": {"off"}, "mmio_stale_data": {"off"}, "retbleed": {"off"}, "srbds": {"off"},
	"spec_rstack_overflow": {"off"}, "gather_data_sampling": {"off"}, "spectre_bhi": {"off"}, "vmscape": {"off"},
	"kvm-intel.vmentry_l1d_flush": {"never"}, "kvm.nx_huge_pages": {"off", "never", "0"},
}

func mitigations(v view) *NoiseSource {
	var open []string
	for _, name := range slices.Sorted(maps.Keys(v.CPU.Mitigations)) {
		if strings.HasPrefix(v.CPU.Mitigations[name], "Vulnerable") {
			open = append(open, name)
		}
	}
	var off []string
	for f := range strings.FieldsSeq(v.Kernel.Cmdline) {
		key, value, _ := strings.Cut(f, "=")
		// "auto,no_guest_host" and the like omit whole classes of attacks.
		if slices.Contains(mitigationParams[key], value) || key == "mitigations" && strings.Contains(value, "no_") {
			off = append(off, f)
		}
	}
	switch {
	case off != nil:
		return found(Disturbs, "boot without it, as nearly all hosts do, or state it with the numbers",
			"booted with %s; vulnerable to %d: %s", strings.Join(off, " "), len(open), strings.Join(open, ", "))
	case open != nil:
		return found(Note,
			"update microcode and kernel if others will compare their numbers with yours; check that guests show the same",
			"vulnerable to %d of %d: %s", len(open), len(v.CPU.Mitigations), strings.Join(open, ", "))
	}
	return nil
}
