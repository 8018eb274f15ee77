package host

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
)

// sysctls are the kernel settings that affect timings, besides sched_*.
var sysctls = []string{
	"kernel.numa_balancing", "kernel.timer_migration", "kernel.watchdog", "kernel.nmi_watchdog", "kernel.soft_watchdog",
	"kernel.watchdog_thresh", "kernel.hung_task_timeout_secs", "kernel.perf_event_paranoid", "kernel.randomize_va_space",
	"kernel.split_lock_mitigate", "net.core.default_qdisc", "net.ipv4.tcp_congestion_control", "net.core.bpf_jit_enable",
}

// configOptions are the kernel build options that affect timings.
var configOptions = []string{
	"CONFIG_HZ", "CONFIG_PREEMPT_NONE", "CONFIG_PREEMPT_VOLUNTARY", "CONFIG_PREEMPT", "CONFIG_PREEMPT_RT",
	"CONFIG_PREEMPT_DYNAMIC", "CONFIG_NO_HZ_FULL", "CONFIG_PARAVIRT", "CONFIG_PARAVIRT_TIME_ACCOUNTING",
	"CONFIG_KASAN", "CONFIG_KCSAN", "CONFIG_KMEMLEAK", "CONFIG_PROVE_LOCKING", "CONFIG_DEBUG_PAGEALLOC", "CONFIG_UBSAN",
	"CONFIG_CFS_BANDWIDTH", "CONFIG_DEBUG_PREEMPT", "CONFIG_RCU_NOCB_CPU", "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL",
}

func readKernel(r *reader) Kernel {
	var k Kernel
	k.Release = r.text("kernel.release", "/proc/sys/kernel/osrelease")
	k.Build = r.text("kernel.build", "/proc/sys/kernel/version")
	k.Cmdline, _, _ = strings.Cut(r.text("kernel.cmdline", "/proc/cmdline"), " -- ")
	readConfig(r, &k)
	k.LSM = r.text("kernel.lsm", "/sys/kernel/security/lsm")
	k.Tainted = r.number("kernel.tainted", "/proc/sys/kernel/tainted")
	for _, name := range r.Names("/proc/sys/kernel") {
		if strings.HasPrefix(name, "sched_") {
			r.setting(&k.Sysctl, "kernel.sysctl", "kernel."+name, "/proc/sys/kernel/"+name)
		}
	}
	for _, name := range sysctls {
		r.setting(&k.Sysctl, "kernel.sysctl", name, "/proc/sys/"+strings.ReplaceAll(name, ".", "/"))
	}
	const sched = "/sys/kernel/debug/sched"
	for _, name := range []string{"base_slice_ns", "min_granularity_ns", "wakeup_granularity_ns", "latency_ns",
		"migration_cost_ns", "preempt", "features"} {
		r.setting(&k.SchedDebug, "kernel.sched_debug", name, sched+"/"+name)
	}
	if k.SchedDebug == nil {
		r.fail("kernel.sched_debug", sched, errors.New("not there, or readable by root only"))
	}
	return k
}

// readConfig hashes the kernel's build configuration, from the first place that has it.
func readConfig(r *reader, k *Kernel) {
	const field = "kernel.config_sha256"
	for _, p := range []string{"/proc/config.gz", "/boot/config-" + k.Release, "/lib/modules/" + k.Release + "/config"} {
		b, err := r.ReadFile(p)
		if err != nil {
			continue
		}
		if strings.HasSuffix(p, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(io.LimitReader(z, 4<<20))
			}
			if err != nil {
				r.fail(field, p, err)
				continue
			}
		}
		sum := sha256.Sum256(b)
		k.ConfigSHA256, k.ConfigFrom = hex.EncodeToString(sum[:]), p
		set := map[string]string{}
		for line := range strings.Lines(string(b)) {
			if key, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				set[key] = v
			}
		}
		for _, name := range configOptions {
			if v := set[name]; v != "" {
				put(&k.Config, name, v)
			}
		}
		return
	}
	r.fail(field, "/proc/config.gz, /boot, /lib/modules", errors.New("no readable configuration"))
}

func readClock(r *reader, c *calls) Clock {
	const dir = "/sys/devices/system/clocksource/clocksource0"
	k := Clock{
		Source:    r.text("clock.source", dir+"/current_clocksource"),
		Available: r.text("clock.available", dir+"/available_clocksource"),
	}
	ns, err := c.resolution()
	if err != nil {
		r.fail("clock.resolution_ns", "clock_getres", err)
		return k
	}
	k.ResolutionNS = &ns
	read, err := c.reading()
	if err != nil {
		r.fail("clock.read_ns", "clock_gettime", err)
		return k
	}
	k.ReadNS = &read
	return k
}
