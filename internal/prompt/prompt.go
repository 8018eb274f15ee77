// Package prompt lets a process take in what it is told at once, while
// something is measured and whatever else the machine does.
package prompt

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// resetOnFork is SCHED_FLAG_RESET_ON_FORK: what the process starts does not
// inherit its priority.
const resetOnFork = 1

// Begin gives all threads of this process real-time priority, and keeps them
// off some CPUs, unless there are no others; end takes that back. What the
// process starts meanwhile has the usual priority. Where real time is not
// allowed nothing changes, and news is taken in as late as it is.
func Begin(avoid []int) (end func()) {
	var before, others unix.CPUSet
	if len(avoid) > 0 && unix.SchedGetaffinity(0, &before) == nil {
		others = before
		for _, cpu := range avoid {
			others.Clear(cpu)
		}
	}
	moves := others.Count() > 0 && others != before
	realTime := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: resetOnFork}
	eachThread(func(tid int) {
		_ = unix.SchedSetAttr(tid, &realTime, 0)
		if moves {
			_ = unix.SchedSetaffinity(tid, &others)
		}
	})
	return func() {
		usual := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
		if p, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
			usual.Nice = int32(20 - p) // what the kernel calls a priority here is 20 less the nice value
		}
		eachThread(func(tid int) {
			_ = unix.SchedSetAttr(tid, &usual, 0)
			if moves {
				_ = unix.SchedSetaffinity(tid, &before)
			}
		})
	}
}

var apart struct {
	sync.Mutex
	threads map[int]bool
}

// Apart leaves out the calling thread, which its goroutine has locked: it
// measures what an ordinary thread suffers. end is called from there, too.
func Apart() (end func()) {
	tid := unix.Gettid()
	apart.Lock()
	defer apart.Unlock()
	if apart.threads == nil {
		apart.threads = map[int]bool{}
	}
	apart.threads[tid] = true
	return func() {
		apart.Lock()
		defer apart.Unlock()
		delete(apart.threads, tid)
	}
}

func eachThread(do func(tid int)) {
	apart.Lock()
	defer apart.Unlock()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil { // no /proc: at least this one
		do(0)
		return
	}
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil && !apart.threads[tid] {
			do(tid)
		}
	}
}
