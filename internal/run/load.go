package run

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
)

const (
	// loadShare is how many CPUs a process must use, on average over a pass, to
	// be journaled.
	loadShare = 0.1
	// loadNames bounds the number of processes per pass.
	loadNames = 3
	// loadGrowth is the factor by which the use of a journaled process must grow
	// to be journaled again, so that a busy host does not fill the run's events.
	loadGrowth = 1.25
)

// watchLoad begins to watch a pass. At its end, the returned function journals
// which processes other than guests and tare used CPU time. Both read all of
// /proc, which takes too long to do between two trials.
func (r *runner) watchLoad() (end func()) {
	proc := cmp.Or(r.Host.Proc, "/proc")
	before, err := watch.ReadProcessTimes(proc)
	if err != nil {
		r.note("missing", err.Error())
		return func() {}
	}
	return func() {
		after, err := watch.ReadProcessTimes(proc)
		if err != nil {
			r.note("missing", err.Error())
			return
		}
		for _, load := range r.otherLoads(after.Since(before),
			func(pid int) []string { return watch.ControlGroups(proc, pid) }) {
			// If the file cannot be written, the next trial reports the error.
			_ = r.Store.AddEvent(r.session, 0, store.EventOtherLoad, load)
		}
	}
}

// otherLoads returns the texts of the events for the processes in used, in the
// same order: highest use first.
func (r *runner) otherLoads(used []watch.ProcessUse, groups func(pid int) []string) (texts []string) {
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

// whose tells from the control groups of a process what it belongs to. Processes
// of guests do not disturb: their trials account for them.
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

// memoryGroup finds the control group whose limit made the kernel kill processes, in
// the first of its two messages about that.
var memoryGroup = regexp.MustCompile(`\boom_memcg=([^,\s]+)`)

// elsewhere reports whether a notice says that processes which are no guest's of this
// run were killed at the memory limit of their control group.
func (r *runner) elsewhere(n probe.Notice) bool {
	if n.Kind != probe.KernelOOMCgroup {
		return false
	}
	if m := memoryGroup.FindStringSubmatch(n.Text); m != nil {
		_, guest := r.whose(m[1:])
		r.killedElsewhere = !guest // the message that follows names no group
	}
	return r.killedElsewhere
}

// armOf names the arm of a guest's site; the site's name begins with the
// guest's number.
func (r *runner) armOf(site string) string {
	number, _, _ := strings.Cut(site, "-")
	if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < len(r.inOrder) {
		return "arm " + r.inOrder[n].arm.Name
	}
	return "this run"
}
