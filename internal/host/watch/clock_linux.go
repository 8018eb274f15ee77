package watch

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// ReadClocks reads the clocks together: it tries several times and returns the readings that were
// closest in time. It takes microseconds.
func ReadClocks() (Clocks, error) {
	var best Clocks
	for i := range 5 {
		var ts [4]unix.Timespec
		for j, id := range []int32{unix.CLOCK_MONOTONIC, unix.CLOCK_REALTIME, unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC} {
			if err := unix.ClockGettime(id, &ts[j]); err != nil {
				return Clocks{}, fault.Hostf("clock %d: %w", id, err)
			}
		}
		before, after := ts[0].Nano(), ts[3].Nano()
		c := Clocks{
			Monotonic: time.Duration(before + (after-before)/2),
			Realtime:  time.Duration(ts[1].Nano()),
			Boottime:  time.Duration(ts[2].Nano()),
			Error:     time.Duration((after-before)/2 + 1),
		}
		if i == 0 || c.Error < best.Error {
			best = c
		}
	}
	return best, nil
}

// monotonic is CLOCK_MONOTONIC now.
func monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("CLOCK_MONOTONIC: %v", err)) // every Linux has it
	}
	return time.Duration(ts.Nano())
}

// sleepUntil sleeps until a time of CLOCK_MONOTONIC.
func sleepUntil(t time.Duration) {
	ts := unix.NsecToTimespec(int64(t))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
		continue
	}
}

// sharpenTimers removes the slack of 50 µs by which the kernel may delay this thread's timers.
func sharpenTimers() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }
