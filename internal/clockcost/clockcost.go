// Package clockcost measures what it costs to read the clock, in guests and on the host alike.
package clockcost

import (
	"math"
	"time"
)

// clock returns the time since some instant; it may stand still between two ticks.
type clock func() time.Duration

// Reading measures how long it takes to read CLOCK_MONOTONIC, in ns: the least mean of several batches, since whatever
// interrupts one only prolongs it. A clock that does not advance during a batch is read for the whole of one of its
// ticks. Otherwise it ends after a few milliseconds, however slow the clock is.
func Reading() float64 {
	began := time.Now()
	return reading(func() time.Duration { return time.Since(began) })
}

func reading(now clock) float64 {
	const batches, reads = 16, 64
	least := time.Duration(math.MaxInt64)
	began := now()
	for range batches {
		before := now()
		var after time.Duration
		for range reads {
			after = now()
		}
		least = min(least, after-before)
		if after-began > 2*time.Millisecond {
			break
		}
	}
	if least > 0 {
		return float64(least) / reads
	}
	from, _ := tick(now)
	to, readings := tick(now)
	return float64(max(to-from, 0)) / float64(readings)
}

// tick reads the clock until it has advanced, and counts the readings. It gives up on a clock that stands still.
func tick(now clock) (at time.Duration, readings int) {
	// A clock that ticks 100 times a second and takes 10 ns to read is read a million times in a tick.
	const most = 1 << 21
	for before := now(); at <= before && readings < most; readings++ {
		at = now()
	}
	return at, readings
}
