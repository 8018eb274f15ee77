package doctor

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/host/watch"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden: the noise sources of the synthetic hosts that package host describes.
func TestGolden(t *testing.T) {
	for name, sample := range map[string]*watch.Sample{
		"laptop": {Seconds: 2, CPUs: 8, Others: 1.3, Runnable: 1.5, RunnableMax: 4, SwapIn: new(0.0), SwapOut: new(12.5),
			Top: []watch.ProcessUse{{PID: 77, Name: "cc1plus", CPUs: 1.2}}, Busy: map[int]float64{0: 0.9, 1: 0.4, 2: 0, 3: 0.3}},
		"server": {Seconds: 2, CPUs: 16},
		"vm":     {Seconds: 2, CPUs: 2, Steal: 0.013},
	} {
		b, err := os.ReadFile("../testdata/" + name + ".env.json")
		if err != nil {
			t.Fatal(err)
		}
		var env host.Environment
		if err := json.Unmarshal(b, &env); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, s := range NoiseSources(&env, sample, Needs{}) {
			fmt.Fprintf(&got, "%s %s\n  what:   %s\n  why:    %s\n  remedy: %s\n", s.Severity, s.ID, s.What, s.Why, s.Remedy)
		}
		file := "testdata/" + name + ".noise.txt"
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || got.String() != string(want) {
			t.Errorf("%s differs (-update writes it anew; %v):\n%s", file, err, got.String())
		}
	}
}

func irq(number int, device, allowed, cpus string, count int64) host.IRQ {
	return host.IRQ{Number: number, Device: device, Allowed: allowed, CPUs: cpus, Count: count}
}

// TestUnknownHost: if nothing could be read, that is all that can be said.
func TestUnknownHost(t *testing.T) {
	env := host.Read(host.Options{Root: fstest.MapFS{}})
	if s := NoiseSources(env, nil, Needs{}); len(s) != 1 || s[0].ID != "unread" {
		t.Errorf("%v", s)
	}
}

// quiet is a host without noise sources.
func quiet() (*host.Environment, *watch.Sample) {
	return &host.Environment{
		UptimeS: new(1e6),
		CPU: host.CPU{Arch: "amd64", Flags: "fpu svm", Online: "0-3", Allowed: "0-3", Threads: 4, Cores: 4, Microcode: "0x1",
			MHzMin: new(3000.0), MHzMax: new(3010.0), SMT: new(false),
			Turbo: new(false), TurboSwitch: "/sys/devices/system/cpu/cpufreq/boost",
			Throttled: new(int64(0)), Policies: []host.Policy{{CPUs: "0-3", Driver: "acpi-cpufreq", Governor: "performance"}},
			Mitigations: map[string]string{"spectre_v2": "Mitigation: IBRS"}},
		Virt: host.Virtualization{Role: host.BareMetal, Extension: "svm", KVMDevice: true},
		Memory: host.Memory{Total: new(int64(64 << 30)), Available: new(int64(60 << 30)), SwapTotal: new(int64(0)),
			SwapUsed: new(int64(0)), THP: "madvise", KSM: new(int64(0))},
		Kernel: host.Kernel{Release: "6.12", Cmdline: "quiet mitigations=auto", Tainted: new(int64(0)),
			Sysctl: map[string]string{"kernel.nmi_watchdog": "0"}},
		Clock: host.Clock{Source: "tsc", Available: "tsc hpet", ResolutionNS: new(int64(1)), ReadNS: new(25.0)},
		Cgroup: host.Cgroup{Layout: host.CgroupV2, V2Mount: "/sys/fs/cgroup",
			Controllers: map[string]string{"cpu": "v2", "cpuset": "v2", "memory": "v2", "freezer": "v2"}},
		Load:    host.Load{Avg1: new(0.1), IO: &host.Pressure{}, MemWait: &host.Pressure{}},
		Storage: &host.Storage{Mount: "/", FSType: "ext4", Total: new(int64(100 << 30)), Free: new(int64(50 << 30))},
	}, &watch.Sample{Seconds: 2, CPUs: 4, Others: 0.02, SwapIn: new(0.0), SwapOut: new(0.0)}
}

func TestQuietHostHasNoNoise(t *testing.T) {
	env, s := quiet()
	if got := NoiseSources(env, s, Needs{}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestEveryRule(t *testing.T) {
	cases := []struct {
		id       string
		severity Severity
		what     string // a part of the evidence
		change   func(e *host.Environment, s *watch.Sample)
	}{
		{"other-load", Disturbs, "0.10 of 4", func(e *host.Environment, s *watch.Sample) { s.Others = 0.1 }},
		{"other-load", Spoils, "bash (7) 0.50", func(e *host.Environment, s *watch.Sample) {
			s.Others, s.Top = 0.6, []watch.ProcessUse{{PID: 7, Name: "bash", CPUs: 0.5}}
		}},
		{"load-average", Disturbs, "1.50", func(e *host.Environment, s *watch.Sample) { e.Load.Avg1 = new(1.5) }},
		{"steal", Disturbs, "0.10 %", func(e *host.Environment, s *watch.Sample) { s.Steal = 0.001 }},
		{"steal", Spoils, "5.0 %", func(e *host.Environment, s *watch.Sample) { s.Steal = 0.05 }},
		{"io-pressure", Disturbs, "12.0 %", func(e *host.Environment, s *watch.Sample) { e.Load.IO.Some10 = 12 }},
		{"io-pressure", Disturbs, "4.0 % iowait", func(e *host.Environment, s *watch.Sample) { s.IOWait = 0.04 }},
		{"residents", Disturbs, "2 containers of docker; nginx, TCP port 80", func(e *host.Environment, s *watch.Sample) {
			e.Residents = []host.Resident{{Kind: host.Containers, Who: "docker", Count: 2},
				{Kind: host.Service, Who: "nginx", Ports: []int{80}}}
		}},
		{"just-booted", Note, "60 s", func(e *host.Environment, s *watch.Sample) { e.UptimeS = new(60.0) }},
		{"cpu-governor", Spoils, "schedutil of acpi-cpufreq on CPUs 0-3",
			func(e *host.Environment, s *watch.Sample) { e.CPU.Policies[0].Governor = "schedutil" }},
		{"cpu-turbo", Disturbs, "turbo is on", func(e *host.Environment, s *watch.Sample) { e.CPU.Turbo = new(true) }},
		{"cpu-frequency", Disturbs, "2000 to 3010",
			func(e *host.Environment, s *watch.Sample) { e.CPU.MHzMin = new(2000.0) }},
		{"cpu-throttled", Disturbs, "3 times",
			func(e *host.Environment, s *watch.Sample) { e.CPU.Throttled = new(int64(3)) }},
		{"on-battery", Spoils, "battery", func(e *host.Environment, s *watch.Sample) { e.Power.OnBattery = new(true) }},
		{"hybrid-cores", Spoils, "atom: 2-3",
			func(e *host.Environment, s *watch.Sample) { e.CPU.Kinds = []string{"core: 0-1", "atom: 2-3"} }},
		{"smt", Disturbs, "2 cores", func(e *host.Environment, s *watch.Sample) {
			e.CPU.SMT, e.CPU.Siblings = new(true), []string{"0-1", "2-3"}
		}},
		{"smt", Spoils, "on 1 of them", func(e *host.Environment, s *watch.Sample) {
			e.CPU.SMT, e.CPU.Siblings, s.Busy = new(true), []string{"0-1", "2-3"}, map[int]float64{0: 0.2, 1: 0.3, 2: 1, 3: 0}
		}},
		{"numa", Disturbs, "2 NUMA nodes", func(e *host.Environment, s *watch.Sample) {
			e.CPU.Nodes, e.Kernel.Sysctl["kernel.numa_balancing"] = make([]host.Node, 2), "0"
		}},
		{"microcode", Disturbs, "0x1,0x2", func(e *host.Environment, s *watch.Sample) { e.CPU.Microcode = "0x1,0x2" }},
		{"cpu-isolated", Disturbs, "CPUs 2-3",
			func(e *host.Environment, s *watch.Sample) { e.CPU.Isolated, e.CPU.Allowed = "2-3", "0-1" }},
		{"cpu-affinity", Disturbs, "CPUs 1-3 of 0-3", func(e *host.Environment, s *watch.Sample) { e.CPU.Allowed = "0" }},
		{"mitigations", Note, "1 of 1",
			func(e *host.Environment, s *watch.Sample) { e.CPU.Mitigations["spectre_v2"] = "Vulnerable" }},
		{"mitigations", Disturbs, "mitigations=off",
			func(e *host.Environment, s *watch.Sample) { e.Kernel.Cmdline = "mitigations=off" }},
		{"mitigations", Disturbs, "no_guest_host",
			func(e *host.Environment, s *watch.Sample) { e.Kernel.Cmdline = "mitigations=auto,no_guest_host" }},
		{"mitigations", Disturbs, "nopti", func(e *host.Environment, s *watch.Sample) { e.Kernel.Cmdline = "quiet nopti" }},
		{"in-guest", Disturbs, "VMware", func(e *host.Environment, s *watch.Sample) {
			e.Virt.Role, e.Virt.Of = host.InGuest, "VMware"
		}},
		{"xen-dom0", Disturbs, "Xen 4.17.3", func(e *host.Environment, s *watch.Sample) {
			e.Virt.Role, e.Virt.Hyper = host.XenDom0, map[string]string{"version": "4", "minor": "17", "extra": ".3"}
		}},
		{"in-container", Disturbs, "docker", func(e *host.Environment, s *watch.Sample) { e.Virt.Container = "docker" }},
		{"no-hw-virt", Note, "/dev/kvm is there", func(e *host.Environment, s *watch.Sample) { e.Virt.Extension = "" }},
		{"swap", Disturbs, "1.0 GiB of 2.0 GiB", func(e *host.Environment, s *watch.Sample) {
			e.Memory.SwapTotal, e.Memory.SwapUsed = new(int64(2<<30)), new(int64(1<<30))
		}},
		{"swap", Spoils, "3 pages in", func(e *host.Environment, s *watch.Sample) { s.SwapIn = new(3.0) }},
		{"memory-low", Disturbs, "1.0 GiB of 64.0 GiB",
			func(e *host.Environment, s *watch.Sample) { e.Memory.Available = new(int64(1 << 30)) }},
		{"memory-pressure", Disturbs, "0.5 %", func(e *host.Environment, s *watch.Sample) { e.Load.MemWait.Some10 = 0.5 }},
		{"memory-pressure", Spoils, "20.0 %", func(e *host.Environment, s *watch.Sample) { e.Load.MemWait.Some10 = 20 }},
		{"thp-always", Disturbs, "always", func(e *host.Environment, s *watch.Sample) { e.Memory.THP = "always" }},
		{"ksm", Disturbs, "9 pages", func(e *host.Environment, s *watch.Sample) {
			e.Memory.KSM, e.Memory.KSMSharing = new(int64(1)), new(int64(9))
		}},
		{"ksm", Disturbs, "100 scanned every 20 ms; 4.0 s of CPU", func(e *host.Environment, s *watch.Sample) {
			e.Memory.KSM, e.Memory.Threads = new(int64(1)), map[string]float64{"ksmd": 4}
			e.Memory.KSMScan = map[string]string{"pages_to_scan": "100", "sleep_millisecs": "20"}
		}},
		{"damon", Spoils, "kdamonds/0 (stat, pageout)", func(e *host.Environment, s *watch.Sample) {
			e.Memory.DAMON = []host.DAMON{{Name: "kdamonds/0", On: true, Actions: []string{"stat", "pageout"}},
				{Name: "kdamonds/1", Actions: []string{"pageout"}}}
		}},
		{"damon", Disturbs, "damon_lru_sort", func(e *host.Environment, s *watch.Sample) {
			e.Memory.DAMON = []host.DAMON{{Name: "damon_lru_sort", On: true, Actions: []string{"lru_prio"}},
				{Name: "damon_reclaim", Actions: []string{"pageout"}}}
		}},
		{"damon", Note, "damon_stat (stat); 2.5 s of CPU", func(e *host.Environment, s *watch.Sample) {
			e.Memory.DAMON = []host.DAMON{{Name: "damon_stat", On: true, Actions: []string{"stat"}}}
			e.Memory.Threads = map[string]float64{"kdamond": 2.5}
		}},
		{"damon", Disturbs, "not shown",
			func(e *host.Environment, s *watch.Sample) { e.Memory.Threads = map[string]float64{"kdamond": 0} }},
		{"compressed-swap", Note, "by zswap", func(e *host.Environment, s *watch.Sample) {
			e.Memory.Zswap, e.Memory.SwapTotal = "Y", new(int64(1<<30))
		}},
		{"compressed-swap", Note, "/dev/zram0 (0 B of 2.0 GiB used)", func(e *host.Environment, s *watch.Sample) {
			e.Memory.Swaps = []host.Swap{{Device: "file", Size: 1}, {Device: "/dev/zram0", Size: 2 << 30}}
		}},
		{"memory-threads", Note,
			"khugepaged (scans 4096 pages every 10 s; 5 huge pages made), kcompactd (proactiveness 20; 1.0 s of CPU",
			func(e *host.Environment, s *watch.Sample) { defaultThreads(e) }},
		{"memory-threads", Disturbs, "scans 4096 pages every 0.5 s", func(e *host.Environment, s *watch.Sample) {
			defaultThreads(e)
			e.Memory.Khugepaged["scan_sleep_millisecs"] = "500"
		}},
		{"memory-threads", Disturbs, "proactiveness 60", func(e *host.Environment, s *watch.Sample) {
			e.Memory.VM = map[string]string{"compaction_proactiveness": "60"}
		}},
		{"nohz-full", Disturbs, "on CPU 3, which guests use by default",
			func(e *host.Environment, s *watch.Sample) { e.CPU.NohzFull = "1,3" }},
		{"guest-interrupts", Note,
			"CPU 2, which guests use by default, took 250 device interrupts per second over 2.0 s, most from eth0-rx-1",
			func(e *host.Environment, s *watch.Sample) {
				e.Housekeeping = &host.Housekeeping{IRQs: []host.IRQ{irq(40, "eth0-rx-0", "0-3", "0", 9e9),
					irq(41, "eth0-rx-1", "0-3", "2", 2e9)}}
				e.Kernel.Cmdline, s.Interrupts = "rcu_nocbs=all", map[int]float64{0: 9000, 2: 250, 3: 1}
			}},
		{"guest-interrupts", Disturbs,
			"CPU 3, which guests use by default, took 2500 device interrupts per second on average since boot",
			func(e *host.Environment, s *watch.Sample) {
				e.Housekeeping = &host.Housekeeping{IRQs: []host.IRQ{irq(40, "nvme0q1", "2-3", "2-3", 5e9),
					irq(41, "", "3", "3", 1e3)}}
				e.Kernel.Cmdline = "rcu_nocbs=all"
			}},
		{"guest-housekeeping", Note, "CPUs 2-3, which guests use by default: RCU callbacks, interrupts of nvme0q1, " +
			"unbound workqueues, timers that migrate from idle CPUs, packets received by eth0 (RPS), " +
			"the timer tick (250 a second)",
			func(e *host.Environment, s *watch.Sample) {
				e.Kernel.Config = map[string]string{"CONFIG_HZ": "250"}
				e.Kernel.Sysctl["kernel.timer_migration"] = "1"
				e.Housekeeping = &host.Housekeeping{Workqueues: "0-3",
					IRQs:     []host.IRQ{irq(40, "nvme0q1", "0-3", "3", 2e6), irq(41, "rare", "3", "3", 5)},
					Steering: []string{"eth0: 1-2", "eth1: 0"}}
			}},
		{"clocksource", Spoils, "hpet", func(e *host.Environment, s *watch.Sample) { e.Clock.Source = "hpet" }},
		{"clocksource", Spoils, "the clock source is xen, and a reading takes 310 ns; available: xen",
			func(e *host.Environment, s *watch.Sample) {
				e.Clock = host.Clock{Source: "xen", Available: "xen", ReadNS: new(310.0)}
			}},
		{"timer-resolution", Spoils, "4.0 ms",
			func(e *host.Environment, s *watch.Sample) { e.Clock.ResolutionNS = new(int64(4e6)) }},
		{"nmi-watchdog", Note, "on",
			func(e *host.Environment, s *watch.Sample) { e.Kernel.Sysctl["kernel.nmi_watchdog"] = "1" }},
		{"debug-kernel", Spoils, "KASAN",
			func(e *host.Environment, s *watch.Sample) { e.Kernel.Config = map[string]string{"CONFIG_KASAN": "y"} }},
		{"debug-kernel", Note, "KMEMLEAK", func(e *host.Environment, s *watch.Sample) {
			e.Kernel.Config = map[string]string{"CONFIG_KMEMLEAK": "y"}
		}},
		{"kernel-tainted", Disturbs, "machine check, soft lockup",
			func(e *host.Environment, s *watch.Sample) { e.Kernel.Tainted = new(int64(1<<14 | 1<<4 | 1)) }},
		{"cgroup-controllers", Spoils, "v2 lacks cpuset",
			func(e *host.Environment, s *watch.Sample) { delete(e.Cgroup.Controllers, "cpuset") }},
		{"cgroup-hybrid", Note, "/sys/fs/cgroup",
			func(e *host.Environment, s *watch.Sample) { e.Cgroup.Layout = host.CgroupHybrid }},
		{"cgroup-v1", Note, "v1 only", func(e *host.Environment, s *watch.Sample) { e.Cgroup.Layout = host.CgroupV1 }},
		{"disk-space", Spoils, "1.0 GiB free",
			func(e *host.Environment, s *watch.Sample) { e.Storage.Free = new(int64(1 << 30)) }},
		{"disk-space", Disturbs, "10.0 GiB of 1000.0 GiB", func(e *host.Environment, s *watch.Sample) {
			e.Storage.Free, e.Storage.Total = new(int64(10<<30)), new(int64(1000<<30))
		}},
		{"disk-not-local", Disturbs, "fuse.sshfs",
			func(e *host.Environment, s *watch.Sample) { e.Storage.FSType = "fuse.sshfs" }},
		{"unread", Note, "cpu.turbo", func(e *host.Environment, s *watch.Sample) {
			e.Unreadable = []host.Unreadable{{Field: "cpu.turbo", Reason: "x"}, {Field: "os", Reason: "x"}}
		}},
	}
	fired := map[string]bool{"numa-balancing": true} // which comes with numa: see TestBalancing
	for _, c := range cases {
		env, s := quiet()
		c.change(env, s)
		got := NoiseSources(env, s, Needs{})
		if len(got) != 1 || got[0].ID != c.id || got[0].Severity != c.severity || !strings.Contains(got[0].What, c.what) {
			t.Errorf("%s %s: got %+v", c.id, c.severity, got)
			continue
		}
		if got[0].Why == "" || got[0].Remedy == "" || strings.Contains(got[0].Why, "\n") {
			t.Errorf("%s: incomplete: %+v", c.id, got[0])
		}
		fired[c.id] = true
	}
	for _, r := range rules {
		if !fired[r.id] {
			t.Errorf("rule %s has no case", r.id)
		}
	}
}

// defaultThreads sets the kernel's defaults for threads that work on memory.
func defaultThreads(e *host.Environment) {
	e.Memory.Khugepaged = map[string]string{"pages_to_scan": "4096", "scan_sleep_millisecs": "10000",
		"pages_collapsed": "5"}
	e.Memory.VM = map[string]string{"compaction_proactiveness": "20"}
	e.Memory.Threads = map[string]float64{"kcompactd": 1}
}

// TestStockKernel: the defaults of every distribution's kernel give two notes and nothing worse.
func TestStockKernel(t *testing.T) {
	env, s := quiet()
	defaultThreads(env)
	env.Kernel.Sysctl["kernel.timer_migration"], env.Kernel.Sysctl["kernel.numa_balancing"] = "1", "0"
	env.CPU.Nodes = make([]host.Node, 1)
	env.Memory.KSMScan = map[string]string{"pages_to_scan": "100", "sleep_millisecs": "20"}
	env.Memory.Zswap, env.Memory.Swaps = "N", []host.Swap{{Device: "/dev/sda2", Size: 1 << 30}}
	env.Memory.SwapTotal = new(int64(1 << 30))
	env.Memory.DAMON = []host.DAMON{{Name: "damon_reclaim", Actions: []string{"pageout"}}}
	env.Housekeeping = &host.Housekeeping{Workqueues: "0-3", IRQDefault: "0-3",
		IRQs: []host.IRQ{irq(40, "nvme0q3", "2", "2", 5e6), irq(41, "eth0", "0-3", "0", 1e8)}}
	s.Interrupts = map[int]float64{0: 300, 1: 2, 2: 8, 3: 1}
	got := NoiseSources(env, s, Needs{})
	if len(got) != 2 || got[0].ID != "memory-threads" || got[1].ID != "guest-housekeeping" ||
		got[0].Severity != Note || got[1].Severity != Note {
		t.Errorf("%+v", got)
	}
}

func TestBalancing(t *testing.T) {
	for _, c := range []struct{ sysctl, demotion, what, remedy string }{
		{"1", "", "automatic NUMA balancing is on (7 pages moved since boot)", "sysctl -w kernel.numa_balancing=0"},
		{"2", "false", "automatic NUMA balancing is on (7 pages moved since boot)", "sysctl -w kernel.numa_balancing=0"},
		{"0", "true", "idle pages are demoted to slower memory", "echo false > /sys/kernel/mm/numa/demotion_enabled"},
		{"0", "false", "", ""},
		{"", "", "", ""},
	} {
		env, s := quiet()
		env.Kernel.Sysctl["kernel.numa_balancing"] = c.sysctl
		env.Memory.NUMADemotion, env.Memory.NUMAMigrated = c.demotion, new(int64(7))
		if got := NoiseSources(env, s, Needs{}); len(got) != 0 {
			t.Errorf("one node, balancing %q: %+v", c.sysctl, got)
		}
		env.CPU.Nodes = make([]host.Node, 2)
		got := NoiseSources(env, s, Needs{})
		if c.what == "" {
			if len(got) != 1 || got[0].ID != "numa" {
				t.Errorf("balancing %q: %+v", c.sysctl, got)
			}
		} else if len(got) != 2 || got[1].ID != "numa-balancing" || got[1].What != c.what || got[1].Remedy != c.remedy {
			t.Errorf("balancing %q: %+v", c.sysctl, got)
		}
	}
}

// TestGuestCPUs: noise sources on CPUs are about the CPUs that guests use.
func TestGuestCPUs(t *testing.T) {
	find := func(role host.Role, cpus, online string) (what, remedy string) {
		env, s := quiet()
		env.Virt.Role, env.CPU.Online, env.CPU.Allowed = role, online, online
		env.Housekeeping = &host.Housekeeping{Workqueues: online}
		for _, f := range NoiseSources(env, s, Needs{CPUs: cpus}) {
			if f.ID == "guest-housekeeping" {
				return f.What, f.Remedy
			}
		}
		return "", ""
	}
	for _, c := range []struct {
		role                host.Role
		cpus, online, where string
		mask                string // of what is left to the host
	}{
		{host.BareMetal, "", "0-3", "on CPUs 2-3, which guests use by default:", "echo 3 >"},
		{host.BareMetal, "", "0-2", "on CPU 2, which guests use by default:", "echo 3 >"},
		{host.BareMetal, "", "0", "on CPU 0, which guests use by default:", ""},
		{host.BareMetal, "1", "0-3", "on CPU 1, which guests use:", "echo d >"},
		{host.BareMetal, "4-63", "0-63", "on CPUs 4-63, which guests use:", "echo f >"},
		{host.BareMetal, "0-31", "0-63", "on CPUs 0-31, which guests use:", "echo ffffffff,00000000 >"},
		{host.XenDom0, "", "0-3", "", ""},
	} {
		what, remedy := find(c.role, c.cpus, c.online)
		if !strings.Contains(what, c.where) || (what == "") != (c.where == "") || !strings.Contains(remedy, c.mask) {
			t.Errorf("%+v: %q, %q", c, what, remedy)
		}
		if c.where != "" && c.mask == "" && remedy != leaveSome {
			t.Errorf("%+v: %q", c, remedy)
		}
	}
}

// TestHousekeepingMoved: a host that keeps its work off the CPUs of guests has no noise source.
func TestHousekeepingMoved(t *testing.T) {
	for _, cmdline := range []string{"rcu_nocbs=2-3", "rcu_nocbs=all", "rcu_nocbs=0-3 quiet"} {
		env, s := quiet()
		env.Kernel.Cmdline, env.Kernel.Sysctl["kernel.timer_migration"] = cmdline, "0"
		env.Housekeeping = &host.Housekeeping{Workqueues: "0-1", IRQs: []host.IRQ{irq(40, "eth0", "0-1", "1", 1e9)},
			Steering: []string{"eth0: 0-1"}}
		if got := NoiseSources(env, s, Needs{}); len(got) != 0 {
			t.Errorf("%s: %+v", cmdline, got)
		}
	}
}

func TestNeeds(t *testing.T) {
	env, s := quiet()
	got := NoiseSources(env, s, Needs{DiskBytes: 60 << 30, MemoryBytes: 62 << 30})
	if len(got) != 2 || got[0].ID != "memory-low" || got[1].ID != "disk-space" ||
		got[0].Severity != Spoils || got[1].Severity != Spoils {
		t.Errorf("%+v", got)
	}
}
