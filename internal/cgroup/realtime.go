package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// AllowRealTime lets processes in the group and its subgroups run at real-time priority for up to
// budget in each second on each CPU; 0 ends that. It has an effect only with version 1 on a kernel
// with CONFIG_RT_GROUP_SCHED: there every group has a budget of real time, which is 0 for a new
// group. All groups together have less than a second of it, and a group that has used up its budget
// is stopped until the second is over. On other kernels, or if no budget is left, nothing changes:
// starts are then less prompt, and their delay is measured.
func (g *Group) AllowRealTime(budget time.Duration) {
	if at := g.layout.V1["cpu"]; at != "" {
		shareRealTime(filepath.Join(at, g.name), budget)
	}
}

// shareRealTime gives a group a budget, which its subgroups share.
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
	if budget > 0 && give() != nil { // a group needs its budget before its subgroups
		return
	}
	for _, sub := range below {
		shareRealTime(sub, budget/time.Duration(len(below)))
	}
	if budget == 0 { // a group's budget cannot be taken away before that of its subgroups
		_ = give()
	}
}
