package run

import (
	"context"
	"fmt"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/store"
)

const (
	// glance is how long a polite run looks at the host's pressure before each trial. No guest works meanwhile, so
	// that the pressure is not tare's.
	glance = 200 * time.Millisecond
	// gaze is how long the pressure must have been low before a pause ends.
	gaze = 5 * time.Second
)

// giveWay makes a polite run wait while others on the host wait for its CPUs, memory or disks, and ends it if too
// little memory is left for them. All guests are frozen or idle.
func (r *runner) giveWay(ctx context.Context) error {
	p := r.Campaign.Polite
	if !p.Asked() {
		return nil
	}
	free, err := watch.AvailableMemory()
	if err != nil {
		return fault.Hostf("%w", err)
	}
	if left := campaign.Bytes(free); left < p.Free {
		return fault.WithRemedy(fault.Hostf("%d MiB of memory are available on the host, and %s must be (polite)",
			free>>20, p.Free), "resume the run when there is more, or give it less to leave")
	}
	resource, share, err := pressure(ctx, glance)
	if err != nil || share*100 <= float64(p.Pressure) {
		return err
	}
	begin, why := time.Now(), fmt.Sprintf("others waited for %s %.0f %% of the time, more than %s", resource, share*100,
		p.Pressure)
	r.Progress(Event{Kind: Notice, Text: "paused: " + why})
	for share*100 > float64(p.Pressure) {
		if _, share, err = pressure(ctx, gaze); err != nil {
			return err
		}
	}
	return storeErr(r.Store.AddEvent(r.session, 0, store.EventPaused,
		fmt.Sprintf("%.0f s: %s", time.Since(begin).Seconds(), why)))
}

// pressure returns for which resource tasks of the host waited longest during this time, and for which share of it.
func pressure(ctx context.Context, during time.Duration) (resource string, share float64, err error) {
	before, err := watch.ReadStalls()
	if err != nil {
		return "", 0, err
	}
	select {
	case <-ctx.Done():
		return "", 0, ctx.Err()
	case <-time.After(during):
	}
	after, err := watch.ReadStalls()
	resource, share = after.Since(before)
	return resource, share, err
}
