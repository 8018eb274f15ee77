package host

import (
	"math"
	"slices"
	"sync"
	"time"
)

// DefaultLagPeriod is how often the lag probe wakes: often enough to see what
// a person would feel, seldom enough to cost under 0.05 % of one CPU. A wake-up
// cost 90 µs in a slow virtual machine, most of it the Go runtime's; hardware
// does it in a fraction of that.
const DefaultLagPeriod = 200 * time.Millisecond

// LagStats is by how much the host kept the probe waiting during a window, in
// seconds: how much too late it woke it, or how long it took to make a process
// (see [StartForks]). It is what an ordinary task without special priority suffered;
// some tens of µs are normal. A stall of d is seen for certain if d is over
// the period, and with probability d/period if it is shorter.
type LagStats struct {
	Samples int     `json:"samples"` // if 0 the rest means nothing: the window was shorter than the period
	Period  float64 `json:"period_s"`
	Mean    float64 `json:"mean_s"`
	P99     float64 `json:"p99_s"` // nearest rank; with fewer than 100 samples it is the maximum
	Max     float64 `json:"max_s"`
}

// Lag is a probe that sleeps and measures how long the host makes it wait.
type Lag struct {
	period time.Duration
	now    func() time.Duration
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	due     time.Duration // when the sleep under way ought to end; 0: none is
	windows map[*LagWindow]struct{}
}

// LagWindow is a time over which a probe's lag is gathered, usually a trial.
// Windows may overlap. It keeps 8 bytes a sample.
type LagWindow struct {
	lag    *Lag
	start  time.Duration
	late   []time.Duration
	closed bool
	stats  LagStats
}

// Window begins to gather.
func (l *Lag) Window() *LagWindow {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &LagWindow{lag: l, start: l.now()}
	l.windows[w] = struct{}{}
	return w
}

// record notes that a sleep that was due at due ended at woke.
func (l *Lag) record(due, woke time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = 0
	for w := range l.windows {
		w.add(due, woke)
	}
}

// add counts the part of a delay that fell into the window.
func (w *LagWindow) add(due, woke time.Duration) {
	if woke > w.start {
		w.late = append(w.late, max(0, woke-max(due, w.start)))
	}
}

// End ends the window. A wake-up that is overdue at this moment counts with
// the delay that it has by now. Further calls return the same.
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

// loop waits and records until the probe is stopped: await gets the instant
// from which on waiting is the host's fault.
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
