package cgroup

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tare-bench/tare/internal/fault"
)

// Partition makes the directory Prefix+name in every hierarchy, whatever its
// controllers, for a daemon that wants to make groups below it and none above:
// it may use all of the host. The caller removes it; so does what removes the
// groups of a dead tare.
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

// mounts are where the hierarchies are mounted, each once.
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
