package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// AllowRealTime lets processes in the group, and in those that a runtime made
// below it, have real-time priority for so much of each second and CPU; 0 ends
// that. With version 1, a kernel that gives every group a budget of real time
// (CONFIG_RT_GROUP_SCHED) gives a new one none; all groups together have less
// than a second of it, and a group that has used up its own stands still until
// the second is over. On other kernels, and where there is none to give,
// nothing changes: starts are then as late as they are, which is measured.
func (g *Group) AllowRealTime(budget time.Duration) {
	if at := g.layout.V1["cpu"]; at != "" {
		shareRealTime(filepath.Join(at, g.name), budget)
	}
}

// shareRealTime gives a group a budget, which the groups below share.
func shareRealTime(dir string, budget time.Duration) {
	f, err := os.OpenFile(filepath.Join(dir, "cpu.rt_runtime_us"), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := os.ReadDir(dir)
	var below []string
	for _, e := range entries {
		if e.IsDir() {
			below = append(below, filepath.Join(dir, e.Name()))
		}
	}
	give := func() error {
		_, err := f.WriteString(strconv.FormatInt(budget.Microseconds(), 10) + "\n")
		return err
	}
	if budget > 0 && give() != nil { // a group cannot give what it has not got
		return
	}
	for _, sub := range below {
		shareRealTime(sub, budget/time.Duration(len(below)))
	}
	if budget == 0 { // nor be without what those below have
		_ = give()
	}
}
