package host

import (
	"bytes"
	"compress/gzip"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"
)

// readHostID hashes the host's name with the machine's own id as key.
func readHostID(r *reader) string {
	name := r.text("host_id", "/proc/sys/kernel/hostname")
	key := r.optional("host_id", "/etc/machine-id")
	if key == "" || key == "uninitialized" {
		key = r.optional("host_id", "/sys/class/dmi/id/product_uuid")
	}
	if name == "" || key == "" {
		r.fail("host_id", "/etc/machine-id", errors.New("no machine id to hash the host's name with"))
		return ""
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("tare host " + name))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

func readUptime(r *reader) *float64 {
	first, _, _ := strings.Cut(r.text("uptime_s", "/proc/uptime"), " ")
	if first == "" {
		return nil
	}
	s, err := parseFloat(first)
	if err != nil {
		r.fail("uptime_s", "/proc/uptime", errors.New("not a number"))
		return nil
	}
	return &s
}

// keyedKB reads "Key:   123 kB" lines; a line without unit is a count.
func keyedKB(text string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		f := strings.Fields(value)
		if !ok || len(f) == 0 {
			continue
		}
		n, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || n < 0 {
			continue
		}
		if len(f) > 1 && f[1] == "kB" {
			if n > 1<<52 {
				continue
			}
			n <<= 10
		}
		out[strings.TrimSpace(key)] = n
	}
	return out
}

func readMemory(r *reader) Memory {
	var m Memory
	info := keyedKB(r.text("memory", "/proc/meminfo"))
	get := func(field, key string) *int64 {
		if n, ok := info[key]; ok {
			return &n
		}
		r.fail("memory."+field, "/proc/meminfo", errors.New("has no "+key))
		return nil
	}
	m.Total = get("total", "MemTotal")
	m.Available = get("available", "MemAvailable")
	m.SwapTotal = get("swap_total", "SwapTotal")
	if free := get("swap_used", "SwapFree"); free != nil && m.SwapTotal != nil {
		m.SwapUsed = new(*m.SwapTotal - *free)
	}
	m.HugePages = get("huge_pages", "HugePages_Total")
	m.HugePagesFree = get("huge_pages_free", "HugePages_Free")
	m.HugePageSize = get("huge_page_size", "Hugepagesize")
	const mm = "/sys/kernel/mm"
	m.THP = chosen(r.text("memory.thp", mm+"/transparent_hugepage/enabled"))
	m.THPDefrag = chosen(r.optional("memory.thp_defrag", mm+"/transparent_hugepage/defrag"))
	m.KSM = r.number("memory.ksm_run", mm+"/ksm/run")
	m.KSMSharing = r.optionalNumber("memory.ksm_pages_sharing", mm+"/ksm/pages_sharing")
	m.Zswap = r.optional("memory.zswap", "/sys/module/zswap/parameters/enabled")
	for _, name := range []string{"swappiness", "overcommit_memory", "dirty_ratio", "dirty_background_ratio", "zone_reclaim_mode",
		"compaction_proactiveness"} {
		if s := r.optional("memory.vm", "/proc/sys/vm/"+name); s != "" {
			put(&m.VM, name, s)
		}
	}
	return m
}

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
	for _, name := range r.names("/proc/sys/kernel") {
		if strings.HasPrefix(name, "sched_") {
			if s := r.optional("kernel.sysctl", "/proc/sys/kernel/"+name); s != "" {
				put(&k.Sysctl, "kernel."+name, s)
			}
		}
	}
	for _, name := range sysctls {
		if s := r.optional("kernel.sysctl", "/proc/sys/"+strings.ReplaceAll(name, ".", "/")); s != "" {
			put(&k.Sysctl, name, s)
		}
	}
	const sched = "/sys/kernel/debug/sched"
	for _, name := range []string{"base_slice_ns", "min_granularity_ns", "wakeup_granularity_ns", "latency_ns", "migration_cost_ns", "preempt", "features"} {
		if s := r.optional("kernel.sched_debug", sched+"/"+name); s != "" {
			put(&k.SchedDebug, name, s)
		}
	}
	if k.SchedDebug == nil {
		r.fail("kernel.sched_debug", sched, errors.New("not there, or not to be read without root"))
	}
	return k
}

// readConfig hashes the kernel's build configuration, from the first place that has it.
func readConfig(r *reader, k *Kernel) {
	const field = "kernel.config_sha256"
	for _, p := range []string{"/proc/config.gz", "/boot/config-" + k.Release, "/lib/modules/" + k.Release + "/config"} {
		b, err := r.raw(p)
		if err != nil {
			continue
		}
		if strings.HasSuffix(p, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(io.LimitReader(z, maxFile))
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
	return k
}

func readOS(r *reader) OS {
	text := r.optional("os", "/etc/os-release")
	if text == "" {
		text = r.text("os", "/usr/lib/os-release")
	}
	var o OS
	for line := range strings.Lines(text) {
		key, v, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		v = strings.Trim(v, `"'`)
		switch key {
		case "ID":
			o.ID = v
		case "VERSION_ID":
			o.Version = v
		case "PRETTY_NAME":
			o.Pretty = v
		}
	}
	return o
}

func readLoad(r *reader) Load {
	var l Load
	if f := strings.Fields(r.text("load", "/proc/loadavg")); len(f) >= 4 {
		for i, dst := range []**float64{&l.Avg1, &l.Avg5, &l.Avg15} {
			if v, err := parseFloat(f[i]); err == nil {
				*dst = &v
			}
		}
		if _, total, ok := strings.Cut(f[3], "/"); ok {
			l.Tasks = r.parseInt("load.tasks", "/proc/loadavg", total)
		}
	}
	l.CPU = readPressure(r, "load.psi_cpu", "cpu")
	l.IO = readPressure(r, "load.psi_io", "io")
	l.MemWait = readPressure(r, "load.psi_memory", "memory")
	return l
}

// readPressure reads /proc/pressure, which some kernels do not have or switch off.
func readPressure(r *reader, field, name string) *Pressure {
	text := r.text(field, "/proc/pressure/"+name)
	var p Pressure
	found := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		for _, kv := range f[min(1, len(f)):] {
			key, v, _ := strings.Cut(kv, "=")
			x, err := parseFloat(v)
			if err != nil {
				continue
			}
			switch f[0] + key {
			case "someavg10":
				p.Some10, found = x, true
			case "someavg60":
				p.Some60 = x
			case "fullavg10":
				p.Full10 = x
			case "fullavg60":
				p.Full60 = x
			}
		}
	}
	if !found {
		return nil
	}
	return &p
}

func readPower(r *reader) Power {
	p := Power{Profile: r.optional("power.profile", "/sys/firmware/acpi/platform_profile")}
	const dir = "/sys/class/power_supply"
	for _, name := range r.names(dir) {
		if r.optional("power", dir+"/"+name+"/type") != "Mains" {
			continue
		}
		if n := r.optionalNumber("power.on_battery", dir+"/"+name+"/online"); n != nil {
			if p.OnBattery == nil {
				p.OnBattery = new(true)
			}
			*p.OnBattery = *p.OnBattery && *n == 0
		}
	}
	return p
}
