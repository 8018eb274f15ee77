package experiment

import (
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/all"
	"github.com/tare-bench/tare/internal/tools"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// machineMinMemory is the least memory that a guest with its own kernel boots with.
const machineMinMemory = 192 << 20

// Known tells the reader of campaigns what is available here.
func (t *Testbed) Known(status map[string]system.Status, here campaign.Host) campaign.Known {
	k := campaign.Known{Systems: map[string]campaign.Limits{}, Workloads: knownWorkloads(), Host: here}
	for name, d := range t.Drivers {
		caps := d.Capabilities()
		st, asked := status[name]
		if !asked { // the campaign does not name it, or has other errors that come first
			st.Usable = true
		}
		l := campaign.Limits{
			Usable: st.Usable, Why: st.Reason, Remedy: st.Remedy,
			Boot:   boots[caps.HostBoot],
			CPUCap: caps.CPUCap != "", Pin: !caps.Remote, ReleasesMemory: caps.MemoryInGroup || caps.Remote,
			OwnMemory: boots[caps.HostBoot] == model.BootXen && !caps.SameKernel,
			Target:    caps.Target, MaxVCPUs: caps.MaxVCPUs,
			Networks: without(caps.Networks, model.NetworkNone), Backings: without(caps.DiskBackings, model.BackingLoop),
			RawDevice: caps.RawDevice,
			Open:      caps.Open, IOCap: t.ioCap(caps), NetCap: caps.NetCap.WhyNot, NoSwap: t.noSwap(caps.Swap),
		}
		if caps.Remote { // a campaign cannot choose where the data of its machines is
			l.Backings = nil
		}
		if _, shared := d.(system.Served); !shared && caps.Programs != nil {
			l.CheckPrograms = t.findPrograms(caps.Programs)
		}
		if c, ok := d.(system.TargetChecker); ok {
			l.CheckTarget = c.CheckTarget
		}
		if c, ok := d.(system.OptionsChecker); ok {
			l.CheckOptions = c.CheckOptions
		}
		for _, o := range caps.Options {
			l.Options = append(l.Options, campaign.Option{Name: o.Name, Values: o.Values, UpToVCPUs: o.UpToVCPUs})
		}
		if !l.ReleasesMemory {
			l.MinMemory = machineMinMemory
		}
		k.Systems[name] = l
	}
	return k
}

// findPrograms tells the reader of campaigns whether all these programs are there; somewhere they are.
func (t *Testbed) findPrograms(names []string) func(from string) error {
	return func(from string) error {
		for _, name := range names {
			if _, err := tools.Find(name, from); err != nil && t.Host != nil {
				return err
			}
		}
		return nil
	}
}

// ioCap tells the reader of campaigns what caps of I/O a system can enforce.
func (t *Testbed) ioCap(caps system.Capabilities) campaign.IOCap {
	if caps.IOCap.By == "" {
		return campaign.IOCap{Why: caps.IOCap.WhyNot}
	}
	if caps.IOCap != system.GroupIOCap {
		return campaign.IOCap{Backings: caps.DiskBackings}
	}
	if t.Host != nil {
		if err := t.Host.Cgroups.CheckIO(); err != nil {
			return campaign.IOCap{Why: fault.OneLine(err)}
		}
	}
	// A control group caps devices: a file has none of its own.
	return campaign.IOCap{Backings: []string{model.BackingLoop, model.BackingBlock}}
}

// noSwap tells the reader of campaigns why guests cannot have swap by this means; "": they can.
func (t *Testbed) noSwap(means system.Means) string {
	if means == system.GroupSwap && t.Host != nil {
		if err := t.Host.Cgroups.CheckSwap(); err != nil {
			return fault.OneLine(err)
		}
	}
	if means == (system.Means{}) {
		return "tare gives them none"
	}
	return means.WhyNot
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}

// knownWorkloads tells the reader of campaigns which workloads exist.
func knownWorkloads() map[string]campaign.Sizes {
	known := map[string]campaign.Sizes{}
	for _, w := range builtin.All() {
		known[w.Name] = sizes(w)
	}
	return known
}

// sizes tells the reader of campaigns the bounds of a workload.
func sizes(w *workload.Workload) campaign.Sizes {
	s := campaign.Sizes{Unit: w.SizeUnit, Min: w.MinSize, Max: w.MaxSize, Disk: w.DiskBytes, Serves: w.Serve != nil,
		Raw:        w.RawDevice,
		OwnBuild:   w.OwnBuild,
		CheckParam: w.CheckParam}
	s.With = func(cw campaign.Workload) (campaign.Sizes, error) {
		with, err := w.With(cw.Series(), cw.Settings())
		if err != nil {
			return campaign.Sizes{}, err
		}
		return campaign.Sizes{Unit: with.SizeUnit, Min: with.MinSize, Max: with.MaxSize, Disk: with.DiskBytes,
			Raw: with.RawDevice}, nil
	}
	return s
}

// KnownAnywhere is what tare knows independently of the host: every system is usable.
func KnownAnywhere() campaign.Known {
	return (&Testbed{Drivers: all.ByName()}).Known(nil, campaign.Host{})
}

// boots maps the host boots that drivers ask for to those of campaigns.
var boots = map[string]string{"xen-dom0": model.BootXen}

// HostOf tells the reader of campaigns what CPUs and memory this host has.
func HostOf(env *host.Environment) campaign.Host {
	var h campaign.Host
	if cpus, err := model.ParseCPUList(env.CPU.Online); err == nil {
		h.CPUs = cpus
	}
	h.Cores, h.Sockets = coresOf(h.CPUs, env.CPU.Siblings), cpuLists(env.CPU.Packages)
	if env.Memory.Total != nil {
		h.Memory = campaign.Bytes(*env.Memory.Total)
	}
	return h
}

// coresOf returns the threads of each core: the lists of those that have several, and the other CPUs.
func coresOf(online model.CPUList, siblings []string) []model.CPUList {
	cores := cpuLists(siblings)
	for _, core := range cores {
		online = online.Without(core)
	}
	for _, cpu := range online {
		cores = append(cores, model.CPUList{cpu})
	}
	slices.SortFunc(cores, func(a, b model.CPUList) int { return a[0] - b[0] })
	return cores
}

// cpuLists reads lists of CPUs, and leaves out what is none.
func cpuLists(texts []string) []model.CPUList {
	var all []model.CPUList
	for _, text := range texts {
		if list, err := model.ParseCPUList(text); err == nil && list != nil {
			all = append(all, list)
		}
	}
	return all
}

// bootParameter is the kernel's parameter that names a boot, in campaigns with boots of the user's names.
const bootParameter = "tare.boot="

// BootOf returns the boot of campaigns in which the host is.
func BootOf(env *host.Environment) string {
	for _, word := range strings.Fields(env.Kernel.Cmdline) {
		if name, ok := strings.CutPrefix(word, bootParameter); ok && name != "" {
			return name
		}
	}
	if env.Virt.Role == host.XenDom0 {
		return model.BootXen
	}
	return model.BootLinux
}
