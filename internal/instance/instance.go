// Package instance finds out which processes of tare are alive on this host, and
// thereby which things on it are leftovers of dead ones.
//
// Every process of tare that creates guests holds a lock on a file of its own
// name. The kernel releases the lock however the process ends. The name is part of
// the names of everything that it creates on the host. The files are in the same
// place for all state directories, so that processes with different ones neither
// remove each other's guests nor measure at the same time.
package instance

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
)

// dir contains the locked files. It is on a tmpfs, so it is empty after a boot, as
// the control groups are.
var dir = "/run/tare"

// names is the directory with one file for each instance.
func names() string { return filepath.Join(dir, "live") }

// Instance is one process of tare that creates guests.
type Instance struct {
	ID   string // a letter and hexadecimal digits
	file *os.File
}

// New registers this process. The caller closes the instance after its guests have
// ended.
func New() (*Instance, error) {
	if err := os.MkdirAll(names(), 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	var b [5]byte
	rand.Read(b[:])
	i := &Instance{ID: "r" + hex.EncodeToString(b[:])}
	f, err := os.OpenFile(filepath.Join(names(), i.ID), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fault.Hostf("%s: %w", f.Name(), err)
	}
	i.file = f
	return i, nil
}

// Socket is the path for a socket of this instance, whether it listens or not. A
// dead instance's socket is among its leftovers.
func (i *Instance) Socket() string { return i.file.Name() + socketSuffix }

const socketSuffix = ".sock"

// Sockets returns the sockets of all instances that listen, or did so when they
// were killed.
func Sockets() []string {
	found, _ := filepath.Glob(filepath.Join(names(), "r*"+socketSuffix))
	return found
}

// Close removes the instance's file and releases the lock.
func (i *Instance) Close() error {
	return errors.Join(os.RemoveAll(i.file.Name()), i.file.Close())
}

// alive reports whether the instance of this name holds its lock.
func alive(id string) bool {
	f, err := os.Open(filepath.Join(names(), id))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// Leftover is something on the host that a dead instance has left.
type Leftover struct {
	What string `json:"what"` // "control group", "data volumes", "lock file", or Foreign.What
	Path string `json:"path"`

	remove func() error
}

// Foreign is something that an instance may have created and the host's kernel does
// not know, such as a machine of a hypervisor. If an instance created it, its name
// begins with that of the instance and "-".
type Foreign struct {
	What, Name string
	Remove     func() error
}

func (l Leftover) String() string { return l.What + " " + l.Path }

// Leftovers lists what dead instances have left on the host and below stateDir.
// Foreign things come first, since they use others.
func Leftovers(stateDir string, layout cgroup.Layout, foreign ...Foreign) []Leftover {
	var found []Leftover
	dead := map[string]bool{}
	add := func(what, path, id string, remove func() error) {
		known, seen := dead[id]
		if !seen {
			known = ours(id) && !alive(id)
			dead[id] = known
		}
		if known {
			found = append(found, Leftover{what, path, remove})
		}
	}
	for _, f := range foreign {
		id, _, _ := strings.Cut(f.Name, "-")
		add(f.What, f.Name, id, f.Remove)
	}
	for _, dir := range layout.Leftovers("") {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroup.Prefix), "-")
		add("control group", dir, id, func() error { return cgroup.RemoveLeftovers([]string{dir}) })
	}
	for what, in := range map[string]string{"data volumes": filepath.Join(stateDir, "volumes"), "lock file": names()} {
		paths, _ := filepath.Glob(filepath.Join(in, "*"))
		for _, p := range paths {
			add(what, p, strings.TrimSuffix(filepath.Base(p), socketSuffix), func() error { return os.RemoveAll(p) })
		}
	}
	return found
}

// ours reports whether a name has the form of those from New.
func ours(id string) bool {
	if len(id) != 11 || id[0] != 'r' {
		return false
	}
	_, err := hex.DecodeString(id[1:])
	return err == nil
}

// Remove removes leftovers and kills the processes in their control groups.
func Remove(found []Leftover) error {
	var errs []error
	for _, l := range found {
		if err := l.remove(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l, err))
		}
	}
	return errors.Join(errs...)
}

// Lock ensures that only one process of tare at a time measures on this host, since
// two would disturb each other. about says what this one does, for the error of the
// others. The lock lasts until the caller closes the file or the process ends.
func Lock(about string) (*os.File, error) {
	f, err := openShared("lock")
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := make([]byte, 300)
		n, _ := f.Read(holder)
		f.Close()
		return nil, fault.WithRemedy(fault.Hostf("another tare measures on this host: %s", strings.TrimSpace(string(holder[:n]))),
			"wait until it has finished: two at once would disturb each other")
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(about+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fault.Hostf("%s: %w", f.Name(), err)
	}
	return f, nil
}

// LockGuestNames ensures that two guests do not take the same name at once. It
// waits for the lock, which lasts until the caller closes the file or the process
// ends.
func LockGuestNames() (*os.File, error) {
	f, err := openShared("guest-names")
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fault.Hostf("%s: %w", f.Name(), err)
	}
	return f, nil
}

// openShared opens a file that all processes of tare on this host lock.
func openShared(name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return f, nil
}
