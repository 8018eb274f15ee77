package watch

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// ProcessTimes is the CPU time of every process of the host, kernel threads included, at one
// instant. Reading it takes 10 to 50 µs per process.
type ProcessTimes struct {
	at    time.Duration
	self  int
	procs map[int]procfs.Process
}

// ReadProcessTimes reads the CPU times. proc is the host's own /proc: a sandbox has another. Errors
// are the host's fault.
func ReadProcessTimes(proc string) (ProcessTimes, error) {
	files := procfs.Host(proc)
	self, err := files.Self()
	if err != nil {
		return ProcessTimes{}, fmt.Errorf("CPU time of processes: %w", err)
	}
	return ProcessTimes{at: time.Since(programStart), self: self, procs: files.Processes()}, nil
}

var programStart = time.Now()

// ProcessUse is a process, or all kernel threads of one kind, and how many CPUs it kept busy,
// including its children that have ended in the meantime.
type ProcessUse struct {
	PID  int    // on the host; 0 for kernel threads
	Name string // the kernel's, at most 15 bytes
	CPUs float64
}

// Since returns the processes that used CPU time after an earlier reading, largest first. It omits
// this program, with the children that it has waited for.
func (t ProcessTimes) Since(before ProcessTimes) []ProcessUse {
	elapsed := (t.at - before.at).Seconds()
	if elapsed <= 0 {
		return nil
	}
	same := func(pid int) bool {
		a, found := t.procs[pid]
		b, was := before.procs[pid]
		return found && was && a.Start == b.Start
	}
	// CPU time before the earlier reading of a process that has ended since is now in the reaped
	// time of its parent, or of an older ancestor.
	old := map[int]float64{}
	for pid, p := range before.procs {
		if same(pid) {
			continue
		}
		heir := p.Parent
		for range len(before.procs) {
			if heir == 0 || same(heir) {
				break
			}
			heir = before.procs[heir].Parent
		}
		old[heir] += p.Seconds + p.Reaped
	}
	own := t.own()
	kernel := map[string]float64{}
	var all []ProcessUse
	for pid, p := range t.procs {
		used, reaped := p.Seconds, p.Reaped
		if same(pid) {
			used, reaped = used-before.procs[pid].Seconds, reaped-before.procs[pid].Reaped-old[pid]
		}
		// An orphan may add more CPU time than can be from this interval.
		cpus := max(used, 0)/elapsed + min(max(reaped, 0)/elapsed, float64(runtime.NumCPU()))
		switch {
		case cpus == 0 || own[pid]:
		case p.Kernel:
			kind, _, _ := strings.Cut(p.Name, "/") // kworker/0:1, ksoftirqd/0
			kernel[kind] += cpus
		default:
			all = append(all, ProcessUse{PID: pid, Name: p.Name, CPUs: cpus})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kernel)) {
		all = append(all, ProcessUse{Name: name, CPUs: kernel[name]})
	}
	slices.SortStableFunc(all, func(x, y ProcessUse) int {
		return cmp.Or(cmp.Compare(y.CPUs, x.CPUs), cmp.Compare(x.PID, y.PID))
	})
	return all
}

// own returns this program's processes: in a sandbox they are three with one name.
func (t ProcessTimes) own() map[int]bool {
	own := map[int]bool{}
	for pid := t.self; t.procs[pid].Name == t.procs[t.self].Name && !own[pid]; pid = t.procs[pid].Parent {
		own[pid] = true
	}
	return own
}

// ControlGroups returns the control groups of one of the host's processes, in all hierarchies; none
// if it has ended.
func ControlGroups(proc string, pid int) []string { return procfs.Host(proc).ControlGroups(pid) }
