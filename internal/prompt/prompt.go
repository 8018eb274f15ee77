// Package prompt lets a process take in what it is told at once, while
// something is measured and whatever else the machine does.
package prompt

import (
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// resetOnFork is SCHED_FLAG_RESET_ON_FORK: what the process starts does not
	// inherit its priority.
	resetOnFork = 1
	// ample is how much memory the process may use until it collects garbage
	// after all: what guests print is not of its making.
	ample = 1 << 30
)

var state struct {
	sync.Mutex
	begun int // calls of Begin that have not ended
	raise func()
	undo  func()
	apart map[int]bool // by thread
}

// Begin gives all threads of this process real-time priority, and keeps them
// off some CPUs, unless there are no others; garbage is collected later. end
// takes that back. What the process starts meanwhile has the usual priority,
// its own threads, too: those get theirs when Begin is called again before the
// end. The first call says which CPUs, the last end takes all back. Where real
// time is not allowed, news is taken in as late as it is.
func Begin(avoid []int) (end func()) {
	state.Lock()
	defer state.Unlock()
	if state.begun++; state.begun == 1 {
		state.raise, state.undo = prepare(avoid)
	}
	state.raise()
	return sync.OnceFunc(func() {
		state.Lock()
		defer state.Unlock()
		if state.begun--; state.begun == 0 {
			state.undo()
		}
	})
}

func prepare(avoid []int) (raise, undo func()) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(ample)
	var before, others unix.CPUSet
	if len(avoid) > 0 && unix.SchedGetaffinity(0, &before) == nil {
		others = before
		for _, cpu := range avoid {
			others.Clear(cpu)
		}
	}
	moves := others.Count() > 0 && others != before
	usual, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		usual = &unix.SchedAttr{Size: unix.SizeofSchedAttr} // SCHED_NORMAL
	}
	realTime := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: resetOnFork}
	raise = func() {
		eachThread(func(tid int) {
			_ = unix.SchedSetAttr(tid, &realTime, 0)
			if moves {
				_ = unix.SchedSetaffinity(tid, &others)
			}
		})
	}
	undo = func() {
		eachThread(func(tid int) {
			_ = unix.SchedSetAttr(tid, usual, 0)
			if moves {
				_ = unix.SchedSetaffinity(tid, &before)
			}
		})
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
	return raise, undo
}

// Apart leaves out the calling thread, which its goroutine has locked: it
// measures what an ordinary thread suffers. end is called from there, too.
func Apart() (end func()) {
	tid := unix.Gettid()
	state.Lock()
	defer state.Unlock()
	if state.apart == nil {
		state.apart = map[int]bool{}
	}
	state.apart[tid] = true
	return func() {
		state.Lock()
		defer state.Unlock()
		delete(state.apart, tid)
	}
}

// eachThread is called with the state locked.
func eachThread(do func(tid int)) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil { // no /proc: at least this one
		do(0)
		return
	}
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil && !state.apart[tid] {
			do(tid)
		}
	}
}
