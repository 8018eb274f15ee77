package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// removeTimeout bounds the wait until killed processes have ended.
const removeTimeout = 10 * time.Second

// Remove kills all processes in the group and removes it from every hierarchy. It may be called
// twice.
func (g *Group) Remove() error {
	err := removeDirs(g.dirs())
	release(g.held)
	return err
}

// removeDirs removes these directories and all groups below them, killing the processes there.
func removeDirs(dirs []string) error {
	for end := time.Now().Add(removeTimeout); ; time.Sleep(5 * time.Millisecond) {
		var errs []error
		for _, dir := range dirs {
			killAll(dir)
			errs = append(errs, removeTree(dir))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fault.Hostf("removing control groups: %w", err)
		}
	}
}

// killAll kills all processes in dir and below, frozen or not.
func killAll(dir string) {
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		b, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, word := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 && pid != os.Getpid() {
				unix.Kill(pid, unix.SIGKILL)
			}
		}
		return nil
	})
}

// removeTree removes cgroup directories depth first; the kernel removes the files in them.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Leftovers lists the directories in every hierarchy of the groups whose names begin with
// Prefix+which.
func (l Layout) Leftovers(which string) []string {
	var found []string
	for _, at := range l.mounts() {
		dirs, _ := filepath.Glob(filepath.Join(at, Prefix+which+"*"))
		found = append(found, dirs...)
	}
	slices.Sort(found)
	return found
}

// RemoveLeftovers removes the groups with these directories and kills their processes.
func RemoveLeftovers(dirs []string) error { return removeDirs(dirs) }

// empty reports whether there are certainly no processes in the group with this directory, nor
// below.
func empty(dir string) bool {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err == nil && len(b) > 0 {
			err = errors.New("it has processes")
		}
		return err
	}) == nil
}
