// Package instance finds out which processes of tare are alive on this host, and
// thereby which things on it are leftovers of dead ones.
//
// Every process of tare that creates guests holds a lock on a file of its own
// name. The kernel releases the lock however the process ends. The name is part of
// the names of everything that it creates on the host. The files are in the same
// place for all state directories, so that processes with different ones neither
// remove each other's guests nor measure at the same time.
//
// Only a lock that nobody holds proves that an instance is dead. A file that cannot
// be opened proves nothing, and nor does one that is not there: the instance may run
// in a container with a /run of its own.
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

	"github.com/tare-bench/tare/internal/fault"
)

// dir contains the locked files. It is on a tmpfs, so it is empty after a boot, as
// the control groups are.
var dir = "/run/tare"

// names is the directory with one file for each instance.
func names() string { return filepath.Join(dir, "live") }

// makeDir creates a directory that only its owner may use.
func makeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fault.Hostf("%w", err)
	}
	// An older tare made it accessible to all.
	if err := os.Chmod(path, 0o700); err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// lock locks an open file. It returns unix.EWOULDBLOCK if somebody else holds the
// lock, unless wait is set.
func lock(f *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Instance is one process of tare that creates guests.
type Instance struct {
	ID   string     // a letter and hexadecimal digits
	held []*os.File // locks
}

// New registers this process. The caller closes the instance after its guests have
// ended.
func New() (*Instance, error) {
	if err := errors.Join(makeDir(dir), makeDir(names())); err != nil {
		return nil, err
	}
	var b [5]byte
	rand.Read(b[:])
	i := &Instance{ID: "r" + hex.EncodeToString(b[:])}
	// The file gets its name after its lock, so that nobody ever finds it without.
	fd, err := unix.Open(names(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fault.Hostf("%s: creating a file: %w", names(), err)
	}
	f := os.NewFile(uintptr(fd), i.path())
	if err = lock(f, false); err == nil {
		err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, i.path(), unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		f.Close()
		return nil, fault.Hostf("%s: %w", i.path(), err)
	}
	i.held = append(i.held, f)
	return i, nil
}

func (i *Instance) path() string { return filepath.Join(names(), i.ID) }

// Hold creates the directory of this instance's data volumes below a state directory and
// locks it. The lock proves that the instance is alive to those that see the state
// directory but another /run.
func (i *Instance) Hold(stateDir string) error {
	volumes := filepath.Join(stateDir, volumesDir)
	if err := makeDir(volumes); err != nil {
		return err
	}
	for {
		// It also gets its name after its lock.
		temp, err := os.MkdirTemp(volumes, newPrefix)
		if err != nil {
			return fault.Hostf("%w", err)
		}
		f, err := os.Open(temp)
		if err == nil {
			if err = lock(f, false); err == nil {
				err = os.Rename(temp, filepath.Join(volumes, i.ID))
			}
			if err == nil {
				i.held = append(i.held, f)
				return nil
			}
			f.Close()
		}
		// Another tare took it for a leftover before it was locked.
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
			continue
		}
		os.Remove(temp)
		return fault.Hostf("%w", err)
	}
}

const (
	volumesDir = "volumes" // in a state directory, as system.Host has it
	newPrefix  = ".new-"   // of a directory that has no lock yet
)

// Socket is the path for a socket of this instance, whether it listens or not. A
// dead instance's socket is among its leftovers.
func (i *Instance) Socket() string { return i.path() + socketSuffix }

const socketSuffix = ".sock"

// Sockets returns the sockets of all instances that listen, or did so when they
// were killed.
func Sockets() []string {
	found, _ := filepath.Glob(filepath.Join(names(), "r*"+socketSuffix))
	return found
}

// Close removes the instance's file and releases its locks. If things of the
// instance are left, use Abandon: without the file, nobody knows that their owner
// is dead.
func (i *Instance) Close() error {
	return errors.Join(os.RemoveAll(i.path()), i.Abandon())
}

// Abandon releases the instance's locks, so that its things become leftovers.
func (i *Instance) Abandon() error {
	var errs []error
	for _, f := range i.held {
		errs = append(errs, f.Close())
	}
	i.held = nil
	return errors.Join(errs...)
}

// ErrBusy is in the chain of Lock's error while another process holds the lock.
var ErrBusy = errors.New("another tare measures on this host")

// Lock ensures that only one process of tare at a time measures on this host, since
// two would disturb each other. about says what this one does, for the error of the
// others. The lock lasts until the caller closes the file or the process ends.
func Lock(about string) (*os.File, error) {
	f, err := openShared("lock")
	if err != nil {
		return nil, err
	}
	err = lock(f, false)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder := make([]byte, 300)
		n, _ := f.Read(holder)
		f.Close()
		return nil, fault.WithRemedy(fault.Hostf("%w: %s", ErrBusy, strings.TrimSpace(string(holder[:n]))),
			"wait until it has finished: two at once would disturb each other")
	}
	if err == nil {
		err = f.Truncate(0)
	}
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
	if err := lock(f, true); err != nil {
		f.Close()
		return nil, fault.Hostf("%s: %w", f.Name(), err)
	}
	return f, nil
}

// openShared opens a file that all processes of tare on this host lock. It is never
// removed, so its lock needs no name.
func openShared(name string) (*os.File, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return f, nil
}
