package host

import (
	"path"
	"slices"
	"strings"
)

// controllers are all cgroup controllers so far; other options of a v1 mount are not controllers.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "blkio", "io", "devices", "freezer",
	"net_cls", "net_prio", "perf_event", "hugetlb", "pids", "rdma", "misc"}

func readCgroup(r *reader) Cgroup {
	g := Cgroup{Layout: CgroupNone}
	mounts := r.mounts("cgroup")
	if mounts == nil {
		return Cgroup{}
	}
	v1 := false
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup":
			v1 = true
			for opt := range strings.SplitSeq(m.VFSOptions, ",") {
				if slices.Contains(controllers, opt) && g.Controllers[opt] == "" {
					put(&g.Controllers, opt, m.Mountpoint)
				}
			}
		case "cgroup2":
			if g.V2Mount == "" {
				g.V2Mount = m.Mountpoint
			}
		}
	}
	switch {
	case v1 && g.V2Mount != "":
		g.Layout = CgroupHybrid
	case v1:
		g.Layout = CgroupV1
	case g.V2Mount != "":
		g.Layout = CgroupV2
	}
	if g.V2Mount == "" {
		return g
	}
	for name := range strings.FieldsSeq(r.text("cgroup.controllers", g.V2Mount+"/cgroup.controllers")) {
		if g.Controllers[name] == "" {
			put(&g.Controllers, name, "v2")
		}
	}
	g.Delegated = r.text("cgroup.delegated", g.V2Mount+"/cgroup.subtree_control")
	// The root itself has no such file, except where a namespace makes it one.
	for _, child := range append([]string{"."}, r.Names(g.V2Mount)...) {
		if g.Controllers["freezer"] == "" && r.Exists(path.Join(g.V2Mount, child, "cgroup.freeze")) {
			put(&g.Controllers, "freezer", "v2")
		}
	}
	return g
}
