package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// mount is one line of /proc/self/mountinfo.
type mount struct {
	device  string // major:minor
	point   string
	options string
	fsType  string
	source  string
	super   string
}

// parseMountinfo ignores lines that it does not understand.
func parseMountinfo(text string) []mount {
	var out []mount
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		l, f := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 6 || len(f) < 2 {
			continue
		}
		m := mount{device: l[2], point: unescape(l[4]), options: l[5], fsType: f[0], source: unescape(f[1])}
		if len(f) > 2 {
			m.super = f[2]
		}
		out = append(out, m)
	}
	return out
}

// unescape decodes the octal escapes of mountinfo: "\040" is a space.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountOf returns the mount of an absolute path. If several share a mount point, the last is on top.
func mountOf(mounts []mount, p string) *mount {
	var best *mount
	for i := range mounts {
		m := &mounts[i]
		inside := m.point == "/" || p == m.point || strings.HasPrefix(p, m.point+"/")
		if inside && (best == nil || len(m.point) >= len(best.point)) {
			best = m
		}
	}
	return best
}

func readStorage(r *reader, c *calls, p string) *Storage {
	abs, err := c.resolve(p)
	if err != nil {
		r.fail("storage", "", errors.New("the data path cannot be resolved: "+reason(err)))
		return nil
	}
	m := mountOf(parseMountinfo(r.text("storage", "/proc/self/mountinfo")), abs)
	if m == nil {
		r.fail("storage", "/proc/self/mountinfo", errors.New("no mount holds the data path"))
		return nil
	}
	s := &Storage{Mount: m.point, FSType: m.fsType, Options: m.options, SuperOptions: m.super, Source: m.source}
	if total, free, err := c.space(abs); err != nil {
		r.fail("storage.free", "statfs", err)
	} else {
		s.Total, s.Free = &total, &free
	}
	if s.Disk = diskOf(r, m); s.Disk == "" {
		if strings.HasPrefix(m.source, "/dev/") {
			r.fail("storage.disk", m.source, errors.New("not found in /sys/block"))
		}
		return s
	}
	dir := "/sys/block/" + s.Disk
	s.On = r.names(dir + "/slaves")
	if f := r.optional("storage.on", dir+"/loop/backing_file"); f != "" {
		s.On = []string{"a file"}
		if below := mountOf(parseMountinfo(r.optional("storage.on", "/proc/self/mountinfo")), f); below != nil {
			s.On = []string{"a file on " + below.fsType + " at " + below.point}
		}
	}
	s.Model = r.optional("storage.model", dir+"/device/model")
	s.Scheduler = chosen(r.text("storage.scheduler", dir+"/queue/scheduler"))
	if n := r.number("storage.rotational", dir+"/queue/rotational"); n != nil {
		s.Rotational = new(*n != 0)
	}
	s.WriteCache = r.optional("storage.write_cache", dir+"/queue/write_cache")
	s.ReadAheadKB = r.optionalNumber("storage.read_ahead_kb", dir+"/queue/read_ahead_kb")
	s.LogicalBlock = r.optionalNumber("storage.logical_block", dir+"/queue/logical_block_size")
	s.PhysBlock = r.optionalNumber("storage.physical_block", dir+"/queue/physical_block_size")
	return s
}

// diskOf finds the whole device of a mount: by its number, or for file systems with numbers of
// their own (btrfs) by the name of their source.
func diskOf(r *reader, m *mount) string {
	links := []string{"/sys/dev/block/" + m.device}
	if strings.HasPrefix(m.source, "/dev/") {
		links = append(links, "/sys/class/block/"+path.Base(m.source))
	}
	for _, link := range links {
		target, err := fs.ReadLink(r.fsys, rel(link))
		if err != nil {
			continue
		}
		// …/block/sda/sda1: a partition lies within its disk.
		parts := strings.Split(target, "/")
		if i := slices.Index(parts, "block"); i >= 0 && i+1 < len(parts) {
			return parts[i+1]
		}
	}
	return ""
}

// controllers are all cgroup controllers so far; other options of a v1 mount are not controllers.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "blkio", "io", "devices", "freezer",
	"net_cls", "net_prio", "perf_event", "hugetlb", "pids", "rdma", "misc"}

func readCgroup(r *reader) Cgroup {
	g := Cgroup{Layout: CgroupNone}
	text := r.text("cgroup", "/proc/self/mountinfo")
	if text == "" {
		return Cgroup{}
	}
	v1 := false
	for _, m := range parseMountinfo(text) {
		switch m.fsType {
		case "cgroup":
			v1 = true
			for opt := range strings.SplitSeq(m.super, ",") {
				if slices.Contains(controllers, opt) && g.Controllers[opt] == "" {
					put(&g.Controllers, opt, m.point)
				}
			}
		case "cgroup2":
			if g.V2Mount == "" {
				g.V2Mount = m.point
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
	for _, child := range append([]string{"."}, r.names(g.V2Mount)...) {
		if g.Controllers["freezer"] == "" && r.exists(path.Join(g.V2Mount, child, "cgroup.freeze")) {
			put(&g.Controllers, "freezer", "v2")
		}
	}
	return g
}
