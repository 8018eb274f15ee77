// Package native runs workloads without virtualization: in the same userland
// as every guest, by chroot, under the same control group limits and with the
// same kind of data volume. It has no namespaces of its own, but on a network:
// one like its guests' have, on the same bridge.
package native

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// Driver is the system "native".
type Driver struct{}

func (Driver) Name() string { return "native" }

func (Driver) Capabilities() system.Capabilities {
	return system.GroupCapabilities("every process")
}

func (Driver) Check(context.Context, *system.Host) system.Status {
	return system.Status{Usable: true, Proof: "needs nothing but root"}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	r := &root{site: s, dir: filepath.Join(s.Dir, "root")}
	if err := r.mount(); err != nil {
		r.unmount()
		return nil, err
	}
	c := system.Command{Root: r.dir, Argv: []string{"/tare-agent", "fd:3"}}
	if s.Port != nil {
		c.Net = s.Port.Namespace
	}
	p, err := s.Start(c)
	if err != nil {
		r.unmount()
		return nil, err
	}
	return system.NewGroupGuest(s, p, r.unmount), nil
}

// root is the directory that a native arm runs in.
type root struct {
	site   *system.Site
	dir    string
	mounts []string // in the order they were made
}

// mount puts the userland together as guests see it: read-only, with /tmp,
// /run and /dev in memory and the data volume on /data.
func (r *root) mount() error {
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return fault.Hostf("%w", err)
	}
	u := r.site.Userland
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
		{r.site.DataDir, "data", "", unix.MS_BIND, ""},
	} {
		target := filepath.Join(r.dir, m.target)
		if err := unix.Mount(m.source, target, m.fstype, m.flags, m.data); err != nil {
			return fault.Hostf("mounting %s: %w", target, err)
		}
		if m.flags&unix.MS_REMOUNT == 0 {
			r.mounts = append(r.mounts, target)
		}
	}
	return r.devices()
}

// devices fills /dev with what programs take for granted.
func (r *root) devices() error {
	dev := filepath.Join(r.dir, "dev")
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

func (r *root) unmount() error {
	var first error
	for len(r.mounts) > 0 {
		last := len(r.mounts) - 1
		if err := system.Unmount(r.mounts[last]); err != nil && first == nil {
			first = err
		}
		r.mounts = r.mounts[:last]
	}
	return first
}
