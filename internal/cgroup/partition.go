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
		dir := filepath.Join(at, Prefix+name)
		if err = os.Mkdir(dir, 0o755); err != nil {
			break
		}
		dirs = append(dirs, dir)
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} { // version 1 leaves these empty
			if _, e := os.Stat(filepath.Join(at, "cgroup.subtree_control")); e == nil {
				continue
			}
			if b, e := os.ReadFile(filepath.Join(at, file)); e == nil && err == nil {
				err = os.WriteFile(filepath.Join(dir, file), b, 0)
			}
		}
	}
	remove = func() error { return removeDirs(dirs) }
	if err != nil {
		remove()
		return nil, fault.Hostf("making control group %s: %w", Prefix+name, err)
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
