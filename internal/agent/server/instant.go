package server

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/prompt"
)

const waitSlice = 50 * time.Millisecond

// waitUntil sleeps until an instant of CLOCK_MONOTONIC, at real-time priority
// where the guest may have it: of many guests that start at once, those that
// wake first would otherwise keep the others from their CPU. It returns with
// the goroutine on its thread and the priority kept, so that the report of the
// start is prompt, too; relax gives up both.
func waitUntil(ctx context.Context, instant int64) (relax func(), err error) {
	runtime.LockOSThread()
	end := prompt.Begin(nil) // all threads: whichever writes to the host must not wait either
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
		// Slices, since nothing else ends a sleep of the kernel's.
		until := unix.NsecToTimespec(min(instant, clock(unix.CLOCK_MONOTONIC)+int64(waitSlice)))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) // interrupted: the loop goes on
	}
}
