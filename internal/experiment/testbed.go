package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/agentbin"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/instance"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/sandbox"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/all"
	"github.com/tare-bench/tare/internal/volume"
)

// Testbed is this host prepared for guests.
type Testbed struct {
	Host     *system.Host
	Image    *image.Image // nil while it is not built
	Instance *instance.Instance
	Drivers  map[string]system.Driver // by system
	// Patience is how long to wait while another tare measures on this host. Waits is called with the reason for it.
	Patience time.Duration
	Waits    func(why error)
	step     func(string)
}

// Open prepares this host, with images and data volumes in stateDir. It must be
// called inside a sandbox. If an image has to be built, step gets each
// step. The caller closes the testbed.
func Open(stateDir string, step func(string)) (*Testbed, error) {
	layout, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if err := Collect(stateDir, layout); err != nil {
		return nil, fault.Hostf("cannot remove what a killed tare left behind: %w", err)
	}
	t := &Testbed{Drivers: all.ByName(), step: step}
	if t.Instance, err = instance.New(); err != nil {
		return nil, err
	}
	if err := t.Instance.Hold(stateDir); err != nil {
		t.Instance.Close()
		return nil, err
	}
	t.Host = &system.Host{RunID: t.Instance.ID, StateDir: stateDir, Dir: sandbox.Dir(), Proc: sandbox.HostProc(),
		Cgroups: layout, Network: network.NewBridge()}
	if err := system.UseTools(ImageDir(stateDir), stateDir, t.Host.Dir); err != nil {
		t.Close()
		return nil, err
	}
	img, err := image.Open(ImageDir(stateDir))
	if err != nil {
		if errors.Is(err, image.ErrNotBuilt) {
			return t, nil
		}
		t.Close()
		return nil, err
	}
	if err := t.use(img); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Testbed) use(img *image.Image) error {
	if err := img.Unchanged(); err != nil { // a guest of an earlier run may have poisoned it
		return err
	}
	program, err := agentbin.Program()
	if err != nil {
		return err
	}
	u, err := system.NewUserland(img, program, t.Host.Dir)
	if err != nil {
		return err
	}
	t.Image, t.Host.Userland = img, u
	return nil
}

// Environment describes the host outside of the sandbox, and the block devices on which guests of a campaign keep their
// data; c may be nil.
func (t *Testbed) Environment(c *campaign.Campaign) *host.Environment {
	o := host.Options{Path: t.Host.StateDir, Proc: t.Host.Proc}
	if c != nil {
		for _, f := range c.Flavors {
			o.Devices = append(o.Devices, f.Devices...)
		}
	}
	return host.Read(o)
}

// Close releases what the testbed holds; its guests must be gone.
func (t *Testbed) Close() {
	if err := t.Host.Network.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "tare: cleaning up:", err)
	}
	os.Remove(t.Host.Volumes()) // fails if a volume is left
	domains, err := domains()
	if left := t.Instance.Things(t.Host.StateDir, t.Host.Cgroups, domains...); err != nil || len(left) > 0 {
		t.Instance.Abandon()
		return
	}
	t.Instance.Close()
}

// Check asks the drivers of these systems whether they are usable, all at once.
// Some must boot a guest to find out, so it asks only those that matter. It asks each
// of them once, however often systems names it: the guests of two checks would have the
// same control group, which the first to end removes together with the other's guest.
func (t *Testbed) Check(ctx context.Context, systems []string) map[string]system.Status {
	var wg sync.WaitGroup
	var mu sync.Mutex
	status := map[string]system.Status{}
	asked := map[string]bool{}
	for _, name := range systems {
		d := t.Drivers[name]
		if d == nil || asked[name] { // the reader of the campaign reports an unknown system
			continue
		}
		asked[name] = true
		wg.Add(1)
		go func() {
			defer wg.Done()
			st := d.Check(ctx, t.Host)
			mu.Lock()
			defer mu.Unlock()
			status[name] = st
		}()
	}
	wg.Wait()
	return status
}

// checkFor asks the systems of a campaign's arms that run in this boot of the
// host. The answers of the others would mean nothing here.
func (t *Testbed) checkFor(ctx context.Context, c *campaign.Campaign, boot string) map[string]system.Status {
	if c == nil { // it could not be read
		return nil
	}
	var systems []string
	for _, a := range c.InBoot(boot) {
		systems = append(systems, a.System)
	}
	status := t.Check(ctx, systems)
	t.checkChosen(ctx, c, boot, status)
	if !slices.ContainsFunc(c.Workloads, restores) {
		return status
	}
	for name, st := range status {
		if saves, ok := t.Drivers[name].(system.SaveChecker); ok && st.Usable {
			if save := saves.CheckSave(ctx); !save.Usable {
				status[name] = save
			}
		}
	}
	return status
}

// checkChosen adds the versions of the programs that flavors choose to the status of their systems.
func (t *Testbed) checkChosen(ctx context.Context, c *campaign.Campaign, boot string, status map[string]system.Status) {
	checked := map[[2]string]bool{} // some boot a guest to find out
	for _, a := range c.InBoot(boot) {
		f, ok := c.Flavor(a.Flavor)
		st, asked := status[a.System]
		choice := [2]string{a.System, f.Programs}
		if !ok || !asked || f.Programs == "" || checked[choice] {
			continue
		}
		checked[choice] = true
		h := *t.Host
		h.Programs = f.Programs
		chosen := t.Drivers[a.System].Check(ctx, &h)
		versions := maps.Clone(st.Versions)
		if versions == nil {
			versions = map[string]string{}
		}
		for program, version := range chosen.Versions {
			versions[program+", programs: "+f.Programs] = version
		}
		st.Versions = versions
		status[a.System] = st
	}
}

// restores reports whether guests of this workload are saved and restored.
func restores(cw campaign.Workload) bool {
	w, _, err := workloadOf(cw)
	return err == nil && w.Restores
}

// Systems returns the names of all systems, in no order.
func (t *Testbed) Systems() []string { return slices.Collect(maps.Keys(t.Drivers)) }

// Lacks says which networks of a campaign this host cannot create, which file systems and backings of data volumes it
// cannot make, and which devices cannot have one, each with the reason; c may be nil.
func (t *Testbed) Lacks(c *campaign.Campaign) map[string]string {
	why := map[string]string{}
	if c == nil {
		return why
	}
	lacks := func(what string, err error) {
		if err != nil {
			why[what] = fault.OneLine(err)
		}
	}
	volumes := slices.ContainsFunc(c.Arms, func(a campaign.Arm) bool {
		d := t.Drivers[a.System]
		return d != nil && !d.Capabilities().Bare()
	})
	for _, f := range c.Flavors {
		lacks(f.Network, network.Check(f.Network))
		if volumes {
			lacks(f.DiskFS, volume.CheckFS(f.DiskFS))
			lacks(f.Backing, volume.CheckBacking(f.Backing))
		}
		for _, d := range f.Devices {
			lacks(d, volume.CheckDevice(d, t.Host.Destroy))
		}
	}
	return why
}
