// Package campaign reads campaign files: the YAML that says what to compare. It is
// strict, and it reports everything that is wrong with a file at once, with line and
// column. It does not know how anything runs; the caller tells it which systems and
// workloads exist, and what the host has.
package campaign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
)

// NativeSystem is the name of the system without any virtualization.
const NativeSystem = "native"

// Auto is the value of RecreateEvery if the plan decides it.
const Auto = -1

// Campaign is one campaign file with its defaults filled in.
type Campaign struct {
	Name  string
	About string
	// Seed determines the random order of the trials: the file's, or one chosen at
	// random.
	Seed      uint64
	Flavors   []model.Flavor // in the order of the file; the first is the default
	Arms      []Arm          // in the order of the file, including those that are left out
	Baseline  string         // the name of an arm that is not left out
	Workloads []Workload
	Image     Image
	Scenarios []Scenario
	Uplink    Uplink // zero: no network leads out of the run
	// Attacks are the limits (model.Attacks) that a guest of each arm attacks before the trials.
	Attacks []string
	// Boots are the ways in which the host is booted in turn; none: it is not
	// rebooted. A round is RecreateEvery blocks in each boot.
	Boots []Boot

	TrialTime time.Duration // how long a trial of the baseline should last
	Blocks    Blocks
	Precision Percent       // requested half-width of the interval; 0: none
	Budget    time.Duration // of the whole run; 0: none
	Delta     Percent       // equivalence bound: less than this counts as no overhead
	// RecreateEvery is how many passes through the workloads the guests live; 0:
	// the whole run; Auto: the plan decides.
	RecreateEvery int
	EmulatedShare Percent       // of the run's time: the most that emulated arms may take
	Duets         Percent       // of the run's time, for arms that run at once; 0: none do
	Timeout       time.Duration // of one step of a trial
	AllowUnequal  bool          // arms may differ in their resources
	Polite        Polite
	OutputLimit   Bytes // of what one step may write to stdout and stderr

	// Warnings are doubts that are not errors. They are not part of the canonical
	// form.
	Warnings []strict.Problem
}

// Arm is one side of the comparison: a system and a flavor.
type Arm struct {
	Name     string
	System   string
	Flavor   string // name of one of the campaign's flavors
	IfUsable bool   // left out instead of refused if the system is not usable
	// Unless are other arms: this one is left out if one of them is not.
	Unless []string
	Skip   string // why the arm is left out; "" if it is not
	// Target says which machine of the system it is, if tare does not create it:
	// "ssh://root@host". The system defines its form.
	Target  string
	Options []model.Setting // of its system
	Boot    string          // of the host, in a campaign that has boots
}

// Workload is one workload that every arm runs. In a file, a parameter may have
// several values; Parse makes as many workloads of that.
type Workload struct {
	Name string
	Size int64 // in the workload's own unit; 0: calibrated to TrialTime
	// Sized: the size is one of a list, and part of the workload's name in results.
	Sized  bool
	Params []model.Setting
	// Build is the absolute path of a directory or file on this host that goes into
	// the image and is not in a package; "": none.
	Build string
	Own   Custom // if the file itself defines the workload

	sizes  sizes   // as the file has them, and
	sweeps []sweep // parameters; none after Parse
}

// Series is the name of the workload in results, which may contain it with several
// values of a parameter, or in several sizes: "sysbench-cpu[threads=4]", "dd-write[size=1000]".
func (w Workload) Series() string {
	params := w.Params
	if w.Sized {
		params = append(slices.Clone(params), model.Setting{Name: "size", Value: strconv.FormatInt(w.Size, 10)})
	}
	return model.Series{Workload: w.Name, Params: params}.String()
}

// Settings are the workload's parameters by name.
func (w Workload) Settings() map[string]string { return model.Values(w.Params) }

// Image is what the campaign needs in the userland besides what its workloads need.
type Image struct {
	NonFree  bool     // packages of Debian's contrib and non-free may be in it
	Packages []string // more Debian packages
	// Kernel is KernelCloud or KernelGeneric: the kernel that machines boot.
	Kernel string
	// AlsoFor are workloads that the image must serve too, so that several
	// campaigns can share one.
	AlsoFor []string
	// OCI names the container image that is the userland, as in package container; "": Debian's packages make it. ID is
	// its identity, if it is known; it then counts, and not what the name stands for now.
	OCI, ID string
}

// The kernels of Debian that machines can boot.
const (
	KernelCloud   = "cloud"   // for virtual machines: small, without drivers of hardware
	KernelGeneric = "generic" // for all machines
)

// Polite limits what a run takes from whatever else its host does. Without CPUs, the run is not polite.
type Polite struct {
	CPUs     int     // of the host, the last ones, for guests and tare together
	Free     Bytes   // of memory that must stay available on the host
	Pressure Percent // of the time in which others wait for CPUs, memory or disks; the run pauses above it
}

// Asked reports whether the run is polite.
func (p Polite) Asked() bool { return p.CPUs > 0 }

// NewPolite returns the defaults for a host with that many CPUs: a quarter of them.
func NewPolite(cpus int) Polite {
	p := strict.Default(politeKeys)
	p.CPUs = max(1, cpus/4)
	return p
}

// BePolite makes the run polite. An error says which flavors take more CPUs than it may have.
func (c *Campaign) BePolite(p Polite) error {
	c.Polite = p
	if why := c.tooManyCPUs(); len(why) > 0 {
		return fault.WithRemedy(fault.Campaignf("%s", strings.Join(why, "; ")),
			"give tare more CPUs with --polite=N, or the flavors fewer")
	}
	return nil
}

// tooManyCPUs says which flavors take more CPUs than a polite run may have.
func (c *Campaign) tooManyCPUs() (why []string) {
	if !c.Polite.Asked() {
		return nil
	}
	chosen := map[int]bool{}
	for _, f := range c.Flavors {
		for _, cpu := range f.CPUs {
			chosen[cpu] = true
		}
		if f.CPUs == nil && f.VCPUs > c.Polite.CPUs {
			why = append(why, fmt.Sprintf("flavor %q has %d vcpus, but a polite run may have %d CPUs", f.Name, f.VCPUs,
				c.Polite.CPUs))
		}
	}
	if len(chosen) > c.Polite.CPUs {
		why = append(why, fmt.Sprintf("the flavors name %d CPUs, but a polite run may have %d", len(chosen), c.Polite.CPUs))
	}
	return why
}

// Blocks bounds the number of blocks. Min and Max are equal for a fixed number.
type Blocks struct {
	Min, Max int
}

// Fixed reports whether the number of blocks is known beforehand.
func (b Blocks) Fixed() bool { return b.Min == b.Max }

// Active returns the arms that are not left out.
func (c *Campaign) Active() []Arm {
	return slices.DeleteFunc(slices.Clone(c.Arms), func(a Arm) bool { return a.Skip != "" })
}

// Skipped returns the arms that are left out; their Skip says why.
func (c *Campaign) Skipped() []Arm {
	return slices.DeleteFunc(slices.Clone(c.Arms), func(a Arm) bool { return a.Skip == "" })
}

// Arm returns the arm of that name.
func (c *Campaign) Arm(name string) (Arm, bool) {
	return find(c.Arms, func(a Arm) bool { return a.Name == name })
}

// Flavor returns the flavor of that name.
func (c *Campaign) Flavor(name string) (model.Flavor, bool) {
	return find(c.Flavors, func(f model.Flavor) bool { return f.Name == name })
}

func find[T any](all []T, is func(T) bool) (found T, ok bool) {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return found, false
	}
	return all[i], true
}

// Resolved returns the canonical form of c: JSON with every default filled in, the
// seed, and the arms that are left out. It is itself a campaign file, so FromResolved
// and any reader of campaign files can read it.
func (c *Campaign) Resolved() []byte {
	return append(campaignKind.Write(*c, true), '\n')
}

// New returns a campaign with all defaults, which File can write when it has at least a
// name, arms and workloads.
func New() *Campaign {
	c := strict.Default(campaignKeys)
	return &c
}

// NewFlavor returns a flavor with all defaults.
func NewFlavor(name string) model.Flavor {
	f := strict.Default(flavorKeys)
	f.Name = name
	return f
}

// File returns c as a campaign file for people: YAML without what is a default, and
// without a seed of 0.
func (c *Campaign) File() []byte { return strict.YAML(campaignKind.Write(*c, false)) }

// FromResolved reads a canonical form, as a resumed run does. It checks nothing
// against systems, workloads or a host, and leaves out no further arms.
func FromResolved(text []byte) (*Campaign, error) {
	return Parse("resolved campaign", text, Known{})
}

// Known is what the caller knows and a campaign is checked against. With its zero
// value, only the file itself is checked.
type Known struct {
	Systems   map[string]Limits // by system name; nil: any system is accepted
	Workloads map[string]Sizes  // by workload name; nil: any workload is accepted
	Host      Host
	// NewSeed chooses the seed of a campaign that has none; nil: at random.
	NewSeed func() uint64
}

// Limits is what a system supports on this host, as far as that decides whether a campaign is
// possible. It is not the system's Capabilities: a campaign does not know how anything runs, and
// what a system can do also depends on its check, the host and the kernel's control groups.
type Limits struct {
	Usable bool
	Why    string // why it is not usable here; one line
	Remedy string // how to fix that; one line, or ""

	// Boot is the boot of the host that it needs; "": model.BootLinux.
	Boot   string
	CPUCap bool // it can enforce a CPU cap
	Pin    bool // it can pin a guest to host CPUs
	// ReleasesMemory says that an idle guest returns its memory to the host, as native
	// processes and containers do and virtual machines do not.
	ReleasesMemory bool
	// OwnMemory says that the memory of a guest is not part of this host's memory, as
	// with Xen's domains besides dom0.
	OwnMemory bool
	MinMemory Bytes // the least memory that a guest boots with; 0: no bound
	MaxVCPUs  int   // 0: no bound
	// Networks are the networks that its guests can have, besides none.
	Networks  []string
	Backings  []string // of data volumes, besides loop
	RawDevice bool     // its guests can use the device of a data volume without a file system
	Open      bool     // its guests can have no hardening
	// CheckPrograms returns why programs of this source, one of model's constants, cannot make its guests; nil: a
	// flavor cannot choose.
	CheckPrograms func(from string) error
	IOCap         IOCap
	NoSwap        string // why its guests cannot have swap; "": they can
	NetCap        string // why it cannot cap the network of its guests; "": it can

	// Target describes the target that each arm must have; "": arms have no target.
	Target      string
	CheckTarget func(target string) error // nil: any is accepted
	Options     []Option
	// CheckOptions returns why options with allowed values exclude each other; nil: none do.
	CheckOptions func(options map[string]string) error
}

// IOCap is what caps of I/O a system can enforce.
type IOCap struct {
	Backings []string // of data volumes that it can cap
	Why      string   // why there are none
}

// Sizes is what bounds the size of a workload.
type Sizes struct {
	Unit     string // what a size counts: "events", "MiB written"
	Min, Max int64  // 0: no bound
	// Disk returns the space on the data volume, in bytes, that a trial of
	// this size needs; nil: none.
	Disk func(size int64) int64
	// Raw: it uses the device of a data volume without a file system.
	Raw bool
	// Serves: the workload has a server, which can run in another guest.
	Serves bool
	// OwnBuild: no package has its program, so the campaign must give a build.
	OwnBuild bool
	// CheckParam says why the workload has no such parameter, or does not accept that value;
	// nil: any is accepted.
	CheckParam func(name, value string) error
	// With returns the bounds with the workload's parameters; nil: they are the same.
	With func(Workload) (Sizes, error)
}

// Host is what the host has.
type Host struct {
	CPUs   model.CPUList // those that are online; nil: not known
	Memory Bytes         // total; 0: not known
	// Cores are the threads of each core, and Sockets the CPUs of each socket; nil: not known.
	Cores, Sockets []model.CPUList
	// Lacks says why networks, file systems and backings cannot be made on this host, and why devices are missing or
	// hold data, and how to fix that, in a line each.
	Lacks map[string]string
}
