// Package system defines the contract between tare and the systems that it measures, and sets up
// what every guest gets regardless of its system: a control group with limits, a data volume, the
// common userland, and the agent.
//
// A system is a package below this one that implements Driver. Neither this package nor those
// below it know workloads or statistics.
package system

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/volume"
)

// Driver creates guests of one system.
//
// Its methods are called inside a sandbox (see package sandbox), so processes and mounts that a
// driver makes do not survive tare, even if tare is killed. A driver that makes something
// elsewhere, in a daemon or on another host, must name it so that a later run finds it.
type Driver interface {
	// Name is the system's name in campaigns: "lxc", "qemu-tcg".
	Name() string
	// Check finds out whether guests can be created here. It is called before every campaign,
	// must be quick unless only a trial start can tell, and must leave nothing behind.
	Check(ctx context.Context, h *Host) Status
	// Capabilities returns constants: they do not depend on the host.
	Capabilities() Capabilities
	// Create creates a guest on a site and returns when the agent's stream exists; the agent
	// need not answer yet. The guest runs and has no CPU cap. On error Create leaves nothing
	// behind but the site, which belongs to the caller.
	Create(ctx context.Context, s *Site) (Guest, error)
}

// Guest is one running instance of a system.
type Guest interface {
	// Conn is the byte stream to the agent, the same on every call. It breaks when the guest
	// dies.
	Conn() net.Conn
	// Freeze stops the guest so that it uses no CPU, and Thaw resumes it. They return when that
	// is done. A frozen guest is not frozen again.
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	// Exited is closed when the guest has ended, for whatever reason.
	Exited() <-chan struct{}
	// Log is the end of the output of the guest's runtime, VMM or console.
	Log() string
	// CommandLine is the command that started the runtime or VMM, for the record.
	CommandLine() []string
	// Close ends the guest, frozen or not, and returns when only the site is left of it. Later
	// calls do nothing and return nil.
	Close() error
}

// Meter is implemented by guests whose cost cannot be read from the site's control group and data
// volume. Usage is CPU time; Written is in bytes. Both return cgroup.ErrUnknown if unmeasurable.
type Meter interface {
	Usage() (cgroup.Usage, error)
	Written() (int64, error)
}

// MemoryMeter is a Meter that also knows how much of the host's memory its guest holds.
type MemoryMeter interface {
	Memory() (cgroup.Memory, error)
}

// Marked is implemented by guests whose runtime or VMM is a process that tare starts. Executed returns
// when tare began to make it, and when it executed the runtime or VMM, on the host's CLOCK_MONOTONIC in
// ns; 0: not yet. In between tare makes the process in its control groups and confines it; own is the CPU
// time that this took there.
type Marked interface {
	Executed() (forked, executed int64, own time.Duration)
}

// Served is implemented by drivers whose guests are made by a daemon.
type Served interface {
	// KeepDaemon starts the daemon unless it runs, awake, so that the creation of a guest need not. id is
	// like the ID of a site. The caller releases the result.
	KeepDaemon(ctx context.Context, id string) (Keep, error)
}

// Keep keeps a daemon running, like a guest: it is frozen while all that use it rest, and ends after the
// last Release.
type Keep interface {
	Rest() error
	Wake() error
	Release() error
}

// Status says whether a system is usable on this host.
type Status struct {
	Usable bool   `json:"usable"`
	Reason string `json:"reason,omitempty"` // why not, in one line
	Remedy string `json:"remedy,omitempty"` // the command that fixes it
	Proof  string `json:"proof,omitempty"`  // evidence that it is usable
	// Versions of the runtime or VMM, by program.
	Versions map[string]string `json:"versions,omitempty"`
}

// Unusable returns the status of a system that cannot be used for this reason.
func Unusable(reason, remedy string) Status { return Status{Reason: reason, Remedy: remedy} }

// How a driver was verified during development.
const (
	Live         = "live"               // on the real system, with the conformance suite
	Lab          = "emulated lab"       // the same, on an emulated host
	Simulator    = "vendor's simulator" // not yet on the product itself
	NeedsProduct = "needs the product"  // at most on a stand-in written from the product's documentation
)

// Capabilities describe what a system can do, as data.
type Capabilities struct {
	// VerifiedOn is one of the constants above.
	VerifiedOn string `json:"-"`
	// SameKernel: the guest's processes run on the host's kernel and read its clocks.
	SameKernel bool `json:"same_kernel"`
	// HostMount: the host mounts the data volume's file system and caches it, and the guest sees
	// the directory; otherwise the guest gets a disk.
	HostMount bool `json:"host_mount"`
	// Freeze names the mechanism, "" when guests cannot be frozen.
	Freeze string `json:"freeze"`
	// StopsClock: the guest's monotonic clock stops while it is frozen.
	StopsClock bool `json:"stops_clock"`
	// Save names the mechanism that saves a guest and restores it, "" when guests cannot be saved; NoSave is
	// then why not, or "" if nobody has implemented it. The guests are Savers, and the driver a Restorer.
	Save   string `json:"save,omitempty"`
	NoSave string `json:"-"`
	// CPUCap names what a CPU cap covers, "" when guests cannot be capped.
	CPUCap string `json:"cpu_cap"`
	// IOCap and NetCap say how the caps of the flavor's io and net are enforced.
	IOCap  Means `json:"io_cap"`
	NetCap Means `json:"net_cap"`
	// Memory names what the flavor's memory limits.
	Memory string `json:"memory"`
	// MemoryInGroup: the control group enforces the memory limit, not the VMM.
	MemoryInGroup bool `json:"-"`
	// Swap says how the flavor's swap is given to a guest: SwapVolume, GroupSwap or why not.
	Swap Means `json:"swap"`
	// OOMEndsGuest: running out of memory ends the guest, not the process that asked for more.
	OOMEndsGuest bool `json:"oom_ends_guest"`
	// RawDevice: its guests can open the device of a data volume without a file system (model.NoFS).
	RawDevice bool `json:"raw_device"`
	// DiskBackings are the backings of package volume that its guests support, and Disk says
	// how the guest accesses its volume.
	DiskBackings []string `json:"disk_backings"`
	Disk         string   `json:"disk,omitempty"`
	// Programs are those of the host, or of the tools tree, that create and run its guests; empty: it needs none. nil:
	// others, which the tree does not have.
	Programs []string `json:"programs,omitempty"`
	// Networks are the modes of package network that its guests support.
	Networks []string `json:"networks"`
	// Port is how a guest is attached to its network.
	Port      PortKind `json:"-"`
	NeedsRoot bool     `json:"needs_root"`
	// KVM: a process of its guests on the host's kernel opens /dev/kvm.
	KVM bool `json:"-"`
	// MaxVCPUs is the maximum number of virtual CPUs of a guest; 0: no limit.
	MaxVCPUs int `json:"max_vcpus,omitempty"`
	// HostBoot is the required boot mode of the host: "linux", "xen-dom0".
	HostBoot string `json:"host_boot"`
	// Emulated: the CPU is emulated in software.
	Emulated bool `json:"emulated"`
	// InMemory: the guest is part of this process, for tests. Its site has neither a control
	// group nor a data volume, and the guest is a Meter.
	InMemory bool `json:"-"`
	// Remote: the machine does not run under tare's control on this host, and may differ from
	// the flavor in size. Its site has neither a control group nor a data volume, and the guest
	// is a Meter.
	Remote bool `json:"remote,omitempty"`
	// OwnUserland: the guest runs its own programs, not the image's, so a difference from other
	// arms may be due to the programs.
	OwnUserland bool `json:"own_userland,omitempty"`
	// Confinement names what keeps root in a guest that shares the host's kernel from the host,
	// besides namespaces and limits; "" for guests with a kernel of their own.
	Confinement string `json:"confinement,omitempty"`
	// Open: guests can do without the confinement (model.HardeningNone).
	Open bool `json:"-"`
	// Target describes what an arm's target is; if "", arms must not have one, otherwise they must.
	Target  string   `json:"target,omitempty"`
	Options []Option `json:"options,omitempty"`
}

// Means says how something is done, or why it is not.
type Means struct {
	By     string `json:"by,omitempty"`
	WhyNot string `json:"why_not,omitempty"`
}

// The means by which tare itself enforces caps, and why it cannot.
var (
	// GroupIOCap needs a data volume with a device of its own.
	GroupIOCap = Means{By: "control group: requests of the guest's processes to the data volume's device"}
	BucketCap  = Means{By: "token bucket, and policer of packets, between the guest's interface and the run's bridge"}
	// SwapVolume is a volume of Site.Swap, which the guest's kernel uses as its swap.
	SwapVolume = Means{By: "a swap volume of the guest's kernel, on a loop device"}
	// GroupSwap limits how much of the guest's memory may be in the host's swap.
	GroupSwap = Means{By: "control group: memory of the guest in the host's swap"}
	RemoteCap = Means{WhyNot: "tare does not control the machines that somebody else runs"}
	NoPortCap = Means{WhyNot: "its guests have no interface on the run's bridge"}
)

// PortKind is a kind of attachment to the run's network; package network makes them.
type PortKind int

// The kinds of ports.
const (
	NamespacePort PortKind = iota // a network namespace that the guest's processes run in
	TapPort                       // a tap device that the guest's VMM opens
	EmptyPort                     // an address only: the driver attaches the guest's interface
)

// Bare reports whether a guest has neither a control group nor a data volume.
func (c Capabilities) Bare() bool { return c.InMemory || c.Remote }

// Request is what an arm asks of its driver: a guest of this size and, as the driver's Capabilities
// describe them, on that target with these options.
type Request struct {
	model.Flavor
	Target  string            `json:"target,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Userland is the one image that all guests run.
type Userland struct {
	Tree      string // root directory, used read-only
	Disk      string // the same tree as an ext4 disk image
	Kernel    string // kernel for virtual machines
	Vmlinux   string // the same, uncompressed; "" if it could not be obtained
	Initramfs string // with the agent as /init
	// BareInitramfs is the same without modules, for kernels other than Kernel.
	BareInitramfs string
	// InitramfsWith returns an Initramfs with more modules of Kernel, for devices that most machines do not have.
	// An error is of the kind fault.Campaign if Kernel has no such module.
	InitramfsWith func(modules ...string) (string, error)
	Agent         string // the agent's static program
}

// Host describes the machine that guests run on, as far as drivers need it.
type Host struct {
	RunID    string // part of the name of everything of this run that the host can see
	StateDir string // on disk
	Dir      string // private to the sandbox, in memory
	Proc     string // where the host's own /proc is
	Cgroups  cgroup.Layout
	Userland *Userland       // nil while the image is not built
	Network  *network.Bridge // of this run; nil: guests cannot have a network
	Destroy  []string        // the user's block devices whose contents may be destroyed
	Polite   bool            // guests let all others go first
	AnySwap  bool            // the host may move as much of the guests' memory to its swap as it wants
	CopyData string          // the data volume that guests get copies of; "": they get fresh ones
	Programs string          // whose programs a Check looks for, as a flavor's Programs
}

// Volumes is the directory that holds this run's data volumes.
func (h *Host) Volumes() string { return filepath.Join(h.StateDir, "volumes", h.RunID) }

// Site holds everything that a guest is created on. The caller of Create owns all of it.
type Site struct {
	ID       string // unique on this host, valid as a host or directory name
	User     uint32 // user and group without privileges, for a process that the guest could take over
	Dir      string // private directory, in memory
	Userland *Userland
	Request
	Group   *cgroup.Group  // for every process that belongs to the guest; nil in memory
	Volume  *volume.Volume // nil in memory
	Swap    *volume.Volume // nil: the flavor has no swap, or the guest uses the host's
	DataDir string         // where the volume is mounted, when the host mounts it
	Port    *network.Port  // on the run's network; nil: the flavor has none, or the driver makes it
}
