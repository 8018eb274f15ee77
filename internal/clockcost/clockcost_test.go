package clockcost

import (
	"testing"
	"time"
)

// TestReading: a reading takes some time, and less than a second on any machine that can run this test.
func TestReading(t *testing.T) {
	if ns := Reading(); ns <= 0 || ns > 1e9 {
		t.Errorf("%v ns", ns)
	}
}

// TestTicks: the cost is right whether the clock advances with each reading, or in ticks that are longer than a batch,
// and one that stands still costs nothing that can be told.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		each, tick time.Duration
		low, high  float64
	}{
		{25, 1, 25, 25},
		{25, 1000, 15, 32},                     // a batch has one or two ticks
		{25, time.Millisecond, 24, 26},         // a tick is 40,000 readings
		{10, 10 * time.Millisecond, 9.9, 10.1}, // and one is a million
		{0, 1, 0, 0},
	} {
		var real time.Duration
		got := reading(func() time.Duration {
			real += c.each
			return real / c.tick * c.tick
		})
		if got < c.low || got > c.high {
			t.Errorf("readings of %d ns, ticks of %d ns: %v", c.each, c.tick, got)
		}
	}
}
