package cgroup

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tare-bench/tare/internal/fault"
)

// Partition makes the directory Prefix+name in every hierarchy, whatever its controllers, for a
// daemon that makes its own groups below it. It has no limits. The caller calls remove; the removal
// of a dead tare's groups removes it, too.
func (l Layout) Partition(name string) (remove func() error, err error) {
	var dirs []string
	for _, at := range l.mounts() {
		dirs = append(dirs, filepath.Join(at, Prefix+name))
	}
	held, err := holdAll(dirs)
	if err != nil {
		return nil, fault.Hostf("making control group %s: %w", Prefix+name, err)
	}
	remove = func() error {
		defer release(held)
		return removeDirs(dirs)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.subtree_control")); err == nil {
			continue
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // version 1 leaves these empty
			b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
			if err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), b, 0); err != nil {
				remove()
				return nil, fault.Hostf("making control group %s: %w", Prefix+name, err)
			}
		}
	}
	return remove, nil
}

// mounts returns the mount points of the hierarchies, each once.
func (l Layout) mounts() []string {
	var all []string
	if l.V2 != "" {
		all = append(all, l.V2)
	}
	for _, at := range l.V1 {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return all
}
