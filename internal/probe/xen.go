package probe

import (
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/xenctl"
)

// isDom0 is constant while this process runs.
var isDom0 = sync.OnceValue(xenctl.Dom0)

// domainTimes is the CPU time of every domain by its id; nil if the host is not a
// dom0 of Xen.
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

// domainsSince is the CPU time of all domains since earlier, and the part of
// dom0. Domains that ended meanwhile are missing: Xen no longer knows them.
func domainsSince(now, earlier map[int]time.Duration) (all, dom0 time.Duration) {
	for id, t := range now {
		all += max(0, t-earlier[id]) // new domains are missing in earlier
	}
	return all, now[0] - earlier[0]
}
