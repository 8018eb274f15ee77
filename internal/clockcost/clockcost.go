// Package clockcost measures what it costs to read the clock, in guests and on the host alike.
package clockcost

import (
	"math"
	"time"
)

// Reading measures how long it takes to read CLOCK_MONOTONIC, in ns: the least mean of several batches, since whatever
// interrupts one only prolongs it. It ends after a few milliseconds however slow the clock is.
func Reading() float64 {
	const batches, reads = 16, 64
	least := time.Duration(math.MaxInt64)
	began := time.Now()
	for range batches {
		before := time.Since(began)
		var after time.Duration
		for range reads {
			after = time.Since(began)
		}
		least = min(least, after-before)
		if after > 2*time.Millisecond {
			break
		}
	}
	return float64(least) / reads
}
