package run

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

// end is how a guest's part in a trial ended. The zero value means that nothing
// went wrong.
type end struct {
	err    error // why its part does not count, which is the guest's fault
	broken bool  // the guest cannot be used again
}

// noted is an error that is also an event of this kind in the run file.
type noted struct {
	error
	event string
}

func (n noted) Unwrap() error { return n.error }

// eventOf is the kind of the event to record for an error; "": none.
func eventOf(err error) string {
	var n noted
	errors.As(err, &n)
	return n.event
}

// evaluate judges from the results of its steps whether a member did the work, and takes its metrics. doubt is
// another reason for which they do not count, or nil. The error returned is not the guest's fault.
func (m *member) evaluate(w *workload.Workload, size int64, doubt error) error {
	metrics, err := w.Evaluate(size, m.x.results)
	if err != nil && fault.KindOf(err) != fault.Guest {
		return err
	}
	if err = errors.Join(err, doubt); err == nil {
		m.x.metrics = metrics
		if w.Latencies != nil {
			m.x.singles, err = singleLatencies(w, m.x.results)
		}
	}
	switch {
	case err == nil:
	case m.x.over: // that a step failed is no more than the error says
		m.fail(err)
	case errors.Is(err, workload.ErrContradiction):
		m.fail(noted{err, store.EventContradiction})
	default:
		m.fail(noted{err, store.EventWrongAnswer})
	}
	return nil
}

// fail records why the member's part does not count, unless that is known.
func (m *member) fail(err error) {
	if m.end.err == nil {
		m.end.err = err
	}
}

// tolerate ends the member's part, and its guest's use, if err is the guest's fault;
// the trial goes on without it. It returns any other error.
func (m *member) tolerate(err error) error {
	if err == nil || fault.KindOf(err) != fault.Guest {
		return err
	}
	if !m.end.broken {
		m.end.err, m.end.broken = err, true
	}
	return nil
}

// missing returns the first guest that did not start, which prevents the trial;
// nil: all guests started.
func missing(members []*member) *member {
	for _, m := range members {
		if m.end.broken {
			return m
		}
	}
	return nil
}

// abandon fails all members of a trial that one guest prevented.
func abandon(members []*member, of *member) {
	for _, m := range members {
		if !m.end.broken {
			m.end.err = fault.Guestf("the trial was skipped because one of its guests is missing: %w", of.end.err)
		}
	}
}

// verdict is how a trial ended.
type verdict struct {
	void     error // it does not count, and this is why: an error of the host or of tare
	lost     error // it lacks results because of guests; nil: it has all of them
	outcomes []store.Outcome
}

// judge decides how a trial ended, from how each guest's part did. void is an error
// of the host or of tare so far.
func (r *runner) judge(t trial, members []*member, void error) verdict {
	for _, m := range members {
		if void == nil && m.x.readings.Suspended {
			void = fault.Hostf("the host was suspended during the trial")
		}
		if void == nil && t.try < hostRetries && t.purpose != duet { // of which no duration counts
			void = m.heardLate()
		}
	}
	v := verdict{void: void, lost: lost(members)}
	for _, m := range members {
		v.outcomes = append(v.outcomes, r.outcome(m, t, void))
	}
	return v
}

// outcome is the outcome of a member's attempt at a trial.
func (r *runner) outcome(m *member, t trial, void error) store.Outcome {
	o := store.Outcome{Status: t.purpose.status(), Values: map[int]float64{}, Clock: m.x.clock, Steps: m.x.steps}
	add := func(ids map[string]int, values map[string]float64) {
		for name, v := range values {
			if id, ok := ids[name]; ok { // a run begun by an older tare lacks some
				o.Values[id] = v
			}
		}
	}
	name := r.Workloads[t.Workload].Name
	if t.purpose != duet { // the metrics of arms that share a CPU say nothing about one that has it
		add(r.metrics[name], m.x.metrics)
		if id, ok := r.metrics[name][r.Workloads[t.Workload].SingleOf]; ok {
			o.Latencies, o.LatencyOf = m.x.singles, id
		}
	}
	add(r.probes[name], m.x.readings.Values)
	switch {
	case void != nil:
		o.Status, o.Error = store.Void, void.Error()
	case m.end.err == nil:
	case t.purpose.counts():
		o.Status, o.Error = store.Failed, m.end.err.Error()
	default: // a counted trial will fail, too
		o.Status, o.Error = store.Discarded, m.end.err.Error()
	}
	if o.Error != "" && m.guest.machine != nil {
		o.Log = strings.ToValidUTF8(m.guest.machine.Guest.Log(), "?")
	}
	return o
}

// lost returns why the trial lacks results; nil: it has all of them.
func lost(members []*member) error {
	var first error
	failed, workers := 0, membersOf(members, working)
	for _, m := range workers {
		if m.end.err != nil {
			if failed++; failed == 1 {
				first = m.end.err
			}
		}
	}
	if failed > 0 && len(workers) > 1 {
		return fmt.Errorf("%d of %d guests did not finish; the first: %w", failed, len(workers), first)
	}
	return first
}

// errLate marks a trial in which tare processed messages late. The guest can be
// used again.
var errLate = errors.New("the host was too busy")

const lateShare = 0.1 // of the trial's duration

// lateGrain is a variable for tests which count trials, and which a busy host must not make repeat any.
var lateGrain = 5 * time.Millisecond

// heardLate returns an error if the host's duration of a trial differs from the
// guest's, read on the same clock, by more than lateGrain and lateShare. If a
// busy host processed the messages of start and end together, the slowest trial
// would look like the fastest.
func (m *member) heardLate() error {
	off, known := m.x.readings.Values[model.ProbeHostTimeError]
	took := m.x.timed.Seconds() - off
	if !known || m.end.err != nil || math.Abs(off) < max(lateGrain.Seconds(), lateShare*took) {
		return nil
	}
	return fault.Hostf("%w: it measured %.3g s for a trial that took %.3g s in the guest by the same clock",
		errLate, m.x.timed.Seconds(), took)
}

// tidy ends broken guests and marks those that must be cleaned before their
// next use.
func (r *runner) tidy(members []*member) error {
	var errs []error
	for _, m := range members {
		if m.end.broken {
			errs = append(errs, m.guest.drop())
		} else if m.end.err != nil || m.Role != model.Working {
			m.guest.dirty = true
		}
	}
	return errors.Join(errs...)
}
