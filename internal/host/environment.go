// Package host says what the host is: its hardware, its kernel, and their configuration. Package
// doctor, below it, names what on the host will disturb measurements, and how to fix that; package
// watch observes what happens while tare measures.
//
// Reading never fails as a whole: a value that cannot be read is omitted and named in
// [Environment.Unreadable] with the reason, so a zero is always a measured zero.
package host

import (
	"time"

	"github.com/tare-bench/tare/internal/host/energy"
)

// EnvironmentVersion is the version of the stored form of Environment. Fields
// are only ever added; a change of meaning raises it.
const EnvironmentVersion = 1

// Environment is everything about the host that is stored with a run. Pointers are nil if the value
// is unknown. Sizes are in bytes unless the name has a unit; lists of CPUs are in the kernel's
// notation, "0-3,8".
type Environment struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	// HostID distinguishes hosts without naming them: a hash of the host name, keyed with the
	// machine's own id, so the name cannot be guessed.
	HostID  string   `json:"host_id,omitempty"`
	BootID  string   `json:"boot_id,omitempty"` // the same for all runs in one boot
	UptimeS *float64 `json:"uptime_s,omitempty"`

	CPU     CPU            `json:"cpu"`
	Virt    Virtualization `json:"virtualization"`
	Memory  Memory         `json:"memory"`
	Kernel  Kernel         `json:"kernel"`
	Clock   Clock          `json:"clock"`
	Cgroup  Cgroup         `json:"cgroup"`
	OS      OS             `json:"os"`
	Load    Load           `json:"load"`
	Power   Power          `json:"power"`
	Devices []BlockDevice  `json:"devices,omitempty"` // of the user, on which guests keep their data
	Storage *Storage       `json:"storage,omitempty"` // nil: no path was asked for, or its mount was not found
	// Housekeeping is nil if the kernel does not show it, and in environments that were stored
	// before this field existed.
	Housekeeping *Housekeeping `json:"housekeeping,omitempty"`
	// Residents are who else lives on the host; none in environments that were stored before this field existed.
	Residents []Resident `json:"residents,omitempty"`

	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

// Unreadable is a field that could not be read, and why.
type Unreadable struct {
	Field  string `json:"field"` // the JSON path in Environment: "cpu.turbo"
	Source string `json:"source,omitempty"`
	Reason string `json:"reason"`
}

// CPU describes the processors and how their clock is controlled.
type CPU struct {
	Arch      string `json:"arch"` // as Go names it: amd64
	Vendor    string `json:"vendor,omitempty"`
	Model     string `json:"model,omitempty"`
	Family    string `json:"family,omitempty"`
	ModelID   string `json:"model_id,omitempty"`
	Stepping  string `json:"stepping,omitempty"`
	Microcode string `json:"microcode,omitempty"` // all distinct values, separated by commas
	Flags     string `json:"flags,omitempty"`     // of the first CPU, as the kernel prints them
	Bugs      string `json:"bugs,omitempty"`

	Online   string   `json:"online,omitempty"`
	Offline  string   `json:"offline,omitempty"`
	Allowed  string   `json:"allowed,omitempty"` // the CPUs that tare itself may use
	Sockets  int      `json:"sockets,omitempty"` // of the CPUs that are online, like Cores and Threads
	Cores    int      `json:"cores,omitempty"`
	Threads  int      `json:"threads,omitempty"`
	Siblings []string `json:"siblings,omitempty"` // CPUs that share a core, one list a core; only cores with more than one
	Packages []string `json:"packages,omitempty"` // CPUs of each socket, in the order of the sockets' numbers
	Kinds    []string `json:"kinds,omitempty"`    // CPUs of each kind, where kinds differ: "core: 0-7", "atom: 8-15"
	Nodes    []Node   `json:"nodes,omitempty"`    // NUMA; empty: the kernel was built without it
	Caches   []Cache  `json:"caches,omitempty"`

	Isolated string `json:"isolated,omitempty"`  // isolcpus=
	NohzFull string `json:"nohz_full,omitempty"` // nohz_full=

	SMT         *bool    `json:"smt,omitempty"`         // hyper-threads are in use
	SMTControl  string   `json:"smt_control,omitempty"` // on, off, forceoff, notsupported
	Turbo       *bool    `json:"turbo,omitempty"`       // clock above nominal is allowed
	TurboSwitch string   `json:"turbo_switch,omitempty"`
	Policies    []Policy `json:"policies,omitempty"`  // frequency; CPUs with equal settings together
	MHzMin      *float64 `json:"mhz_min,omitempty"`   // slowest and fastest CPU at the time of reading
	MHzMax      *float64 `json:"mhz_max,omitempty"`   //
	Throttled   *int64   `json:"throttled,omitempty"` // thermal throttling events since boot, the most of any CPU
	IdleDriver  string   `json:"idle_driver,omitempty"`
	IdleGov     string   `json:"idle_governor,omitempty"`

	// Mitigations is /sys/devices/system/cpu/vulnerabilities as it is.
	Mitigations map[string]string `json:"mitigations,omitempty"`
}

// Policy is how the clock of some CPUs is controlled.
type Policy struct {
	CPUs     string `json:"cpus"`
	Driver   string `json:"driver,omitempty"`
	Governor string `json:"governor,omitempty"`
	EPP      string `json:"epp,omitempty"`     // energy performance preference
	MinKHz   *int64 `json:"min_khz,omitempty"` // the limits in force
	MaxKHz   *int64 `json:"max_khz,omitempty"`
	TopKHz   *int64 `json:"top_khz,omitempty"` // the CPU's own maximum
}

// Node is one NUMA node.
type Node struct {
	ID       int    `json:"id"`
	CPUs     string `json:"cpus"`
	Memory   *int64 `json:"memory,omitempty"`
	Distance string `json:"distance,omitempty"` // to every node, as the kernel prints it
}

// Cache is the caches of one kind.
type Cache struct {
	Level    int    `json:"level"`
	Type     string `json:"type"` // Data, Instruction, Unified
	Size     int64  `json:"size"` // of each
	Count    int    `json:"count"`
	SharedBy int    `json:"shared_by"` // CPUs that share each
}

// Role is the host's relation to a hypervisor.
type Role string

// The roles.
const (
	BareMetal   Role = "bare-metal"
	InGuest     Role = "guest"    // in a virtual machine: every number holds for nested virtualization
	XenDom0     Role = "xen-dom0" // under Xen, privileged, and not native either
	UnknownRole Role = "unknown"
)

// Virtualization is the host's support for virtualization, and what the host itself runs under.
type Virtualization struct {
	Extension string            `json:"extension,omitempty"` // vmx, svm; empty: the CPU shows none
	KVMDevice bool              `json:"kvm_device"`          // /dev/kvm exists, which does not prove that it works
	KVM       map[string]string `json:"kvm,omitempty"`       // module parameters that change the cost: nested, ept, …
	Role      Role              `json:"role"`
	Of        string            `json:"of,omitempty"`             // the hypervisor that tare runs under
	Emulated  bool              `json:"emulated,omitempty"`       // its timings say nothing about hardware
	CPUID     string            `json:"cpuid_vendor,omitempty"`   // CPUID leaf 0x40000000
	Container string            `json:"container,omitempty"`      // the container that tare runs in
	SysVendor string            `json:"dmi_vendor,omitempty"`     // DMI; no serial numbers
	Product   string            `json:"dmi_product,omitempty"`    //
	Board     string            `json:"dmi_board,omitempty"`      //
	BIOS      string            `json:"dmi_bios,omitempty"`       // version and date
	Hyper     map[string]string `json:"sys_hypervisor,omitempty"` // /sys/hypervisor and /proc/xen
}

// Memory describes memory, and everything that moves pages while a workload runs.
type Memory struct {
	Total         *int64            `json:"total,omitempty"`
	Available     *int64            `json:"available,omitempty"`
	SwapTotal     *int64            `json:"swap_total,omitempty"`
	SwapUsed      *int64            `json:"swap_used,omitempty"`
	HugePages     *int64            `json:"huge_pages,omitempty"`      // reserved, a count
	HugePagesFree *int64            `json:"huge_pages_free,omitempty"` // a count
	HugePageSize  *int64            `json:"huge_page_size,omitempty"`
	THP           string            `json:"thp,omitempty"`        // always, madvise, never
	THPDefrag     string            `json:"thp_defrag,omitempty"` //
	Khugepaged    map[string]string `json:"khugepaged,omitempty"` // its settings, and pages_collapsed since boot
	KSM           *int64            `json:"ksm_run,omitempty"`    // 0 stopped, 1 merging, 2 unmerging
	KSMSharing    *int64            `json:"ksm_pages_sharing,omitempty"`
	KSMScan       map[string]string `json:"ksm_scan,omitempty"` // how fast it looks for identical pages
	Swaps         []Swap            `json:"swaps,omitempty"`
	Zswap         string            `json:"zswap,omitempty"` // Y, N
	DAMON         []DAMON           `json:"damon,omitempty"`
	NUMADemotion  string            `json:"numa_demotion,omitempty"`       // true: idle pages go to slower memory
	NUMAMigrated  *int64            `json:"numa_pages_migrated,omitempty"` // by automatic balancing since boot
	VM            map[string]string `json:"vm,omitempty"`                  // sysctls vm.*
	// Threads is the CPU time in seconds since boot of the kernel threads that work on memory:
	// kdamond, khugepaged, ksmd, kcompactd. Threads of one kind are summed; a missing one does not
	// run or cannot be seen.
	Threads map[string]float64 `json:"threads,omitempty"`
}

// Swap is one swap device or file.
type Swap struct {
	Device string `json:"device"` // "file" for any swap file: its path may name a user
	Size   int64  `json:"size"`
	Used   int64  `json:"used"`
}

// DAMON is one user of the kernel's monitor of memory accesses.
type DAMON struct {
	Name    string   `json:"name"` // a module, "damon_reclaim"; or as sysfs numbers it, "kdamonds/0"
	On      bool     `json:"on"`
	Targets []string `json:"targets,omitempty"` // paddr: all of the host's memory; vaddr: chosen processes
	Actions []string `json:"actions,omitempty"` // what it does with the pages it picks: pageout, lru_prio; stat: nothing
}

// Housekeeping is the kernel's own background work, and on which CPUs it runs.
type Housekeeping struct {
	Workqueues string   `json:"workqueues,omitempty"`  // CPUs of work that is not bound to a CPU
	IRQDefault string   `json:"irq_default,omitempty"` // CPUs that an interrupt may go to when it is set up
	IRQs       []IRQ    `json:"irqs,omitempty"`        // of devices, the busiest first, at most 32
	Steering   []string `json:"steering,omitempty"`    // CPUs that received packets are passed on to (RPS): "eth0: 0-3"
	IRQBalance bool     `json:"irqbalance,omitempty"`  // the daemon runs, and undoes manual settings
}

// IRQ is a device interrupt that came at least once.
type IRQ struct {
	Number  int    `json:"irq"`
	Device  string `json:"device,omitempty"`  // as its driver names it: "nvme0q3"
	Allowed string `json:"allowed,omitempty"` // CPUs that it may go to
	CPUs    string `json:"cpus,omitempty"`    // CPUs that it goes to
	Count   int64  `json:"count"`             // since boot, on all CPUs
}

// Kernel is the running kernel.
type Kernel struct {
	Release string `json:"release,omitempty"`
	Build   string `json:"build,omitempty"` // number, flavour and date of the build
	// Cmdline is the boot parameters, without those of init (after "--").
	Cmdline      string            `json:"cmdline,omitempty"`
	ConfigSHA256 string            `json:"config_sha256,omitempty"`
	ConfigFrom   string            `json:"config_from,omitempty"`
	Config       map[string]string `json:"config,omitempty"` // the options that affect timings
	LSM          string            `json:"lsm,omitempty"`
	Tainted      *int64            `json:"tainted,omitempty"`
	Sysctl       map[string]string `json:"sysctl,omitempty"` // kernel.sched_*, watchdogs, … as they are
	SchedDebug   map[string]string `json:"sched_debug,omitempty"`
}

// Clock describes the host's clock source.
type Clock struct {
	Source    string `json:"source,omitempty"`
	Available string `json:"available,omitempty"`
	// ResolutionNS is clock_getres(CLOCK_MONOTONIC): 1 with high-resolution
	// timers, a tick without.
	ResolutionNS *int64 `json:"resolution_ns,omitempty"`
	// ReadNS is how long a reading of CLOCK_MONOTONIC takes at best, in ns.
	ReadNS *float64 `json:"read_ns,omitempty"`
}

// Layout is how cgroups are mounted.
type Layout string

// The layouts.
const (
	CgroupNone   Layout = "none"
	CgroupV1     Layout = "v1"
	CgroupHybrid Layout = "hybrid" // v1 controllers, and v2 mounted beside them
	CgroupV2     Layout = "v2"
)

// Cgroup is the layout of control groups.
type Cgroup struct {
	Layout  Layout `json:"layout,omitempty"`
	V2Mount string `json:"v2_mount,omitempty"`
	// Controllers is where each controller is: a v1 mount point, or "v2". The v2 freezer, which is
	// not a controller but part of the core, is listed as "freezer".
	Controllers map[string]string `json:"controllers,omitempty"`
	// Delegated is the root's cgroup.subtree_control: the controllers of its children.
	Delegated string `json:"delegated,omitempty"`
}

// OS is the distribution.
type OS struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
	Pretty  string `json:"pretty,omitempty"`
}

// Load is how busy the host was at the time of reading.
type Load struct {
	Avg1    *float64  `json:"avg1,omitempty"` // load averages
	Avg5    *float64  `json:"avg5,omitempty"`
	Avg15   *float64  `json:"avg15,omitempty"`
	Tasks   *int64    `json:"tasks,omitempty"`      // threads that exist
	CPU     *Pressure `json:"psi_cpu,omitempty"`    // pressure stall information;
	IO      *Pressure `json:"psi_io,omitempty"`     // nil where the kernel has none
	MemWait *Pressure `json:"psi_memory,omitempty"` //
}

// Pressure is the share of time, in percent, in which some or all tasks waited.
type Pressure struct {
	Some10 float64 `json:"some_avg10"` // over the last 10 s
	Some60 float64 `json:"some_avg60"`
	Full10 float64 `json:"full_avg10"`
	Full60 float64 `json:"full_avg60"`
}

// Power describes the power supply.
type Power struct {
	OnBattery *bool  `json:"on_battery,omitempty"` // nil: the machine has no mains adapter, so it is not a laptop
	Profile   string `json:"profile,omitempty"`    // platform profile of the firmware
	// Energy is the counters of energy that can be read; nil in environments that were stored before
	// this field existed, which do not have it in Unreadable either.
	Energy []energy.Counter `json:"energy,omitempty"`
}

// EnergyField names the energy counters in Unreadable.
const EnergyField = "power.energy"

// NoEnergy says why the energy of the host cannot be measured; "" if it can be, or if the environment
// does not say.
func (e *Environment) NoEnergy() string {
	for _, u := range e.Unreadable {
		if u.Field == EnergyField {
			return u.Reason
		}
	}
	return ""
}

// BlockDevice is a block device of the user.
type BlockDevice struct {
	Path  string   `json:"path"`
	Stack []string `json:"stack"` // as in Storage
}

// Storage is the file system and the block device of a path.
type Storage struct {
	Mount        string   `json:"mount"`
	FSType       string   `json:"fs_type"`
	Options      string   `json:"options"`       // of the mount
	SuperOptions string   `json:"super_options"` // of the file system
	Source       string   `json:"source"`
	Total        *int64   `json:"total,omitempty"`
	Free         *int64   `json:"free,omitempty"` // for the user that tare runs as
	Disk         string   `json:"disk,omitempty"` // whole device; empty: no block device
	On           []string `json:"on,omitempty"`   // devices under a stacked one (dm, md, loop)
	// Stack describes Disk and all devices below it, one each, from the top: "md0: raid1 of 2".
	Stack        []string `json:"stack,omitempty"`
	Model        string   `json:"model,omitempty"`
	Scheduler    string   `json:"scheduler,omitempty"` // the chosen one
	Rotational   *bool    `json:"rotational,omitempty"`
	WriteCache   string   `json:"write_cache,omitempty"` // write back, write through
	ReadAheadKB  *int64   `json:"read_ahead_kb,omitempty"`
	LogicalBlock *int64   `json:"logical_block,omitempty"`
	PhysBlock    *int64   `json:"physical_block,omitempty"`
}
