package host

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// procTime is what /proc/pid/stat reports about a process or a kernel thread.
type procTime struct {
	name    string
	seconds float64 // user and system
	reaped  float64 // the same of its descendants that have ended
	parent  int
	start   uint64 // distinguishes it from another process with the same number
	kernel  bool
}

// processes returns all visible processes, by number.
func (r *reader) processes() map[int]procTime {
	all := map[int]procTime{}
	for _, name := range r.names(r.proc) {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if b, err := r.raw(r.proc + "/" + name + "/stat"); err == nil { // it may have ended
			if p, err := parseProcStat(string(b)); err == nil {
				all[pid] = p
			}
		}
	}
	return all
}

// parseProcStat reads /proc/pid/stat. The name may hold spaces and brackets.
func parseProcStat(text string) (procTime, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return procTime{}, fmt.Errorf("no name")
	}
	// Counted from the state, which is column 3 in proc(5).
	const ppid, flags, utime, stime, cutime, cstime, starttime = 1, 6, 11, 12, 13, 14, 19
	f := strings.Fields(text[end+1:])
	if len(f) <= starttime {
		return procTime{}, fmt.Errorf("%d columns", len(f))
	}
	var n [starttime + 1]uint64
	for _, i := range []int{ppid, flags, utime, stime, cutime, cstime, starttime} {
		var err error
		if n[i], err = strconv.ParseUint(f[i], 10, 64); err != nil {
			return procTime{}, err
		}
	}
	const isKernelThread = 0x00200000 // PF_KTHREAD
	return procTime{
		name:    text[open+1 : end],
		seconds: (float64(n[utime]) + float64(n[stime])) / userHZ,
		reaped:  (float64(n[cutime]) + float64(n[cstime])) / userHZ,
		parent:  int(n[ppid]), start: n[starttime], kernel: n[flags]&isKernelThread != 0,
	}, nil
}

// ProcessTimes is the CPU time of every process of the host, kernel threads included, at one
// instant. Reading it takes 10 to 50 µs per process.
type ProcessTimes struct {
	at    time.Duration
	self  int
	procs map[int]procTime
}

// ReadProcessTimes reads the CPU times. proc is the absolute path of the host's own /proc: a sandbox
// has another.
func ReadProcessTimes(proc string) (ProcessTimes, error) {
	self, err := os.Readlink(filepath.Join(proc, "self")) // not Getpid, which returns the number in the sandbox
	if err != nil {
		return ProcessTimes{}, fault.Hostf("CPU time of processes: %w", err)
	}
	t := ProcessTimes{at: time.Since(programStart), procs: (&reader{fsys: os.DirFS("/"), proc: proc}).processes()}
	if t.self, err = strconv.Atoi(self); err != nil {
		return ProcessTimes{}, fault.Hostf("CPU time of processes: %w", err)
	}
	return t, nil
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
		return found && was && a.start == b.start
	}
	// CPU time before the earlier reading of a process that has ended since is now in the reaped
	// time of its parent, or of an older ancestor.
	old := map[int]float64{}
	for pid, p := range before.procs {
		if same(pid) {
			continue
		}
		heir := p.parent
		for range len(before.procs) {
			if heir == 0 || same(heir) {
				break
			}
			heir = before.procs[heir].parent
		}
		old[heir] += p.seconds + p.reaped
	}
	own := t.own()
	kernel := map[string]float64{}
	var all []ProcessUse
	for pid, p := range t.procs {
		used, reaped := p.seconds, p.reaped
		if same(pid) {
			used, reaped = used-before.procs[pid].seconds, reaped-before.procs[pid].reaped-old[pid]
		}
		// An orphan may add more CPU time than can be from this interval.
		cpus := max(used, 0)/elapsed + min(max(reaped, 0)/elapsed, float64(runtime.NumCPU()))
		switch {
		case cpus == 0 || own[pid]:
		case p.kernel:
			kind, _, _ := strings.Cut(p.name, "/") // kworker/0:1, ksoftirqd/0
			kernel[kind] += cpus
		default:
			all = append(all, ProcessUse{PID: pid, Name: p.name, CPUs: cpus})
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
	for pid := t.self; t.procs[pid].name == t.procs[t.self].name && !own[pid]; pid = t.procs[pid].parent {
		own[pid] = true
	}
	return own
}

// ControlGroups returns the control groups of one of the host's processes, in all hierarchies; none
// if it has ended.
func ControlGroups(proc string, pid int) []string {
	b, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cgroup"))
	var paths []string
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && !slices.Contains(paths, f[2]) {
			paths = append(paths, f[2])
		}
	}
	return paths
}
