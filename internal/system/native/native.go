// Package native runs workloads without virtualization: by chroot into the userland that every
// guest uses, under the same control group limits and with the same kind of data volume. It has two
// namespaces: that of the network, because native arms are on the run's bridge like all other
// guests, or have no network, so that servers of two of them can use the same port; and that of
// System V's shared memory, which would otherwise outlive a killed database.
package native

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/xenctl"
)

// Driver is the system "native", or "xen-dom0": the same on a host that was booted as Xen's
// privileged domain, which itself runs on the hypervisor.
type Driver struct{ dom0 bool }

// Dom0 is the system "xen-dom0".
func Dom0() Driver { return Driver{dom0: true} }

func (d Driver) Name() string {
	if d.dom0 {
		return "xen-dom0"
	}
	return "native"
}

func (d Driver) Capabilities() system.Capabilities {
	caps := system.GroupCapabilities("every process", "nothing but a smaller set of capabilities")
	caps.Programs, caps.RawDevice = []string{}, true
	if d.dom0 {
		caps.HostBoot, caps.VerifiedOn = "xen-dom0", system.Lab
	}
	return caps
}

func (d Driver) Check(context.Context, *system.Host) system.Status {
	switch dom0 := xenctl.Dom0(); {
	case d.dom0 && !dom0:
		return system.Unusable("this host was not booted as Xen's dom0",
			"install xen-system-amd64 and boot its entry; or, in emulation: tare lab up xen")
	case dom0 && !d.dom0:
		return system.Unusable("this host was booted as Xen's dom0: here the system is xen-dom0, not native",
			"name xen-dom0 in the campaign, or boot without Xen")
	}
	if d.dom0 { // Xen accounts the cost
		if _, err := xenctl.Domains(); err != nil {
			return system.Unusable(err.Error(), fault.RemedyOf(err))
		}
	}
	return system.Status{Usable: true, Proof: "needs nothing but root"}
}

func (Driver) Create(_ context.Context, s *system.Site) (system.Guest, error) {
	if s.Port == nil {
		var err error
		if s.Port, err = network.Alone(); err != nil {
			return nil, err
		}
	}
	harmful, err := system.HarmfulCapabilities()
	if err != nil {
		return nil, err
	}
	r := &root{site: s, dir: filepath.Join(s.Dir, "root")}
	if err := r.mount(); err != nil {
		r.unmount()
		return nil, err
	}
	p, err := s.Start(system.Command{
		Root: r.dir, IPC: true, Net: s.Port.Namespace, Drop: harmful, Argv: []string{"/tare-agent", "fd:3"},
	})
	if err != nil {
		r.unmount()
		return nil, err
	}
	return system.NewGroupGuest(s, p, r.unmount), nil
}

// root is the root directory of a native arm.
type root struct {
	site   *system.Site
	dir    string
	mounts []string // in the order of mounting
}

// mount assembles the userland as guests see it: read-only, with /tmp, /run and /dev in memory and
// the data volume on /data.
func (r *root) mount() error {
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return fault.Hostf("%w", err)
	}
	u := r.site.Userland
	const inert = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	mounts := []mount{
		{u.Tree, "", "", unix.MS_BIND | unix.MS_RDONLY, ""},
		{u.Agent, "tare-agent", "", unix.MS_BIND | unix.MS_RDONLY, ""},
		{"proc", "proc", "proc", inert, ""},
		{"sysfs", "sys", "sysfs", unix.MS_RDONLY | inert, ""},
		{"tmpfs", "tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"tmpfs", "run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
		{"tmpfs", "dev", "tmpfs", unix.MS_NOSUID, "mode=755"},
		{r.site.DataDir, "data", "", unix.MS_BIND, ""},
	}
	for _, path := range system.ReadOnlyProc {
		if _, err := os.Stat(path); err == nil {
			source := filepath.Join(r.dir, path)
			mounts = append(mounts, mount{source, path, "", unix.MS_BIND | unix.MS_RDONLY | inert, ""})
		}
	}
	for _, m := range mounts {
		if err := r.add(m); err != nil {
			return err
		}
	}
	return r.devices()
}

type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

func (r *root) add(m mount) error {
	target := filepath.Join(r.dir, m.target)
	var err error
	if m.flags&unix.MS_BIND != 0 {
		err = sandbox.Bind(m.source, target, m.flags)
	} else if err = unix.Mount(m.source, target, m.fstype, m.flags, m.data); err != nil {
		err = fault.Hostf("mounting %s: %w", target, err)
	}
	if err == nil {
		r.mounts = append(r.mounts, target)
	}
	return err
}

// devices creates the entries of /dev that programs expect.
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
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2"} {
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
	for _, dir := range slices.Backward(r.mounts) {
		first = cmp.Or(first, system.Unmount(dir))
	}
	r.mounts = nil
	return first
}
