package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// A group has no processes for some time after it is made. The lock of its directory tells other tares
// meanwhile that it is in use. The kernel releases the lock however its holder ends.

// holdTimeout bounds the wait for another tare that looks whether a directory is a leftover.
const holdTimeout = 10 * time.Second

// hold makes a group's directory, unless there is one that nobody holds, and locks it until the file is
// closed.
func hold(dir string) (f *os.File, err error) {
	made := false
	defer func() {
		if made && err != nil {
			os.Remove(dir)
		}
	}()
	for end := time.Now().Add(holdTimeout); ; time.Sleep(time.Millisecond) {
		if err := os.Mkdir(dir, 0o755); err == nil {
			made = true
		} else if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		f, err := lock(dir)
		switch {
		case err == nil:
			// Until it had the lock, it looked like a leftover, and may have been removed.
			if is, err := os.Stat(dir); err == nil {
				if locked, err := f.Stat(); err == nil && os.SameFile(is, locked) {
					return f, nil
				}
			}
			f.Close()
		case errors.Is(err, fs.ErrNotExist):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, err
		}
		if !made || time.Now().After(end) {
			return nil, fault.Hostf("%s is in use by another tare", dir)
		}
	}
}

// lock opens and locks a directory. The error is unix.EWOULDBLOCK if somebody else holds the lock.
func lock(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// holdAll holds these directories. After an error none of them is left.
func holdAll(dirs []string) (held []*os.File, err error) {
	for i, dir := range dirs {
		f, err := hold(dir)
		if err != nil {
			for _, made := range dirs[:i] {
				os.Remove(made)
			}
			release(held)
			return nil, err
		}
		held = append(held, f)
	}
	return held, nil
}

func release(held []*os.File) {
	for _, f := range held {
		f.Close()
	}
}

// lockGroup locks the group with this directory in all hierarchies in which tare holds every group. The error is
// unix.EWOULDBLOCK if another tare holds it, and fs.ErrNotExist if the group is in none of them: a container may share
// only other hierarchies with the tare that made the group, and then its lock cannot be seen there.
func (l Layout) lockGroup(dir string) (held []*os.File, err error) {
	for _, dir := range l.groupDirs(filepath.Base(dir), Limits{}) {
		f, err := lock(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			release(held)
			return nil, err
		}
		held = append(held, f)
	}
	if held == nil {
		return nil, fs.ErrNotExist
	}
	return held, nil
}

// Abandoned reports whether certainly nobody uses the group with this directory: no process is in it or
// below, and no tare holds it.
func (l Layout) Abandoned(dir string) bool {
	held, err := l.lockGroup(dir)
	if err != nil {
		return false
	}
	defer release(held)
	return empty(dir)
}

// RemoveAbandoned removes the directory of a group that was Abandoned, and those below, unless it is in use after all.
func (l Layout) RemoveAbandoned(dir string) error {
	held, err := l.lockGroup(dir)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil
	case errors.Is(err, fs.ErrNotExist): // what proved it has been removed before this directory
		err = nil
	}
	if err == nil {
		defer release(held) // until then nobody else can begin to use it
		if !empty(dir) {
			return nil
		}
		err = removeTree(dir)
	}
	if err != nil && !errors.Is(err, unix.EBUSY) { // a process has entered it
		return fault.Hostf("removing control groups: %w", err)
	}
	return nil
}
