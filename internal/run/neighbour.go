package run

import (
	"context"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/workload"
)

// disturb starts the load of the neighbours, after the host's ends that answer
// neighbours on the network. It returns when the load has run for settle. The
// caller calls stop to end it; what the neighbours did until then is among their readings.
func (r *runner) disturb(ctx context.Context, neighbours, answers []*member) (stop func() error, err error) {
	err = inTurn(answers, func(m *member) error { return r.answer(ctx, m) })
	if err == nil {
		talking := 0
		err = inTurn(neighbours, func(m *member) error {
			var other *member // the one that answers it
			if m.Role == model.Stressing(model.ResourceNetwork) && talking < len(answers) {
				other = answers[talking]
				talking++
			}
			return r.stress(ctx, m, other)
		})
	}
	if err == nil && len(neighbours) > 0 {
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		err = together(neighbours, func(m *member) (err error) {
			m.x.before, err = probe.EffortOf(m.guest.machine)
			return err
		})
	}
	return func() error {
		if err := together(neighbours, func(m *member) error { return r.relieve(ctx, m) }); err != nil {
			return err
		}
		return together(answers, func(m *member) error { return r.endLoad(ctx, m, "answer its neighbour") })
	}, err
}

// relieve ends the load of a neighbour and notes what it did while the others worked.
func (r *runner) relieve(ctx context.Context, m *member) error {
	effort, err := probe.EffortOf(m.guest.machine)
	if err != nil {
		return err
	}
	m.x.readings.Values = effort.Since(m.x.before)
	if err := r.endLoad(ctx, m, "stress"); err != nil {
		return err
	}
	if n, err := m.load(); err != nil || !n.Unwritten {
		return err
	}
	return r.clean(ctx, m.guest.machine)
}

// stress starts the load of a neighbour; other answers it, if not nil.
func (r *runner) stress(ctx context.Context, m, other *member) error {
	n, err := m.load()
	if err != nil {
		return err
	}
	room := workload.Room{CPUs: m.Flavor.VCPUs, Memory: m.Flavor.MemoryBytes, Disk: m.Flavor.DiskBytes}
	if host := m.guest.machine.HostAddress(); host.IsValid() {
		room.Host = host.String()
	}
	if other != nil && other.guest.machine != nil {
		room.Host = other.guest.machine.Address().String()
	}
	return r.begin(ctx, m, workload.Step{Name: "stress", Argv: n.Argv(room)}, nil)
}

// load is what a neighbour does.
func (m *member) load() (workload.Neighbour, error) {
	resource, _ := m.Role.Stresses()
	return workload.NeighbourOf(resource)
}

// answer starts the host's end for a neighbour on the network.
func (r *runner) answer(ctx context.Context, m *member) error {
	at := m.guest.machine.Address()
	if !at.IsValid() {
		return fault.Campaignf("%s is on no network", m.guest.name())
	}
	return r.begin(ctx, m, workload.Answer(at.String()), nil)
}

// begin starts a step that runs until it is stopped, and waits until it is ready. heard, if not nil, gets its output as
// it arrives, see agent.Command.
func (r *runner) begin(ctx context.Context, m *member, step workload.Step,
	heard func(stderr bool, data []byte)) error {
	cmd := commandOf(step, m.guest.machine)
	cmd.Timeout, cmd.OutputLimit, cmd.OnOutput = r.Campaign.Timeout, m.x.outputLimit(r.Campaign.OutputLimit), heard
	m.x.held(2 * cmd.OutputLimit)
	sv := startService(ctx, m.guest.machine, step, cmd)
	sv.grace = stressGrace
	m.x.services = append(m.x.services, sv)
	late, err := sv.ready(ctx, cmd)
	if err == nil {
		err = late
	}
	return err
}

// endLoad stops the load of a neighbour, or what answers it.
func (r *runner) endLoad(ctx context.Context, m *member, what string) error {
	err := m.x.stopAll(ctx)
	if err == nil && len(m.x.results) > 0 && !m.x.results[0].Stopped {
		last := m.x.results[0]
		m.fail(fault.Guestf("this neighbour did not %s until the end of the trial: exit status %d, signal %q: %s",
			what, last.ExitCode, last.Signal, lastBytes(append(last.Stdout, last.Stderr...))))
	}
	return err
}
