package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

// duetWithRetries makes a duet, and repeats it if the host failed.
func (r *runner) duetWithRetries(ctx context.Context, g plan.Group, at Event) error {
	at.Kind, at.Trial = TrialBegin, g.Trials()[0]
	r.Progress(at)
	for try := 0; ; try++ {
		err := r.duet(ctx, g)
		if err == nil || ctx.Err() != nil || fault.KindOf(err) != fault.Host || try == hostRetries ||
			errors.Is(err, errStore) {
			return err
		}
		r.note("retry", fmt.Sprintf("duet %d of %s is repeated: %v", g.Block+1, g.Workload, err))
		for _, arm := range g.Arms {
			for _, m := range r.Plan.Arms[r.arms[arm]].Guests {
				if err := r.guests[m.GuestID].drop(); err != nil {
					return err
				}
			}
		}
	}
}

// duet makes one duet and journals it: the guests of its arms run the workload at once. One that fails leaves the
// others their result.
func (r *runner) duet(ctx context.Context, g plan.Group) error {
	begin := time.Now()
	var members []*member
	var trials []trial
	for i, id := range g.Trials() {
		of, err := r.members(ctx, id.Arm)
		if err != nil {
			return err
		}
		of[0].x.room = share(len(g.Arms), r.Campaign.OutputLimit)
		members = append(members, of[0])
		trials = append(trials, trial{TrialID: id, position: i, purpose: duet})
	}
	relax := attend(members)
	defer relax()
	attempts := make([]store.Attempt, len(members))
	for i, m := range members {
		attempts[i] = r.attempt(trials[i], m)
	}
	ids, err := r.Store.BeginAll(attempts)
	if err != nil {
		return storeErr(err)
	}
	err = r.atOnce(ctx, members, r.Workloads[g.Workload], r.sizes[g.Workload])
	if ctx.Err() != nil {
		return ctx.Err()
	}
	void := r.judge(trials[0], members, err).void
	outcomes := make([]store.Outcome, len(members))
	for i, m := range members {
		outcomes[i] = r.outcome(m, trials[i], void)
	}
	if err := r.Store.FinishAll(ids, outcomes); err != nil {
		return storeErr(err)
	}
	relax()
	if err := r.record(ids, members, outcomes, g.Workload); err != nil {
		return storeErr(err)
	}
	if void != nil {
		return void
	}
	for i, m := range members {
		if m.end.err != nil {
			r.Progress(Event{Kind: TrialLost, Trial: trials[i].TrialID, Text: m.end.err.Error()})
		}
		r.finished[trials[i].TrialID] = true
	}
	r.duets[g.Workload]++
	r.state.Duet[g.Workload] += (time.Since(begin) - r.state.Duet[g.Workload]) / time.Duration(r.duets[g.Workload])
	return r.tidy(members)
}

// atOnce thaws the guests of a duet, runs the workload in all of them at once, and freezes them again.
func (r *runner) atOnce(ctx context.Context, members []*member, w *workload.Workload, size int64) error {
	if err := inTurn(members, func(m *member) error { return r.wake(ctx, m, false) }); err != nil {
		return err
	}
	err := r.perform(ctx, members, false, w, size, &company{over: make(chan struct{})})
	return errors.Join(err, inTurn(members, func(m *member) error { return m.guest.machine.Freeze(ctx) }))
}

// company is what the arms of a duet are for each other. An arm that has ended runs the same work again, unmeasured,
// until the last one has ended: otherwise those that take longer would have the caches for themselves in the end.
// A nil company is none.
type company struct {
	working sync.WaitGroup
	over    chan struct{} // closed when nobody works any more
}

// begin is called when the members' timed steps are about to begin. keep must follow for each that is not broken.
func (c *company) begin(members []*member) {
	if c == nil {
		return
	}
	for _, m := range members {
		if !m.end.broken {
			c.working.Add(1)
		}
	}
	go func() {
		c.working.Wait()
		close(c.over)
	}()
}

// keep ends a member's own work, and runs the steps in its guest until the others have ended theirs. What they leave on
// the data volume, the steps after them remove.
func (c *company) keep(ctx context.Context, m *member, steps []workload.Step) error {
	if c == nil {
		return nil
	}
	c.working.Done()
	if m.end.broken || m.x.over || ctx.Err() != nil {
		return nil
	}
	for {
		for _, s := range steps {
			cmd := commandOf(s, m.guest.machine)
			cmd.OutputLimit = leastOutput
			again := startService(ctx, m.guest.machine, s, cmd)
			again.grace = stressGrace
			select {
			case <-again.ended:
				if again.res == nil {
					return again.err
				}
				if again.err != nil || again.res.ExitCode != 0 {
					return nil // it ran a moment ago; without it, the others have less company
				}
				select {
				case <-c.over:
					return nil
				default:
				}
			case <-c.over:
				_, err := again.stop(ctx)
				return err
			}
		}
	}
}
