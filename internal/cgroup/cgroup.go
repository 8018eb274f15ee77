// Package cgroup gives every guest a control group with its limits, in whatever layout the host
// has: version 1, version 2, or both (hybrid).
//
// Freezing and killing always use a version 2 hierarchy, which needs no controllers for that.
// Unlike version 1's freezer it allows frozen processes to be killed, so a frozen guest cannot
// outlive tare.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/moby/sys/mountinfo"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// Prefix begins the name of every group that tare makes, so that it never touches other groups.
const Prefix = "tare-"

// Period is the period of a CPU cap.
const Period = 100 * time.Millisecond

// weight is a guest's share of a contended CPU as a multiple of an ordinary group's share; it is
// the same for every guest. Other work on the host then makes room for a trial, as it would move to
// an idle CPU if there were one. A larger weight would starve kernel threads that are bound to a
// CPU.
const weight = 10

// leaf is the subgroup for the processes that tare starts: version 2 allows no processes in a group
// whose subgroups have controllers, and runtimes make subgroups beside leaf.
const leaf = "vmm"

// Limits are the limits of a group; zero values mean no limit.
type Limits struct {
	CPUs        string  // list of CPUs as in cpuset.cpus, "0-1,3"
	CPUCap      float64 // CPUs' worth of time: 0.25 is a quarter of one CPU
	MemoryBytes int64
	SwapBytes   int64 // of the memory, which may be in the host's swap beyond MemoryBytes; needs MemoryBytes
	AnySwap     bool  // the host decides how much of the memory is in its swap: then MemoryBytes holds for the rest only
	Processes   int64 // processes and threads
	// OwnDevices denies access to all devices but those that belong to nobody, such as /dev/null
	// and terminals. It cannot be changed later.
	OwnDevices bool
	// KVM allows /dev/kvm all the same.
	KVM bool
	// Device is a block device, as unix.Mkdev, that OwnDevices allows besides; 0: none.
	Device uint64
	// IO puts the group under the controller of I/O, for CapIO. It cannot be changed later.
	IO bool
	// noSwap is set for groups that get no swap beside their memory, where the kernel accounts for it.
	noSwap bool
	// Polite lets other groups go first: the group gets what they leave of a CPU, or little more.
	Polite bool
}

// weight is the share of a contended CPU as a multiple of an ordinary group's.
func (l Limits) weight() float64 {
	if l.Polite {
		return 0.01
	}
	return weight
}

// needed are the controllers that guests' limits and probes require.
var needed = []string{"cpu", "cpuset", "memory", "pids"}

// Layout describes how the host's control group hierarchies are mounted.
type Layout struct {
	V1   map[string]string // controller → mount point
	V2   string            // mount point of version 2, "" if there is none
	v2On []string          // controllers of version 2
}

// Mode is the layout's usual name: v1, v2 or hybrid.
func (l Layout) Mode() string {
	switch {
	case len(l.V1) == 0:
		return "v2"
	case l.V2 == "":
		return "v1"
	}
	return "hybrid"
}

// Hybrid returns the mount point of version 2 if the layout is hybrid, to hide it from runtimes
// that refuse such a layout. They do not need it: their processes stay in the version 2 group that
// they are started in.
func (l Layout) Hybrid() []string {
	if l.Mode() == "hybrid" {
		return []string{l.V2}
	}
	return nil
}

// Detect reads the layout of this mount namespace.
func Detect() (Layout, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return Layout{}, fault.Hostf("control groups: %w", err)
	}
	l := layoutOf(mounts)
	if l.V2 != "" {
		b, err := os.ReadFile(filepath.Join(l.V2, "cgroup.controllers"))
		if err != nil {
			return Layout{}, fault.Hostf("control groups: %w", err)
		}
		l.v2On = strings.Fields(string(b))
	}
	return l, nil
}

// layoutOf returns the layout without the controllers of version 2.
func layoutOf(mounts []*mountinfo.Info) Layout {
	l := Layout{V1: map[string]string{}}
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup2":
			if l.V2 == "" {
				l.V2 = m.Mountpoint
			}
		case "cgroup":
			for option := range strings.SplitSeq(m.VFSOptions, ",") {
				if _, known := l.V1[option]; !known && option != "rw" && option != "ro" {
					l.V1[option] = m.Mountpoint
				}
			}
		}
	}
	return l
}

// Missing lists the controllers that tare needs and that this host does not offer.
func (l Layout) Missing() []string {
	var missing []string
	for _, c := range needed {
		if l.V1[c] == "" && !slices.Contains(l.v2On, c) {
			missing = append(missing, c)
		}
	}
	if l.V2 == "" {
		missing = append(missing, "version 2 hierarchy")
	}
	return missing
}

// Check returns an error if guests cannot be limited on this host.
func (l Layout) Check() error {
	if m := l.Missing(); len(m) > 0 {
		return fault.WithRemedy(fault.Hostf("control groups (%s): missing %s", l.Mode(), strings.Join(m, ", ")),
			"enable them on the kernel's command line (cgroup_enable=memory) and mount them, or start tare outside of a "+
				"container that hides them")
	}
	return nil
}

// Group is the control group of one guest. It and its subgroups contain everything that belongs to
// the guest: its processes, the VMM's threads, helpers.
type Group struct {
	name   string
	layout Layout
	v1     cgroup1.Cgroup // nil on pure version 2
	v2     *cgroup2.Manager
	held   []*os.File
}

// New makes the group Prefix+name with its limits, and holds it: other tares know that it is in use while
// it has no processes. The caller calls Remove.
func (l Layout) New(name string, lim Limits) (*Group, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	return newGroup(Prefix+name, l, lim)
}

// NewFreezer makes the group Prefix+name without limits, only in the version 2 hierarchy, for
// freezing and killing its processes. The caller calls Remove.
func (l Layout) NewFreezer(name string) (*Group, error) {
	return newGroup(Prefix+name, Layout{V2: l.V2}, Limits{})
}

func newGroup(name string, l Layout, lim Limits) (*Group, error) {
	g := &Group{name: name, layout: l}
	var err error
	if g.held, err = holdAll(l.groupDirs(name, lim)); err == nil {
		if err = g.create(lim); err != nil {
			release(g.held) // the removal opens files, and their number may be what was exceeded
			g.held = nil
			g.Remove()
		}
	}
	if err != nil {
		return nil, fault.Hostf("making control group %s: %w", g.name, err)
	}
	return g, nil
}

func (g *Group) create(lim Limits) error {
	path := "/" + g.name
	lim.noSwap = !lim.AnySwap && lim.SwapBytes == 0 && g.layout.countsSwap() == nil
	if len(g.layout.V1) > 0 {
		res, shares := lim.oci(), uint64(lim.weight()*1024)
		res.CPU.Shares = &shares
		hierarchy := func() ([]cgroup1.Subsystem, error) { return g.layout.subsystems(lim), nil }
		v1, err := cgroup1.New(cgroup1.StaticPath(path), res, cgroup1.WithHierarchy(hierarchy))
		if err != nil {
			return err
		}
		g.v1 = v1
		if _, err := v1.New(leaf, &specs.LinuxResources{}); err != nil {
			return err
		}
	}
	res, share := cgroup2.ToResources(lim.oci()), uint64(lim.weight()*100)
	res.CPU.Weight = &share
	if lim.IO {
		res.IO = &cgroup2.IO{}
	}
	if len(g.layout.v2On) == 0 || g.layout.Mode() != "v2" {
		res = &cgroup2.Resources{} // version 1 enforces the limits
	}
	if g.layout.V1["devices"] == "" { // version 2 has no controller for devices, but BPF programs
		res.Devices = lim.devices()
	}
	v2, err := cgroup2.NewManager(g.layout.V2, path, res)
	if err != nil {
		return err
	}
	g.v2 = v2
	return os.MkdirAll(filepath.Join(g.layout.V2, path, leaf), 0o755)
}

// controllers are the version 1 controllers that a group uses, the last one only if it limits I/O.
func controllers(io bool) []controller {
	all := []controller{
		{"cpuset", func(r string) cgroup1.Subsystem { return cgroup1.NewCpuset(r) }},
		{"cpu", func(r string) cgroup1.Subsystem { return cgroup1.NewCpu(r) }},
		{"cpuacct", func(r string) cgroup1.Subsystem { return cgroup1.NewCpuacct(r) }},
		{"memory", func(r string) cgroup1.Subsystem { return cgroup1.NewMemory(r) }},
		{"pids", func(r string) cgroup1.Subsystem { return cgroup1.NewPids(r) }},
		{"devices", func(r string) cgroup1.Subsystem { return cgroup1.NewDevices(r) }},
	}
	if io {
		all = append(all, controller{"blkio", func(r string) cgroup1.Subsystem { return cgroup1.NewBlkio(r) }})
	}
	return all
}

type controller struct {
	name string
	make func(root string) cgroup1.Subsystem
}

// groupDirs are the directories of a group of this name and with these limits, one in each hierarchy that it uses.
func (l Layout) groupDirs(name string, lim Limits) []string {
	dirs := []string{filepath.Join(l.V2, name)}
	for _, c := range controllers(lim.IO) {
		if at := l.V1[c.name]; at != "" && !slices.Contains(dirs, filepath.Join(at, name)) {
			dirs = append(dirs, filepath.Join(at, name))
		}
	}
	return dirs
}

func (l Layout) subsystems(lim Limits) (subs []cgroup1.Subsystem) {
	for _, c := range controllers(lim.IO) {
		if at := l.V1[c.name]; at != "" {
			// cpu and cpuacct may be one mount with a symbolic link for each.
			subs = append(subs, c.make(filepath.Dir(at)))
		}
	}
	return subs
}

func (lim Limits) oci() *specs.LinuxResources {
	r := &specs.LinuxResources{CPU: &specs.LinuxCPU{Cpus: lim.CPUs}}
	if lim.CPUCap > 0 {
		period := uint64(Period.Microseconds())
		quota := int64(lim.CPUCap * float64(period))
		r.CPU.Period, r.CPU.Quota = &period, &quota
	}
	if lim.MemoryBytes > 0 {
		r.Memory = &specs.LinuxMemory{Limit: &lim.MemoryBytes}
		if lim.SwapBytes > 0 || lim.noSwap {
			r.Memory.Swap = new(lim.MemoryBytes + lim.SwapBytes) // the sum, also for version 2, which limits the swap alone
		}
	}
	if lim.Processes > 0 {
		r.Pids = &specs.LinuxPids{Limit: &lim.Processes}
	}
	r.Devices = lim.devices()
	return r
}

// devices returns the rules of OwnDevices in order. They include everything that container runtimes
// allow by default: a runtime cannot allow its containers what the group above them denies.
func (lim Limits) devices() []specs.LinuxDeviceCgroup {
	if !lim.OwnDevices {
		return nil
	}
	rule := func(allow bool, kind string, major, minor int64, access string) specs.LinuxDeviceCgroup {
		return specs.LinuxDeviceCgroup{Allow: allow, Type: kind, Major: &major, Minor: &minor, Access: access}
	}
	const any = -1
	rules := []specs.LinuxDeviceCgroup{
		rule(false, "a", any, any, "rwm"),
		rule(true, "c", any, any, "m"), // a node that nobody may open does no harm
		rule(true, "b", any, any, "m"),
		rule(true, "c", 136, any, "rwm"), // /dev/pts
	}
	allowed := [][2]int64{
		{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, // null, zero, full, random, urandom
		{5, 0}, {5, 1}, {5, 2}, // tty, console, ptmx
		{10, 200}, {10, 229}, // net/tun, fuse
	}
	if lim.KVM {
		allowed = append(allowed, [2]int64{10, 232})
	}
	for _, d := range allowed {
		rules = append(rules, rule(true, "c", d[0], d[1], "rwm"))
	}
	if lim.Device != 0 {
		rules = append(rules, rule(true, "b", int64(unix.Major(lim.Device)), int64(unix.Minor(lim.Device)), "rw"))
	}
	return rules
}

// Update changes the limits; zero values leave a limit unchanged.
func (g *Group) Update(lim Limits) error {
	var err error
	if g.v1 != nil {
		err = g.v1.Update(lim.oci())
	} else {
		err = g.v2.Update(cgroup2.ToResources(lim.oci()))
	}
	if err != nil {
		return fault.Hostf("changing control group %s: %w", g.name, err)
	}
	return nil
}

// Confine restricts the group and its subgroups to these CPUs again: on version 1, runtimes widen
// the CPU set of the group that they are started in when they make their own.
func (g *Group) Confine(cpus string) error {
	at := g.layout.V1["cpuset"]
	if at == "" || cpus == "" {
		return nil
	}
	var dirs []string
	err := filepath.WalkDir(filepath.Join(at, g.name), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) { // a group's set must include the sets of its subgroups
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(cpus), 0)
		}
	}
	if err != nil {
		return fault.Hostf("restricting control group %s to CPUs %s: %w", g.name, cpus, err)
	}
	return nil
}

// Name is the group's path below the root of every hierarchy, without the leading slash.
func (g *Group) Name() string { return g.name }

// Layout is the layout that the group is part of.
func (g *Group) Layout() Layout { return g.layout }

// Add moves a process with all its threads into the group: one that a daemon has started elsewhere.
// It skips hierarchies in which the process is already in the group or below. If the process has
// ended, the error is the guest's fault.
func (g *Group) Add(pid int) error {
	failed := func(err error) error {
		_, gone := os.Stat(fmt.Sprintf("/proc/%d", pid))
		if errors.Is(gone, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			return fault.Guestf("process %d of the guest has ended: %w", pid, err)
		}
		return fault.Hostf("process %d into control group %s: %w", pid, g.name, err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return failed(err)
	}
	within := map[string]bool{} // by controller; "" is version 2
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		in := f[2] == "/"+g.name || strings.HasPrefix(f[2], "/"+g.name+"/")
		for _, controller := range strings.Split(f[1], ",") {
			within[controller] = in
		}
	}
	todo := map[string]bool{filepath.Join(g.layout.V2, g.name): !within[""]}
	for controller, at := range g.layout.V1 {
		todo[filepath.Join(at, g.name)] = !within[controller]
	}
	for _, dir := range g.leaves() {
		if !todo[filepath.Dir(dir)] {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
			return failed(err)
		}
	}
	return nil
}

// dirs returns the group's directories, one in each hierarchy.
func (g *Group) dirs() []string {
	dirs := []string{filepath.Join(g.layout.V2, g.name)}
	for _, at := range g.layout.V1 {
		dir := filepath.Join(at, g.name)
		if _, err := os.Stat(dir); err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// leaves returns the directories of the group's leaf. A runtime that made subgroups of its own made the group's
// directory also in hierarchies that the group does not use, and there it has no leaf.
func (g *Group) leaves() []string {
	var leaves []string
	for _, dir := range g.dirs() {
		if _, err := os.Stat(filepath.Join(dir, leaf)); err == nil {
			leaves = append(leaves, filepath.Join(dir, leaf))
		}
	}
	return leaves
}

// Processes lists the IDs of the processes in the group and below. It omits kernel threads that
// work for a guest, such as KVM's: a sandbox sees them with ID 0, which as a signal's target means
// the caller.
func (g *Group) Processes() ([]int, error) {
	ids, err := g.v2.Procs(true)
	var pids []int
	for _, id := range ids {
		if id != 0 {
			pids = append(pids, int(id))
		}
	}
	return pids, err
}

// SpreadCPUs returns the default CPU set of one of many guests with n vCPUs each. Guests 0, 1, 2, …
// get distinct CPUs from the host's last one downwards, since the first one serves most interrupts
// and tare itself; when all are taken, it starts again with the last. Guests -1, -2, … get distinct
// CPUs from the first one upwards. among is how many of the host's CPUs, the last ones, may be used; 0: all.
func SpreadCPUs(n, guest, among int) (model.CPUList, error) {
	all := runtime.NumCPU()
	if among == 0 {
		among = all
	}
	if n < 1 || n > min(all, among) {
		return nil, fmt.Errorf("%d vCPUs want %d CPUs, the host has %d", n, n, all)
	}
	places := min(all, among) / n
	cpus := model.FirstCPUs(n)
	for i := range cpus {
		cpus[i] += all - n - n*((guest%places+places)%places)
	}
	return cpus, nil
}
