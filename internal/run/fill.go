package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

const (
	// fillAbreast is how many guests of a fill are created at once, and closeAbreast how many are removed.
	fillAbreast, closeAbreast = 2, 4
	// fillRuns is how often the probe runs alone, and again before it counts as too slow. The median counts.
	fillRuns = 3
	// fillReserve is the share of the level's memory_left at which a fill ends in the middle of whatever it does.
	fillReserve = 0.5
)

// errReserve ends a fill before the host runs out of memory.
var errReserve = errors.New("the host's memory ran low")

// filler is a guest of a fill beside the probe guest.
type filler struct {
	*member
	share workload.Share
	name  string // of its site
	err   error  // why it was lost, or an error of the host
	lost  bool   // and counted as that
	says  *says  // what its client says of requests; nil: it has none that is asked
}

// filling is a fill that is being made.
type filling struct {
	*runner
	*workload.Fill
	probe   *member
	step    workload.Step
	fillers []*filler
	alone   struct{ took, p99 time.Duration } // the probe, before there were others
	own     int64                             // most memory that tare held, in bytes
	lost    string                            // what was lost first
	memory  lowest
}

// fill creates guests beside the probe guest until they break the level, and removes all of them. The
// campaign's other guests are ended before, so that the host's memory is this fill's alone. An error is the
// host's or tare's.
func (r *runner) fill(ctx context.Context, members []*member, w *workload.Workload, size int64, _ purpose) (err error) {
	r.awake = false
	if err := r.closeGuests(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &filling{runner: r, Fill: w.Fill, probe: members[0], step: w.Steps(size)[0]}
	defer closeWindows(members)
	defer func() { err = errors.Join(err, f.end()) }()
	debug.FreeOSMemory()
	f.memory.swap = w.Fill.Swap
	before, err := f.memory.now()
	if err != nil {
		return fault.Hostf("available memory: %w", err)
	}
	stop := f.memory.watch(int64(fillReserve*float64(f.Level.MemoryLeft)), cancel)
	defer stop()
	err = f.make(ctx, w, size, before)
	if err != nil && errors.Is(context.Cause(ctx), errReserve) {
		err = fault.Guestf("a single guest breaks the level: %s", model.LimitMemory)
	}
	return f.probe.tolerate(err)
}

// make fills the host, which had so many bytes of memory available before.
func (f *filling) make(ctx context.Context, w *workload.Workload, size, before int64) error {
	began := agent.Monotonic()
	x := &f.probe.x
	if err := f.startProbe(ctx); err != nil {
		return err
	}
	machine := f.probe.guest.machine
	var err error
	if x.window, err = f.watch.Begin(machine); err != nil {
		return err
	}
	if err := f.runAlone(ctx, w, size); err != nil {
		return err
	}
	fits := workload.Filled{Guests: 1, Start: machine.StartTime, Slowdown: 1, P99: 1, MemoryLeft: f.memory.take()}
	broken := f.Level.Broken(fits)
	if broken != nil {
		return fault.Guestf("a single guest breaks the level: %s", strings.Join(broken, ", "))
	}
	if err := f.weighOwn(); err != nil {
		return err
	}
	last := fits
	for fits.Guests < f.Most && broken == nil {
		total := min((fits.Guests/f.Step+1)*f.Step, f.Most)
		f.Progress(Event{Kind: Phase, Text: fmt.Sprintf("filling with %s: %d guests", f.probe.Of, total)})
		last, err = f.grow(ctx, total)
		if err != nil && !errors.Is(context.Cause(ctx), errReserve) {
			return err
		}
		if err := f.weighOwn(); err != nil {
			return err
		}
		if broken = f.Level.Broken(last); broken == nil {
			fits = last
		}
		f.journal(last, broken)
	}
	if x.readings, err = x.window.End(); err != nil {
		return err
	}
	x.window = nil
	x.timed = time.Duration(agent.Monotonic() - began)
	x.metrics[workload.FillGuests] = float64(fits.Guests)
	f.readings(fits, last, broken, before)
	return storeErr(f.addGuest(f.probe.guest, machine))
}

// weighOwn notes how much memory tare holds, after it has returned what it does not need.
func (f *filling) weighOwn() error {
	debug.FreeOSMemory()
	held, err := watch.OwnMemory()
	if err != nil {
		return fault.Hostf("tare's own memory: %w", err)
	}
	f.own = max(f.own, held)
	return nil
}

// startProbe creates the probe guest.
func (f *filling) startProbe(ctx context.Context) error {
	m := &filler{member: f.probe}
	f.plan(m)
	return f.launch(ctx, m)
}

// plan names the site of a guest that will be created.
func (f *filling) plan(m *filler) {
	f.starts++
	m.name = fmt.Sprintf("%d-fill%d", f.session, f.starts)
}

// launch creates a planned guest. Several may be launched at once.
func (f *filling) launch(ctx context.Context, m *filler) error {
	driver, ask, err := f.request(m.guest)
	if err != nil {
		return err
	}
	m.guest.machine, err = system.Launch(ctx, driver, f.Host, m.name, ask)
	return err
}

// runAlone runs the probe before there are other guests: once to warm up, then fillRuns times.
func (f *filling) runAlone(ctx context.Context, w *workload.Workload, size int64) error {
	var runs []look
	for i := range 1 + fillRuns {
		run, err := f.run(ctx, fmt.Sprintf("%s-alone-%d", f.step.Name, i))
		if err != nil {
			return err
		}
		if i > 0 {
			runs = append(runs, run)
		}
	}
	f.alone.took, f.alone.p99 = middle(runs, look.took), middle(runs, look.tail)
	typical := runs[slices.IndexFunc(runs, func(l look) bool { return l.Wall == f.alone.took })].StepResult
	typical.Name = f.step.Name
	metrics, err := w.Evaluate(size, []workload.StepResult{typical})
	f.probe.x.metrics = metrics
	return err
}

// look is a run of the probe, and the requests that were measured after it.
type look struct {
	workload.StepResult
	p99    time.Duration
	served workload.Served
}

func (l look) took() time.Duration    { return l.Wall }
func (l look) tail() time.Duration    { return l.p99 }
func (l look) serving() time.Duration { return l.served.P99() }

// middle is the median of a time of an odd number of looks.
func middle(looks []look, of func(look) time.Duration) time.Duration {
	var times []time.Duration
	for _, l := range looks {
		times = append(times, of(l))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// run runs the probe once. A probe that does not do its work is the guest's fault.
func (f *filling) run(ctx context.Context, name string) (l look, err error) {
	step := f.step
	step.Name = name
	if _, err := f.runner.step(ctx, f.probe, step, 0); err != nil {
		return l, err
	}
	l.StepResult = f.probe.x.results[len(f.probe.x.results)-1]
	if _, err = workload.Ran([]workload.Step{step}, []workload.StepResult{l.StepResult}); err == nil {
		l.p99, err = f.P99(l.StepResult)
	}
	return l, err
}

// grow creates guests until there are total, and looks at the level. It stops early if memory is short or
// a guest is lost. If it returns an error, the memory is known nevertheless.
func (f *filling) grow(ctx context.Context, total int) (seen workload.Filled, err error) {
	seen.Guests = total
	f.memory.take()
	defer func() { seen.MemoryLeft = f.memory.take() }()
	var added []*filler
	for i := len(f.fillers); i < total-1; i++ {
		like := *f.probe.guest
		like.PlannedGuest.Slot, like.machine = i+1, nil
		m := &filler{member: &member{PlannedGuest: like.PlannedGuest, guest: &like, number: i + 1}, share: f.At(i)}
		m.x.room = share(f.Most, f.Campaign.OutputLimit)
		f.plan(m)
		added = append(added, m)
	}
	for few := range slices.Chunk(added, fillAbreast) {
		if f.memory.read() < f.Level.MemoryLeft {
			return seen, nil
		}
		f.fillers = append(f.fillers, few...)
		abreast(few, fillAbreast, func(m *filler) { m.err = f.add(ctx, m) })
		for _, m := range few {
			if err := f.miss(ctx, m, m.err, &seen); err != nil {
				return seen, err
			}
			if machine := m.guest.machine; machine != nil {
				seen.Start = max(seen.Start, machine.StartTime)
			}
		}
		if seen.Lost > 0 {
			return seen, nil
		}
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return seen, ctx.Err()
	}
	if err := f.look(ctx, &seen); err != nil {
		return seen, err
	}
	for _, m := range f.fillers {
		if err := f.miss(ctx, m, m.ended(), &seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// add creates a guest and starts what it runs.
func (f *filling) add(ctx context.Context, m *filler) error {
	if err := f.launch(ctx, m); err != nil {
		return err
	}
	for _, step := range m.share.Load {
		var heard func(stderr bool, data []byte)
		if f.Serving != nil && step.Name == f.Serving.Client {
			m.says = &says{lines: make(chan []byte, 1)}
			heard = m.says.heard
		}
		if err := f.begin(ctx, m.member, step, heard); err != nil {
			return err
		}
	}
	return nil
}

// ended returns an error if the guest has ended, or its load has.
func (m *filler) ended() error {
	select {
	case <-m.guest.machine.Guest.Exited():
		return fault.Guestf("the guest has ended")
	default:
	}
	for _, s := range m.x.services {
		select {
		case <-s.ended:
			said := ""
			if s.res != nil {
				said = lastBytes(slices.Concat(s.res.Stdout, s.res.Stderr))
			}
			return fault.Guestf("step %s has ended: %s", s.step.Name, said)
		default:
		}
	}
	return nil
}

// miss counts a guest as lost if err is not nil. A fill may reach limits of the host, such as its number of
// processes; before the first guests have kept the level, such an error is a failure of the host and
// returned.
func (f *filling) miss(ctx context.Context, m *filler, err error, seen *workload.Filled) error {
	switch {
	case err == nil || m.lost:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case fault.KindOf(err) == fault.Guest, fault.KindOf(err) == fault.Host && seen.Guests > f.Step:
		m.lost = true
		seen.Lost++
		f.lost = cmp.Or(f.lost, fmt.Sprintf("guest %d, %s: %v", m.number+1, m.share.Does, err))
		return nil
	}
	return err
}

// look looks at the level beside the other guests, and again if it was too slow: once may be chance.
func (f *filling) look(ctx context.Context, seen *workload.Filled) error {
	var looks []look
	for i := range fillRuns {
		l, err := f.run(ctx, fmt.Sprintf("%s-%d-%d", f.step.Name, seen.Guests, i))
		if err != nil {
			return f.miss(ctx, &filler{member: f.probe, share: workload.Share{Does: "the probe"}}, err, seen)
		}
		if err := f.serve(ctx, &l.served, seen); err != nil || seen.Lost > 0 {
			return err
		}
		seen.Served += l.served.Requests()
		looks = append(looks, l)
		if i > 0 && i < fillRuns-1 {
			continue // an odd number has a middle
		}
		seen.Slowdown = middle(looks, look.took).Seconds() / f.alone.took.Seconds()
		seen.P99 = middle(looks, look.tail).Seconds() / f.alone.p99.Seconds()
		seen.Serving = middle(looks, look.serving)
		if !f.Level.Slow(*seen) {
			return nil
		}
	}
	return nil
}

// journal notes in the run file what a step of the fill has shown.
func (f *filling) journal(seen workload.Filled, broken []string) {
	guests := fmt.Sprint(seen.Guests)
	if n := 1 + len(f.fillers); n < seen.Guests { // the step ended early
		guests = fmt.Sprintf("%d of %d", n, seen.Guests)
	}
	text := fmt.Sprintf("%s: %s guests: the longest start %.3g s", f.probe.guest.arm.Name, guests, seen.Start.Seconds())
	if seen.Slowdown > 0 { // otherwise the probe did not run, because the step ended early
		text += fmt.Sprintf(", the probe %.3g times its time alone, its p99 %.3g times", seen.Slowdown, seen.P99)
	}
	text += fmt.Sprintf(", %s of memory left", campaign.Bytes(seen.MemoryLeft>>20<<20))
	switch serving := len(f.clients()); {
	case seen.Served > 0:
		text += fmt.Sprintf("; p99 of %d requests to the guests that serve, %d of them, %.3g ms", seen.Served, serving,
			1e3*seen.Serving.Seconds())
	case f.Serving != nil && serving == 0:
		text += "; no guest serves yet, so that serving_p99 is not judged"
	}
	if broken != nil {
		text += "; broken: " + strings.Join(broken, ", ")
	}
	if f.lost != "" {
		text += "; lost: " + f.lost
	}
	// If the file cannot be written, the outcome of the trial cannot either.
	_ = f.Store.AddEvent(f.session, 0, store.EventFill, strings.ToValidUTF8(text, "?"))
}

// readings adds the probes of the fill, and removes those that describe one guest or a host at rest.
func (f *filling) readings(fits, last workload.Filled, broken []string, before int64) {
	v := f.probe.x.readings.Values
	for _, name := range []string{model.ProbeGuestGroupCPU, model.ProbeDeviceBytes, model.ProbeCapPeriods,
		model.ProbeThrottled, model.ProbeLagMax, model.ProbeForkMax} {
		delete(v, name)
	}
	v[model.ProbeTimed] = f.probe.x.timed.Seconds()
	v[model.ProbeFillStart] = last.Start.Seconds()
	if last.Slowdown > 0 {
		v[model.ProbeFillSlowdown], v[model.ProbeFillP99] = last.Slowdown, last.P99
	}
	if last.Served > 0 {
		v[model.ProbeServingP99], v[model.ProbeServed] = last.Serving.Seconds(), float64(last.Served)
	}
	v[model.ProbeFillLost] = float64(last.Lost)
	v[model.ProbeMemoryLeft] = float64(last.MemoryLeft)
	v[model.ProbeGuestShare] = float64(before-fits.MemoryLeft) / float64(fits.Guests)
	v[model.ProbeOwnMemory] = float64(f.own)
	for _, limit := range model.FillLimits {
		v[model.ProbeBroke(limit)] = 0
		if slices.Contains(broken, limit) {
			v[model.ProbeBroke(limit)] = 1
		}
	}
}

// end removes all guests of the fill.
func (f *filling) end() error {
	abreast(f.fillers, closeAbreast, func(m *filler) { m.err = m.guest.drop() })
	errs := []error{f.probe.guest.drop()}
	for _, m := range f.fillers {
		errs = append(errs, m.err)
	}
	return errors.Join(errs...)
}

// abreast calls do for all guests, for at most n at once.
func abreast(guests []*filler, n int, do func(*filler)) {
	var all sync.WaitGroup
	free := make(chan struct{}, n)
	for _, m := range guests {
		free <- struct{}{}
		all.Go(func() {
			do(m)
			<-free
		})
	}
	all.Wait()
}
