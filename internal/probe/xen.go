package probe

import (
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/xenctl"
)

// isDom0 cannot change while this process runs.
var isDom0 = sync.OnceValue(xenctl.Dom0)

// domainTimes is the CPU time of every domain of this host; nil where it is not
// Xen's.
func domainTimes() (map[int]time.Duration, error) {
	if !isDom0() {
		return nil, nil
	}
	domains, err := xenctl.Domains()
	if err != nil {
		return nil, err
	}
	times := map[int]time.Duration{}
	for _, d := range domains {
		times[d.ID] = d.CPU
	}
	return times, nil
}

// domainsSince is what all domains have used since earlier, and dom0 of that. A
// domain that has ended meanwhile took with it what is known of it.
func domainsSince(now, earlier map[int]time.Duration) (all, dom0 time.Duration) {
	for id, t := range now {
		all += max(0, t-earlier[id]) // new ones are not in earlier
	}
	return all, now[0] - earlier[0]
}
