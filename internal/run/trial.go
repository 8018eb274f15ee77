package run

import (
	"context"
	"time"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// trial is one execution of a workload in an arm's guests.
type trial struct {
	model.TrialID
	position int // in its group, from 0; -1: a warm-up
	purpose  purpose
	try      int // number of earlier attempts that the host failed
}

// purpose is what a trial is made for.
type purpose int

const (
	counted purpose = iota
	// warmup begins a group and is discarded.
	warmup
	// beforeRepeat counts; its guest stays thawed, and repeated follows.
	beforeRepeat
	// repeated is the same trial once more, right after beforeRepeat.
	repeated
	// duet is a trial that other arms make at once.
	duet
)

// status is the status of a successful attempt at a trial with that purpose.
func (p purpose) status() store.Status {
	switch p {
	case warmup:
		return store.Discarded
	case repeated:
		return store.Repeat
	case duet:
		return store.Duet
	}
	return store.Done
}

// counts reports whether the plan asks for the trial.
func (p purpose) counts() bool { return p == counted || p == beforeRepeat }

// trial makes one trial and journals it. An error is the host's or tare's
// fault, or that of ctx. The failure of a guest is a result, not an error.
func (r *runner) trial(ctx context.Context, t trial) error {
	begin := time.Now()
	w := r.Workloads[t.Workload]
	get, execute := r.members, r.execute
	if w.Creates {
		get, execute = r.newcomers, r.start
	}
	if w.Fill != nil {
		execute = r.fill
	}
	members, err := get(ctx, t.Arm)
	if err != nil {
		return err
	}
	relax := attend(members)
	defer relax()
	attempts := make([]store.Attempt, len(members))
	for i, m := range members {
		attempts[i] = r.attempt(t, m)
	}
	ids, err := r.Store.BeginAll(attempts)
	if err != nil {
		return storeErr(err)
	}
	if missing := missing(members); missing != nil {
		abandon(members, missing)
	} else {
		if m := members[0]; (len(members) == 1 || len(members) == 2 && m.server != nil) && !w.Creates {
			m.weigh = t.purpose == counted && !m.guest.weighed[w.Name]
		}
		err = execute(ctx, members, w, r.sizes[t.Workload], t.purpose)
		if ctx.Err() != nil {
			return ctx.Err() // an attempt without an outcome counts as interrupted
		}
	}
	v := r.judge(t, members, err)
	if e := r.Store.FinishAll(ids, v.outcomes); e != nil {
		return storeErr(e)
	}
	relax()
	if e := r.record(ids, members, v.outcomes, w.Name); e != nil {
		return storeErr(e)
	}
	if v.void != nil {
		return v.void
	}
	r.took(t.TrialID, time.Since(begin))
	if !t.purpose.counts() {
		return r.tidy(members)
	}
	r.finished[t.TrialID] = true
	if v.lost != nil {
		if eventOf(v.lost) != store.EventMemoryLimit { // the scenario looks for this limit
			r.summary.Failed++
		}
		r.Progress(Event{Kind: TrialLost, Trial: t.TrialID, Text: v.lost.Error()})
	} else {
		r.Progress(Event{Kind: TrialDone, Trial: t.TrialID, Values: members[0].x.metrics, Took: time.Since(begin)})
	}
	return r.tidy(members)
}

// record notes what a trial says of its guests, and journals what happened to them.
func (r *runner) record(ids []int64, members []*member, outcomes []store.Outcome, workload string) error {
	for i, m := range members {
		if outcomes[i].Error == "" {
			m.guest.worked = true
			if m.x.memory > 0 {
				m.guest.weighed[workload] = true
			}
		}
		if event := eventOf(m.end.err); event != "" {
			if err := r.Store.AddEvent(r.session, ids[i], event, outcomes[i].Error); err != nil {
				return err
			}
		}
		for _, n := range m.x.readings.Notices {
			if r.elsewhere(n) {
				continue
			}
			if err := r.Store.AddEvent(r.session, ids[i], n.Kind, n.Text); err != nil {
				return err
			}
			r.Progress(Event{Kind: Notice, Text: n.Text})
		}
	}
	return nil
}

func (r *runner) attempt(t trial, m *member) store.Attempt {
	a := store.Attempt{
		Session: r.session, Block: t.Block, Position: t.position, Workload: t.Workload,
		Arm: r.arms[t.Arm], Generation: m.guest.generation, Size: r.sizes[t.Workload], Member: m.number, Role: m.Role,
	}
	if m.guest.machine != nil {
		a.Guest = m.guest.id
	}
	return a
}
