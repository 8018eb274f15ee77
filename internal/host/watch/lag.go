package watch

import (
	"sync"
	"time"
)

// DefaultLagPeriod is how often the lag probe wakes: often enough to see stalls that a person would
// notice, and rarely enough to cost less than 0.05 % of one CPU. A wake-up cost 90 µs in a slow
// virtual machine, most of it in the Go runtime; hardware needs a fraction of that.
const DefaultLagPeriod = 200 * time.Millisecond

// Lag is a probe that sleeps and measures how much too late the host wakes it, or how long the host
// takes to start a process (see [StartForks]). An ordinary task without special priority has the
// same delay; some tens of µs are normal. The probe always sees a stall that is longer than its
// period, and a shorter one of length d with probability d/period.
type Lag struct {
	period time.Duration
	now    func() time.Duration
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	due     time.Duration // when the current sleep should end; 0: no sleep
	windows map[*LagWindow]struct{}
}

// LagWindow is a time over which a probe observes its lag, usually a trial. Windows may overlap.
type LagWindow struct {
	lag     *Lag
	start   time.Duration
	wakeups int
	longest time.Duration
}

// Window begins to collect.
func (l *Lag) Window() *LagWindow {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &LagWindow{lag: l, start: l.now()}
	l.windows[w] = struct{}{}
	return w
}

// record adds a sleep that should have ended at due and ended at woke.
func (l *Lag) record(due, woke time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = 0
	for w := range l.windows {
		w.add(due, woke)
	}
}

// add counts the part of a delay that lies in the window.
func (w *LagWindow) add(due, woke time.Duration) {
	if woke > w.start {
		w.wakeups++
		w.longest = max(w.longest, woke-max(due, w.start))
	}
}

// End ends the window and returns its longest delay; ok is false if nothing is known, because the
// window was shorter than the period. A wake-up that is overdue now counts with its delay so far.
// Further calls return the same.
func (w *LagWindow) End() (longest time.Duration, ok bool) {
	l := w.lag
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.windows[w]; open {
		delete(l.windows, w)
		if now := l.now(); l.due != 0 && now > l.due {
			w.add(l.due, now)
		}
	}
	return w.longest, w.wakeups > 0
}

// Stop ends the probe within a period; it may be called twice. Open windows
// can still be ended.
func (l *Lag) Stop() {
	l.mu.Lock()
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.mu.Unlock()
	<-l.done
}

func newLag(period time.Duration, now func() time.Duration) *Lag {
	return &Lag{period: period, now: now, stop: make(chan struct{}), done: make(chan struct{}),
		windows: map[*LagWindow]struct{}{}}
}

// loop waits and records until the probe is stopped. await gets the time after which any waiting is
// the host's lag.
func (l *Lag) loop(await func(due time.Duration)) {
	defer close(l.done)
	for {
		due := l.now() + l.period
		l.mu.Lock()
		l.due = due
		l.mu.Unlock()
		await(due)
		woke := l.now() // before the lock: waiting for it is not the host's lag
		l.record(due, woke)
		select {
		case <-l.stop:
			return
		default:
		}
	}
}
