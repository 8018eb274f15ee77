package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// guest is a guest of the plan with the machine that is it at the moment; the machine
// is replaced when the guest is re-created.
type guest struct {
	campaign.PlannedGuest
	arm        campaign.PlannedArm // the first arm that it takes part in
	number     int                 // in the run, from 0
	machine    *system.Machine     // nil: the guest must be created
	id         int64               // of the guest in the store
	generation int
	failed     int              // starts in a row that the guest failed
	gaveUp     string           // why it is not started again
	weighed    map[string]bool  // workloads with a known memory use, from any machine
	dirty      bool             // a trial left files on the data volume that nobody needs
	keeps      map[string]int64 // files on the data volume for later trials: name to bytes
	worked     bool             // the guest has finished a trial
}

// name describes the guest in messages.
func (g *guest) name() string {
	name := g.Of
	if g.FlavorName != g.arm.Flavor.Name {
		name += " (" + g.FlavorName + ")"
	}
	switch {
	case g.Neighbour && g.Host:
		name += ", host's end for a neighbour"
	case g.Apart:
		name += ", neighbour on another CPU"
	case g.Neighbour:
		name += ", neighbour"
	case g.Host:
		name += ", host's end"
	case g.Machine != "":
		name += ", other end, " + g.Machine
	case g.Partner:
		name += ", other end"
	}
	if g.Slot > 0 {
		name += fmt.Sprintf(", guest %d", g.Slot+1)
	}
	return name
}

// guestsOf returns all guests of a plan.
func guestsOf(p *plan.Plan) (byID map[model.GuestID]*guest, inOrder []*guest) {
	byID = map[model.GuestID]*guest{}
	for _, a := range p.Arms {
		for _, m := range a.Guests {
			if byID[m.GuestID] == nil {
				g := &guest{PlannedGuest: m, arm: a, number: len(inOrder), weighed: map[string]bool{}}
				byID[m.GuestID] = g
				inOrder = append(inOrder, g)
			}
		}
	}
	return byID, inOrder
}

// WithCPUs returns the flavor of the guest in a slot. If the campaign does not set the CPUs, each
// guest gets its own while there are enough: from the host's last CPU down, or from the first one
// up if slot is below 0.
func WithCPUs(f model.Flavor, slot int) (model.Flavor, error) {
	if f.CPUs != nil {
		return f, nil
	}
	var err error
	if f.CPUs, err = cgroup.SpreadCPUs(f.VCPUs, slot, f.Among); err != nil {
		return f, fault.Campaignf("flavor %s: %w", f.Name, err)
	}
	return f, nil
}

// Placed returns the flavor of a guest with its CPUs. A neighbour gets the CPUs of the first guest, which it is
// to disturb; one that is apart, and an end of a pair that differs from the arm's guests,
// gets CPUs away from theirs.
func Placed(g campaign.PlannedGuest) (model.Flavor, error) {
	slot := g.Slot
	switch {
	case g.Partner, g.Apart:
		slot = -1 - slot
	case g.Neighbour:
		slot = 0
	}
	return WithCPUs(g.Flavor, slot)
}

// request is what the guest's driver is asked for.
func (g *guest) request() (system.Request, error) {
	if g.Machine != "" { // it keeps the size that it has
		return system.Request{Flavor: g.Flavor, Target: g.Machine, Options: model.Values(g.arm.Away.Options)}, nil
	}
	f, err := Placed(g.PlannedGuest)
	if g.Host {
		return system.Request{Flavor: f}, err
	}
	return system.Request{Flavor: f, Target: g.arm.Target, Options: model.Values(g.arm.Options)}, err
}

// system is the name of the system that creates the guest.
func (g *guest) system() string {
	switch {
	case g.Host:
		return campaign.NativeSystem
	case g.Machine != "":
		return campaign.Far
	}
	return g.arm.System
}

// request says which driver is asked to create the guest, and with which properties.
func (r *runner) request(g *guest) (system.Driver, system.Request, error) {
	driver := r.Drivers[g.system()]
	if driver == nil {
		return nil, system.Request{}, fault.Campaignf("arm %s: there is no system %q", g.Of, g.system())
	}
	ask, err := g.request()
	return driver, ask, err
}

// maxStarts is after how many failed starts in a row a guest is given up.
const maxStarts = 2

// prepare creates the missing guests of some groups, re-creates those which are
// not of the generation that generation returns, and finds the size of every workload.
func (r *runner) prepare(ctx context.Context, groups []plan.Group, generation func(*guest) int) error {
	needed := map[model.GuestID]bool{}
	for _, group := range groups {
		if r.Workloads[group.Workload].Creates {
			continue
		}
		for _, arm := range group.Arms {
			for _, m := range r.Plan.Arms[r.arms[arm]].Guests {
				needed[m.GuestID] = true
			}
		}
	}
	var due []*guest
	for _, g := range r.inOrder {
		if g.machine != nil && g.generation != generation(g) {
			due = append(due, g)
		}
	}
	if err := r.weighLast(ctx, due); err != nil {
		return err
	}
	for _, g := range r.inOrder {
		if now := generation(g); g.generation != now {
			if err := g.drop(); err != nil {
				return err
			}
			g.generation, g.failed, g.gaveUp = now, 0, ""
		}
		if r.Campaign.FillsMemory() || g.Flavor.InTurn || !needed[g.GuestID] {
			continue // each trial creates its own guests, or no trial needs this one yet
		}
		if err := r.ensure(ctx, g); err != nil && fault.KindOf(err) != fault.Guest {
			return err
		}
	}
	return r.calibrate(ctx)
}

// ensure creates the guest's machine if it has none. If the guest does not
// start, the error is of the kind fault.Guest; after maxStarts of them, ensure
// does not try again in this generation.
func (r *runner) ensure(ctx context.Context, g *guest) error {
	if g.machine != nil {
		return nil
	}
	if g.gaveUp != "" {
		return fault.Guestf("%s", g.gaveUp)
	}
	r.Progress(Event{Kind: Phase, Text: "starting " + g.name()})
	if err := r.takeTurn(g); err != nil {
		return err
	}
	driver, ask, err := r.request(g)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d-%d-%d", g.number, g.generation, g.failed)
	available, _ := watch.AvailableMemory() // on an error 0; weigh reports the error
	begin := time.Now()
	m, err := system.Launch(ctx, driver, r.Host, name, ask)
	if err != nil {
		if fault.KindOf(err) == fault.Guest && ctx.Err() == nil {
			g.failed++
			r.note("no-start", err.Error())
			if g.failed >= maxStarts {
				g.gaveUp = fmt.Sprintf("%s does not start: %v", g.name(), err)
			}
		}
		return err
	}
	g.failed = 0
	if err = r.addGuest(g, m); err == nil {
		err = m.Freeze(ctx)
	}
	if err != nil {
		return errors.Join(err, m.Close())
	}
	g.machine, g.worked = m, false
	err = r.weigh(g, available)
	r.started(g, time.Since(begin))
	return err
}

// addGuest notes in the run file which machine is the guest now.
func (r *runner) addGuest(g *guest, m *system.Machine) (err error) {
	made := store.Guest{
		Generation: g.generation, Slot: g.Slot, Neighbour: g.Neighbour, StartNS: int64(m.StartTime), Hello: m.Hello,
		CommandLine: m.Guest.CommandLine(),
		Flavor:      store.GuestFlavor{Flavor: m.Site.Flavor, Confinement: m.Confinement},
	}
	if g.system() != g.arm.System {
		made.Flavor.System = g.system()
	}
	g.id, err = r.Store.AddGuest(r.session, r.arms[g.arm.Name], made)
	return err
}

// started tells the planner how long it took to create a guest.
func (r *runner) started(g *guest, d time.Duration) {
	guests := 0
	for _, other := range r.inOrder {
		if other.Of == g.Of {
			guests++
		}
	}
	r.state.Start[g.Of] = time.Duration(guests) * d
	if r.Plan.Emulated[g.system()] {
		r.state.Emulated += d
	}
}

// takeTurn ends the guests of other arms that use the devices on which a guest is about to have its data.
func (r *runner) takeTurn(g *guest) error {
	if !g.Flavor.InTurn {
		return nil
	}
	var errs []error
	for _, other := range r.inOrder {
		if other.Of != g.Of && other.Flavor.InTurn {
			errs = append(errs, other.drop())
		}
	}
	return errors.Join(errs...)
}

// room is how many bytes of the data volume trials may fill: a tenth is left to the file system itself.
func (g *guest) room() int64 { return g.Flavor.DiskBytes * 9 / 10 }

// keep notes the files that the next trial leaves for later ones. If its own files do not fit beside those that other
// workloads have left, the volume must be emptied first.
func (g *guest) keep(w *workload.Workload, size int64) {
	var kept workload.Kept
	if w.Keeps != nil {
		kept = w.Keeps(size)
	}
	var need int64
	if w.DiskBytes != nil {
		need = w.DiskBytes(size)
	}
	for name, bytes := range g.keeps {
		if name != kept.Name {
			need += bytes
		}
	}
	g.dirty = g.dirty || len(g.keeps) > 0 && need > g.room()
	if g.dirty || g.keeps == nil {
		g.keeps = map[string]int64{}
	}
	if kept.Name != "" {
		g.keeps[kept.Name] = kept.Bytes
	}
}

// drop ends the guest, if there is one.
func (g *guest) drop() error {
	if g.machine == nil {
		return nil
	}
	m := g.machine
	g.machine, g.dirty, g.keeps = nil, false, nil
	if err := m.Close(); err != nil {
		return fmt.Errorf("ending the guest of %s: %w", g.name(), err)
	}
	return nil
}

func (r *runner) closeGuests() error {
	var errs []error
	for _, g := range r.inOrder {
		errs = append(errs, g.drop())
	}
	for of := range r.kept {
		errs = append(errs, r.endDaemon(of))
	}
	return errors.Join(errs...)
}

// calibration is one trial of a size.
type calibration struct {
	Size    int64   `json:"size"`
	Seconds float64 `json:"seconds"`
}

const (
	calibrationTries  = 8
	calibrationGrowth = 16   // most per try: a short trial predicts a long one badly
	calibrationEnough = 0.79 // of the trial time: the next size would be no nearer
)

// calibrate finds the size at which a trial on the baseline takes as long as the
// campaign asks. Every arm then does the same amount of work.
func (r *runner) calibrate(ctx context.Context) error {
	for _, cw := range r.Campaign.Workloads {
		w := r.Workloads[cw.Series()]
		if r.sizes[w.Name] != 0 {
			continue
		}
		size, tries := cw.Size, []calibration(nil)
		if w.Creates {
			size = w.MinSize
		}
		if size == 0 {
			r.Progress(Event{Kind: Phase, Text: "calibrating " + w.Name})
			var err error
			if size, tries, err = r.findSize(ctx, w); err != nil {
				return fmt.Errorf("calibrating %s on %s: %w", w.Name, r.Campaign.Baseline, err)
			}
		}
		if err := r.Store.AddSize(w.Name, size, w.SizeUnit, tries); err != nil {
			return err
		}
		r.sizes[w.Name] = size
	}
	return nil
}

// calibrator is the baseline's first guest.
func (r *runner) calibrator() *guest {
	for _, a := range r.Plan.Arms {
		for _, g := range a.Guests {
			if a.Of == r.Campaign.Baseline && !g.Outside() {
				return r.guests[g.GuestID]
			}
		}
	}
	panic("a plan without its baseline") // campaign.Parse refuses it
}

func (r *runner) findSize(ctx context.Context, w *workload.Workload) (int64, []calibration, error) {
	g := r.calibrator()
	if err := r.ensure(ctx, g); err != nil {
		return 0, nil, err
	}
	largest := w.MaxSize
	if w.DiskBytes != nil {
		for largest > w.MinSize && w.DiskBytes(largest) > g.room() {
			largest = max(w.MinSize, largest*9/10)
		}
	}
	want := r.Campaign.TrialTime
	var tries []calibration
	size := w.MinSize
	for range calibrationTries {
		m := &member{PlannedGuest: g.PlannedGuest, guest: g}
		m.Role = model.Working // also that of a pair which serves the host: here it does both
		relax := attend([]*member{m})
		err := r.execute(ctx, []*member{m}, w, size, counted)
		relax()
		if err = errors.Join(err, m.end.err); err != nil {
			return 0, tries, err
		}
		t := m.x
		tries = append(tries, calibration{size, t.timed.Seconds()})
		if float64(t.timed) >= calibrationEnough*float64(want) || size == largest {
			break
		}
		factor := min(float64(want)/float64(max(t.timed, time.Millisecond)), calibrationGrowth)
		next := min(preferred(float64(size)*factor), largest)
		if next <= size {
			break // this size is the nearest
		}
		size = next
	}
	return size, tries, nil
}

// preferred rounds a size to the nearest preferred number of the series R5, five
// steps to a power of ten (ISO 3). Two calibrations on one machine then usually
// choose the same size; results of different sizes compare only per unit of work.
func preferred(size float64) int64 {
	if size < 10 {
		return int64(max(size, 1))
	}
	power := math.Floor(math.Log10(size))
	best, off := 0.0, math.Inf(1)
	for _, step := range []float64{1, 1.6, 2.5, 4, 6.3, 10} {
		if v := step * math.Pow(10, power); math.Abs(math.Log(size/v)) < off {
			best, off = v, math.Abs(math.Log(size/v))
		}
	}
	return int64(math.Round(best))
}
