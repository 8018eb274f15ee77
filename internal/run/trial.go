package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
)

// trial is one execution of a workload in an arm's guests.
type trial struct {
	plan.ID
	position int // in its group, from 0; -1: a warm-up
	role     role
	try      int // number of earlier attempts that the host failed
}

// role is the purpose of a trial.
type role int

const (
	counted role = iota
	// warmup begins a group and is discarded.
	warmup
	// beforeRepeat counts; its guest stays thawed, and repeated follows.
	beforeRepeat
	// repeated is the same trial once more, right after beforeRepeat.
	repeated
)

// status is the status of a successful attempt in that role.
func (r role) status() store.Status {
	switch r {
	case warmup:
		return store.Discarded
	case repeated:
		return store.Repeat
	}
	return store.Done
}

// counts reports whether the plan asks for the trial.
func (r role) counts() bool { return r == counted || r == beforeRepeat }

// trial makes one trial and journals it. An error is the host's or tare's
// fault, or that of ctx. The failure of a guest is a result, not an error.
func (r *runner) trial(ctx context.Context, t trial) error {
	begin := time.Now()
	crew, err := r.crew(ctx, t.Arm)
	if err != nil {
		return err
	}
	relax := attend(crew)
	defer relax()
	w := r.Workloads[t.Workload]
	attempts := make([]store.Attempt, len(crew))
	for i, m := range crew {
		attempts[i] = r.attempt(t, m)
	}
	ids, err := r.Store.BeginAll(attempts)
	if err != nil {
		return storeErr(err)
	}
	if len(crew) == 1 && crew[0].broken == nil {
		crew[0].weigh = t.role == counted && !crew[0].st.weighed[w.Name]
	}
	missing := missing(crew)
	if missing != nil {
		abandon(crew, missing)
	} else if err = r.execute(ctx, crew, w, r.sizes[t.Workload], t.role); ctx.Err() != nil {
		return ctx.Err() // an attempt without an outcome counts as interrupted
	}
	for _, m := range crew {
		if err == nil && m.x.readings.Suspended {
			err = fault.Hostf("the host was suspended during the trial")
		}
		if err == nil && t.try < hostRetries {
			err = m.x.heardLate()
		}
	}
	outcomes := make([]store.Outcome, len(crew))
	for i, m := range crew {
		outcomes[i] = r.outcome(m, w.Name, t.role, err)
	}
	if e := r.Store.FinishAll(ids, outcomes); e != nil {
		return storeErr(e)
	}
	relax()
	for i, m := range crew {
		if outcomes[i].Error == "" {
			m.st.worked = true
			if m.x.memory > 0 {
				m.st.weighed[w.Name] = true
			}
		}
		if m.x.cause != "" {
			if e := r.Store.AddEvent(r.session, ids[i], m.x.cause, outcomes[i].Error); e != nil {
				return storeErr(e)
			}
		}
		for _, n := range m.x.readings.Notices {
			if e := r.Store.AddEvent(r.session, ids[i], n.Kind, n.Text); e != nil {
				return storeErr(e)
			}
			r.Progress(Event{Kind: Notice, Text: n.Text})
		}
	}
	if err != nil {
		return err
	}
	r.took(t.ID, time.Since(begin))
	if !t.role.counts() {
		return r.tidy(crew)
	}
	r.finished[t.ID] = true
	if why := failure(crew, outcomes); why != "" {
		if missing == nil || missing.x.cause != store.EventMemoryLimit { // the scenario looks for this limit
			r.summary.Failed++
		}
		r.Progress(Event{Kind: TrialLost, Trial: t.ID, Text: why})
	} else {
		r.Progress(Event{Kind: TrialDone, Trial: t.ID, Values: crew[0].x.metrics, Took: time.Since(begin)})
	}
	return r.tidy(crew)
}

// errLate marks a trial in which tare processed messages late. The guest can be
// used again.
var errLate = errors.New("the host was too busy")

const (
	lateGrain = 5 * time.Millisecond
	lateShare = 0.1 // of the trial's duration
)

// heardLate returns an error if the host's duration of a trial differs from the
// guest's, read on the same clock, by more than lateGrain and lateShare. If a
// busy host processed the messages of start and end together, the slowest trial
// would look like the fastest.
func (x *execution) heardLate() error {
	off, known := x.readings.Values[probe.HostTimeError]
	took := x.timed.Seconds() - off
	if !known || x.err != nil || math.Abs(off) < max(lateGrain.Seconds(), lateShare*took) {
		return nil
	}
	return fault.Hostf("%w: it measured %.3g s for a trial that took %.3g s in the guest by the same clock", errLate, x.timed.Seconds(), took)
}

func (r *runner) attempt(t trial, m *member) store.Attempt {
	a := store.Attempt{
		Session: r.session, Block: t.Block, Position: t.position, Workload: t.Workload,
		Arm: r.arms[t.Arm], Epoch: m.st.epoch, Size: r.sizes[t.Workload], Member: m.number, Stress: string(m.Role),
	}
	if m.st.machine != nil {
		a.Guest = m.st.id
	}
	return a
}

// outcome is the outcome of a member's attempt in that role. wrong is an error
// of the host or of tare, which makes the whole trial void.
func (r *runner) outcome(m *member, workload string, role role, wrong error) store.Outcome {
	o := store.Outcome{Status: role.status(), Values: map[int]float64{}, Clock: m.x.clock, Steps: m.x.steps}
	add := func(ids map[string]int, values map[string]float64) {
		for name, v := range values {
			if id, ok := ids[name]; ok { // a run begun by an older tare lacks some
				o.Values[id] = v
			}
		}
	}
	add(r.metrics[workload], m.x.metrics)
	add(r.probes[workload], m.x.readings.Values)
	switch {
	case wrong != nil:
		o.Status, o.Error = store.Void, wrong.Error()
	case m.broken != nil:
		o.Status, o.Error = store.Failed, m.broken.Error()
	case m.x.err != nil:
		o.Status, o.Error = store.Failed, m.x.err.Error()
	}
	if o.Status == store.Failed && !role.counts() { // if the guest is at fault, a counted trial will fail too
		o.Status = store.Discarded
	}
	if o.Error != "" && m.st.machine != nil {
		o.Log = strings.ToValidUTF8(m.st.machine.Guest.Log(), "?")
	}
	return o
}

// failure returns why the trial lacks results; "": it has all of them.
func failure(crew []*member, outcomes []store.Outcome) string {
	why, failed := "", 0
	for i, m := range crew {
		if m.Role == campaign.Working && outcomes[i].Status == store.Failed {
			if failed++; failed == 1 {
				why = outcomes[i].Error
			}
		}
	}
	if workers := len(membersOf(crew, working)); failed > 0 && workers > 1 {
		return fmt.Sprintf("%d of %d guests did not finish; the first: %s", failed, workers, why)
	}
	return why
}

// tidy ends broken guests and marks those that must be cleaned before their
// next use.
func (r *runner) tidy(crew []*member) error {
	var errs []error
	for _, m := range crew {
		if m.broken != nil {
			errs = append(errs, m.st.drop())
		} else if m.x.err != nil || m.Role != campaign.Working {
			m.st.dirty = true
		}
	}
	return errors.Join(errs...)
}
