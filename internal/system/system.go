// Package system is the contract between tare and the systems that it
// measures, and what every guest of every system gets alike: a control group
// with its limits, a data volume, the one userland, and the agent.
//
// A system is a package below this one that implements Driver. Nothing here or
// there knows workloads or statistics.
package system

import (
	"context"
	"net"
	"path/filepath"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/network"
	"github.com/tare-bench/tare/internal/volume"
)

// Driver makes guests of one system.
//
// Its methods are called from inside a sandbox (see package sandbox), so a
// driver need not fear that a kill of tare leaves its processes or mounts
// behind; what lives elsewhere, in a daemon or on another host, it must name
// so that a later run finds it.
type Driver interface {
	// Name is how campaigns call the system: "lxc", "qemu-tcg".
	Name() string
	// Check finds out whether a guest can be made here. It is called before
	// every campaign, must be quick unless only a try can tell, and must leave
	// nothing behind.
	Check(ctx context.Context, h *Host) Status
	// Capabilities are facts, the same on every host.
	Capabilities() Capabilities
	// Create makes a guest on a site and returns when its agent's stream is
	// there; the agent need not answer yet. The guest runs and is not capped.
	// On error nothing is left behind but the site, which is the caller's.
	Create(ctx context.Context, s *Site) (Guest, error)
}

// Guest is one running instance of a system.
type Guest interface {
	// Conn is the byte stream to the agent, the same one on every call. It
	// breaks when the guest dies.
	Conn() net.Conn
	// Freeze stops the guest so that it uses no CPU, Thaw lets it go on. They
	// return when that is so. A guest is never frozen twice.
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	// Exited is closed when the guest has ended, whatever the reason.
	Exited() <-chan struct{}
	// Log is the end of what the guest's runtime, VMM or console printed.
	Log() string
	// CommandLine is how the runtime or VMM was started, for the record.
	CommandLine() []string
	// Close ends the guest, frozen or not, and returns when nothing is left of
	// it but the site. Later calls do nothing and return nil.
	Close() error
}

// Meter is implemented by guests whose cost the site's control group and data
// volume do not tell.
type Meter interface {
	Usage() (cgroup.Usage, error)
	Written() (int64, error)
}

// MemoryMeter is a Meter that can also tell what its guest holds of the host's memory.
type MemoryMeter interface {
	Memory() (cgroup.Memory, error)
}

// Status says whether a system is usable on this host.
type Status struct {
	Usable bool   `json:"usable"`
	Reason string `json:"reason,omitempty"` // why not, in one line
	Remedy string `json:"remedy,omitempty"` // the command that mends it
	Proof  string `json:"proof,omitempty"`  // how we know that it is usable
	// Versions of the runtime or VMM by program.
	Versions map[string]string `json:"versions,omitempty"`
}

// Unusable is the status of a system that cannot be used for this reason.
func Unusable(reason, remedy string) Status { return Status{Reason: reason, Remedy: remedy} }

// What a driver was verified on, before it came to this host.
const (
	Live         = "live"               // the real system, with the conformance suite
	Lab          = "emulated lab"       // the same on an emulated host
	Simulator    = "vendor's simulator" // the product itself it has not met yet
	NeedsProduct = "needs the product"  // a stand-in at most, made after the product's documentation
)

// Capabilities say what a system can do, as data.
type Capabilities struct {
	// VerifiedOn is one of the constants above.
	VerifiedOn string `json:"-"`
	// SameKernel: the guest's processes run on the host's kernel and read its clocks.
	SameKernel bool `json:"same_kernel"`
	// HostMount: the host mounts the data volume's file system and keeps its
	// cache, and the guest sees the directory; otherwise it gets a disk.
	HostMount bool `json:"host_mount"`
	// Freeze names the mechanism, "" when guests cannot be frozen.
	Freeze string `json:"freeze"`
	// StopsClock: the guest's monotonic clock stands still while it is frozen.
	StopsClock bool `json:"stops_clock"`
	// CPUCap names what a CPU cap covers, "" when guests cannot be capped.
	CPUCap string `json:"cpu_cap"`
	// Memory names what the flavor's memory limits.
	Memory string `json:"memory"`
	// MemoryInGroup: the control group enforces the memory limit, not the VMM.
	MemoryInGroup bool `json:"-"`
	// OOMEndsGuest: asking for more memory ends the guest, not the process that asked.
	OOMEndsGuest bool `json:"oom_ends_guest"`
	// DiskBackings are those of package volume that its guests can have, and
	// Disk says how the guest gets to it.
	DiskBackings []string `json:"disk_backings"`
	Disk         string   `json:"disk,omitempty"`
	// Networks are the modes of package network that its guests can have.
	Networks []string `json:"networks"`
	// Port is how a guest gets to its network.
	Port      PortKind `json:"-"`
	NeedsRoot bool     `json:"needs_root"`
	// MaxVCPUs is how many virtual CPUs a guest can have at most; 0: any number.
	MaxVCPUs int `json:"max_vcpus,omitempty"`
	// HostBoot is the boot mode that the host must be in: "linux", "xen-dom0".
	HostBoot string `json:"host_boot"`
	// Emulated: the CPU is emulated in software.
	Emulated bool `json:"emulated"`
	// InMemory: the guest is part of this process, for tests: its site has
	// neither a control group nor a data volume, and the guest is a Meter.
	InMemory bool `json:"-"`
	// Remote: somebody else runs the machine, as large as it is. Its site has
	// neither control group nor data volume, and the guest is a Meter.
	Remote bool `json:"remote,omitempty"`
	// OwnUserland: the guest runs programs of its own, not the image's, so
	// that a difference to other arms is one of the programs, too.
	OwnUserland bool `json:"own_userland,omitempty"`
	// Target says what an arm's target is; "": arms have none, else they must.
	Target  string   `json:"target,omitempty"`
	Options []Option `json:"options,omitempty"`
}

// PortKind is a kind of place on the run's network, as package network makes them.
type PortKind int

// The kinds of ports.
const (
	NamespacePort PortKind = iota // a network namespace that the guest's processes run in
	TapPort                       // a tap device that the guest's VMM opens
	EmptyPort                     // an address: the driver plugs the guest's interface in
)

// bare reports whether the site has neither control group nor data volume.
func (c Capabilities) bare() bool { return c.InMemory || c.Remote }

// Flavor is a guest's size, and what its arm asks of the driver.
type Flavor struct {
	VCPUs       int     `json:"vcpus"`
	MemoryBytes int64   `json:"memory_bytes"`
	CPUCap      float64 `json:"cpu_cap"` // CPUs' worth of time, 0: no cap
	CPUs        string  `json:"cpus"`    // host CPUs that the guest may use, as in cpuset.cpus
	DiskBytes   int64   `json:"disk_bytes"`
	DiskFS      string  `json:"disk_fs"` // ext4, ext2 or xfs
	// Backing is what the data volume is on, as package volume names it; "":
	// loop. Devices are the user's for it: each guest takes one.
	Backing string   `json:"backing,omitempty"`
	Devices []string `json:"devices,omitempty"`
	Network string   `json:"network,omitempty"` // a mode of package network; "": none
	// Target and Options are as the driver's Capabilities explain them.
	Target  string            `json:"target,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// Userland is the one image that all guests run.
type Userland struct {
	Tree      string // root directory, used read-only
	Disk      string // the same tree as an ext4 disk image
	Kernel    string // kernel for virtual machines
	Vmlinux   string // the same, uncompressed; "" where it could not be had
	Initramfs string // with the agent as /init
	Agent     string // the agent's static program
}

// Host is the machine that guests run on, as drivers need to know it.
type Host struct {
	RunID    string // names everything of this run that the host can see
	StateDir string // on disk
	Dir      string // private to the sandbox, in memory
	Proc     string // where the host's own /proc is
	Cgroups  cgroup.Layout
	Userland *Userland       // nil while the image is not built
	Network  *network.Bridge // of this run; nil: guests can have none
	Destroy  []string        // the user's block devices whose contents nobody needs
	CopyData string          // the data volume that those of guests are copies of; "": they are fresh
}

// Volumes is the directory of this run's data volumes.
func (h *Host) Volumes() string { return filepath.Join(h.StateDir, "volumes", h.RunID) }

// Site is what a guest is made on. The caller of Create owns all of it.
type Site struct {
	ID       string // unique on this host, valid as a host or directory name
	Dir      string // private directory, in memory
	Userland *Userland
	Flavor   Flavor
	Group    *cgroup.Group  // for every process that belongs to the guest; nil in memory
	Volume   *volume.Volume // nil in memory
	DataDir  string         // where the volume is mounted, when the host mounts it
	Port     *network.Port  // on the run's network; nil: the flavor has none, or the driver makes it
}
