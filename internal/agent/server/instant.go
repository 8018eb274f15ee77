package server

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/prompt"
)

const waitSlice = 50 * time.Millisecond

// waitUntil sleeps until instant on CLOCK_MONOTONIC (ns), at real-time priority if the guest may
// have it: when many guests start at once, those that wake first would otherwise keep the others
// from their CPU. It returns with the goroutine still on its thread and at that priority, so that
// the start is reported without delay. The caller calls relax to give up both.
func waitUntil(ctx context.Context, instant int64) (relax func(), err error) {
	runtime.LockOSThread()
	end := prompt.Begin(nil) // all threads, since the one that writes to the host must not wait either
	relax = func() {
		end()
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
		// In slices, to check ctx: nothing else ends a sleep in the kernel.
		until := unix.NsecToTimespec(min(instant, clock(unix.CLOCK_MONOTONIC)+int64(waitSlice)))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) // interrupted: the loop continues
	}
}
