package run

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
)

const (
	// loadShare is how many CPUs a process must keep busy, on average over a
	// stretch of trials, to be named in the run.
	loadShare = 0.1
	// loadNames bounds how many are named for each stretch.
	loadNames = 3
	// loadGrowth is by how much a process that was named must have grown to be
	// named again: a host that is always busy is not to fill the run's events.
	loadGrowth = 1.25
)

// watchLoad begins a stretch of trials. At its end, the function that it returns
// journals which processes used CPU time in it beside the guests and tare. It
// reads all of /proc at both ends, which takes longer than what comes between
// two trials: a stretch is a pass.
func (r *runner) watchLoad() (end func()) {
	proc := cmp.Or(r.Host.Proc, "/proc")
	before, err := host.ReadProcessTimes(proc)
	if err != nil {
		r.note("missing", err.Error())
		return func() {}
	}
	return func() {
		after, err := host.ReadProcessTimes(proc)
		if err != nil {
			r.note("missing", err.Error())
			return
		}
		for _, load := range r.otherLoads(after.Since(before), func(pid int) []string { return host.ControlGroups(proc, pid) }) {
			// Where the file cannot be written, the next trial will say so.
			_ = r.Store.AddEvent(r.session, 0, store.EventOtherLoad, load)
		}
	}
}

// otherLoads are the texts of the events for what was used, the most first.
func (r *runner) otherLoads(used []host.ProcessUse, groups func(pid int) []string) (texts []string) {
	for named, i := 0, 0; i < len(used) && used[i].CPUs >= loadShare && named < loadNames; i++ {
		who := "the kernel's " + used[i].Name
		if pid := used[i].PID; pid > 0 {
			whose, guest := r.whose(groups(pid))
			if guest {
				continue
			}
			who = fmt.Sprintf("%s (pid %d)%s", used[i].Name, pid, whose)
		}
		named++
		if used[i].CPUs < loadGrowth*r.loads[who] {
			continue
		}
		if r.loads == nil {
			r.loads = map[string]float64{}
		}
		r.loads[who] = used[i].CPUs
		texts = append(texts, strings.ToValidUTF8(fmt.Sprintf("%.2f CPUs: %s", used[i].CPUs, who), "?"))
	}
	return texts
}

// whose says by a process's control groups whose it is; a guest's is none that
// disturbs, as its trials account for it.
func (r *runner) whose(groups []string) (whose string, guest bool) {
	whose = " of the host"
	for _, group := range groups {
		top, _, _ := strings.Cut(strings.TrimPrefix(group, "/"), "/")
		name, tares := strings.CutPrefix(top, cgroup.Prefix)
		site, ours := strings.CutPrefix(name, r.Host.RunID+"-")
		site, daemon := strings.CutSuffix(site, system.DaemonSuffix)
		switch {
		case tares && ours && !daemon:
			return "", true
		case tares && ours:
			whose = ", a daemon of " + r.armOf(site)
		case tares:
			whose = " of another tare's run"
		case strings.HasSuffix(group, ".service"):
			whose = " of " + path.Base(group)
		}
	}
	return whose, false
}

// armOf names the arm of a guest's site, which begins with the station's number.
func (r *runner) armOf(site string) string {
	number, _, _ := strings.Cut(site, "-")
	if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < len(r.inOrder) {
		return "arm " + r.inOrder[n].arm.Name
	}
	return "this run"
}
