package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/host"
)

// kernelRules: noise from the kernel itself.
var kernelRules = []rule{
	{"clocksource", clocksource,
		"reading this clock is slow and takes a system call, so a program that reads it often measures the clock"},
	{"timer-resolution", timers, "sleeps end at the next tick, so short waits are rounded up by milliseconds"},
	{"nmi-watchdog", nmiWatchdog, "it holds a performance counter and interrupts every CPU every few seconds"},
	{"debug-kernel", debugKernel, "its checks cost more than the effects to be measured, and guests do not have them"},
	{"kernel-tainted", tainted, "something went wrong since boot, and may go wrong again"},
}

// goodClocks are read without leaving user space, or are the best available. A guest of Xen reads "xen" without a
// system call only if its hypervisor vouches for the TSC, so the time of a reading decides.
var goodClocks = []string{"tsc", "tsc-early", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen",
	"tod", "timebase", "riscv_clocksource", "stick", "Loongson"}

// slowReadNS is how long a reading takes that is a system call, not less. Others take 20 to 60 ns.
const slowReadNS = 150

func clocksource(v view) *NoiseSource {
	ns, measured := value(v.Clock.ReadNS)
	slow := measured && ns >= slowReadNS
	if v.Clock.Source == "" || slices.Contains(goodClocks, v.Clock.Source) && !slow {
		return nil
	}
	remedy := "find out why in the kernel's log: dmesg | grep -i -e tsc -e clocksource"
	switch {
	case v.Clock.Source != "tsc" && slices.Contains(strings.Fields(v.Clock.Available), "tsc"):
		remedy = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
	case v.Virt.Role == host.InGuest:
		remedy = "let the hypervisor give this machine tsc or kvm-clock: the host's CPU with invtsc (QEMU: -cpu " +
			"host,+invtsc), or tsc_mode in Xen's configuration"
	}
	what := fmt.Sprintf("the clock source is %s", v.Clock.Source)
	if slow {
		what += fmt.Sprintf(", and a reading takes %.3g ns", ns)
	}
	return found(Spoils, remedy, "%s; available: %s", what, v.Clock.Available)
}

func timers(v view) *NoiseSource {
	if ns, known := value(v.Clock.ResolutionNS); known && ns > 100_000 {
		return found(Spoils, "boot without highres=off and nohz=off", "timers have a resolution of %.1f ms", float64(ns)/1e6)
	}
	return nil
}

func nmiWatchdog(v view) *NoiseSource {
	if v.Kernel.Sysctl["kernel.nmi_watchdog"] != "1" {
		return nil
	}
	return found(Note, "sysctl -w kernel.nmi_watchdog=0", "the NMI watchdog is on")
}

func debugKernel(v view) *NoiseSource {
	var on []string
	level := Note
	for _, option := range []struct {
		name   string
		always bool // it costs even when nothing switches it on
	}{
		{"CONFIG_KASAN", true}, {"CONFIG_KCSAN", true}, {"CONFIG_PROVE_LOCKING", true},
		{"CONFIG_DEBUG_PAGEALLOC", false}, {"CONFIG_KMEMLEAK", false},
	} {
		if v.Kernel.Config[option.name] == "y" {
			on = append(on, option.name)
			if option.always {
				level = Spoils
			}
		}
	}
	if on == nil {
		return nil
	}
	return found(level, "boot the distribution's standard kernel", "the kernel was built with %s", strings.Join(on, ", "))
}

// taints that indicate a problem, by bit.
var taints = []struct {
	bit  int
	name string
}{{4, "machine check"}, {5, "bad page"}, {7, "oops"}, {9, "warning"}, {14, "soft lockup"}}

func tainted(v view) *NoiseSource {
	n, known := value(v.Kernel.Tainted)
	var names []string
	for _, t := range taints {
		if known && n>>t.bit&1 == 1 {
			names = append(names, t.name)
		}
	}
	if names == nil {
		return nil
	}
	return found(Disturbs, "read the kernel's log, then reboot", "the kernel is tainted by %s (%d)",
		strings.Join(names, ", "), n)
}
