package host

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// mounts returns the mounts of this process, or records that they cannot be read.
func (r *reader) mounts(field string) []*mountinfo.Info {
	const file = "/proc/self/mountinfo"
	b, err := r.ReadFile(file)
	var mounts []*mountinfo.Info
	if err == nil {
		mounts, err = parseMounts(bytes.NewReader(b))
	}
	if err != nil {
		r.fail(field, file, err)
	}
	return mounts
}

// mountOf returns the mount of an absolute path. If several share a mount point, the last is on top.
func mountOf(mounts []*mountinfo.Info, p string) *mountinfo.Info {
	var best *mountinfo.Info
	for _, m := range mounts {
		inside := m.Mountpoint == "/" || p == m.Mountpoint || strings.HasPrefix(p, m.Mountpoint+"/")
		if inside && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
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
	mounts := r.mounts("storage")
	m := mountOf(mounts, abs)
	if m == nil {
		r.fail("storage", "/proc/self/mountinfo", errors.New("no mount holds the data path"))
		return nil
	}
	s := &Storage{Mount: m.Mountpoint, FSType: m.FSType, Options: m.Options, SuperOptions: m.VFSOptions, Source: m.Source}
	if total, free, err := c.space(abs); err != nil {
		r.fail("storage.free", "statfs", err)
	} else {
		s.Total, s.Free = &total, &free
	}
	if s.Disk = diskOf(r, m); s.Disk == "" {
		if strings.HasPrefix(m.Source, "/dev/") {
			r.fail("storage.disk", m.Source, errors.New("not found in /sys/block"))
		}
		return s
	}
	dir := "/sys/block/" + s.Disk
	s.On = r.Names(dir + "/slaves")
	if f := r.optional("storage.on", dir+"/loop/backing_file"); f != "" {
		s.On = []string{"a file"}
		if below := mountOf(mounts, f); below != nil {
			s.On = []string{"a file on " + below.FSType + " at " + below.Mountpoint}
		}
	}
	s.Stack = stackOf(r, "storage.stack", s.Disk)
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
func diskOf(r *reader, m *mountinfo.Info) string {
	links := []string{fmt.Sprintf("/sys/dev/block/%d:%d", m.Major, m.Minor)}
	if strings.HasPrefix(m.Source, "/dev/") {
		links = append(links, "/sys/class/block/"+path.Base(m.Source))
	}
	for _, link := range links {
		if disk := wholeDisk(r, link); disk != "" {
			return disk
		}
	}
	return ""
}
