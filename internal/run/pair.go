package run

import (
	"context"
	"net/netip"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/workload"
)

// serve starts the serving side of a pair in the other guest and sets m.steps to
// those of the client. If the server does not start, m's trial fails.
func (r *runner) serve(ctx context.Context, m *member, w *workload.Workload, size int64) error {
	s := m.server
	at, err := m.reaches(s)
	if err != nil {
		return err
	}
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

// reaches returns the address at which a client reaches the server of its pair: what is outside reaches a guest with
// NAT at an address of the router, and another machine has its own.
func (m *member) reaches(s *member) (netip.Addr, error) {
	switch port := s.guest.machine.Site.Port; {
	case s.Machine != "":
		at, err := netip.ParseAddr(s.guest.arm.Away.Address)
		if err != nil {
			return at, fault.Campaignf("%s: its address on the network of the guests: %w", s.Machine, err)
		}
		return at, nil
	case m.Outside() && port != nil:
		return port.Forward()
	}
	return s.guest.machine.Address(), nil
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
