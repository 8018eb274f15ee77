package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
)

// trial is one execution of a workload in an arm's guests.
type trial struct {
	plan.ID
	position int // in its group, from 0; of a warm-up -1
	role     role
	try      int // how often it was made before, by the host's fault
}

// role says what a trial is for.
type role int

const (
	counted role = iota
	// warmup begins a group, and is discarded.
	warmup
	// beforeRepeat is counted, and its guest is not frozen: repeated follows.
	beforeRepeat
	// repeated is the same trial again, right after it.
	repeated
)

// status is what an attempt of that role is when all went well.
func (r role) status() store.Status {
	switch r {
	case warmup:
		return store.Discarded
	case repeated:
		return store.Repeat
	}
	return store.Done
}

// counts reports whether the trial is one that the plan asks for.
func (r role) counts() bool { return r == counted || r == beforeRepeat }

// trial makes one trial and journals it. Its error is the host's fault, or
// tare's, or ctx has ended; that a guest failed is a result.
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
	missing := unmanned(crew)
	if missing != nil {
		abandon(crew, missing)
	} else if err = r.execute(ctx, crew, w, r.sizes[t.Workload], t.role); ctx.Err() != nil {
		return ctx.Err() // without an outcome it counts as interrupted
	}
	for _, m := range crew {
		if err == nil && m.x.readings.Suspended {
			err = fault.Hostf("the host was suspended meanwhile")
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
		if missing == nil || missing.x.cause != store.EventMemoryLimit { // that not all fit is what the scenario is there to find
			r.summary.Failed++
		}
		r.Progress(Event{Kind: TrialLost, Trial: t.ID, Text: why})
	} else {
		r.Progress(Event{Kind: TrialDone, Trial: t.ID, Values: crew[0].x.metrics, Took: time.Since(begin)})
	}
	return r.tidy(crew)
}

// errLate marks a trial whose news the host took in late: the guest is as good as it was.
var errLate = errors.New("the host was too busy")

const (
	lateGrain = 5 * time.Millisecond
	lateShare = 0.1 // of the trial's time
)

// heardLate is an error where the host's time of a trial is far from the one
// that the guest read on the same clock. A host that takes in the news of start
// and end at once would call the slowest trial the fastest.
func (x *execution) heardLate() error {
	off, known := x.readings.Values[probe.HostTimeError]
	took := x.timed.Seconds() - off
	if !known || x.err != nil || math.Abs(off) < max(lateGrain.Seconds(), lateShare*took) {
		return nil
	}
	return fault.Hostf("%w: it timed %.3g s of a trial that took %.3g s by the guest, on the same clock", errLate, x.timed.Seconds(), took)
}

func (r *runner) attempt(t trial, m *member) store.Attempt {
	a := store.Attempt{
		Session: r.session, Block: t.Block, Position: t.position, Workload: t.Workload,
		Arm: r.arms[t.Arm], Epoch: m.st.epoch, Size: r.sizes[t.Workload], Member: m.number, Stress: m.Stress,
	}
	if m.st.machine != nil {
		a.Guest = m.st.id
	}
	return a
}

// outcome is what a member's attempt in that role gave; wrong is what the host or tare did
// wrong, which makes all that the trial gave void.
func (r *runner) outcome(m *member, workload string, role role, wrong error) store.Outcome {
	o := store.Outcome{Status: role.status(), Values: map[int]float64{}, Clock: m.x.clock, Steps: m.x.steps}
	add := func(ids map[string]int, values map[string]float64) {
		for name, v := range values {
			if id, ok := ids[name]; ok { // a run that an older tare began lacks some
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
	if o.Status == store.Failed && !role.counts() { // what fails will fail again where it counts
		o.Status = store.Discarded
	}
	if o.Error != "" && m.st.machine != nil {
		o.Log = strings.ToValidUTF8(m.st.machine.Guest.Log(), "?")
	}
	return o
}

// failure says why the trial has not all of its results; "": it has.
func failure(crew []*member, outcomes []store.Outcome) string {
	why, failed := "", 0
	for i, m := range crew {
		if m.Stress == "" && outcomes[i].Status == store.Failed {
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

// tidy ends guests that are no good any more, and notes which have to be
// cleaned before they are used again.
func (r *runner) tidy(crew []*member) error {
	var errs []error
	for _, m := range crew {
		if m.broken != nil {
			errs = append(errs, m.st.drop())
		} else if m.x.err != nil || m.Stress != "" {
			m.st.dirty = true
		}
	}
	return errors.Join(errs...)
}
