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
	probe string
	cap   int64 // per second
	of    func(model.Traffic) int64

	begin, last int64     // readings
	used, until time.Time // the last reading before the first use, and the one that shows the last use
}

// watchDisk begins to watch; the caller ends it. It returns nil if the target's device has no counters.
func watchDisk(target Target, caps model.IOCaps) (*diskRates, error) {
	d := &diskRates{target: target, stop: make(chan struct{}), done: make(chan struct{}), flows: []*flow{
		{probe: model.ProbeReadRate, cap: caps.Read, of: func(t model.Traffic) int64 { return t.Read }},
		{probe: model.ProbeWriteRate, cap: caps.Write, of: func(t model.Traffic) int64 { return t.Written }},
		{probe: model.ProbeReadOps, cap: caps.ReadOps, of: func(t model.Traffic) int64 { return t.Reads }},
		{probe: model.ProbeWriteOps, cap: caps.WriteOps, of: func(t model.Traffic) int64 { return t.Writes }},
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
		if v := f.of(t); v > f.last {
			if f.used.IsZero() {
				f.used = d.at
			}
			f.last, f.until = v, now
		}
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
			rates[f.probe] = float64(amount) / took
		}
	}
	return rates
}
