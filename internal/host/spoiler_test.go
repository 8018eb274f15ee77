package host

import (
	"strings"
	"testing"
)

// quiet is a host on which nothing is wrong.
func quiet() (*Environment, *Sample) {
	return &Environment{
		UptimeS: new(1e6),
		CPU: CPU{Arch: "amd64", Flags: "fpu svm", Online: "0-3", Allowed: "0-3", Threads: 4, Cores: 4, Microcode: "0x1",
			MHzMin: new(3000.0), MHzMax: new(3010.0), SMT: new(false), Turbo: new(false), TurboSwitch: cpuDir + "/cpufreq/boost",
			Throttled: new(int64(0)), Policies: []Policy{{CPUs: "0-3", Driver: "acpi-cpufreq", Governor: "performance"}},
			Mitigations: map[string]string{"spectre_v2": "Mitigation: IBRS"}},
		Virt: Virtualization{Role: BareMetal, Extension: "svm", KVMDevice: true},
		Memory: Memory{Total: new(int64(64 << 30)), Available: new(int64(60 << 30)), SwapTotal: new(int64(0)), SwapUsed: new(int64(0)),
			THP: "madvise", KSM: new(int64(0))},
		Kernel: Kernel{Release: "6.12", Cmdline: "quiet mitigations=auto", Tainted: new(int64(0)), Sysctl: map[string]string{"kernel.nmi_watchdog": "0"}},
		Clock:  Clock{Source: "tsc", Available: "tsc hpet", ResolutionNS: new(int64(1))},
		Cgroup: Cgroup{Layout: CgroupV2, V2Mount: "/sys/fs/cgroup",
			Controllers: map[string]string{"cpu": "v2", "cpuset": "v2", "memory": "v2", "freezer": "v2"}},
		Load:    Load{Avg1: new(0.1), IO: &Pressure{}, MemWait: &Pressure{}},
		Storage: &Storage{Mount: "/", FSType: "ext4", Total: new(int64(100 << 30)), Free: new(int64(50 << 30))},
	}, &Sample{Seconds: 2, CPUs: 4, Others: 0.02, SwapIn: new(0.0), SwapOut: new(0.0)}
}

func TestQuietHostHasNoSpoilers(t *testing.T) {
	env, s := quiet()
	if got := Spoilers(env, s, Needs{}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestEveryRule(t *testing.T) {
	cases := []struct {
		id       string
		severity Severity
		what     string // a part of the evidence
		spoil    func(e *Environment, s *Sample)
	}{
		{"other-load", Disturbs, "0.10 of 4", func(e *Environment, s *Sample) { s.Others = 0.1 }},
		{"other-load", Spoils, "bash (7) 0.50", func(e *Environment, s *Sample) { s.Others, s.Top = 0.6, []ProcessShare{{7, "bash", 0.5}} }},
		{"load-average", Disturbs, "1.50", func(e *Environment, s *Sample) { e.Load.Avg1 = new(1.5) }},
		{"steal", Disturbs, "0.10 %", func(e *Environment, s *Sample) { s.Steal = 0.001 }},
		{"steal", Spoils, "5.0 %", func(e *Environment, s *Sample) { s.Steal = 0.05 }},
		{"io-pressure", Disturbs, "12.0 %", func(e *Environment, s *Sample) { e.Load.IO.Some10 = 12 }},
		{"io-pressure", Disturbs, "4.0 % iowait", func(e *Environment, s *Sample) { s.IOWait = 0.04 }},
		{"just-booted", Note, "60 s", func(e *Environment, s *Sample) { e.UptimeS = new(60.0) }},
		{"cpu-governor", Spoils, "schedutil of acpi-cpufreq on CPUs 0-3", func(e *Environment, s *Sample) { e.CPU.Policies[0].Governor = "schedutil" }},
		{"cpu-turbo", Disturbs, "turbo is on", func(e *Environment, s *Sample) { e.CPU.Turbo = new(true) }},
		{"cpu-frequency", Disturbs, "2000 to 3010", func(e *Environment, s *Sample) { e.CPU.MHzMin = new(2000.0) }},
		{"cpu-throttled", Disturbs, "3 times", func(e *Environment, s *Sample) { e.CPU.Throttled = new(int64(3)) }},
		{"on-battery", Spoils, "battery", func(e *Environment, s *Sample) { e.Power.OnBattery = new(true) }},
		{"hybrid-cores", Spoils, "atom: 2-3", func(e *Environment, s *Sample) { e.CPU.Kinds = []string{"core: 0-1", "atom: 2-3"} }},
		{"smt", Disturbs, "2 cores", func(e *Environment, s *Sample) { e.CPU.SMT, e.CPU.Siblings = new(true), []string{"0-1", "2-3"} }},
		{"smt", Spoils, "on 1 of them", func(e *Environment, s *Sample) {
			e.CPU.SMT, e.CPU.Siblings, s.Busy = new(true), []string{"0-1", "2-3"}, []CPUShare{{0, 0.2}, {1, 0.3}, {2, 1}, {3, 0}}
		}},
		{"numa", Disturbs, "2 NUMA nodes", func(e *Environment, s *Sample) { e.CPU.Nodes = make([]Node, 2) }},
		{"microcode", Disturbs, "0x1,0x2", func(e *Environment, s *Sample) { e.CPU.Microcode = "0x1,0x2" }},
		{"cpu-isolated", Disturbs, "CPUs 2-3", func(e *Environment, s *Sample) { e.CPU.Isolated, e.CPU.Allowed = "2-3", "0-1" }},
		{"cpu-affinity", Disturbs, "CPUs 1-3 of 0-3", func(e *Environment, s *Sample) { e.CPU.Allowed = "0" }},
		{"mitigations", Note, "1 of 1", func(e *Environment, s *Sample) { e.CPU.Mitigations["spectre_v2"] = "Vulnerable" }},
		{"mitigations", Disturbs, "mitigations=off", func(e *Environment, s *Sample) { e.Kernel.Cmdline = "mitigations=off" }},
		{"mitigations", Disturbs, "no_guest_host", func(e *Environment, s *Sample) { e.Kernel.Cmdline = "mitigations=auto,no_guest_host" }},
		{"mitigations", Disturbs, "nopti", func(e *Environment, s *Sample) { e.Kernel.Cmdline = "quiet nopti" }},
		{"in-guest", Disturbs, "VMware", func(e *Environment, s *Sample) { e.Virt.Role, e.Virt.Of = InGuest, "VMware" }},
		{"xen-dom0", Disturbs, "Xen 4.17.3", func(e *Environment, s *Sample) {
			e.Virt.Role, e.Virt.Hyper = XenDom0, map[string]string{"version": "4", "minor": "17", "extra": ".3"}
		}},
		{"in-container", Disturbs, "docker", func(e *Environment, s *Sample) { e.Virt.Container = "docker" }},
		{"no-hw-virt", Note, "/dev/kvm is there", func(e *Environment, s *Sample) { e.Virt.Extension = "" }},
		{"swap", Disturbs, "1.0 GiB of 2.0 GiB", func(e *Environment, s *Sample) {
			e.Memory.SwapTotal, e.Memory.SwapUsed = new(int64(2<<30)), new(int64(1<<30))
		}},
		{"swap", Spoils, "3 pages in", func(e *Environment, s *Sample) { s.SwapIn = new(3.0) }},
		{"memory-low", Disturbs, "1.0 GiB of 64.0 GiB", func(e *Environment, s *Sample) { e.Memory.Available = new(int64(1 << 30)) }},
		{"memory-pressure", Disturbs, "0.5 %", func(e *Environment, s *Sample) { e.Load.MemWait.Some10 = 0.5 }},
		{"memory-pressure", Spoils, "20.0 %", func(e *Environment, s *Sample) { e.Load.MemWait.Some10 = 20 }},
		{"thp-always", Disturbs, "always", func(e *Environment, s *Sample) { e.Memory.THP = "always" }},
		{"ksm", Disturbs, "9 pages", func(e *Environment, s *Sample) { e.Memory.KSM, e.Memory.KSMSharing = new(int64(1)), new(int64(9)) }},
		{"clocksource", Spoils, "hpet", func(e *Environment, s *Sample) { e.Clock.Source = "hpet" }},
		{"timer-resolution", Spoils, "4.0 ms", func(e *Environment, s *Sample) { e.Clock.ResolutionNS = new(int64(4e6)) }},
		{"nmi-watchdog", Note, "on", func(e *Environment, s *Sample) { e.Kernel.Sysctl["kernel.nmi_watchdog"] = "1" }},
		{"debug-kernel", Spoils, "KASAN", func(e *Environment, s *Sample) { e.Kernel.Config = map[string]string{"CONFIG_KASAN": "y"} }},
		{"debug-kernel", Note, "KMEMLEAK", func(e *Environment, s *Sample) { e.Kernel.Config = map[string]string{"CONFIG_KMEMLEAK": "y"} }},
		{"kernel-tainted", Disturbs, "machine check, soft lockup", func(e *Environment, s *Sample) { e.Kernel.Tainted = new(int64(1<<14 | 1<<4 | 1)) }},
		{"cgroup-controllers", Spoils, "v2 lacks cpuset", func(e *Environment, s *Sample) { delete(e.Cgroup.Controllers, "cpuset") }},
		{"cgroup-hybrid", Note, "/sys/fs/cgroup", func(e *Environment, s *Sample) { e.Cgroup.Layout = CgroupHybrid }},
		{"cgroup-v1", Note, "v1 only", func(e *Environment, s *Sample) { e.Cgroup.Layout = CgroupV1 }},
		{"disk-space", Spoils, "1.0 GiB free", func(e *Environment, s *Sample) { e.Storage.Free = new(int64(1 << 30)) }},
		{"disk-space", Disturbs, "10.0 GiB of 1000.0 GiB", func(e *Environment, s *Sample) {
			e.Storage.Free, e.Storage.Total = new(int64(10<<30)), new(int64(1000<<30))
		}},
		{"disk-not-local", Disturbs, "fuse.sshfs", func(e *Environment, s *Sample) { e.Storage.FSType = "fuse.sshfs" }},
		{"unread", Note, "cpu.turbo", func(e *Environment, s *Sample) {
			e.Unreadable = []Unreadable{{Field: "cpu.turbo", Reason: "x"}, {Field: "os", Reason: "x"}}
		}},
	}
	fired := map[string]bool{}
	for _, c := range cases {
		env, s := quiet()
		c.spoil(env, s)
		got := Spoilers(env, s, Needs{})
		if len(got) != 1 || got[0].ID != c.id || got[0].Severity != c.severity || !strings.Contains(got[0].What, c.what) {
			t.Errorf("%s %s: got %+v", c.id, c.severity, got)
			continue
		}
		if got[0].Why == "" || got[0].Mend == "" || strings.Contains(got[0].Why, "\n") {
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

func TestNeeds(t *testing.T) {
	env, s := quiet()
	got := Spoilers(env, s, Needs{DiskBytes: 60 << 30, MemoryBytes: 62 << 30})
	if len(got) != 2 || got[0].ID != "memory-low" || got[1].ID != "disk-space" || got[0].Severity != Spoils || got[1].Severity != Spoils {
		t.Errorf("%+v", got)
	}
}

func TestRole(t *testing.T) {
	for _, c := range []struct {
		name        string
		v           Virtualization
		bit, hasBit bool
		role        Role
		of          string
	}{
		{"bare", Virtualization{SysVendor: "Dell Inc."}, false, true, BareMetal, ""},
		{"metal instance", Virtualization{SysVendor: "Amazon EC2", Product: "m5.metal"}, false, true, BareMetal, ""},
		{"kvm", Virtualization{CPUID: "KVMKVMKVM", SysVendor: "QEMU"}, true, true, InGuest, "KVM"},
		{"hidden kvm", Virtualization{SysVendor: "QEMU"}, false, true, InGuest, "QEMU"},
		{"stranger", Virtualization{CPUID: "SomethingNew"}, true, true, InGuest, "SomethingNew"},
		{"xen guest", Virtualization{Hyper: map[string]string{"type": "xen", "features": "00002705"}}, true, true, InGuest, "Xen"},
		{"dom0 by xenfs", Virtualization{Hyper: map[string]string{"type": "xen", "xen": "control_d"}}, true, true, XenDom0, "Xen"},
		{"dom0 by features", Virtualization{Hyper: map[string]string{"type": "xen", "features": "00002f05"}}, true, true, XenDom0, "Xen"},
		{"arm guest", Virtualization{Hyper: map[string]string{"devicetree": "linux,kvm"}}, false, false, InGuest, "KVM"},
		{"arm, silent", Virtualization{}, false, false, UnknownRole, ""},
	} {
		if role, of := judgeRole(c.v, c.bit, c.hasBit); role != c.role || of != c.of {
			t.Errorf("%s: %s of %q, want %s of %q", c.name, role, of, c.role, c.of)
		}
	}
}

func TestIsEmulated(t *testing.T) {
	for _, c := range []struct {
		vendor, model string
		want          bool
	}{
		{"TCGTCGTCGTCG", "", true},
		{"XenVMMXenVMM", "QEMU TCG CPU version 2.5+", true},
		{"KVMKVMKVM", "QEMU Virtual CPU version 2.5+", false},
		{"", "AMD EPYC 7B13", false},
	} {
		if got := isEmulated(c.vendor, c.model); got != c.want {
			t.Errorf("%q, %q: %v", c.vendor, c.model, got)
		}
	}
}
