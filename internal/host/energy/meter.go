package energy

import (
	"slices"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

const (
	// wrapPeriod is how often a meter reads the counters by itself, so that it misses no wrap-around.
	// The shortest range is 2³² steps of 15.3 µJ, 65.7 kJ, which a package with mostWatts uses in 13 s.
	wrapPeriod = 5 * time.Second
	// mostWatts is more than any socket or machine takes. A counter that says more was set back.
	mostWatts = 5000
	// interval is a generous bound of the time between two updates of a counter, which is about 1 ms
	// (Intel, Software Developer's Manual, volume 3, section "RAPL interfaces").
	interval = 10 * time.Millisecond
)

// Meter adds up what the counters count, across their wrap-arounds. Its methods may be called at once.
type Meter struct {
	files procfs.FS
	now   func() time.Time
	stop  chan struct{}
	done  chan struct{}

	mu       sync.Mutex
	at       time.Time // of the last reading
	counters []tally
}

// tally is a counter and what it has counted so far.
type tally struct {
	Counter
	last  int64   // its value, in µJ
	sum   float64 // J
	jumps int     // how often its value cannot have come from counting
}

// Open begins to read the counters. The caller closes the meter. The error is that of [Find].
func Open(files procfs.FS) (*Meter, error) {
	m, err := open(files, time.Now)
	if err != nil {
		return nil, err
	}
	go m.followWraps()
	return m, nil
}

func open(files procfs.FS, now func() time.Time) (*Meter, error) {
	counters, err := Find(files)
	if err != nil {
		return nil, err
	}
	m := &Meter{files: files, now: now, at: now(), stop: make(chan struct{}), done: make(chan struct{})}
	for _, c := range counters {
		value, err := read(files, c.File)
		if err != nil {
			return nil, explain(err, c.File)
		}
		m.counters = append(m.counters, tally{Counter: c, last: value})
	}
	return m, nil
}

func (m *Meter) followWraps() {
	defer close(m.done)
	tick := time.NewTicker(wrapPeriod)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			_, _ = m.Read() // the next caller has the error
		}
	}
}

// Close ends the meter.
func (m *Meter) Close() {
	close(m.stop)
	<-m.done
}

// Reading is the state of all counters at an instant.
type Reading struct {
	at       time.Time
	counters []tally
}

// Read reads all counters, which takes some µs each.
func (m *Meter) Read() (Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	most := mostWatts * (now.Sub(m.at) + interval).Seconds()
	for i := range m.counters {
		c := &m.counters[i]
		value, err := read(m.files, c.File)
		if err != nil {
			return Reading{}, explain(err, c.File)
		}
		counted := value - c.last
		if counted < 0 && c.RangeUJ > 0 {
			counted += c.RangeUJ
		}
		c.last = value
		if joules := float64(counted) / 1e6; joules < 0 || joules > most {
			c.jumps++
		} else {
			c.sum += joules
		}
	}
	m.at = now
	return Reading{at: now, counters: slices.Clone(m.counters)}, nil
}

// Drop stops reading the counters with these names.
func (m *Meter) Drop(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counters = slices.DeleteFunc(m.counters, func(c tally) bool { return slices.Contains(names, c.Name) })
}

// Used is what the host used between two readings of a meter.
type Used struct {
	Seconds float64
	// Joules by domain; a domain without a counter is absent.
	Joules map[Domain]float64
	// Faulty are the names of counters, by domain, that stood still or jumped, so that the joules of
	// their domain are wrong.
	Faulty map[Domain][]string
}

// Since returns what was used after an earlier reading of the same meter.
func (r Reading) Since(earlier Reading) Used {
	u := Used{Seconds: r.at.Sub(earlier.at).Seconds(), Joules: map[Domain]float64{}, Faulty: map[Domain][]string{}}
	for _, c := range r.counters {
		i := slices.IndexFunc(earlier.counters, func(e tally) bool { return e.File == c.File })
		if i < 0 {
			continue
		}
		joules := c.sum - earlier.counters[i].sum
		u.Joules[c.Domain] += joules
		if joules <= 0 || c.jumps > earlier.counters[i].jumps {
			u.Faulty[c.Domain] = append(u.Faulty[c.Domain], c.Name)
		}
	}
	return u
}
