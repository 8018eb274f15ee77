package view

import (
	"strings"
	"testing"
)

// TestTicks: an axis has a few round marks, all of them on it.
func TestTicks(t *testing.T) {
	for _, a := range []axis{{low: -0.02, high: 0.02}, {low: -0.4, high: 0.4}, {low: -0.1, high: 2.4}, {low: -1, high: 5},
		{low: -20, high: 300}} {
		ticks := a.ticks()
		if len(ticks) < 2 || len(ticks) > 12 {
			t.Errorf("%d ticks from %v to %v", len(ticks), a.low, a.high)
		}
		for _, k := range ticks {
			if k.ln < a.low || k.ln > a.high || strings.Contains(k.label, "-0 ") {
				t.Errorf("tick %+v of %v … %v", k, a.low, a.high)
			}
		}
	}
}
