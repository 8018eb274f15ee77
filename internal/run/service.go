package run

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

const (
	// stopGrace is how long a server may take to end after SIGTERM, and again
	// after SIGKILL. stressGrace is how long a neighbour's load may take after
	// SIGTERM: it has nothing to save, and waiting prolongs every trial.
	stopGrace   = 30 * time.Second
	stressGrace = 50 * time.Millisecond
	// readyPause is the first pause between two checks whether a server is
	// ready, and readyPauseMax the longest.
	readyPause    = 10 * time.Millisecond
	readyPauseMax = 250 * time.Millisecond
)

// service is a background step of a trial while it runs.
type service struct {
	step  workload.Step
	agent *agent.Client
	grace time.Duration // from SIGTERM to SIGKILL
	id    chan uint64   // receives the id for agent.Client.Signal once it has started
	ended chan struct{} // closed when res and err are set
	res   *agent.Result
	err   error
}

// startService starts a background step. The caller stops it or drops the guest.
func startService(ctx context.Context, m *system.Machine, step workload.Step, cmd agent.Command) *service {
	s := &service{step: step, agent: m.Agent, grace: stopGrace, id: make(chan uint64, 1), ended: make(chan struct{})}
	cmd.Timeout = 0 // it runs as long as the trial; the other steps have limits
	cmd.OnStart = func(id uint64) { s.id <- id }
	go func() {
		defer close(s.ended)
		s.res, s.err = s.agent.Run(ctx, cmd)
	}()
	return s
}

// started waits until the guest reports that the server has started or ended.
func (s *service) started(ctx context.Context) error {
	select {
	case id := <-s.id:
		s.id <- id
	case <-s.ended:
	case <-time.After(quickTimeout):
		return fault.Guestf("step %s was not started within %v", s.step.Name, quickTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// ready waits until the server has started and the step's Ready command, run as
// probe, succeeds, but at most probe.Timeout. late is the error if it did not
// succeed. A server that ended meanwhile is not late; its result shows why. err
// means that the guest is broken.
func (s *service) ready(ctx context.Context, probe agent.Command) (late, err error) {
	if err := s.started(ctx); err != nil {
		return nil, err
	}
	limit := probe.Timeout
	deadline := time.Now().Add(limit)
	probe.Argv, probe.Timeout, probe.OutputLimit = s.step.Ready, quickTimeout, leastOutput
	for pause := readyPause; len(probe.Argv) > 0; pause = min(2*pause, readyPauseMax) {
		res, err := s.agent.Run(ctx, probe)
		switch {
		case res == nil:
			return nil, err
		case err != nil: // the Ready command could not be started
			return err, nil
		case res.ExitCode == 0 && res.Signal == 0 && !res.TimedOut:
			return nil, nil
		case time.Now().After(deadline):
			return fault.Guestf("step %s: its server was not ready within %v: %q printed %q", s.step.Name, limit,
				s.step.Ready[0],
				lastBytes(append(res.Stdout, res.Stderr...))), nil
		}
		select {
		case <-s.ended:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil, nil
}

// stop ends the server and returns its result. An error means that the guest is
// broken.
func (s *service) stop(ctx context.Context) (workload.StepResult, error) {
	running := true
	select {
	case <-s.ended:
		running = false
	default:
	}
	for _, try := range []struct {
		signal unix.Signal
		wait   time.Duration
	}{{unix.SIGTERM, s.grace}, {unix.SIGKILL, stopGrace}} {
		select {
		case id := <-s.id:
			s.id <- id
			_ = s.agent.Signal(ctx, id, try.signal) // it may have ended just now
		case <-s.ended:
		case <-time.After(stopGrace):
		}
		select {
		case <-s.ended:
		case <-time.After(try.wait):
			continue
		}
		break
	}
	select {
	case <-s.ended:
	default:
		return workload.StepResult{}, fault.Guestf("step %s: its server did not end after SIGKILL", s.step.Name)
	}
	if s.res == nil {
		return workload.StepResult{}, s.err
	}
	if s.err != nil {
		notStarted(s.res, s.err)
	}
	r := stepResult(s.step.Name, s.res)
	r.Stopped = running && s.err == nil
	return r, nil
}

// stopAll stops the running servers, the last one first, and adds their results.
func (x *execution) stopAll(ctx context.Context) error {
	for _, s := range slices.Backward(x.services) {
		r, err := s.stop(ctx)
		if err != nil {
			return err
		}
		x.steps = append(x.steps, storeStep(s.step, s.res))
		x.results = append(x.results, r)
	}
	x.services = nil
	return nil
}

// lastBytes is the end of a command's output, for a message.
func lastBytes(b []byte) string {
	const keep = 200
	if len(b) > keep {
		b = b[len(b)-keep:]
	}
	return string(b)
}
