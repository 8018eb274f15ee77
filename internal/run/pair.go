package run

import (
	"context"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
)

// serve starts the serving side of a pair in the other guest and sets m.steps to
// those of the client. If the server does not start, m's trial fails.
func (r *runner) serve(ctx context.Context, m *member, w *workload.Workload, size int64) error {
	s := m.server
	at := s.guest.machine.Address()
	if !at.IsValid() {
		return fault.Campaignf("guests of arm %s cannot be reached over the network, so they cannot form pairs", s.Of)
	}
	var before []workload.Step
	before, m.steps, _ = w.Sides(size, at.String())
	if err := s.tolerate(r.steps(ctx, s, before)); err != nil {
		return err
	}
	switch {
	case s.end.broken:
		m.fail(fault.Guestf("the guest that serves: %w", s.end.err))
	case s.end.err != nil:
		m.fail(s.end.err)
	}
	m.x.over = s.end.broken || s.x.over
	return nil
}

// retire ends the serving side of a pair and adds its results to m's, as they
// also decide whether the trial counts.
func (r *runner) retire(ctx context.Context, m *member, w *workload.Workload, size int64) error {
	s := m.server
	if !s.end.broken {
		_, _, after := w.Sides(size, ownAddress)
		err := r.steps(ctx, s, after)
		if err == nil {
			err = s.x.stopAll(ctx)
		}
		if err := s.tolerate(err); err != nil {
			return err
		}
	}
	m.x.results = append(m.x.results, s.x.results...)
	switch {
	case s.end.broken:
		m.fail(fault.Guestf("the guest that serves: %w", s.end.err))
		m.x.over = true
	case s.x.over:
		s.end.err = fault.Guestf("it could not serve; see its partner's error")
	}
	return nil
}
