package host

import (
	"os/exec"
	"runtime"
	"time"

	"github.com/tare-bench/tare/internal/prompt"
)

// ForkPeriod is how often StartForks makes a process: that costs a millisecond
// or two, so 0.2 % of one CPU at most.
const ForkPeriod = time.Second

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
		defer prompt.Apart()()
		sharpenTimers()
		l.loop(sleepUntil)
	}()
	return l
}

// StartForks starts a probe that makes a process, the program true, and waits
// for its end: what a person does who types a command. It includes the wake-up
// before. The caller stops it. An error says that there is no such program.
func StartForks() (*Lag, error) {
	path, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	l := newLag(ForkPeriod, monotonic)
	go func() {
		runtime.LockOSThread() // never unlocked, as above
		defer prompt.Apart()()
		l.loop(func(due time.Duration) {
			sleepUntil(due)
			_ = exec.Command(path).Run() // that it fails takes its time as well
		})
	}()
	return l, nil
}
