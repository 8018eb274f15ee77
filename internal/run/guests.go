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
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// station is the place of one guest.
type station struct {
	plan.Member
	arm     plan.Arm        // the first that it takes part in
	number  int             // in the run, from 0
	machine *system.Machine // nil: it has to be made
	id      int64           // of the guest in the store
	epoch   int
	failed  int             // starts in a row that failed by the guest's fault
	gaveUp  string          // why no more are tried
	weighed map[string]bool // workloads whose need of memory is known, of whatever incarnation
	dirty   bool            // a trial failed half way and left its files
	worked  bool            // a trial is done
}

// name is what people call the guest.
func (st *station) name() string {
	name := st.Of
	if st.Seat.Flavor != st.arm.Flavor.Name {
		name += " (" + st.Seat.Flavor + ")"
	}
	switch {
	case st.Neighbour && st.Host:
		name += ", the host's end for a neighbour"
	case st.Neighbour:
		name += ", neighbour"
	case st.Host:
		name += ", the host's end"
	case st.Partner:
		name += ", the other end"
	}
	if st.Slot > 0 {
		name += fmt.Sprintf(", guest %d", st.Slot+1)
	}
	return name
}

// stationsOf makes the place of every guest of a plan.
func stationsOf(p *plan.Plan) (bySeat map[plan.Seat]*station, inOrder []*station) {
	bySeat = map[plan.Seat]*station{}
	for _, a := range p.Arms {
		for _, m := range a.Crew {
			if bySeat[m.Seat] == nil {
				st := &station{Member: m, arm: a, number: len(inOrder), weighed: map[string]bool{}}
				bySeat[m.Seat] = st
				inOrder = append(inOrder, st)
			}
		}
	}
	return bySeat, inOrder
}

// Flavor is what guests of a campaign's flavor get; where that leaves the CPU
// set open, the host's last CPUs.
func Flavor(f campaign.Flavor) (system.Flavor, error) { return flavorOf(f, 0) }

// flavorOf is the flavor of one of many guests. Where the campaign leaves the
// CPUs open, each has CPUs of its own for as long as there are some: from the
// last ones down, and where slots are below 0 from the first ones up.
func flavorOf(f campaign.Flavor, slot int) (system.Flavor, error) {
	cpus := f.CPUSet.String()
	if len(f.CPUSet) == 0 {
		var err error
		if cpus, err = cgroup.SpreadCPUs(f.VCPUs, slot); err != nil {
			return system.Flavor{}, fault.Campaignf("flavor %s: %w", f.Name, err)
		}
	}
	return system.Flavor{
		VCPUs: f.VCPUs, MemoryBytes: int64(f.Memory), CPUCap: f.CPUCap.Fraction(), CPUs: cpus,
		DiskBytes: int64(f.Disk), DiskFS: f.FS, Network: f.Network,
		Backing: f.Backing, Devices: f.Devices,
	}, nil
}

// flavor is what the guest at this place gets. A neighbour is put onto the
// CPUs of the first guest, which it is there to disturb; the end of a pair that
// is unlike the arm's guests away from these.
func (st *station) flavor() (system.Flavor, error) {
	slot := st.Slot
	switch {
	case st.Partner:
		slot = -1 - slot
	case st.Neighbour:
		slot = 0
	}
	f, err := flavorOf(st.Flavor, slot)
	if st.Host {
		return f, err
	}
	f.Target, f.Options = st.arm.Target, map[string]string{}
	for _, o := range st.arm.Options {
		f.Options[o.Name] = o.Value
	}
	return f, err
}

// system is what makes the guest at this place.
func (st *station) system() string {
	if st.Host {
		return campaign.NativeSystem
	}
	return st.arm.System
}

// maxStarts is how often a guest that does not start is tried in a row.
const maxStarts = 2

// prepare makes sure that there are all guests of some groups, each of the
// incarnation that epoch gives, and that every workload has its size.
func (r *runner) prepare(ctx context.Context, groups []plan.Group, epoch func(*station) int) error {
	needed := map[plan.Seat]bool{}
	for _, g := range groups {
		for _, arm := range g.Arms {
			for _, m := range r.Plan.Arms[r.arms[arm]].Crew {
				needed[m.Seat] = true
			}
		}
	}
	var due []*station
	for _, st := range r.inOrder {
		if st.machine != nil && st.epoch != epoch(st) {
			due = append(due, st)
		}
	}
	if err := r.weighLast(ctx, due); err != nil {
		return err
	}
	for _, st := range r.inOrder {
		if now := epoch(st); st.epoch != now {
			if err := st.drop(); err != nil {
				return err
			}
			st.epoch, st.failed, st.gaveUp = now, 0, ""
		}
		if r.Campaign.FillsMemory() || !needed[st.Seat] {
			continue // each trial makes its own, or none needs it yet
		}
		if err := r.ensure(ctx, st); err != nil && fault.KindOf(err) != fault.Guest {
			return err
		}
	}
	return r.calibrate(ctx)
}

// ensure makes the station's guest if it has none. A guest that does not start
// is an error of the kind fault.Guest, and after maxStarts it is not tried
// again in this epoch.
func (r *runner) ensure(ctx context.Context, st *station) error {
	if st.machine != nil {
		return nil
	}
	if st.gaveUp != "" {
		return fault.Guestf("%s", st.gaveUp)
	}
	r.Progress(Event{Kind: Phase, Text: "starting " + st.name()})
	driver := r.Drivers[st.system()]
	if driver == nil {
		return fault.Campaignf("arm %s: there is no system %q", st.Of, st.system())
	}
	flavor, err := st.flavor()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d-%d-%d", st.number, st.epoch, st.failed)
	available, _ := host.AvailableMemory() // 0: weigh says why
	begin := time.Now()
	m, err := system.Launch(ctx, driver, r.Host, name, flavor)
	if err != nil {
		if fault.KindOf(err) == fault.Guest && ctx.Err() == nil {
			st.failed++
			r.note("no-start", err.Error())
			if st.failed >= maxStarts {
				st.gaveUp = fmt.Sprintf("%s does not start: %v", st.name(), err)
			}
		}
		return err
	}
	st.failed = 0
	seat := store.Seat{Flavor: StoredFlavor(st.Seat.Flavor, flavor), Slot: st.Slot, Neighbour: st.Neighbour}
	if st.system() != st.arm.System {
		seat.Flavor.System = st.system()
	}
	if st.id, err = r.Store.AddGuest(r.session, r.arms[st.arm.Name], st.epoch, seat, m.StartTime, m.Hello, m.Guest.CommandLine()); err == nil {
		err = m.Freeze(ctx)
	}
	if err != nil {
		return errors.Join(err, m.Close())
	}
	st.machine, st.worked = m, false
	err = r.weigh(st, available)
	r.started(st, time.Since(begin))
	return err
}

// started notes how long it took to create a guest.
func (r *runner) started(st *station, d time.Duration) {
	guests := 0
	for _, other := range r.inOrder {
		if other.Of == st.Of {
			guests++
		}
	}
	r.state.Start[st.Of] = time.Duration(guests) * d
	if r.Plan.Emulated[st.system()] {
		r.state.Emulated += d
	}
}

// StoredFlavor is a flavor of this name as a run file has it.
func StoredFlavor(name string, f system.Flavor) store.Flavor {
	return store.Flavor{
		Name: name, VCPUs: f.VCPUs, MemoryBytes: f.MemoryBytes, CPUCap: f.CPUCap, CPUs: f.CPUs,
		DiskBytes: f.DiskBytes, DiskFS: f.DiskFS, Backing: f.Backing, Network: f.Network,
	}
}

// drop ends the guest, if there is one.
func (st *station) drop() error {
	if st.machine == nil {
		return nil
	}
	m := st.machine
	st.machine, st.dirty = nil, false
	if err := m.Close(); err != nil {
		return fmt.Errorf("ending the guest of %s: %w", st.name(), err)
	}
	return nil
}

func (r *runner) closeGuests() error {
	var errs []error
	for _, st := range r.inOrder {
		errs = append(errs, st.drop())
	}
	return errors.Join(errs...)
}

// calibration is one try of a size.
type calibration struct {
	Size    int64   `json:"size"`
	Seconds float64 `json:"seconds"`
}

const (
	calibrationTries  = 8
	calibrationGrowth = 16   // a short try says little about a long one
	calibrationEnough = 0.79 // a step less in the series of sizes is as near
)

// calibrate finds, on the baseline, the size at which a trial lasts as long as
// the campaign asks for. Every arm then does that same amount of work.
func (r *runner) calibrate(ctx context.Context) error {
	for _, cw := range r.Campaign.Workloads {
		w := r.Workloads[cw.Series()]
		if r.sizes[w.Name] != 0 {
			continue
		}
		size, tries := cw.Size, []calibration(nil)
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

// calibrator is the place of the baseline's first guest.
func (r *runner) calibrator() *station {
	for _, a := range r.Plan.Arms {
		if a.Of == r.Campaign.Baseline {
			return r.stations[a.Crew[0].Seat]
		}
	}
	panic("a plan without its baseline") // campaign.Parse makes none
}

func (r *runner) findSize(ctx context.Context, w *workload.Workload) (int64, []calibration, error) {
	st := r.calibrator()
	if err := r.ensure(ctx, st); err != nil {
		return 0, nil, err
	}
	largest := w.MaxSize
	if w.DiskBytes != nil { // the volume keeps a tenth for the file system itself
		for largest > w.MinSize && w.DiskBytes(largest) > int64(st.Flavor.Disk)*9/10 {
			largest = max(w.MinSize, largest*9/10)
		}
	}
	want := r.Campaign.TrialTime
	var tries []calibration
	size := w.MinSize
	for range calibrationTries {
		m := &member{Member: st.Member, st: st}
		relax := attend([]*member{m})
		err := r.execute(ctx, []*member{m}, w, size, counted)
		relax()
		if err = errors.Join(err, m.broken, m.x.err); err != nil {
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
			break // the nearest already
		}
		size = next
	}
	return size, tries, nil
}

// preferred rounds a size to the nearest of a series with five steps to the
// power of ten (ISO 3), so that two calibrations on one machine mostly choose
// the same: figures of unlike sizes compare only by the unit of work.
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
