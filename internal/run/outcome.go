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
)

// end is how a guest's part in a trial ended. The zero value means that nothing
// went wrong.
type end struct {
	err    error  // why its part does not count, which is the guest's fault
	broken bool   // the guest cannot be used again
	event  string // kind of the event to record for err; "": none
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
			m.end.event = of.end.event
		}
	}
}

// judge decides how a trial ended, from how each guest's part did. wrong is an error
// of the host or of tare so far; the error returned is wrong or what else makes the
// trial void.
func (r *runner) judge(t trial, members []*member, wrong error) ([]store.Outcome, error) {
	for _, m := range members {
		if wrong == nil && m.x.readings.Suspended {
			wrong = fault.Hostf("the host was suspended during the trial")
		}
		if wrong == nil && t.try < hostRetries {
			wrong = m.heardLate()
		}
	}
	outcomes := make([]store.Outcome, len(members))
	for i, m := range members {
		outcomes[i] = r.outcome(m, t, wrong)
	}
	return outcomes, wrong
}

// outcome is the outcome of a member's attempt at a trial.
func (r *runner) outcome(m *member, t trial, wrong error) store.Outcome {
	o := store.Outcome{Status: t.role.status(), Values: map[int]float64{}, Clock: m.x.clock, Steps: m.x.steps}
	add := func(ids map[string]int, values map[string]float64) {
		for name, v := range values {
			if id, ok := ids[name]; ok { // a run begun by an older tare lacks some
				o.Values[id] = v
			}
		}
	}
	name := r.Workloads[t.Workload].Name
	add(r.metrics[name], m.x.metrics)
	if id, ok := r.metrics[name][r.Workloads[t.Workload].SingleOf]; ok {
		o.Latencies, o.LatencyOf = m.x.singles, id
	}
	add(r.probes[name], m.x.readings.Values)
	switch {
	case wrong != nil:
		o.Status, o.Error = store.Void, wrong.Error()
	case m.end.err == nil:
	case t.role.counts():
		o.Status, o.Error = store.Failed, m.end.err.Error()
	default: // a counted trial will fail, too
		o.Status, o.Error = store.Discarded, m.end.err.Error()
	}
	if o.Error != "" && m.guest.machine != nil {
		o.Log = strings.ToValidUTF8(m.guest.machine.Guest.Log(), "?")
	}
	return o
}

// lost returns why the trial lacks results; "": it has all of them.
func lost(members []*member) string {
	var first error
	failed, workers := 0, membersOf(members, working)
	for _, m := range workers {
		if m.end.err != nil {
			if failed++; failed == 1 {
				first = m.end.err
			}
		}
	}
	switch {
	case failed == 0:
		return ""
	case len(workers) > 1:
		return fmt.Sprintf("%d of %d guests did not finish; the first: %s", failed, len(workers), first)
	}
	return first.Error()
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
