package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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
	"github.com/tare-bench/tare/internal/system/crun"
	"github.com/tare-bench/tare/internal/system/engine"
	"github.com/tare-bench/tare/internal/system/gvisor"
	"github.com/tare-bench/tare/internal/system/libvirt"
	"github.com/tare-bench/tare/internal/system/lxc"
	"github.com/tare-bench/tare/internal/system/native"
	"github.com/tare-bench/tare/internal/system/nspawn"
	"github.com/tare-bench/tare/internal/system/qemu"
	"github.com/tare-bench/tare/internal/system/runc"
	"github.com/tare-bench/tare/internal/system/ssh"
	"github.com/tare-bench/tare/internal/system/uml"
	"github.com/tare-bench/tare/internal/system/vmware"
	"github.com/tare-bench/tare/internal/system/xen"
	"github.com/tare-bench/tare/internal/volume"
	"github.com/tare-bench/tare/internal/workload"
)

// drivers are the systems that this version of tare knows, in display order.
func drivers() []system.Driver {
	return []system.Driver{native.Driver{}, native.Dom0(), xen.PV(), xen.PVH(), xen.HVM(), lxc.Driver{}, runc.Driver{}, crun.Driver{}, engine.Docker(), engine.Podman(), nspawn.Driver{}, gvisor.Systrap(), gvisor.Ptrace(), qemu.KVM(), qemu.TCG(), libvirt.LXC(), libvirt.KVM(), libvirt.QEMU(), libvirt.Existing{}, uml.Driver{}, ssh.Driver{}, vmware.VSphere{}, vmware.Workstation{}}
}

func driversByName() map[string]system.Driver {
	all := map[string]system.Driver{}
	for _, d := range drivers() {
		all[d.Name()] = d
	}
	return all
}

// testbed is this host prepared for guests. The caller closes it.
type testbed struct {
	host     *system.Host
	image    *image.Image // nil while it is not built
	instance *instance.Instance
	drivers  map[string]system.Driver
}

// newTestbed must be called inside a sandbox.
func newTestbed(o *options) (*testbed, error) {
	layout, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	if err := layout.Check(); err != nil {
		return nil, err
	}
	if err := collect(o.stateDir, layout); err != nil {
		return nil, fault.Hostf("cannot remove what a killed tare left behind: %w", err)
	}
	t := &testbed{drivers: driversByName()}
	if t.instance, err = instance.New(); err != nil {
		return nil, err
	}
	t.host = &system.Host{RunID: t.instance.ID, StateDir: o.stateDir, Dir: sandbox.Dir(), Proc: sandbox.HostProc(), Cgroups: layout, Network: network.NewBridge(t.instance.ID)}
	img, err := image.Open(imageDir(o))
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

func (t *testbed) use(img *image.Image) error {
	program, err := agentbin.Program()
	if err != nil {
		return err
	}
	u, err := system.NewUserland(img, program, t.host.Dir)
	if err != nil {
		return err
	}
	t.image, t.host.Userland = img, u
	return nil
}

// environment describes the host outside of the sandbox.
func (t *testbed) environment() *host.Environment {
	return host.Read(host.Options{Path: t.host.StateDir, Proc: t.host.Proc})
}

// Close releases what the testbed holds; its guests must be gone.
func (t *testbed) Close() {
	os.Remove(filepath.Join(t.host.StateDir, "volumes", t.host.RunID)) // not there when no guest was made
	if err := t.host.Network.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "tare: cleaning up:", err)
	}
	t.instance.Close()
}

// check asks the drivers of these systems whether they are usable, all at once.
// Some must boot a guest to find out, so it asks only those that matter.
func (t *testbed) check(ctx context.Context, systems []string) map[string]system.Status {
	var wg sync.WaitGroup
	var mu sync.Mutex
	all := map[string]system.Status{}
	for _, name := range systems {
		d := t.drivers[name]
		if d == nil {
			continue // the reader of the campaign reports it
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			st := d.Check(ctx, t.host)
			mu.Lock()
			defer mu.Unlock()
			all[name] = st
		}()
	}
	wg.Wait()
	return all
}

// checkFor asks the systems of a campaign's arms that run in this boot of the
// host. The answers of the others would mean nothing here.
func (t *testbed) checkFor(ctx context.Context, c *campaign.Campaign, boot string) map[string]system.Status {
	if c == nil { // it could not be read
		return nil
	}
	var systems []string
	for _, a := range c.InBoot(boot) {
		if !slices.Contains(systems, a.System) {
			systems = append(systems, a.System)
		}
	}
	return t.check(ctx, systems)
}

// systems are the names of all systems.
func (t *testbed) systems() []string { return slices.Collect(maps.Keys(t.drivers)) }

// lacks says which networks of a campaign this host cannot create and which of its
// devices cannot have a data volume, each with the reason; c may be nil.
func (t *testbed) lacks(c *campaign.Campaign) map[string]string {
	why := map[string]string{}
	if c == nil {
		return why
	}
	for _, f := range c.Flavors {
		if err := network.Check(t.host.RunID, f.Network); err != nil {
			why[f.Network] = strings.ReplaceAll(err.Error(), "\n  ", "; ")
		}
		for _, d := range f.Devices {
			if err := volume.CheckDevice(d, t.host.Destroy); err != nil {
				why[d] = strings.ReplaceAll(err.Error(), "\n  ", "; ")
			}
		}
	}
	return why
}

// machineMinMemory is the least memory that a guest with its own kernel boots with.
const machineMinMemory = 192 << 20

// known tells the reader of campaigns what is available here.
func (t *testbed) known(status map[string]system.Status, host campaign.Host) campaign.Known {
	k := campaign.Known{Systems: map[string]campaign.Limits{}, Workloads: knownWorkloads(), Host: host}
	for name, d := range t.drivers {
		caps := d.Capabilities()
		st, asked := status[name]
		if !asked { // the campaign does not name it, or has other errors that come first
			st.Usable = true
		}
		l := campaign.Limits{
			Usable: st.Usable, Why: st.Reason, Remedy: st.Remedy,
			Boot:   boots[caps.HostBoot],
			CPUCap: caps.CPUCap != "", Pin: !caps.Remote, ReleasesMemory: caps.MemoryInGroup || caps.Remote,
			OwnMemory: boots[caps.HostBoot] == campaign.BootXen && !caps.SameKernel,
			Target:    caps.Target, MaxVCPUs: caps.MaxVCPUs,
			Networks: without(caps.Networks, network.None), Backings: without(caps.DiskBackings, volume.Loop),
		}
		if caps.Remote { // a campaign cannot choose where the data of its machines is
			l.Backings = nil
		}
		if c, ok := d.(system.TargetChecker); ok {
			l.CheckTarget = c.CheckTarget
		}
		for _, o := range caps.Options {
			l.Options = append(l.Options, campaign.Option{Name: o.Name, Values: o.Values})
		}
		if !l.ReleasesMemory {
			l.MinMemory = machineMinMemory
		}
		k.Systems[name] = l
	}
	return k
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}

// knownWorkloads tells the reader of campaigns which workloads exist.
func knownWorkloads() map[string]campaign.Sizes {
	known := map[string]campaign.Sizes{}
	for _, w := range workload.All() {
		known[w.Name] = sizes(w)
	}
	return known
}

// sizes tells the reader of campaigns the bounds of a workload.
func sizes(w *workload.Workload) campaign.Sizes {
	s := campaign.Sizes{Unit: w.SizeUnit, Min: w.MinSize, Max: w.MaxSize, Disk: w.DiskBytes, Serves: w.Serve != nil, OwnBuild: w.OwnBuild}
	for _, p := range w.Params {
		s.Params = append(s.Params, campaign.Option{Name: p.Name, Values: p.Values, Check: p.Check})
	}
	s.With = func(cw campaign.Workload) (campaign.Sizes, error) {
		with, err := w.With(cw.Series(), cw.Settings())
		if err != nil {
			return campaign.Sizes{}, err
		}
		return campaign.Sizes{Unit: with.SizeUnit, Min: with.MinSize, Max: with.MaxSize, Disk: with.DiskBytes}, nil
	}
	return s
}

// knownAnywhere is what tare knows independently of the host: every system is usable.
func knownAnywhere() campaign.Known {
	return (&testbed{drivers: driversByName()}).known(nil, campaign.Host{})
}

// boots maps the host boots that drivers ask for to those of campaigns.
var boots = map[string]string{"xen-dom0": campaign.BootXen}

// workloadOf is the workload of a campaign's entry, and the user's build that it
// runs; nil: none.
func workloadOf(cw campaign.Workload) (*workload.Workload, *image.OwnBuild, error) {
	var w *workload.Workload
	var err error
	if cw.Custom() {
		w, err = workload.Custom(specOf(cw))
	} else if w, err = workload.Get(cw.Name); err == nil {
		w, err = w.With(cw.Series(), cw.Settings())
	}
	if err != nil || cw.Build == "" {
		return w, nil, err
	}
	own, err := image.ReadOwnBuild(cw.Build)
	if err != nil {
		return nil, nil, fmt.Errorf("workload %s: %w", cw.Series(), err)
	}
	return w.Built(own.GuestPath()), &own, nil
}

// specOf translates what a campaign defines into the terms of package workload.
func specOf(cw campaign.Workload) workload.Spec {
	own := cw.Own
	s := workload.Spec{
		Name: cw.Series(), Params: cw.Settings(), Command: own.Command, Prepare: own.Prepare, Clean: own.Clean,
		Server: own.Server, Ready: own.Ready, Packages: own.Packages, Expect: own.Expect, Refuse: own.Refuse,
		SizeUnit: own.SizeUnit, MinSize: own.MinSize, MaxSize: own.MaxSize, DiskBytes: int64(own.Disk), Timeout: own.Timeout,
	}
	for _, f := range own.Files {
		s.Files = append(s.Files, workload.SpecFile(f))
	}
	for _, m := range own.Metrics {
		s.Metrics = append(s.Metrics, workload.SpecMetric{
			Metric: workload.Metric{Name: m.Name, Unit: m.Unit, Better: workload.Better(m.Better), Clock: workload.GuestClock, About: m.About},
			Regex:  m.Regex, JSON: m.JSON, CSV: m.CSV, Which: m.Which, Scale: m.Scale,
		})
	}
	return s
}

// workloads returns those that a campaign uses, and checks that the image has
// their tools.
func (t *testbed) workloads(c *campaign.Campaign) (map[string]*workload.Workload, error) {
	all := map[string]*workload.Workload{}
	for _, cw := range c.Workloads {
		w, _, err := workloadOf(cw)
		if err != nil {
			return nil, err
		}
		if missing := t.image.MissingTools(w.Tools); len(missing) > 0 {
			return nil, fault.WithRemedy(fault.Hostf("workload %s: the userland image has no %v", w.Name, missing),
				"remove %s and build it again: tare image %s", t.image.Dir, w.Name)
		}
		all[w.Name] = w
	}
	return all, nil
}

// collect removes what dead tare processes left on this host.
func collect(stateDir string, layout cgroup.Layout) error {
	found, err := leftovers(stateDir, layout)
	if err != nil {
		return err
	}
	return instance.Remove(found)
}

// leftovers lists what dead tare processes left behind, including Xen domains,
// which no kernel removes when their creator dies.
func leftovers(stateDir string, layout cgroup.Layout) ([]instance.Leftover, error) {
	names, err := xen.Names()
	if err != nil {
		return nil, err
	}
	var domains []instance.Foreign
	for _, name := range names {
		remove := func() error { return xen.Destroy(context.Background(), name) }
		domains = append(domains, instance.Foreign{What: "Xen domain", Name: name, Remove: remove})
	}
	return instance.Leftovers(stateDir, layout, domains...), nil
}

// names returns the names of the systems in display order.
func names(status map[string]system.Status) []string {
	var ordered []string
	for _, d := range drivers() {
		if _, ok := status[d.Name()]; ok {
			ordered = append(ordered, d.Name())
		}
	}
	return ordered
}
