package run

import (
	"errors"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload"
)

// TestAbandoned: a guest for which there was no memory prevents the trial of all guests, and each of them is recorded
// with that event. The failure of a neighbour alone loses nothing.
func TestAbandoned(t *testing.T) {
	neighbour := &member{}
	neighbour.Role = model.Stressing("cpu")
	members := []*member{{}, {}, neighbour}
	neighbour.fail(fault.Guestf("it ended"))
	if err := lost(members); err != nil {
		t.Errorf("a neighbour failed: %v", err)
	}
	if err := members[1].tolerate(noted{fault.Guestf("no memory"), store.EventMemoryLimit}); err != nil {
		t.Fatal(err)
	}
	abandon(members, missing(members))
	for i, m := range members {
		if eventOf(m.end.err) != store.EventMemoryLimit || fault.KindOf(m.end.err) != fault.Guest {
			t.Errorf("guest %d: event %q of %v", i, eventOf(m.end.err), m.end.err)
		}
	}
	const want = "2 of 2 guests did not finish; the first: the trial was skipped because one of its guests is " +
		"missing: no memory"
	if err := lost(members); err == nil || err.Error() != want || eventOf(err) != store.EventMemoryLimit {
		t.Errorf("lost: %v", err)
	}
}

// TestEvaluate: results that are wrong are an event, unless a step failed, which says why itself.
func TestEvaluate(t *testing.T) {
	for _, c := range []struct {
		err   error
		over  bool
		event string
	}{
		{nil, false, ""},
		{fault.Guestf("not done"), false, store.EventWrongAnswer},
		{fault.Guestf("exit status 1"), true, ""},
		{fault.Guestf("%w: 2 is not 3", workload.ErrContradiction), false, store.EventContradiction},
	} {
		m := &member{}
		m.x.over = c.over
		w := &workload.Workload{Evaluate: func(int64, []workload.StepResult) (map[string]float64, error) {
			return map[string]float64{"time": 1}, c.err
		}}
		if err := m.evaluate(w, 1, nil); err != nil || !errors.Is(m.end.err, c.err) || eventOf(m.end.err) != c.event ||
			(m.x.metrics == nil) != (c.err != nil) {
			t.Errorf("%v: %v, %v, event %q, metrics %v", c.err, err, m.end.err, eventOf(m.end.err), m.x.metrics)
		}
	}
	host := fault.Hostf("no space")
	w := &workload.Workload{Evaluate: func(int64, []workload.StepResult) (map[string]float64, error) { return nil, host }}
	if err := (&member{}).evaluate(w, 1, nil); !errors.Is(err, host) {
		t.Errorf("the host's fault: %v", err)
	}
}
