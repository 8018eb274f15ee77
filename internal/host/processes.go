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

// procTime is what /proc/pid/stat says of a process, or a thread of the kernel.
type procTime struct {
	name    string
	seconds float64 // user and system
	reaped  float64 // the same of its children that have ended, and of theirs
	parent  int
	start   uint64 // tells it from another one of the same number
	kernel  bool
}

// processes are all that can be seen now, by their number.
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

// ProcessTimes is the CPU time of every process of the host, threads of its
// kernel included, at one instant. To read it takes 10 to 50 µs a process.
type ProcessTimes struct {
	at    time.Duration
	self  int
	procs map[int]procTime
}

// ReadProcessTimes reads them. proc is where the host's own /proc is, as an
// absolute path: a sandbox has another.
func ReadProcessTimes(proc string) (ProcessTimes, error) {
	self, err := os.Readlink(filepath.Join(proc, "self")) // not Getpid: that is the sandbox's number
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

// ProcessUse is a process, or all threads of the kernel of one kind, and how
// many CPUs it kept busy, with those of its children that have ended meanwhile.
type ProcessUse struct {
	PID  int    // on the host; 0 for the kernel's threads
	Name string // the kernel's, at most 15 bytes
	CPUs float64
}

// Since says who has used CPU time after an earlier reading, the most first.
// This program is left out, and with it what it has started and waited for.
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
	// What was used before by a process that has ended since is now among what
	// its parent, or its parent's, has reaped.
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
		// A child that had lost its parent may bring more than can be of this time.
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

// own is this program: in a sandbox that is three processes of one name.
func (t ProcessTimes) own() map[int]bool {
	own := map[int]bool{}
	for pid := t.self; t.procs[pid].name == t.procs[t.self].name && !own[pid]; pid = t.procs[pid].parent {
		own[pid] = true
	}
	return own
}

// ControlGroups are the paths of the control groups of one of the host's
// processes, in any hierarchy; none when it has ended.
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
