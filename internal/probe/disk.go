package probe

import (
	"errors"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/model"
)

// diskInterval is the time between two readings of a data device's counters. The time during which a
// device was in use is known to within it.
const diskInterval = 20 * time.Millisecond

// diskEnough is how many seconds' worth of a cap must have passed for a rate. Every cap lets some pass at once
// after a pause, which is most of less.
const diskEnough = 2

// peakWindow is the time over which the largest rate is taken. Shorter ones would show single requests, since the
// kernel lets each pass as a whole.
const peakWindow = time.Second

// diskRates watches how fast a guest with caps of I/O reads and writes on its data device. A rate is over
// the time in which the device was used for that, not over the trial: programs start, compute and write
// into caches, too, and a cap limits none of that.
type diskRates struct {
	target Target
	stop   chan struct{}
	done   chan struct{}
	flows  []*flow
	at     time.Time // of the last reading
	err    error
}

// flow is what one cap limits.
type flow struct {
	probe, peakProbe string
	cap              int64 // per second
	of               func(model.Traffic) int64

	begin, last int64     // readings
	used, until time.Time // the last reading before the first use, and the one that shows the last use

	recent []reading // those of the last peakWindow, and the one before
	peak   float64   // the largest rate in one such time
}

// reading is one of a counter.
type reading struct {
	at time.Time
	v  int64
}

// note takes a reading; before is the time of the one before.
func (f *flow) note(v int64, before, now time.Time) {
	if f.recent == nil {
		f.recent = []reading{{before, f.begin}}
	}
	f.recent = append(f.recent, reading{now, v})
	for len(f.recent) > 2 && now.Sub(f.recent[1].at) >= peakWindow {
		f.recent = f.recent[1:]
	}
	// Readings are not exactly as far apart. A trial that has just begun used the device for less: before it, the guest
	// did nothing.
	took := max(peakWindow, now.Sub(f.recent[0].at))
	f.peak = max(f.peak, float64(v-f.recent[0].v)/took.Seconds())
	if v > f.last {
		if f.used.IsZero() {
			f.used = before
		}
		f.last, f.until = v, now
	}
}

// watchDisk begins to watch; the caller ends it. It returns nil if the target's device has no counters.
func watchDisk(target Target, caps model.IOCaps) (*diskRates, error) {
	d := &diskRates{target: target, stop: make(chan struct{}), done: make(chan struct{}), flows: []*flow{
		{probe: model.ProbeReadRate, peakProbe: model.ProbeReadPeak, cap: caps.Read,
			of: func(t model.Traffic) int64 { return t.Read }},
		{probe: model.ProbeWriteRate, peakProbe: model.ProbeWritePeak, cap: caps.Write,
			of: func(t model.Traffic) int64 { return t.Written }},
		{probe: model.ProbeReadOps, peakProbe: model.ProbeReadOpsPeak, cap: caps.ReadOps,
			of: func(t model.Traffic) int64 { return t.Reads }},
		{probe: model.ProbeWriteOps, peakProbe: model.ProbeWriteOpsPeak, cap: caps.WriteOps,
			of: func(t model.Traffic) int64 { return t.Writes }},
	}}
	now, err := target.Traffic()
	if errors.Is(err, cgroup.ErrUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.at = time.Now()
	for _, f := range d.flows {
		f.begin = f.of(now)
		f.last = f.begin
	}
	go d.run()
	return d, nil
}

func (d *diskRates) run() {
	defer close(d.done)
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	for d.err == nil {
		select {
		case <-tick.C:
			d.read()
		case <-d.stop:
			d.read()
			return
		}
	}
}

func (d *diskRates) read() {
	var t model.Traffic
	if t, d.err = d.target.Traffic(); d.err == nil {
		d.note(t, time.Now())
	}
}

// note takes a reading.
func (d *diskRates) note(t model.Traffic, now time.Time) {
	for _, f := range d.flows {
		f.note(f.of(t), d.at, now)
	}
	d.at = now
}

// end stops watching and returns the rates, by probe; none from nil.
func (d *diskRates) end() (map[string]float64, error) {
	if d == nil {
		return nil, nil
	}
	close(d.stop)
	<-d.done
	return d.rates(), d.err
}

// rates leaves out flows without a cap, and those in which too little passed.
func (d *diskRates) rates() map[string]float64 {
	rates := map[string]float64{}
	for _, f := range d.flows {
		amount, took := f.last-f.begin, f.until.Sub(f.used).Seconds()
		if f.cap > 0 && amount >= diskEnough*f.cap && took > 0 {
			rates[f.probe], rates[f.peakProbe] = float64(amount)/took, f.peak
		}
	}
	return rates
}
