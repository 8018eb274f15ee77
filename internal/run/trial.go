package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

const (
	clockExchanges = 8
	// startLead is how far ahead of now the start of a trial is agreed.
	startLead = 5 * time.Millisecond
	// quickTimeout bounds what is not a trial: reading clocks, cleaning up.
	quickTimeout = time.Minute
)

// trial makes one trial and journals it. Its error is the host's fault, or
// tare's, or ctx has ended; that a guest failed is a result.
func (r *runner) trial(ctx context.Context, t plan.Trial) error {
	st := r.guests[t.Arm]
	if err := r.ensure(ctx, st); err != nil {
		if fault.KindOf(err) != fault.Guest || ctx.Err() != nil {
			return err
		}
		return r.lost(t, st, err)
	}
	w := r.Workloads[t.Workload]
	begin := time.Now()
	attempt, err := r.Store.Begin(r.attempt(t, st))
	if err != nil {
		return storeErr(err)
	}
	x, err := r.execute(ctx, st, w, r.sizes[t.Workload])
	if ctx.Err() != nil {
		return ctx.Err() // without an outcome it counts as interrupted
	}
	if err == nil && x.readings.Suspended {
		err = fault.Hostf("the host was suspended meanwhile")
	}
	o := store.Outcome{Status: store.Done, Values: map[int]float64{}}
	if x != nil {
		o.Clock, o.Steps = x.clock, x.steps
		for name, v := range x.metrics {
			if id, ok := r.metrics[w.Name][name]; ok {
				o.Values[id] = v
			}
		}
		for name, v := range x.readings.Values {
			if id, ok := r.probes[w.Name][name]; ok { // a run that an older tare began has fewer
				o.Values[id] = v
			}
		}
	}
	switch {
	case err != nil && fault.KindOf(err) != fault.Guest:
		o.Status, o.Error = store.Void, err.Error()
	case err != nil:
		o.Status, o.Error = store.Failed, err.Error()
	case x.err != nil:
		o.Status, o.Error = store.Failed, x.err.Error()
	}
	if o.Status != store.Done {
		o.Log = strings.ToValidUTF8(st.machine.Guest.Log(), "?")
	}
	if e := r.Store.Finish(attempt, o); e != nil {
		return storeErr(e)
	}
	if x != nil && x.cause != "" {
		if e := r.Store.AddEvent(r.session, attempt, x.cause, o.Error); e != nil {
			return storeErr(e)
		}
	}
	if x != nil {
		for _, n := range x.readings.Notices {
			if e := r.Store.AddEvent(r.session, attempt, n.Kind, n.Text); e != nil {
				return storeErr(e)
			}
			r.Progress(Event{Kind: Notice, Text: n.Text})
		}
	}
	switch o.Status {
	case store.Void:
		return err
	case store.Failed:
		r.fail(t, o.Error)
		if err != nil { // the guest itself is no good any more
			return r.dropGuest(t.Arm)
		}
		st.dirty = true
		return nil
	}
	r.done(t)
	r.Progress(Event{Kind: TrialDone, Trial: t, Values: x.metrics, Took: time.Since(begin)})
	return nil
}

func (r *runner) attempt(t plan.Trial, st *station) store.Attempt {
	return store.Attempt{
		Session: r.session, Guest: st.id, Block: t.Block, Position: t.Position, Workload: t.Workload,
		Arm: r.arms[t.Arm], Epoch: st.epoch, Size: r.sizes[t.Workload],
	}
}

func (r *runner) done(t plan.Trial) {
	r.finished[store.TrialID{Block: t.Block, Workload: t.Workload, Arm: t.Arm}] = true
}

func (r *runner) fail(t plan.Trial, why string) {
	r.done(t)
	r.summary.Failed++
	r.Progress(Event{Kind: TrialLost, Trial: t, Text: why})
}

// lost journals a trial that could not be made because its guest does not start.
func (r *runner) lost(t plan.Trial, st *station, why error) error {
	a := r.attempt(t, st)
	a.Guest = 0
	attempt, err := r.Store.Begin(a)
	if err == nil {
		err = r.Store.Finish(attempt, store.Outcome{Status: store.Failed, Error: why.Error()})
	}
	if err != nil {
		return storeErr(err)
	}
	r.fail(t, why.Error())
	return nil
}

// execution is what one execution of a workload gave.
type execution struct {
	steps    []store.Step
	clock    agent.Clock
	timed    time.Duration // sum of the timed steps on the host's clock
	metrics  map[string]float64
	readings probe.Readings
	err      error  // why the trial does not count: the work was not done
	cause    string // kind of the event that says so, where every command ended well
}

// execute thaws a guest, runs a workload in it and freezes it. An error of the
// kind fault.Guest means that the guest itself is broken.
func (r *runner) execute(ctx context.Context, st *station, w *workload.Workload, size int64) (*execution, error) {
	m := st.machine
	if err := m.Thaw(ctx); err != nil {
		return nil, err
	}
	x := &execution{}
	err := r.steps(ctx, st, w, size, x)
	if err == nil {
		err = m.Freeze(ctx)
	}
	return x, err
}

func (r *runner) steps(ctx context.Context, st *station, w *workload.Workload, size int64, x *execution) (err error) {
	m := st.machine
	if st.dirty {
		if err := r.clean(ctx, m); err != nil {
			return err
		}
		st.dirty = false
	}
	quick, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	if x.clock, err = m.Agent.Clock(quick, clockExchanges); err != nil {
		return err
	}
	steps := w.Trial(size, ownAddress)
	first, last := timedRange(steps)
	var window *probe.Window
	var results []workload.StepResult
	var skew time.Duration
	var services []*service
	var late error // why a server is not ready
	failed := false
	for i, s := range steps {
		if s.DropCaches {
			if err := r.dropCaches(ctx, m); err != nil {
				return err
			}
		}
		cmd := agent.Command{
			Argv: s.Argv, Env: system.AgentEnv, Dir: m.DataDir(), Timeout: r.Campaign.Timeout,
			OutputLimit: int64(r.Campaign.OutputLimit),
		}
		if s.Background {
			sv := startService(ctx, m, s, cmd)
			services = append(services, sv)
			if late, err = sv.ready(ctx, cmd); err != nil {
				return err
			}
			if late != nil {
				break
			}
			continue
		}
		var instant int64
		if i == first {
			if window, err = r.watch.Begin(m); err != nil {
				return err
			}
			instant = agent.Monotonic() + int64(max(startLead, 2*x.clock.Delay))
			cmd.StartAt = x.clock.GuestTime(instant)
		}
		res, err := m.Agent.Run(ctx, cmd)
		if res == nil {
			return err
		}
		if err != nil { // it could not be started
			notStarted(res, err)
		}
		if i == first {
			skew = time.Duration(res.HostStart - instant)
		}
		x.steps = append(x.steps, storeStep(s, res))
		results = append(results, stepResult(s.Name, res))
		if s.Timed {
			x.timed += res.HostWall()
		}
		failed = res.ExitCode != 0 || res.Signal != 0 || res.TimedOut
		if window != nil && (i == last || failed) {
			if x.readings, err = window.End(); err != nil {
				return err
			}
			window = nil
		}
		if failed {
			break
		}
	}
	more, err := x.stopAll(ctx, services)
	if err != nil {
		return err
	}
	if x.err = late; late == nil {
		x.metrics, x.err = w.Evaluate(size, append(results, more...))
	}
	if x.err != nil && fault.KindOf(x.err) != fault.Guest {
		return x.err
	}
	switch {
	case x.err == nil || failed || late != nil:
	case errors.Is(x.err, workload.ErrContradiction):
		x.cause = store.EventContradiction
	default:
		x.cause = store.EventWrongAnswer
	}
	x.guestsWord(w, size, skew, m.Driver.Capabilities().SameKernel)
	if m.Driver.Capabilities().Remote && x.readings.Values != nil {
		return x.clockAgain(ctx, m)
	}
	return nil
}

// clockAgain compares the clocks before and after a trial rather than what
// they say of its steps: over a network, the reports of start and end come as
// late as they like, and that is no fault of the guest's clock.
func (x *execution) clockAgain(ctx context.Context, m *system.Machine) error {
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	after, err := m.Agent.Clock(ctx, clockExchanges)
	if err != nil {
		return err
	}
	x.readings.Values[probe.ClockDiff] = (after.Offset - x.clock.Offset).Seconds()
	x.readings.Values[probe.ClockError] = ((x.clock.Delay + after.Delay) / 2).Seconds()
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

// clockGrain is the least that is held for the error of a guest's time: what
// the agent does between reading its clock and telling the host.
const clockGrain = time.Millisecond

// clockShare of a trial is not held against a guest's clock either: the message
// of the start competes with the command that it announces, that of the exit
// with nothing, and on an emulated CPU that shows.
const clockShare = 0.002

// guestsWord adds the probes that rest on what the guest says.
func (x *execution) guestsWord(w *workload.Workload, size int64, skew time.Duration, sameKernel bool) {
	v := x.readings.Values
	if v == nil {
		return
	}
	var cpu, guest time.Duration
	timed := 0
	for _, s := range x.steps {
		if s.Timed {
			timed++
			cpu += s.Result.Usage.User + s.Result.Usage.System
			guest += s.Result.GuestWall()
		}
	}
	v[probe.Timed] = x.timed.Seconds()
	v[probe.GuestCPU] = cpu.Seconds()
	v[probe.StartSkew] = skew.Seconds()
	if sameKernel {
		// One clock read at both ends: what differs is our own error.
		v[probe.HostTimeError] = (x.timed - guest).Seconds()
	} else {
		v[probe.ClockDiff] = (guest - x.timed).Seconds()
		// Start and end of each timed step are each known within half a round
		// trip, and as late as the host woke us.
		v[probe.ClockError] = float64(timed)*(x.clock.Delay+clockGrain).Seconds() + 2*v[probe.LagMax] + clockShare*x.timed.Seconds()
	}
	if w.WrittenBytes != nil {
		v[probe.WorkloadBytes] = float64(w.WrittenBytes(size))
	}
}

// ownAddress is where a trial's servers listen when its guest is alone.
const ownAddress = "127.0.0.1"

// notStarted makes what a shell would make of a command that cannot be started.
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

// clean empties the data volume after a trial that failed half way.
func (r *runner) clean(ctx context.Context, m *system.Machine) error {
	res, err := m.Agent.Run(ctx, agent.Command{
		Argv: []string{"find", ".", "-mindepth", "1", "-maxdepth", "1", "-not", "-name", "lost+found", "-exec", "rm", "-rf", "{}", "+"},
		Env:  system.AgentEnv, Dir: m.DataDir(), Timeout: quickTimeout,
	})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 || res.Signal != 0 {
		return fault.Guestf("the data volume cannot be emptied: %s", res.Stderr)
	}
	return nil
}

// dropCaches makes what was written be read from the device again: the caches
// of the host and, where it has a cache of its own, of the guest.
func (r *runner) dropCaches(ctx context.Context, m *system.Machine) error {
	if !m.Driver.Capabilities().HostMount {
		res, err := m.Agent.Run(ctx, agent.Command{
			Argv: []string{"sh", "-c", "sync && echo 3 >/proc/sys/vm/drop_caches"}, Env: system.AgentEnv, Timeout: quickTimeout,
		})
		if err != nil {
			return err
		}
		if res.ExitCode != 0 {
			return fault.Guestf("the guest's page cache cannot be dropped: %s", res.Stderr)
		}
	}
	unix.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil && !errors.Is(err, os.ErrPermission) {
		return fault.Hostf("dropping the host's page cache: %w", err)
	}
	return nil
}
