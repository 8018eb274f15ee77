// Package instance knows which tares are alive on this host, so that what dead
// ones left can be told from what live ones use.
//
// Every tare that makes guests holds a lock on a file of its own name; the
// kernel releases it however that tare ends. The name is part of everything of
// it that the host can see. These files are the host's, whatever the state
// directories are: a tare with another one must neither take a live tare's
// guests for a dead one's nor measure beside it.
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

// dir has the files that are held while a tare lives. It is in memory, and as
// new after a boot as the control groups.
var dir = "/run/tare"

// names is the directory with a file for each tare.
func names() string { return filepath.Join(dir, "live") }

// Instance is one tare that makes guests.
type Instance struct {
	ID   string // a letter and hexadecimal digits
	file *os.File
}

// New registers this tare. The caller closes it, with its guests gone.
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

// Socket is where this tare may be talked to, if it listens there. What a dead
// one leaves of it is among its leftovers.
func (i *Instance) Socket() string { return i.file.Name() + socketSuffix }

const socketSuffix = ".sock"

// Sockets are those of all tares that listen, or did so when they were killed.
func Sockets() []string {
	found, _ := filepath.Glob(filepath.Join(names(), "r*"+socketSuffix))
	return found
}

// Close gives the name up.
func (i *Instance) Close() error {
	return errors.Join(os.RemoveAll(i.file.Name()), i.file.Close())
}

// alive reports whether the tare of this name holds its lock.
func alive(id string) bool {
	f, err := os.Open(filepath.Join(names(), id))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// Leftover is something on the host that a dead tare has left.
type Leftover struct {
	What string `json:"what"` // "control group", "data volumes", "lock file", or as Foreign says
	Path string `json:"path"`

	remove func() error
}

// Foreign is something that this host's kernel does not know, a machine of a
// hypervisor, and that a tare may have made: its name begins with the tare's.
type Foreign struct {
	What, Name string
	Remove     func() error
}

func (l Leftover) String() string { return l.What + " " + l.Path }

// Leftovers lists what dead tares have left on the host and below stateDir,
// foreign things first: they hold others.
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

// ours reports whether a name has the form that New gives.
func ours(id string) bool {
	if len(id) != 11 || id[0] != 'r' {
		return false
	}
	_, err := hex.DecodeString(id[1:])
	return err == nil
}

// Remove removes leftovers, killing what still runs in their control groups.
func Remove(found []Leftover) error {
	var errs []error
	for _, l := range found {
		if err := l.remove(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l, err))
		}
	}
	return errors.Join(errs...)
}

// Lock makes sure that one tare at a time measures on this host, since two
// would measure each other. about says what the holder does, for the other's
// message. The lock lasts until the file is closed or the process ends.
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
			"wait for it: two at once would measure each other")
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

// LockGuestNames makes sure that two guests do not take one name at once. It
// waits; the lock lasts until the file is closed or the process ends.
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

// openShared opens a file that all tares of this host lock.
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
