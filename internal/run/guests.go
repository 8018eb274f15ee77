package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// station is the place of an arm's guest.
type station struct {
	arm     plan.Arm
	machine *system.Machine // nil: it has to be made
	id      int64           // of the guest in the store
	epoch   int
	failed  int    // starts in a row that failed by the guest's fault
	gaveUp  string // why no more are tried
	dirty   bool   // a trial failed half way and left its files
}

// Flavor is what guests of a campaign's flavor get; where that leaves the CPU
// set open, the host's last CPUs.
func Flavor(f campaign.Flavor) (system.Flavor, error) {
	cpus := f.CPUSet.String()
	if len(f.CPUSet) == 0 {
		var err error
		if cpus, err = cgroup.LastCPUs(f.VCPUs); err != nil {
			return system.Flavor{}, fault.Campaignf("flavor %s: %w", f.Name, err)
		}
	}
	return system.Flavor{
		VCPUs: f.VCPUs, MemoryBytes: int64(f.Memory), CPUCap: f.CPUCap.Fraction(), CPUs: cpus,
		DiskBytes: int64(f.Disk), DiskFS: f.FS, Network: f.Network,
	}, nil
}

// maxStarts is how often a guest that does not start is tried in a row.
const maxStarts = 2

// prepare makes sure that every arm has its guest of this epoch, and that every
// workload has its size.
func (r *runner) prepare(ctx context.Context, epoch int) error {
	for _, arm := range r.Plan.InBoot(r.Boot) {
		st := r.guests[arm.Name]
		if st == nil {
			st = &station{arm: arm, epoch: epoch}
			r.guests[arm.Name] = st
		}
		if st.epoch != epoch {
			if err := r.dropGuest(arm.Name); err != nil {
				return err
			}
			*st = station{arm: arm, epoch: epoch}
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
	r.Progress(Event{Kind: Phase, Text: "starting " + st.arm.Name})
	driver := r.Drivers[st.arm.System]
	if driver == nil {
		return fault.Campaignf("arm %s: there is no system %q", st.arm.Name, st.arm.System)
	}
	flavor, err := Flavor(st.arm.Flavor)
	if err != nil {
		return err
	}
	flavor.Target, flavor.Options = st.arm.Target, map[string]string{}
	for _, o := range st.arm.Options {
		flavor.Options[o.Name] = o.Value
	}
	name := fmt.Sprintf("%d-%d-%d", r.arms[st.arm.Name], st.epoch, st.failed)
	m, err := system.Launch(ctx, driver, r.Host, name, flavor)
	if err != nil {
		if fault.KindOf(err) == fault.Guest && ctx.Err() == nil {
			st.failed++
			r.note("no-start", err.Error())
			if st.failed >= maxStarts {
				st.gaveUp = fmt.Sprintf("%s does not start: %v", st.arm.Name, err)
			}
		}
		return err
	}
	st.failed = 0
	if st.id, err = r.Store.AddGuest(r.session, r.arms[st.arm.Name], st.epoch, m.StartTime, m.Hello, m.Guest.CommandLine()); err == nil {
		err = m.Freeze(ctx)
	}
	if err != nil {
		return errors.Join(err, m.Close())
	}
	st.machine = m
	return nil
}

// dropGuest ends an arm's guest, if it has one.
func (r *runner) dropGuest(arm string) error {
	st := r.guests[arm]
	if st == nil || st.machine == nil {
		return nil
	}
	m := st.machine
	st.machine, st.dirty = nil, false
	if err := m.Close(); err != nil {
		return fmt.Errorf("ending the guest of %s: %w", arm, err)
	}
	return nil
}

func (r *runner) closeGuests() error {
	var errs []error
	for name := range r.guests {
		errs = append(errs, r.dropGuest(name))
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
	calibrationGrowth = 16 // a short try says little about a long one
	calibrationEnough = 0.8
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

func (r *runner) findSize(ctx context.Context, w *workload.Workload) (int64, []calibration, error) {
	st := r.guests[r.Campaign.Baseline]
	if err := r.ensure(ctx, st); err != nil {
		return 0, nil, err
	}
	largest := w.MaxSize
	if w.DiskBytes != nil { // the volume keeps a tenth for the file system itself
		for largest > w.MinSize && w.DiskBytes(largest) > int64(st.arm.Flavor.Disk)*9/10 {
			largest = max(w.MinSize, largest*9/10)
		}
	}
	want := r.Campaign.TrialTime
	var tries []calibration
	size := w.MinSize
	for range calibrationTries {
		t, err := r.execute(ctx, st, w, size)
		if err != nil {
			return 0, tries, err
		}
		if t.err != nil {
			return 0, tries, t.err
		}
		tries = append(tries, calibration{size, t.timed.Seconds()})
		if float64(t.timed) >= calibrationEnough*float64(want) || size == largest {
			break
		}
		factor := min(float64(want)/float64(max(t.timed, time.Millisecond)), calibrationGrowth)
		size = min(max(int64(float64(size)*factor), size+1), largest)
	}
	return size, tries, nil
}
