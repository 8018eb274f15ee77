package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/agent/wire"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// execution is what came of one execution of a workload in one guest.
type execution struct {
	steps    []store.Step
	clock    agent.Clock
	timed    time.Duration // total of the timed steps by the host's clock
	metrics  map[string]float64
	singles  []byte // encoded single latencies; nil: there are none
	readings probe.Readings

	results  []workload.StepResult
	services []*service
	kept     *kept // of a guest that is restored; nil: none
	over     bool  // a step failed, so the rest is skipped
	window   *probe.Window
	counted  map[string]int64 // by the guest's kernel, before the window
	room     int64            // how much more output tare may hold, in bytes
	memory   int64            // host memory held by the guest at work, in bytes; 0: not read
	left     int64            // least host memory available, in bytes; 0: not watched
	resent   int64            // segments that both ends of a pair had sent again when the trial began
	counts   bool             // resent is known
	before   probe.Effort     // of a neighbour, when the others began; of the other end of a pair, when the trial began
	// If the trial has an agreed start instant:
	skew    time.Duration // start reported to the host, minus the instant
	barrier time.Duration // start by the guest's clock, minus the instant on that clock
}

// steps runs untimed steps in a guest.
func (r *runner) steps(ctx context.Context, m *member, steps []workload.Step) error {
	for _, s := range steps {
		if m.x.over {
			return nil
		}
		if s.DropCaches {
			if err := r.dropCaches(ctx, m.guest.machine, s); err != nil {
				return err
			}
		}
		if _, err := r.step(ctx, m, s, 0); err != nil {
			return err
		}
	}
	return nil
}

// timed runs the steps from the first timed one to the last. The first begins
// at instant on the host's clock, or at once if instant is 0.
func (r *runner) timed(ctx context.Context, m *member, w *workload.Workload, steps []workload.Step,
	instant int64) error {
	x := &m.x
	if x.over {
		return nil
	}
	var agreed int64
	if instant != 0 {
		agreed = x.clock.GuestTime(instant)
	}
	res, err := r.step(ctx, m, steps[0], agreed)
	if err != nil {
		return err
	}
	if agreed != 0 {
		x.skew = time.Duration(res.HostStart - instant)
		x.barrier = time.Duration(res.GuestStart - agreed)
	}
	if err := r.steps(ctx, m, steps[1:]); err != nil {
		return err
	}
	r.probing.Lock() // all windows share the probes of the host
	defer r.probing.Unlock()
	x.readings, err = x.window.End()
	x.window = nil
	if other := m.peer(); err == nil && other != nil && w.Packets != nil {
		effort, err := probe.EffortOf(other)
		if err != nil {
			return err
		}
		if cpu, known := effort.Since(x.before)[model.ProbeNeighbourCPU]; known {
			x.readings.Values[model.ProbePeerCPU] = cpu
		}
	}
	return err
}

// commandOf is the command of a step in a machine.
func commandOf(s workload.Step, m *system.Machine) agent.Command {
	cmd := agent.Command{Argv: s.Argv, Env: m.Env(), Dir: m.DataDir()}
	if as := s.As; as != nil {
		cmd.Env, cmd.Dir = as.Env, as.Dir
		cmd.Account = &agent.Account{UID: as.UID, GID: as.GID, Groups: as.Groups, Dirs: []string{m.DataDir()}}
		for _, d := range as.Dirs {
			cmd.Account.Dirs = append(cmd.Account.Dirs, filepath.Join(m.DataDir(), d))
		}
	}
	return cmd
}

// step runs one step. If start is not 0, the step waits for that instant of the
// guest's clock.
func (r *runner) step(ctx context.Context, m *member, s workload.Step, start int64) (*agent.Result, error) {
	x, machine := &m.x, m.guest.machine
	cmd := commandOf(s, machine)
	cmd.Timeout, cmd.OutputLimit, cmd.StartAt = r.Campaign.Timeout, x.outputLimit(r.Campaign.OutputLimit), start
	if s.Timeout > 0 {
		cmd.Timeout = s.Timeout
	}
	if s.ServersEnded {
		if err := x.stopAll(ctx); err != nil {
			return nil, err
		}
	}
	if s.Background {
		cmd.OutputLimit /= 2 // it writes while other steps do
		x.held(2 * cmd.OutputLimit)
		sv := startService(ctx, machine, s, cmd)
		x.services = append(x.services, sv)
		late, err := sv.ready(ctx, cmd)
		if late != nil {
			m.fail(late)
			x.over = true
		}
		return nil, err
	}
	res, err := machine.Agent.Run(ctx, cmd)
	if res == nil {
		return nil, err
	}
	if err != nil { // the command could not be started
		notStarted(res, err)
	}
	x.held(int64(len(res.Stdout) + len(res.Stderr)))
	x.steps = append(x.steps, storeStep(s, res))
	x.results = append(x.results, stepResult(s.Name, res))
	if s.Timed {
		x.timed += res.HostWall()
	}
	x.over = res.ExitCode != 0 || res.Signal != 0 || res.TimedOut
	return res, nil
}

// conclude stops the servers of a trial and evaluates its results.
func (r *runner) conclude(ctx context.Context, m *member, w *workload.Workload, size int64) error {
	x, machine := &m.x, m.guest.machine
	if err := x.stopAll(ctx); err != nil {
		return err
	}
	if m.end.err == nil {
		if err := m.evaluate(w, size, nil); err != nil {
			return err
		}
	}
	x.guestsWord(w, size, machine.Driver.Capabilities().SameKernel)
	if err := x.atRate(w, m.end.err); err != nil {
		return err
	}
	if err := x.packets(w, m.end.err); err != nil {
		return err
	}
	if m.Outside() || slices.ContainsFunc(m.steps, func(s workload.Step) bool { return s.Background }) {
		// They lack those of the servers, whose CPU time would look hidden.
		for _, rusage := range []string{model.ProbeGuestCPU, model.ProbeWaits, model.ProbePreemptions} {
			delete(x.readings.Values, rusage)
		}
	}
	if w.Searches {
		for _, cpu := range []string{model.ProbeGuestGroupCPU, model.ProbeHostCPU, model.ProbeDom0CPU} {
			delete(x.readings.Values, cpu)
		}
	}
	if machine.Driver.Capabilities().Remote && x.readings.Values != nil {
		return x.clockAgain(ctx, machine)
	}
	return nil
}

// atRate adds the rates of a trial with requests at a constant rate to the readings. failed is why the trial failed;
// nil: it did not.
func (x *execution) atRate(w *workload.Workload, failed error) error {
	if w.AtRate == nil || failed != nil || x.readings.Values == nil {
		return nil
	}
	rates, err := w.AtRate(x.results)
	if err != nil {
		return err
	}
	x.readings.Values[model.ProbeStatedRate] = rates.Stated
	x.readings.Values[model.ProbeAchievedRate] = rates.Achieved
	x.readings.Values[model.ProbeLateShare] = rates.Late
	return nil
}

// packets adds what became of a trial's packets to the readings. failed is why the trial failed; nil: it did not.
func (x *execution) packets(w *workload.Workload, failed error) error {
	if w.Packets == nil || failed != nil || x.readings.Values == nil {
		return nil
	}
	p, err := w.Packets(x.results)
	if err != nil {
		return err
	}
	v := x.readings.Values
	v[model.ProbePacketsAsked], v[model.ProbePacketsTime] = p.Asked, p.Seconds
	v[model.ProbePacketsSent], v[model.ProbePacketsReceived] = p.Sent, p.Received
	if v[model.ProbePacketsLost] = p.Lost; p.Socket >= 0 {
		v[model.ProbePacketsSocket] = p.Socket
	}
	return nil
}

// singleLatencies returns the encoded histogram of a trial's single latencies.
func singleLatencies(w *workload.Workload, results []workload.StepResult) ([]byte, error) {
	h, err := w.Latencies(results)
	if err != nil {
		return nil, err
	}
	return h.Encode()
}

// clockAgain sets the clock probes of a remote guest from the offsets before
// and after the trial, not from the durations of the steps: over a network, the
// reports of start and end may be late, which says nothing about the guest's clock.
func (x *execution) clockAgain(ctx context.Context, m *system.Machine) error {
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	after, err := m.Agent.Clock(ctx, clockExchanges)
	if err != nil {
		return err
	}
	x.readings.Values[model.ProbeClockDiff] = (after.Offset - x.clock.Offset).Seconds()
	x.readings.Values[model.ProbeClockError] = ((x.clock.Delay + after.Delay) / 2).Seconds()
	return nil
}

// timedRange returns the first and the last timed step.
func timedRange(steps []workload.Step) (first, last int) {
	first = -1
	for i, s := range steps {
		if s.Timed {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last
}

// clockGrain is added to the error of each step's duration by the guest's
// clock: the time from when the agent reads its clock to when it tells the host.
const clockGrain = time.Millisecond

// clockShare is the share of a trial's duration that is added to that error. The
// message of the start competes for the CPU with the command that it announces;
// the message of the exit competes with nothing. On an emulated CPU this shows.
const clockShare = 0.002

// guestsWord adds the probes that rest on what the guest reports, and the other
// readings of the trial.
func (x *execution) guestsWord(w *workload.Workload, size int64, sameKernel bool) {
	v := x.readings.Values
	if v == nil {
		return
	}
	var cpu, guest time.Duration
	timed, waits, preemptions := 0, int64(0), int64(0)
	for _, s := range x.steps {
		if s.Timed {
			timed++
			waits += s.Result.Usage.VoluntarySwitches
			preemptions += s.Result.Usage.InvoluntarySwitches
			cpu += s.Result.Usage.User + s.Result.Usage.System
			guest += s.Result.GuestWall()
		}
	}
	if x.memory > 0 {
		v[model.ProbeGuestMemory] = float64(x.memory)
	}
	if x.left > 0 {
		v[model.ProbeMemoryLeft] = float64(x.left)
	}
	v[model.ProbeTimed] = x.timed.Seconds()
	v[model.ProbeGuestCPU] = cpu.Seconds()
	v[model.ProbeWaits], v[model.ProbePreemptions] = float64(waits), float64(preemptions)
	if x.barrier != 0 {
		v[model.ProbeStartSkew], v[model.ProbeBarrierSkew] = x.skew.Seconds(), x.barrier.Seconds()
	}
	if sameKernel {
		// Both ends read the same clock, so the difference is the host's error.
		v[model.ProbeHostTimeError] = (x.timed - guest).Seconds()
	} else {
		v[model.ProbeClockDiff] = (guest - x.timed).Seconds()
		// Start and end of each timed step are each known to within half a
		// round trip, plus the host's delay in waking tare.
		v[model.ProbeClockError] = float64(timed)*(x.clock.Delay+clockGrain).Seconds() + 2*v[model.ProbeLagMax] +
			clockShare*x.timed.Seconds()
	}
	if w.WrittenBytes != nil {
		v[model.ProbeWorkloadBytes] = float64(w.WrittenBytes(size))
	}
	if w.ReadBytes != nil {
		v[model.ProbeWorkloadRead] = float64(w.ReadBytes(size))
	}
}

// ownAddress is the address at which servers listen if client and server share
// a guest.
const ownAddress = "127.0.0.1"

// notStarted sets the result that a shell gives for a command that it cannot start.
func notStarted(res *agent.Result, why error) {
	res.ExitCode, res.Stderr = 127, []byte(why.Error())
}

func storeStep(s workload.Step, res *agent.Result) store.Step {
	return store.Step{Name: s.Name, Timed: s.Timed, Argv: s.Argv, Result: res}
}

func stepResult(name string, r *agent.Result) workload.StepResult {
	s := workload.StepResult{
		Name: name, Wall: r.HostWall(), ExitCode: r.ExitCode, TimedOut: r.TimedOut, Truncated: r.Truncated,
		Stdout: r.Stdout, Stderr: r.Stderr,
	}
	if r.Signal != 0 {
		s.Signal = unix.SignalName(r.Signal)
		if s.Signal == "" {
			s.Signal = fmt.Sprint("signal ", int(r.Signal))
		}
	}
	return s
}

// clean empties the data volume after a trial that left files on it.
func (r *runner) clean(ctx context.Context, m *system.Machine) error {
	res, err := m.Agent.Run(ctx, agent.Command{
		Argv: []string{wire.Self, wire.EmptyMode}, Env: system.AgentEnv, Dir: m.DataDir(), Timeout: quickTimeout,
	})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 || res.Signal != 0 {
		return fault.Guestf("the data volume cannot be emptied: %s", res.Stderr)
	}
	return nil
}
