package probe

import (
	"testing"
	"time"
)

func TestDomainsSince(t *testing.T) {
	const s = time.Second
	all, dom0 := domainsSince(map[int]time.Duration{0: 10 * s, 1: 5 * s, 3: s},
		map[int]time.Duration{0: 8 * s, 1: 2 * s, 2: 7 * s})
	if all != 6*s || dom0 != 2*s {
		t.Errorf("all %v, dom0 %v; want 6 s and 2 s", all, dom0)
	}
}
