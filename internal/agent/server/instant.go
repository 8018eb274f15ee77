package server

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	schedResetOnFork = 1 // SCHED_FLAG_RESET_ON_FORK: the command is not to inherit it
	waitSlice        = 50 * time.Millisecond
)

// waitUntil sleeps until an instant of CLOCK_MONOTONIC, at real-time priority
// where the guest may have it: of many guests that start at once, those that
// wake first would otherwise keep the others from their CPU. It returns with
// the goroutine on its thread and the priority kept, so that the report of the
// start is prompt, too; relax gives up both.
func waitUntil(ctx context.Context, instant int64) (relax func(), err error) {
	runtime.LockOSThread()
	prefer(unix.SCHED_FIFO)
	relax = func() {
		prefer(unix.SCHED_NORMAL)
		runtime.UnlockOSThread()
	}
	for {
		left := time.Duration(instant - clock(unix.CLOCK_MONOTONIC))
		if left <= 0 {
			return relax, nil
		}
		if ctx.Err() != nil {
			relax()
			return nil, ctx.Err()
		}
		// Slices, since nothing else ends a sleep of the kernel's.
		until := unix.NsecToTimespec(min(instant, clock(unix.CLOCK_MONOTONIC)+int64(waitSlice)))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) // interrupted: the loop goes on
	}
}

// prefer sets the scheduling policy of all of the agent's threads: whichever
// writes to the host must not wait either. Where that is not allowed, the
// start is as late as it is, and the host measures how late.
func prefer(policy uint32) {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}
	if policy == unix.SCHED_FIFO {
		attr.Priority, attr.Flags = 1, schedResetOnFork
	} else if p, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		attr.Nice = int32(20 - p) // what the kernel calls a priority here is 20 less the nice value
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil { // no /proc: at least this one
		_ = unix.SchedSetAttr(0, &attr, 0)
		return
	}
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetAttr(tid, &attr, 0)
		}
	}
}
