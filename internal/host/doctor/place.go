package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/host"
)

// placeRules: control groups and storage of guests, and what tare could not read.
var placeRules = []rule{
	{"cgroup-controllers", controllersMissing,
		"without them guests cannot be capped, pinned, limited or frozen, so arms are not equal"},
	{"cgroup-hybrid", cgroupHybrid, "crun and libvirt's LXC driver refuse it, and v2 lacks the controllers that v1 holds"},
	{"cgroup-v1", cgroupV1, "it has neither cgroup.kill nor pressure information per guest, and newer systems refuse it"},
	{"disk-space", diskSpace, "a trial that runs out of space fails, and a nearly full file system is slow"},
	{"disk-not-local", diskKind, "disk workloads would measure memory, the network or another layer instead of a disk"},
	{"unread", unread, "a noise source that tare cannot check cannot be ruled out"},
}

func controllersMissing(v view) *NoiseSource {
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
	remedy := "mount a cgroup v2 hierarchy: mount -t cgroup2 none /sys/fs/cgroup"
	switch {
	case slices.Contains(missing, "memory") && v.Cgroup.Layout != host.CgroupNone:
		remedy = "boot with cgroup_enable=memory swapaccount=1; a v1 controller must be mounted"
	case v.Cgroup.Layout == host.CgroupV2:
		remedy = "needs Linux 5.2 or newer with these controllers, and tare outside a restricted cgroup namespace"
	case v.Cgroup.Layout != host.CgroupNone:
		remedy = fmt.Sprintf("for each: mkdir /sys/fs/cgroup/X && mount -t cgroup -o X none /sys/fs/cgroup/X (%s)",
			strings.Join(missing, ", "))
	}
	return found(Spoils, remedy, "cgroup layout %s lacks %s", v.Cgroup.Layout, strings.Join(missing, ", "))
}

func cgroupHybrid(v view) *NoiseSource {
	if v.Cgroup.Layout != host.CgroupHybrid {
		return nil
	}
	return found(Note,
		"boot with systemd.unified_cgroup_hierarchy=1; or run such systems in a mount namespace without "+v.Cgroup.V2Mount,
		"cgroups are hybrid: v1 controllers, and v2 at %s", v.Cgroup.V2Mount)
}

func cgroupV1(v view) *NoiseSource {
	if v.Cgroup.Layout != host.CgroupV1 {
		return nil
	}
	return found(Note, "boot with systemd.unified_cgroup_hierarchy=1", "cgroups are v1 only")
}

func diskSpace(v view) *NoiseSource {
	if v.Storage == nil {
		return nil
	}
	need := cmp.Or(v.needs.DiskBytes, 5<<30)
	free, known := value(v.Storage.Free)
	total, known2 := value(v.Storage.Total)
	switch {
	case !known || !known2:
		return nil
	case free < need:
		return found(Spoils, "free some space, or put the data elsewhere", "%s free at %s, %s needed", size(free),
			v.Storage.Mount, size(need))
	case free < total/20:
		return found(Disturbs, "free some space, or put the data elsewhere", "%s of %s free at %s", size(free), size(total),
			v.Storage.Mount)
	}
	return nil
}

// farFS are file systems that are not on a local disk, and what a workload measures there instead.
var farFS = map[string]string{
	"tmpfs": "memory", "ramfs": "memory",
	"nfs": "network", "nfs4": "network", "cifs": "network", "smb3": "network", "ceph": "network", "glusterfs": "network",
	"9p": "another host's files", "virtiofs": "another host's files",
	"overlay": "two layers", "ecryptfs": "encryption", "fuse": "a user-space file system",
}

func diskKind(v view) *NoiseSource {
	if v.Storage == nil {
		return nil
	}
	base, _, _ := strings.Cut(v.Storage.FSType, ".") // fuse.sshfs
	instead, far := farFS[base]
	if !far {
		return nil
	}
	return found(Disturbs, "put the data on a local ext4 or xfs", "the data is on %s at %s (%s)", v.Storage.FSType,
		v.Storage.Mount, instead)
}

// unread lists the fields that rules need and that could not be read.
func unread(v view) *NoiseSource {
	judged := []string{
		"cpu.turbo", "cpu.smt", "cpu.policies", "cpu.mitigations", "clock.source", "memory", "memory.thp", "memory.ksm_run",
		"memory.damon", "load", "load.psi_memory", "load.psi_io", "cgroup", "kernel.tainted", "storage", "storage.free",
		"housekeeping.irqs",
	}
	var names []string
	for _, u := range v.Unreadable {
		if slices.Contains(judged, u.Field) && !slices.Contains(names, u.Field) {
			names = append(names, u.Field)
		}
	}
	if names == nil {
		return nil
	}
	return found(Note, "see the reasons in the stored environment (unreadable); some files need root",
		"could not check %s", strings.Join(names, ", "))
}
