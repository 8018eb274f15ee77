package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
)

// weigh records what a guest that was just made, and did nothing yet, holds of
// the host's memory. available is what the host had before. That it cannot be
// measured costs no trial.
func (r *runner) weigh(st *station, available int64) error {
	values := map[string]int64{}
	left, err := host.AvailableMemory()
	if err == nil && available > 0 {
		values[store.MemoryHost] = available - left
	}
	m, e := st.machine.Memory()
	switch {
	case e == nil:
		values[store.MemoryPSS], values[store.MemoryCharged] = m.PSS, m.Charged
	case errors.Is(e, cgroup.ErrUnknown): // the arm says so itself: it is somebody else's machine
		delete(values, store.MemoryHost)
	default:
		err = errors.Join(err, e)
	}
	if err != nil {
		r.note("missing", fmt.Sprintf("how much memory %s takes: %v", st.name(), err))
	}
	for name, v := range values {
		if err := r.Store.AddGuestValue(st.id, name, "B", float64(v)); err != nil {
			return storeErr(err)
		}
	}
	return nil
}

// weighLast records what guests that have worked hold of the host's memory, when
// they had the time to give back what they freed. They are about to end: those
// that need that time run on meanwhile. That it cannot be measured costs nothing else.
func (r *runner) weighLast(ctx context.Context, ending []*station) error {
	var worked []*station
	var delay time.Duration
	for _, st := range ending {
		if st.machine == nil || !st.worked {
			continue
		}
		if g, ok := st.machine.Guest.(system.Returner); ok && g.ReturnDelay() > 0 {
			if err := st.machine.Thaw(ctx); err != nil {
				r.note("missing", fmt.Sprintf("how much memory %s gives back: %v", st.name(), err))
				continue
			}
			delay = max(delay, g.ReturnDelay())
		}
		worked = append(worked, st)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(delay):
	}
	for _, st := range worked {
		m, err := st.machine.Memory()
		if errors.Is(err, cgroup.ErrUnknown) {
			continue
		}
		if err != nil {
			r.note("missing", fmt.Sprintf("how much memory %s holds in the end: %v", st.name(), err))
			continue
		}
		if err := r.Store.AddGuestValue(st.id, store.MemoryAfter, "B", float64(m.PSS)); err != nil {
			return storeErr(err)
		}
	}
	return nil
}

// watchKSM tells at the run's end what merging of equal pages saved and cost,
// where the host does that.
func (r *runner) watchKSM() (end func()) {
	before, err := host.ReadKSM(r.Host.Proc)
	if before == nil || err != nil {
		return func() {}
	}
	began := time.Now()
	return func() {
		after, err := host.ReadKSM(r.Host.Proc)
		if after == nil || err != nil {
			return
		}
		cost := "how much CPU time its thread used cannot be seen from here"
		if before.KnownCPU && after.KnownCPU {
			cost = fmt.Sprintf("its thread used %.1f s of CPU time in %.0f s", (after.CPU - before.CPU).Seconds(), time.Since(began).Seconds())
		}
		r.note(store.EventKSM, fmt.Sprintf("KSM saved the host %s with the last guests, and %s", campaign.Bytes(after.Saved>>20<<20), cost))
	}
}

// weighAtWork reads, once for each workload, what a guest that works alone
// holds of the host's memory, half a trial's time after the instant at which
// it begins. Once, since reading it takes the host some milliseconds. The
// caller stops it when the trial is over.
func (r *runner) weighAtWork(workers []*member, instant int64) (stop func()) {
	if len(workers) != 1 || !workers[0].weigh {
		return func() {}
	}
	m := workers[0]
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-over:
		case <-time.After(time.Duration(instant-agent.Monotonic()) + r.Campaign.TrialTime/2):
			// Where it fails, the guest has ended, or a later trial will tell.
			if held, err := m.st.machine.Memory(); err == nil {
				m.x.memory = held.PSS
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// memoryPause is what lies between two looks at how much memory is left.
const memoryPause = 50 * time.Millisecond

// clear ends all guests but those of an arm, where it is asked how many of
// these the host's memory has room for.
func (r *runner) clear(arm plan.Arm) error {
	if arm.MemoryLeft == 0 {
		return nil
	}
	stays := map[plan.Seat]bool{}
	for _, m := range arm.Crew {
		stays[m.Seat] = true
	}
	var errs []error
	for _, st := range r.inOrder {
		if !stays[st.Seat] {
			errs = append(errs, st.drop())
		}
	}
	return errors.Join(errs...)
}

// roomFor says, before a guest is made, that the host has no memory for it. It
// is the guest's fault: that so many do not fit is a result.
func (m *member) roomFor() error {
	if m.limit == 0 || m.st.machine != nil {
		return nil
	}
	left, err := host.AvailableMemory()
	if err != nil {
		return fault.Hostf("whether there is memory for another guest: %w", err)
	}
	if left >= int64(m.limit) {
		return nil
	}
	m.x.cause = store.EventMemoryLimit
	return fault.Guestf("%s was not made: the host has %s of memory available, and is to have %s left",
		m.st.name(), campaign.Bytes(left>>20<<20), m.limit)
}

// watchMemory notes the least that the host has available from now on, where
// there is a limit of it. The caller stops it when the trial is over.
func watchMemory(workers []*member) (stop func()) {
	if workers[0].limit == 0 {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if left, err := host.AvailableMemory(); err == nil {
				for _, m := range workers {
					if m.x.left == 0 || left < m.x.left {
						m.x.left = left
					}
				}
			}
			select {
			case <-over:
				return
			case <-time.After(memoryPause):
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}
