package host

import (
	"fmt"
	"slices"
	"strings"
)

// virtRules: the environment that tare itself runs in.
var virtRules = []rule{
	{"in-guest", "every number holds for nested virtualization only, and load on the real host is not visible", inGuest},
	{"xen-dom0", "the native baseline would run under Xen, too, so the cost of Xen would not show", dom0},
	{"in-container", "the container's limits and file systems apply to every arm, native included", inContainer},
	{"no-hw-virt", "guests that need hardware virtualization do not start, or are emulated; /dev/kvm alone does not prove that it works", noHardware},
}

func inGuest(v view) *Spoiler {
	if v.Virt.Role != InGuest {
		return nil
	}
	of := v.Virt.Of
	if of == "" {
		of = "an unknown hypervisor"
	}
	return found(Disturbs, "measure on bare metal, or state with every number that virtualization was nested", "this host is itself a guest of %s", of)
}

func dom0(v view) *Spoiler {
	if v.Virt.Role != XenDom0 {
		return nil
	}
	return found(Disturbs, "measure native in a boot without Xen; here Xen controls the CPU clock: xenpm set-scaling-governor performance",
		"this host is Xen's dom0 (Xen %s.%s%s)", v.Virt.Hyper["version"], v.Virt.Hyper["minor"], v.Virt.Hyper["extra"])
}

func inContainer(v view) *Spoiler {
	if v.Virt.Container == "" {
		return nil
	}
	return found(Disturbs, "run tare on the host itself", "tare runs in a container (%s)", v.Virt.Container)
}

func noHardware(v view) *Spoiler {
	if v.Virt.Extension != "" || v.CPU.Flags == "" || v.Virt.Role == XenDom0 || (v.CPU.Arch != "amd64" && v.CPU.Arch != "386") {
		return nil
	}
	what := "the CPU shows neither vmx nor svm"
	if v.Virt.KVMDevice {
		what += ", though /dev/kvm is there"
	}
	return found(Note, "enable it in the firmware; in a guest, enable nesting on its host", "%s", what)
}

// kernelRules: noise from the kernel itself.
var kernelRules = []rule{
	{"clocksource", "reading this clock is slow and takes a system call, so a program that reads it often measures the clock", clocksource},
	{"timer-resolution", "sleeps end at the next tick, so short waits are rounded up by milliseconds", timers},
	{"nmi-watchdog", "it holds a performance counter and interrupts every CPU every few seconds", nmiWatchdog},
	{"debug-kernel", "its checks cost more than the effects to be measured, and guests do not have them", debugKernel},
	{"kernel-tainted", "something went wrong since boot, and may go wrong again", tainted},
}

// goodClocks are read without leaving user space, or are the best available.
var goodClocks = []string{"tsc", "tsc-early", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen", "tod", "timebase",
	"riscv_clocksource", "stick", "Loongson"}

func clocksource(v view) *Spoiler {
	if v.Clock.Source == "" || slices.Contains(goodClocks, v.Clock.Source) {
		return nil
	}
	mend := "find out why in the kernel's log: dmesg | grep -i -e tsc -e clocksource"
	if slices.Contains(strings.Fields(v.Clock.Available), "tsc") {
		mend = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
	}
	return found(Spoils, mend, "the clock source is %s; available: %s", v.Clock.Source, v.Clock.Available)
}

func timers(v view) *Spoiler {
	if ns, known := value(v.Clock.ResolutionNS); known && ns > 100_000 {
		return found(Spoils, "boot without highres=off and nohz=off", "timers have a resolution of %.1f ms", float64(ns)/1e6)
	}
	return nil
}

func nmiWatchdog(v view) *Spoiler {
	if v.Kernel.Sysctl["kernel.nmi_watchdog"] != "1" {
		return nil
	}
	return found(Note, "sysctl -w kernel.nmi_watchdog=0", "the NMI watchdog is on")
}

func debugKernel(v view) *Spoiler {
	var on []string
	level := Note
	for _, option := range []struct {
		name   string
		always bool // it costs even when nothing switches it on
	}{{"CONFIG_KASAN", true}, {"CONFIG_KCSAN", true}, {"CONFIG_PROVE_LOCKING", true}, {"CONFIG_DEBUG_PAGEALLOC", false}, {"CONFIG_KMEMLEAK", false}} {
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

func tainted(v view) *Spoiler {
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
	return found(Disturbs, "read the kernel's log, then reboot", "the kernel is tainted by %s (%d)", strings.Join(names, ", "), n)
}

// placeRules: control groups and storage of guests, and what tare could not read.
var placeRules = []rule{
	{"cgroup-controllers", "without them guests cannot be capped, pinned, limited or frozen, so arms are not equal", controllersMissing},
	{"cgroup-hybrid", "crun and libvirt's LXC driver refuse it, and v2 lacks the controllers that v1 holds", cgroupHybrid},
	{"cgroup-v1", "it has neither cgroup.kill nor pressure information per guest, and newer systems refuse it", cgroupV1},
	{"disk-space", "a trial that runs out of space fails, and a nearly full file system is slow", diskSpace},
	{"disk-not-local", "disk workloads would measure memory, the network or another layer instead of a disk", diskKind},
	{"unread", "a noise source that tare cannot check cannot be ruled out", unread},
}

func controllersMissing(v view) *Spoiler {
	if v.Cgroup.Layout == "" {
		return nil
	}
	var missing []string
	for _, name := range []string{"cpu", "cpuset", "memory", "freezer"} {
		if v.Cgroup.Controllers[name] == "" {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	mend := "mount a cgroup v2 hierarchy: mount -t cgroup2 none /sys/fs/cgroup"
	switch {
	case slices.Contains(missing, "memory") && v.Cgroup.Layout != CgroupNone:
		mend = "boot with cgroup_enable=memory swapaccount=1; a v1 controller must be mounted"
	case v.Cgroup.Layout == CgroupV2:
		mend = "needs Linux 5.2 or newer with these controllers, and tare outside a restricted cgroup namespace"
	case v.Cgroup.Layout != CgroupNone:
		mend = fmt.Sprintf("for each: mkdir /sys/fs/cgroup/X && mount -t cgroup -o X none /sys/fs/cgroup/X (%s)", strings.Join(missing, ", "))
	}
	return found(Spoils, mend, "cgroup layout %s lacks %s", v.Cgroup.Layout, strings.Join(missing, ", "))
}

func cgroupHybrid(v view) *Spoiler {
	if v.Cgroup.Layout != CgroupHybrid {
		return nil
	}
	return found(Note, "boot with systemd.unified_cgroup_hierarchy=1; or run such systems in a mount namespace without "+v.Cgroup.V2Mount,
		"cgroups are hybrid: v1 controllers, and v2 at %s", v.Cgroup.V2Mount)
}

func cgroupV1(v view) *Spoiler {
	if v.Cgroup.Layout != CgroupV1 {
		return nil
	}
	return found(Note, "boot with systemd.unified_cgroup_hierarchy=1", "cgroups are v1 only")
}

func diskSpace(v view) *Spoiler {
	if v.Storage == nil {
		return nil
	}
	need := v.needs.DiskBytes
	if need == 0 {
		need = 5 << 30
	}
	free, known := value(v.Storage.Free)
	total, known2 := value(v.Storage.Total)
	switch {
	case !known || !known2:
		return nil
	case free < need:
		return found(Spoils, "free some space, or put the data elsewhere", "%s free at %s, %s needed", size(free), v.Storage.Mount, size(need))
	case free < total/20:
		return found(Disturbs, "free some space, or put the data elsewhere", "%s of %s free at %s", size(free), size(total), v.Storage.Mount)
	}
	return nil
}

// farFS are file systems that are not on a local disk, and what a workload measures there instead.
var farFS = map[string]string{"tmpfs": "memory", "ramfs": "memory", "nfs": "network", "nfs4": "network", "cifs": "network", "smb3": "network",
	"ceph": "network", "glusterfs": "network", "9p": "another host's files", "virtiofs": "another host's files",
	"overlay": "two layers", "ecryptfs": "encryption", "fuse": "a user-space file system"}

func diskKind(v view) *Spoiler {
	if v.Storage == nil {
		return nil
	}
	base, _, _ := strings.Cut(v.Storage.FSType, ".") // fuse.sshfs
	instead, far := farFS[base]
	if !far {
		return nil
	}
	return found(Disturbs, "put the data on a local ext4 or xfs", "the data is on %s at %s (%s)", v.Storage.FSType, v.Storage.Mount, instead)
}

// unread lists the fields that rules need and that could not be read.
func unread(v view) *Spoiler {
	judged := []string{"cpu.turbo", "cpu.smt", "cpu.policies", "cpu.mitigations", "clock.source", "memory", "memory.thp", "memory.ksm_run",
		"memory.damon", "load", "cgroup", "kernel.tainted", "storage", "storage.free", "load.psi_memory", "load.psi_io", "housekeeping.irqs"}
	var names []string
	for _, u := range v.Unreadable {
		if slices.Contains(judged, u.Field) && !slices.Contains(names, u.Field) {
			names = append(names, u.Field)
		}
	}
	if names == nil {
		return nil
	}
	return found(Note, "see the reasons in the stored environment (unreadable); some files need root", "could not check %s", strings.Join(names, ", "))
}
