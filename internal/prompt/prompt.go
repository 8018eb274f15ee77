// Package prompt makes this process react to messages without delay during a
// measurement, whatever other load the machine has.
package prompt

import (
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// resetOnFork is SCHED_FLAG_RESET_ON_FORK: child processes and new threads
	// do not inherit the priority.
	resetOnFork = 1
	// ample is the memory limit, in bytes, at which the process collects garbage
	// even during a measurement: guests decide how much output it holds.
	ample = 1 << 30
)

var state struct {
	sync.Mutex
	begun int // calls of Begin that have not ended
	raise func()
	undo  func()
	apart map[int]bool // thread ids
}

// Begin gives all threads of this process real-time priority, keeps them off the
// CPUs in avoid, unless there are no others, and postpones garbage collection.
// end undoes this. Calls nest: the first one sets the CPUs, and the last end
// undoes everything. Child processes and threads that start later have normal
// priority; a nested Begin raises such threads, too. If real-time priority is not
// permitted, threads keep their own.
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

// Apart exempts the calling thread, which its goroutine must have locked, from
// Begin until the same thread calls end: it measures the delays of an ordinary
// thread.
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

// eachThread calls do for all threads that are not exempt. The caller has locked
// the state.
func eachThread(do func(tid int)) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil { // without /proc: at least this thread
		do(0)
		return
	}
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil && !state.apart[tid] {
			do(tid)
		}
	}
}
