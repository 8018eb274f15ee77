package clockcost

import "testing"

// TestReading: a reading takes some time, and less than a second on any machine that can run this test.
func TestReading(t *testing.T) {
	if ns := Reading(); ns <= 0 || ns > 1e9 {
		t.Errorf("%v ns", ns)
	}
}
