// Package native runs workloads without virtualization: in the same userland
// as every guest, by chroot, under the same control group limits and with the
// same kind of data volume. It has no namespaces of its own.
package native

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is the system "native".
type Driver struct{}

func (Driver) Name() string { return "native" }

func (Driver) Capabilities() system.Capabilities {
	return system.Capabilities{
		SameKernel:    true,
		Freeze:        "cgroup freezer",
		CPUCap:        "every process",
		Memory:        "control group: processes and page cache",
		MemoryInGroup: true,
		DiskBackings:  []string{"loop"},
		Networks:      []string{"host"},
		NeedsRoot:     true,
		HostBoot:      "linux",
	}
}

func (Driver) Check(context.Context, *system.Host) system.Status {
	return system.Status{Usable: true, Proof: "needs nothing but root"}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	g := &guest{site: s, root: filepath.Join(s.Dir, "root")}
	if err := g.mount(); err != nil {
		g.unmount()
		return nil, err
	}
	p, err := s.StartProcess(g.root, []string{"/tare-agent", "fd:3"})
	if err != nil {
		g.unmount()
		return nil, err
	}
	g.Process = p
	return g, nil
}

type guest struct {
	*system.Process
	site   *system.Site
	root   string
	mounts []string // in the order they were made
	close  sync.Once
	err    error
}

func (g *guest) Freeze(context.Context) error { return g.site.Group.Freeze() }
func (g *guest) Thaw(context.Context) error   { return g.site.Group.Thaw() }

func (g *guest) Close() error {
	g.close.Do(func() {
		g.err = g.Kill()
		if err := g.site.Group.Remove(); err != nil && g.err == nil {
			g.err = err
		}
		if err := g.unmount(); err != nil && g.err == nil {
			g.err = err
		}
	})
	return g.err
}

// mount puts the userland together as guests see it: read-only, with /tmp,
// /run and /dev in memory and the data volume on /data.
func (g *guest) mount() error {
	if err := os.Mkdir(g.root, 0o755); err != nil {
		return fault.Hostf("%w", err)
	}
	u := g.site.Userland
	for _, m := range []struct {
		source, target, fstype string
		flags                  uintptr
		data                   string
	}{
		{u.Tree, "", "", unix.MS_BIND, ""},
		{"", "", "", unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY, ""},
		{u.Agent, "tare-agent", "", unix.MS_BIND, ""},
		{"proc", "proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"sysfs", "sys", "sysfs", unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, ""},
		{"tmpfs", "tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"tmpfs", "run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
		{"tmpfs", "dev", "tmpfs", unix.MS_NOSUID, "mode=755"},
		{g.site.DataDir, "data", "", unix.MS_BIND, ""},
	} {
		target := filepath.Join(g.root, m.target)
		if err := unix.Mount(m.source, target, m.fstype, m.flags, m.data); err != nil {
			return fault.Hostf("mounting %s: %w", target, err)
		}
		if m.flags&unix.MS_REMOUNT == 0 {
			g.mounts = append(g.mounts, target)
		}
	}
	return g.devices()
}

// devices fills /dev with what programs take for granted.
func (g *guest) devices() error {
	dev := filepath.Join(g.root, "dev")
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		path := filepath.Join(dev, name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return fault.Hostf("making %s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // past the umask
			return fault.Hostf("%w", err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, filepath.Join(dev, name)); err != nil {
			return fault.Hostf("%w", err)
		}
	}
	shm := filepath.Join(dev, "shm")
	if err := os.Mkdir(shm, 0o1777); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

func (g *guest) unmount() error {
	var first error
	for len(g.mounts) > 0 {
		last := len(g.mounts) - 1
		if err := system.Unmount(g.mounts[last]); err != nil && first == nil {
			first = err
		}
		g.mounts = g.mounts[:last]
	}
	return first
}
