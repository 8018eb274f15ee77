package probe

import (
	"math"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
)

// A rate is over the time in which the device was used, and there is none of what a burst may be.
func TestDiskRates(t *testing.T) {
	d := &diskRates{}
	for probe, of := range map[[2]string]func(model.Traffic) int64{
		{model.ProbeReadRate, model.ProbeReadPeak}:   func(t model.Traffic) int64 { return t.Read },
		{model.ProbeWriteRate, model.ProbeWritePeak}: func(t model.Traffic) int64 { return t.Written },
		{model.ProbeReadOps, model.ProbeReadOpsPeak}: func(t model.Traffic) int64 { return t.Reads },
	} {
		d.flows = append(d.flows, &flow{probe: probe[0], peakProbe: probe[1], cap: 1000, of: of})
	}
	d.flows = append(d.flows, &flow{probe: model.ProbeWriteOps, of: func(t model.Traffic) int64 { return t.Writes }})
	start := time.Unix(1000, 0)
	d.at = start
	var sum model.Traffic
	for tenth := 1; tenth <= 60; tenth++ { // 6 s; the device is read from 2 s to 4 s, and written in the last tenth
		if tenth > 20 && tenth <= 40 {
			sum.Read += 300
			sum.Reads++ // 20 in all: too few
			sum.Writes += 1000
		}
		if tenth == 60 {
			sum.Written += 5000
		}
		d.note(sum, start.Add(time.Duration(tenth)*100*time.Millisecond))
	}
	got := d.rates()
	if len(got) != 4 || math.Abs(got[model.ProbeReadRate]-3000) > 1e-6 ||
		math.Abs(got[model.ProbeWriteRate]-50_000) > 1e-6 || math.Abs(got[model.ProbeReadPeak]-3000) > 1e-6 ||
		math.Abs(got[model.ProbeWritePeak]-5000) > 1e-6 {
		t.Errorf("%v", got)
	}
}

// The peak is what passed in the second in which most did, whether or not readings came in time.
func TestDiskPeak(t *testing.T) {
	for name, tc := range map[string]struct {
		every time.Duration // of the readings
		at    func(s float64) float64
		want  float64
	}{
		"a steady flow":            {20 * time.Millisecond, func(s float64) float64 { return 1000 * s }, 1000},
		"a burst between readings": {20 * time.Millisecond, burst, 1500},
		"a burst at the beginning": {20 * time.Millisecond, func(s float64) float64 { return 500 + 1000*s }, 1500},
		"readings that are late":   {700 * time.Millisecond, func(s float64) float64 { return 1000 * s }, 1000},
	} {
		start := time.Unix(1000, 0)
		f, before := &flow{}, start
		for now := start.Add(tc.every); now.Sub(start) < 5*time.Second; now = now.Add(tc.every) {
			f.note(int64(tc.at(now.Sub(start).Seconds())), before, now)
			before = now
		}
		if math.Abs(f.peak-tc.want) > 0.03*tc.want {
			t.Errorf("%s: %v, want %v", name, f.peak, tc.want)
		}
		if most := int(peakWindow/tc.every) + 3; len(f.recent) > most {
			t.Errorf("%s: %d readings are kept", name, len(f.recent))
		}
	}
}

// burst is a flow of 1000 a second, with 500 more at once in the third second.
func burst(s float64) float64 {
	if s > 2.51 {
		return 1000*s + 500
	}
	return 1000 * s
}

// counting is a target whose device moves on by some requests at each reading.
type counting struct {
	idle
	n int64
}

func (c *counting) IOCaps() model.IOCaps { return model.IOCaps{Read: 1} }
func (c *counting) Traffic() (model.Traffic, error) {
	c.n += 10
	return model.Traffic{Reads: c.n, Read: c.n}, nil
}

func TestWatchDisk(t *testing.T) {
	d, err := watchDisk(&counting{}, model.IOCaps{Read: 1})
	if err != nil || d == nil {
		t.Fatal(err)
	}
	time.Sleep(2 * diskInterval)
	got, err := d.end()
	if err != nil || len(got) != 2 || got[model.ProbeReadRate] <= 0 || got[model.ProbeReadPeak] <= 0 {
		t.Errorf("%v, %v", got, err)
	}
	// A device without counters is not watched.
	d, err = watchDisk(elsewhere{}, model.IOCaps{Read: 1})
	if d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	if got, err := d.end(); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
