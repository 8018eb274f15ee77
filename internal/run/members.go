package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/prompt"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// member is one guest of a trial.
type member struct {
	campaign.PlannedGuest
	guest  *guest
	number int             // in the trial, from 0
	server *member         // the serving guest of its pair; nil: it serves itself
	steps  []workload.Step // of its workload
	x      execution
	limit  campaign.Bytes // memory that must stay available on the host; 0: no limit
	weigh  bool           // measure how much memory it uses at work
	end    end
}

const (
	// clockExchanges is enough to include one exchange without delay.
	// sameClockExchanges is enough if guest and host share a clock and no start
	// instant is agreed.
	clockExchanges, sameClockExchanges = 8, 2
	// startLead is the time from now to the agreed start of a trial; memberLead
	// is added for each guest that must be told.
	startLead  = 5 * time.Millisecond
	memberLead = 10 * time.Millisecond
	// realTime is how long in each second the agents of a trial's guests may run at
	// real-time priority, so that they start at the instant. realTimeMost and
	// realTimeLeast bound the share of one agent: an agent that uses up a
	// smaller share starts even later than without it.
	realTime, realTimeMost, realTimeLeast = 800 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond
	// settle is how long neighbours load the host before the trial begins.
	settle = 300 * time.Millisecond
	// quickTimeout bounds commands other than steps: reading clocks, cleaning up.
	quickTimeout = time.Minute
)

// members creates the missing guests of an arm and returns all of them as members of
// a trial. The part of one that does not start has ended. An error is the host's.
func (r *runner) members(ctx context.Context, arm string) ([]*member, error) {
	var all []*member
	of := r.Plan.Arms[r.arms[arm]]
	if err := r.clear(of); err != nil {
		return nil, err
	}
	for i, p := range of.Guests {
		m := &member{PlannedGuest: p, guest: r.guests[p.GuestID], number: i, limit: of.MemoryLeft}
		m.x.room = share(len(of.Guests), r.Campaign.OutputLimit)
		err := m.roomFor()
		if err == nil {
			err = r.ensure(ctx, m.guest)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := m.tolerate(err); err != nil {
				return nil, err
			}
		}
		all = append(all, m)
	}
	for i, s := range membersOf(all, serving) {
		all[i].server = s
	}
	return all, nil
}

// watched is the guest that the trial measures: the member's own, or the serving
// guest of its pair if the host or another machine is the client.
func (m *member) watched() *system.Machine {
	if m.Outside() && m.server != nil {
		return m.server.guest.machine
	}
	return m.guest.machine
}

// peer is the other end of the measured guest's pair; nil: it is its own.
func (m *member) peer() *system.Machine {
	switch {
	case m.server == nil:
		return nil
	case m.Outside():
		return m.guest.machine
	}
	return m.server.guest.machine
}

func working(m *member) bool   { return m.Role == model.Working }
func serving(m *member) bool   { return m.Role == model.Serving }
func answering(m *member) bool { return m.Role == model.Answering }
func stressing(m *member) bool { _, ok := m.Role.Stresses(); return ok }

func membersOf(members []*member, do func(*member) bool) (some []*member) {
	for _, m := range members {
		if do(m) {
			some = append(some, m)
		}
	}
	return some
}

// together calls do for all members at once, except broken ones.
func together(members []*member, do func(*member) error) error {
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if !m.end.broken {
			all.Go(func() { errs[i] = m.tolerate(do(m)) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// inTurn calls do for one member after the other, except broken ones.
func inTurn(members []*member, do func(*member) error) error {
	for _, m := range members {
		if !m.end.broken {
			if err := m.tolerate(do(m)); err != nil {
				return err
			}
		}
	}
	return nil
}

// execute thaws the guests of a trial, runs a workload in them and freezes them
// again, unless the trial is to be repeated. It stores each guest's outcome in
// its member. An error is the host's or tare's.
func (r *runner) execute(ctx context.Context, members []*member, w *workload.Workload, size int64, p purpose) error {
	alone := len(members) == 1
	err := inTurn(members, func(m *member) error {
		if working(m) || serving(m) {
			m.guest.keep(w, size)
		}
		return r.wake(ctx, m, alone)
	})
	if err != nil {
		return err
	}
	stop, err := r.disturb(ctx, membersOf(members, stressing), membersOf(members, answering))
	if err != nil {
		return err
	}
	err = r.perform(ctx, membersOf(members, working), alone, w, size, nil)
	if err == nil { // the server of a broken client still runs
		err = together(membersOf(members, serving), func(m *member) error { return m.x.stopAll(ctx) })
	}
	if e := stop(); err == nil {
		err = e
	}
	r.awake = err == nil && p == beforeRepeat && members[0].end.err == nil
	if err != nil || r.awake {
		return err
	}
	return inTurn(members, func(m *member) error { return m.guest.machine.Freeze(ctx) })
}

// wake thaws a guest, empties its data volume if necessary, and reads its clock.
func (r *runner) wake(ctx context.Context, m *member, alone bool) (err error) {
	machine := m.guest.machine
	if err := machine.Thaw(ctx); err != nil {
		return err
	}
	if m.guest.dirty {
		if err := r.clean(ctx, machine); err != nil {
			return err
		}
		m.guest.dirty = false
	}
	quick, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	exchanges := clockExchanges
	if alone && machine.Driver.Capabilities().SameKernel {
		exchanges = sameClockExchanges
	}
	m.x.clock, err = machine.Agent.Clock(quick, exchanges)
	return err
}

// perform runs a workload in all workers. Their timed steps begin at one agreed
// instant, which each guest gets in the time of its own clock. A guest that runs
// alone begins at once: after an idle wait, its CPU would have to leave a sleep
// state, and other processes would have used its caches. Workers keep each other company, if c is not nil.
func (r *runner) perform(ctx context.Context, workers []*member, alone bool, w *workload.Workload, size int64,
	c *company) error {
	steps := w.Trial(size, ownAddress)
	if workers[0].server != nil {
		_, steps, _ = w.Sides(size, ownAddress)
	}
	first, last := timedRange(steps)
	if first < 0 {
		return fmt.Errorf("workload %s has no timed step", w.Name)
	}
	err := together(workers, func(m *member) (err error) {
		m.steps = steps
		if m.server != nil {
			if err := r.serve(ctx, m, w, size); err != nil {
				return err
			}
		}
		return r.steps(ctx, m, m.steps[:first])
	})
	if err != nil {
		return err
	}
	defer closeWindows(workers)
	if steps[first].DropCaches {
		if err := inTurn(workers, func(m *member) error {
			return r.dropCaches(ctx, m.guest.machine, steps[first])
		}); err != nil {
			return err
		}
	}
	if err := together(workers, func(m *member) error {
		if m.server != nil {
			m.x.resent, m.x.counts = m.resent(ctx)
		}
		return nil
	}); err != nil {
		return err
	}
	lead := startLead
	if len(workers) > 1 {
		lead += time.Duration(len(workers)) * memberLead
	}
	err = inTurn(workers, func(m *member) (err error) {
		lead = max(lead, 2*m.x.clock.Delay)
		if other := m.peer(); other != nil && w.Packets != nil {
			if m.x.before, err = probe.EffortOf(other); err != nil {
				return err
			}
		}
		if m.x.counted, err = counts(ctx, m.watched()); err != nil {
			return err
		}
		m.x.window, err = r.watch.Begin(m.watched())
		return err
	})
	if err != nil {
		return err
	}
	var instant int64 // 0: at once
	if !alone || w.RealTime {
		if each := min(realTime/time.Duration(len(workers)), realTimeMost); each >= realTimeLeast {
			allowRealTime(workers, each)
			defer allowRealTime(workers, 0)
		}
	}
	if !alone {
		instant = agent.Monotonic() + int64(lead)
	}
	stop, stopMemory := r.weighAtWork(workers, max(instant, agent.Monotonic())), recordLeft(workers)
	relax := attend(workers) // once more, for the threads that are new since the trial began
	c.begin(workers)
	err = together(workers, func(m *member) error {
		err := r.timed(ctx, m, w, m.steps[first:last+1], instant)
		return errors.Join(err, c.keep(ctx, m, m.steps[first:last+1]))
	})
	relax()
	stop()
	stopMemory()
	if err != nil {
		return err
	}
	return together(workers, func(m *member) error {
		if err := m.count(ctx); err != nil {
			return err
		}
		if m.server != nil {
			m.countResent(ctx)
		}
		if err := r.steps(ctx, m, m.steps[last+1:]); err != nil {
			return err
		}
		if m.server != nil {
			if err := r.retire(ctx, m, w, size); err != nil {
				return err
			}
		}
		return r.conclude(ctx, m, w, size)
	})
}

func allowRealTime(workers []*member, budget time.Duration) {
	for _, m := range workers {
		if m.guest.machine != nil {
			m.guest.machine.AllowRealTime(budget)
		}
	}
}

// attend gives tare's threads real-time priority until end is called, and keeps
// them off the guests' CPUs if there are others. Messages of guests are then
// processed without delay, and other load does not slow down tare's own work.
func attend(members []*member) (end func()) {
	var theirs []int
	for _, m := range members {
		if m.guest.machine == nil { // the guest did not start
			continue
		}
		if m.Machine == "" {
			theirs = append(theirs, m.guest.machine.Site.Flavor.CPUs...)
		}
	}
	return prompt.Begin(theirs)
}

// closeWindows ends the windows that unfinished members left open.
func closeWindows(workers []*member) {
	for _, m := range workers {
		if m.x.window != nil {
			_, _ = m.x.window.End() // its readings belong to no result
			m.x.window = nil
		}
	}
}
