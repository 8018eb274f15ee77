package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// newcomers are the members of a trial that creates its guests: guests like the plan's, which are not there
// yet.
func (r *runner) newcomers(_ context.Context, arm string) (all []*member, err error) {
	of := r.Plan.Arms[r.arms[arm]]
	for i, p := range of.Guests {
		like := r.guests[p.GuestID]
		m := &member{PlannedGuest: p, number: i, guest: &guest{
			PlannedGuest: p, arm: like.arm, number: like.number, generation: like.generation, weighed: map[string]bool{},
		}}
		m.x.room = share(len(of.Guests), r.Campaign.OutputLimit)
		all = append(all, m)
	}
	return all, nil
}

// start creates the guests of a trial at the same time, runs the workload's program in each, and removes
// them. Unless the workload is Cold, a guest of the arm has been started since the page cache was dropped.
// The system's daemon runs already and has started a guest: the first one gives it more to do, such as to
// import an image. An error is the host's or tare's.
func (r *runner) start(ctx context.Context, members []*member, w *workload.Workload, size int64,
	_ purpose) (err error) {
	r.awake = false
	of := members[0].Of
	rest, fresh, err := r.wakeDaemon(ctx, members[0].guest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rest()) }()
	if fresh || !w.Cold && !r.warm[of] {
		uncounted := *members[0]
		own := *uncounted.guest
		uncounted.guest = &own
		if err := r.startAll(ctx, []*member{&uncounted}, w, size); err != nil {
			return err
		}
		// Also if it did not start: the counted ones will not either.
		r.warm[of] = !w.Cold
	}
	return r.startAll(ctx, members, w, size)
}

// wakeDaemon thaws the daemon that makes the guest's system, or starts it. It runs from the first trial of
// the arm to the end of the run, and is frozen whenever the arm does not start a guest. The caller calls rest.
// fresh: the daemon has not started a guest yet.
func (r *runner) wakeDaemon(ctx context.Context, g *guest) (rest func() error, fresh bool, err error) {
	driver, ok := r.Drivers[g.system()].(system.Served)
	if !ok {
		return func() error { return nil }, false, nil
	}
	kept := r.kept[g.Of]
	if fresh = kept == nil; fresh {
		// The number tells whose daemon it is, as that of a guest's site does.
		if kept, err = driver.KeepDaemon(ctx, fmt.Sprintf("%s-%d-start", r.Host.RunID, g.number)); err != nil {
			return nil, false, err
		}
		r.kept[g.Of] = kept
	}
	return kept.Rest, fresh, kept.Wake()
}

// endDaemon ends the daemon that was kept for the starts of an arm, if there is one.
func (r *runner) endDaemon(of string) error {
	kept := r.kept[of]
	if kept == nil {
		return nil
	}
	delete(r.kept, of)
	return kept.Release()
}

func (r *runner) startAll(ctx context.Context, members []*member, w *workload.Workload, size int64) (err error) {
	defer func() {
		for _, m := range members {
			err = errors.Join(err, m.guest.drop())
		}
	}()
	defer closeWindows(members)
	if err := inTurn(members, func(m *member) error { return r.prepareStart(ctx, m) }); err != nil {
		return err
	}
	begin := (*system.Machine).Start
	if w.Restores {
		defer stopKeeping(members)
		if err := together(members, func(m *member) error { return r.saveOne(ctx, m, w, size) }); err != nil {
			return err
		}
		begin = (*system.Machine).Restore
	}
	if w.Cold && r.Host.Userland != nil { // in memory there is nothing to read
		if err := r.dropHostCaches("everything before a cold start"); err != nil {
			return err
		}
	}
	if w.Restores && !w.Cold {
		if err := inTurn(members, func(m *member) error { return m.x.kept.warm() }); err != nil {
			return err
		}
	}
	before, err := probe.ReadPageCache(r.filesRead(members))
	if err != nil {
		return err
	}
	began := agent.Monotonic()
	if err := inTurn(members, func(m *member) (err error) {
		m.x.window, err = r.watch.Begin(m.guest.machine)
		return err
	}); err != nil {
		return err
	}
	step := timedStep(w, size)
	if err := together(members, func(m *member) error {
		if err := begin(m.guest.machine, ctx); err != nil {
			return err
		}
		return r.firstProgram(ctx, m, step)
	}); err != nil {
		return err
	}
	if err := inTurn(members, func(m *member) (err error) {
		m.x.readings, err = m.x.window.End()
		m.x.window = nil
		if v := m.x.readings.Values; v != nil {
			v[model.ProbeTimed] = time.Duration(agent.Monotonic() - began).Seconds()
		}
		return err
	}); err != nil {
		return err
	}
	if w.Restores {
		if err := together(members, func(m *member) error { return m.recall(ctx) }); err != nil {
			return err
		}
	}
	if err := inTurn(members, func(m *member) error { return r.evaluateStart(ctx, m, w, size, before) }); err != nil {
		return err
	}
	return together(members, endStart)
}

// prepareStart makes everything for a guest that is there before the request.
func (r *runner) prepareStart(ctx context.Context, m *member) error {
	g := m.guest
	if err := r.takeTurn(g); err != nil {
		return err
	}
	driver, ask, err := r.request(g)
	if err != nil {
		return err
	}
	r.starts++
	g.machine, err = system.Prepare(ctx, driver, r.Host, fmt.Sprintf("%d-start%d", r.session, r.starts), ask)
	return err
}

// timedStep is the step whose program ends a start.
func timedStep(w *workload.Workload, size int64) workload.Step {
	steps := w.Steps(size)
	_, last := timedRange(steps)
	return steps[last]
}

// filesRead are files that every start of these guests reads: of the image, or those that one of them was saved in.
func (r *runner) filesRead(members []*member) []string {
	u, machine := r.Host.Userland, members[0].guest.machine
	if kept := members[0].x.kept; kept != nil {
		return kept.saved.Files
	}
	if u == nil || machine == nil {
		return nil
	}
	if d, ok := machine.Driver.(system.Booter); ok {
		if files, err := d.BootFiles(machine.Site); err == nil { // otherwise the start says why there are none
			return files
		}
	}
	if !machine.Driver.Capabilities().HostMount {
		return []string{u.Kernel, u.Initramfs, u.BareInitramfs}
	}
	return programFiles(u)
}

// programFiles are the files of the userland that the program of a start is loaded from.
func programFiles(u *system.Userland) []string {
	files := []string{filepath.Join(u.Tree, "usr/bin/true")}
	for _, pattern := range []string{"ld-linux*.so*", "libc.so.6"} {
		found, _ := filepath.Glob(filepath.Join(u.Tree, "usr/lib/*-linux-gnu", pattern)) // the pattern is well formed
		files = append(files, found...)
	}
	return files
}

// firstProgram runs the program that ends a start, and reads the guest's clock.
func (r *runner) firstProgram(ctx context.Context, m *member, step workload.Step) error {
	x, machine := &m.x, m.guest.machine
	cmd := commandOf(step, machine)
	cmd.Timeout, cmd.OutputLimit = r.Campaign.Timeout, leastOutput
	res, err := machine.Agent.Run(ctx, cmd)
	if res == nil {
		return err
	}
	if err != nil { // the program could not be started
		notStarted(res, err)
	}
	x.steps = append(x.steps, storeStep(step, res))
	quick, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	x.clock, err = machine.Agent.Clock(quick, clockExchanges)
	return err
}

// evaluateStart turns what was noted of a start into values, and journals the guest.
func (r *runner) evaluateStart(ctx context.Context, m *member, w *workload.Workload, size int64,
	before probe.PageCache) error {
	x, machine := &m.x, m.guest.machine
	marks, failure := m.startMarks(timedStep(w, size).Name)
	x.metrics = map[string]float64{}
	if err := m.evaluate(w, size, failure); err != nil {
		return err
	}
	switch peak, err := machine.PeakMemory(); {
	case x.kept != nil: // it includes the guest before it was saved
		x.kept.add(x.metrics)
	case err == nil && peak > 0:
		x.metrics[workload.StartMemory] = float64(peak)
	case err != nil && !errors.Is(err, cgroup.ErrUnknown):
		return err
	}
	v := x.readings.Values
	if failure == nil {
		for phase, d := range marks.phases() {
			v[phase] = d.Seconds()
		}
		if !machine.SharesClock() {
			v[model.ProbeStartError] = (x.clock.Delay / 2).Seconds()
		}
	}
	withoutOwn(v, machine)
	before.Add(v)
	if err := machine.Settle(ctx); err != nil {
		return err
	}
	return storeErr(r.addGuest(m.guest, machine))
}

// withoutOwn takes from the CPU time of the guest's control group what tare's own process used there before
// it executed the runtime or VMM.
func withoutOwn(values map[string]float64, m *system.Machine) {
	p, marked := m.Guest.(system.Marked)
	_, elsewhere := m.Guest.(system.Meter)
	if cpu, ok := values[model.ProbeGuestGroupCPU]; ok && marked && !elsewhere {
		_, _, own := p.Executed()
		values[model.ProbeGuestGroupCPU] = max(0, cpu-own.Seconds())
	}
}

// startMarks are the marks of a guest's last start, whose program was this step. Their whole becomes the time of the
// step.
func (m *member) startMarks(step string) (startOf, error) {
	x := &m.x
	i := slices.IndexFunc(x.steps, func(s store.Step) bool { return s.Name == step })
	program := x.steps[i].Result
	marks, err := startMarks(m.guest.machine, program, x.clock)
	result := stepResult(step, program)
	if err == nil {
		x.timed = marks.whole()
		result.Wall = x.timed
	}
	x.results = append(x.results, result)
	return marks, err
}

// endStart ends the guest, and notes how long that took.
func endStart(m *member) error {
	machine, begin := m.guest.machine, time.Now()
	if err := m.guest.drop(); err != nil {
		return err
	}
	if m.end.err == nil {
		m.x.metrics[workload.StopTime] = machine.StopTime.Seconds()
		m.x.metrics[workload.RemoveTime] = time.Since(begin).Seconds()
	}
	return nil
}

// mark is an instant of a start on the host's CLOCK_MONOTONIC in ns, and the phase that ends with it.
type mark struct {
	phase string
	at    int64
}

// startOf is a start by its marks, in their order. The first is the request and ends no phase. Between the
// marks of the phase ProbeStartOwn the start stands still.
type startOf []mark

// whole is the time from the request to the last mark, without what was tare's own.
func (s startOf) whole() time.Duration {
	return time.Duration(s[len(s)-1].at-s[0].at) - s.phases()[model.ProbeStartOwn]
}

// phases are the times between the marks.
func (s startOf) phases() map[string]time.Duration {
	all := map[string]time.Duration{}
	for i, m := range s[1:] {
		all[m.phase] = time.Duration(m.at - s[i].at)
	}
	return all
}

// clockStep is by how much marks of two clocks may be in the wrong order besides the error of the guest's
// clock: a kernel sets its own clock while it boots.
const clockStep = 2 * time.Millisecond

// startMarks relates what host and guest noted of a start. An error says that the guest's clock
// contradicts the host's: no phase of it can be believed, nor the whole.
func startMarks(m *system.Machine, res *agent.Result, clock agent.Clock) (startOf, error) {
	slack := clock.Delay/2 + clockStep
	own, boots := !m.SharesClock(), !m.Restored
	if !own { // the same clock
		clock.Offset, slack = 0, 0
	}
	s := startOf{{"", m.Requested}}
	if p, ok := m.Guest.(system.Marked); ok {
		if forked, executed, _ := p.Executed(); executed > 0 {
			s = append(s, mark{model.ProbePhaseSetup, forked}, mark{model.ProbeStartOwn, executed})
		}
	}
	if own && boots {
		s = append(s, mark{model.ProbePhaseRuntime, clock.HostTime(0)})
	}
	if m.Hello.Began > 0 && boots {
		phase := model.ProbePhaseRuntime
		if own {
			phase = model.ProbePhaseKernel
		}
		s = append(s, mark{phase, clock.HostTime(m.Hello.Began)}, mark{model.ProbePhaseInit, clock.HostTime(m.Hello.Ready)})
	}
	s = append(s, mark{model.ProbePhaseAgent, m.Answered}, mark{model.ProbePhaseProgram, clock.HostTime(res.GuestExec)})
	if res.GuestExec <= 0 {
		return nil, fault.Guestf("its agent does not say when the program was executed")
	}
	for i := range s[1:] {
		before, at := s[i], &s[i+1]
		if late := time.Duration(before.at - at.at); late > slack {
			return nil, fault.Guestf("the guest's clock contradicts the host's: %s has a duration of −%v", at.phase, late)
		} else if late > 0 {
			at.at = before.at
		}
	}
	return s, nil
}
