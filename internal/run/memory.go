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
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
)

// weigh records how much host memory a new guest holds before it does any work.
// available is what the host had available before, in bytes; 0: unknown. If the
// memory cannot be measured, that is noted, and no trial is lost.
func (r *runner) weigh(g *guest, available int64) error {
	values := map[string]int64{}
	left, err := watch.AvailableMemory()
	if err == nil && available > 0 {
		values[store.MemoryHost] = available - left
	}
	m, e := g.machine.Memory()
	switch {
	case e == nil:
		values[store.MemoryPSS], values[store.MemoryCharged] = m.PSS, m.Charged
	case errors.Is(e, cgroup.ErrUnknown): // a remote machine; the report says so
		delete(values, store.MemoryHost)
	default:
		err = errors.Join(err, e)
	}
	if err != nil {
		r.note("missing", fmt.Sprintf("how much memory %s takes is not known: %v", g.name(), err))
	}
	for name, v := range values {
		if err := r.Store.AddGuestValue(g.id, name, "B", float64(v)); err != nil {
			return storeErr(err)
		}
	}
	return nil
}

// weighLast records how much host memory is held by those ending guests that have
// worked. Guests that return freed memory are first thawed and run for their
// ReturnDelay. If the memory cannot be measured, that is only noted.
func (r *runner) weighLast(ctx context.Context, ending []*guest) error {
	var worked []*guest
	var delay time.Duration
	for _, g := range ending {
		if g.machine == nil || !g.worked {
			continue
		}
		if returner, ok := g.machine.Guest.(system.Returner); ok && returner.ReturnDelay() > 0 {
			if err := g.machine.Thaw(ctx); err != nil {
				r.note("missing", fmt.Sprintf("how much memory %s gives back is not known: %v", g.name(), err))
				continue
			}
			delay = max(delay, returner.ReturnDelay())
		}
		worked = append(worked, g)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(delay):
	}
	for _, g := range worked {
		m, err := g.machine.Memory()
		if errors.Is(err, cgroup.ErrUnknown) {
			continue
		}
		if err != nil {
			r.note("missing", fmt.Sprintf("how much memory %s holds in the end is not known: %v", g.name(), err))
			continue
		}
		if err := r.Store.AddGuestValue(g.id, store.MemoryAfter, "B", float64(m.PSS)); err != nil {
			return storeErr(err)
		}
	}
	return nil
}

// watchKSM journals, when end is called, how much memory the merging of equal
// pages saved and how much CPU time it cost, if the host uses KSM.
func (r *runner) watchKSM() (end func()) {
	before, err := watch.ReadKSM(r.Host.Proc)
	if before == nil || err != nil {
		return func() {}
	}
	began := time.Now()
	return func() {
		after, err := watch.ReadKSM(r.Host.Proc)
		if after == nil || err != nil {
			return
		}
		cost := "how much CPU time its thread used cannot be seen from here"
		if before.KnownCPU && after.KnownCPU {
			cost = fmt.Sprintf("its thread used %.1f s of CPU time in %.0f s", (after.CPU - before.CPU).Seconds(),
				time.Since(began).Seconds())
		}
		r.note(store.EventKSM, fmt.Sprintf("KSM saved the host %s with the last guests, and %s",
			campaign.Bytes(after.Saved>>20<<20), cost))
	}
}

// weighAtWork reads how much host memory a guest that runs alone, or the measured
// one of a pair, holds at work, half a trial time after instant. It does so once per workload, since the
// reading takes some milliseconds. The caller calls stop when the trial is over.
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
			// If this fails, the guest has ended, or a later trial reads it.
			if held, err := m.watched().Memory(); err == nil {
				m.x.memory = held.PSS
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}

// memoryPause is the time between two readings of the available memory.
const memoryPause = 50 * time.Millisecond

// clear ends the guests of all other arms if the arm's scenario tests how many
// guests fit into the host's memory.
func (r *runner) clear(arm campaign.PlannedArm) error {
	if arm.MemoryLeft == 0 {
		return nil
	}
	stays := map[model.GuestID]bool{}
	for _, m := range arm.Guests {
		stays[m.GuestID] = true
	}
	var errs []error
	for _, g := range r.inOrder {
		if !stays[g.GuestID] {
			errs = append(errs, g.drop())
		}
	}
	return errors.Join(errs...)
}

// roomFor returns an error if the host has too little memory available to create
// the guest. The error counts as the guest's: it is a result that so many do not
// fit.
func (m *member) roomFor() error {
	if m.limit == 0 || m.guest.machine != nil {
		return nil
	}
	left, err := watch.AvailableMemory()
	if err != nil {
		return fault.Hostf("whether there is memory for another guest: %w", err)
	}
	if left >= int64(m.limit) {
		return nil
	}
	return noted{fault.Guestf("%s was not created: the host has %s of memory available, and %s must stay available",
		m.guest.name(), campaign.Bytes(left>>20<<20), m.limit), store.EventMemoryLimit}
}

// recordLeft records the least memory that the host has available from now on,
// if the scenario has a limit. The caller calls stop when the trial is over.
func recordLeft(workers []*member) (stop func()) {
	if workers[0].limit == 0 {
		return func() {}
	}
	return watchMemory(func() bool {
		if left, err := watch.AvailableMemory(); err == nil {
			for _, m := range workers {
				if m.x.left == 0 || left < m.x.left {
					m.x.left = left
				}
			}
		}
		return true
	})
}

// watchMemory calls look regularly until it returns false or stop is called.
func watchMemory(look func() bool) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for look() {
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
