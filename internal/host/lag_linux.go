package host

import (
	"runtime"
	"time"
)

// StartLag starts a probe; period 0 is [DefaultLagPeriod]. The caller stops it.
func StartLag(period time.Duration) *Lag {
	if period <= 0 {
		period = DefaultLagPeriod
	}
	l := newLag(period, monotonic)
	go func() {
		// Never unlocked: the thread, whose timer slack is changed, ends with
		// the goroutine. A kernel sleep is used, as the runtime's own timers
		// would add up to a millisecond.
		runtime.LockOSThread()
		sharpenTimers()
		l.loop(sleepUntil)
	}()
	return l
}
