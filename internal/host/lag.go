package host

import (
	"math"
	"slices"
	"sync"
	"time"
)

// DefaultLagPeriod is how often the lag probe wakes: often enough to see stalls that a person would
// notice, and rarely enough to cost less than 0.05 % of one CPU. A wake-up cost 90 µs in a slow
// virtual machine, most of it in the Go runtime; hardware needs a fraction of that.
const DefaultLagPeriod = 200 * time.Millisecond

// LagStats is how long the host delayed the probe during a window, in seconds: how much too late
// the probe woke, or how long it took to start a process (see [StartForks]). An ordinary task
// without special priority has the same delay; some tens of µs are normal. The probe always sees a
// stall that is longer than the period, and a shorter one of length d with probability d/period.
type LagStats struct {
	Samples int     `json:"samples"` // if 0, the other fields mean nothing: the window was shorter than the period
	Period  float64 `json:"period_s"`
	Mean    float64 `json:"mean_s"`
	P99     float64 `json:"p99_s"` // nearest rank; with fewer than 100 samples it is the maximum
	Max     float64 `json:"max_s"`
}

// Lag is a probe that sleeps and measures how late the host wakes it.
type Lag struct {
	period time.Duration
	now    func() time.Duration
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	due     time.Duration // when the current sleep should end; 0: no sleep
	windows map[*LagWindow]struct{}
}

// LagWindow is a time over which a probe collects its lag, usually a trial. Windows may overlap. A
// window keeps 8 bytes per sample.
type LagWindow struct {
	lag    *Lag
	start  time.Duration
	late   []time.Duration
	closed bool
	stats  LagStats
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
		w.late = append(w.late, max(0, woke-max(due, w.start)))
	}
}

// End ends the window. A wake-up that is overdue now counts with its delay so far. Further calls
// return the same.
func (w *LagWindow) End() LagStats {
	l := w.lag
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.closed {
		return w.stats
	}
	w.closed = true
	delete(l.windows, w)
	if now := l.now(); l.due != 0 && now > l.due {
		w.add(l.due, now)
	}
	w.stats = lagStats(w.late, l.period)
	w.late = nil
	return w.stats
}

func lagStats(late []time.Duration, period time.Duration) LagStats {
	s := LagStats{Samples: len(late), Period: period.Seconds()}
	if len(late) == 0 {
		return s
	}
	slices.Sort(late)
	var sum time.Duration
	for _, d := range late {
		sum += d
	}
	s.Mean = sum.Seconds() / float64(len(late))
	s.P99 = late[int(math.Ceil(0.99*float64(len(late))))-1].Seconds()
	s.Max = late[len(late)-1].Seconds()
	return s
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
