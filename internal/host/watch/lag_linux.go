package watch

import (
	"os/exec"
	"runtime"
	"time"

	"github.com/tare-bench/tare/internal/prompt"
)

// ForkPeriod is how often StartForks starts a process. That takes a millisecond or two, so at most
// 0.2 % of one CPU.
const ForkPeriod = time.Second

// StartLag starts a probe; period 0 is [DefaultLagPeriod]. The caller stops it.
func StartLag(period time.Duration) *Lag {
	if period <= 0 {
		period = DefaultLagPeriod
	}
	l := newLag(period, monotonic)
	go func() {
		// Never unlocked: the thread with its changed timer slack ends with the goroutine. The probe
		// sleeps in the kernel because the runtime's timers would add up to a millisecond.
		runtime.LockOSThread()
		defer prompt.Apart()()
		sharpenTimers()
		l.loop(sleepUntil)
	}()
	return l
}

// StartForks starts a probe that starts a process (the program true) and waits for its end, like a
// person who types a command. Its times include the wake-up before. The caller stops it. An error
// means that there is no such program.
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
			_ = exec.Command(path).Run() // a failure takes its time as well
		})
	}()
	return l, nil
}
