package host

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host/procfs"
)

// Resident is something on the host that works for others or looks after their data, and that measuring disturbs.
// tare and its guests are none.
type Resident struct {
	Kind  ResidentKind `json:"kind"`
	Who   string       `json:"who"`             // a product or a program: "docker", "PostgreSQL"; of RAID, the array
	Count int          `json:"count,omitempty"` // of containers and machines
	Ports []int        `json:"ports,omitempty"` // TCP ports on which it listens, sorted
	Doing string       `json:"doing,omitempty"` // of RAID, what is under way: "resync 12.6%"
}

// ResidentKind is what a resident is.
type ResidentKind string

// The kinds, in the order in which residents are listed.
const (
	Containers   ResidentKind = "containers"
	Machines     ResidentKind = "machines"
	Orchestrator ResidentKind = "orchestrator" // of containers on many hosts, such as the kubelet
	Database     ResidentKind = "database"     // or storage for other hosts
	Service      ResidentKind = "service"      // listens on an address that other hosts reach
	RAID         ResidentKind = "raid"         // an array that is rebuilt or checked
	Backup       ResidentKind = "backup"       // that is under way
	Upgrade      ResidentKind = "upgrade"      // of packages, that is under way
)

var residentKinds = []ResidentKind{Containers, Machines, Orchestrator, Database, Service, RAID, Backup, Upgrade}

// String says who it is in a few words: "2 containers of docker".
func (r Resident) String() string {
	text := r.Who
	switch r.Kind {
	case Containers, Machines:
		things := string(r.Kind)
		if r.Count == 1 {
			things = strings.TrimSuffix(things, "s")
		}
		text = fmt.Sprintf("%d %s of %s", r.Count, things, r.Who)
	case RAID:
		text = r.Who + ": " + r.Doing
	case Backup:
		text = "backup by " + r.Who
	case Upgrade:
		text = "package upgrade by " + r.Who
	}
	switch len(r.Ports) {
	case 0:
		return text
	case 1:
		return fmt.Sprintf("%s, TCP port %d", text, r.Ports[0])
	}
	ports := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Ports)), ", "), "[]")
	return text + ", TCP ports " + ports
}

// residents collects them, one for each kind and name.
type residents struct {
	r      *reader
	procs  map[int]procfs.Process
	found  map[residentKey]*Resident
	of     map[int]*Resident          // by process
	in     map[int]string             // identity of the container by process
	within map[string]map[string]bool // identities of containers by engine
	mine   map[string]bool            // identities of the containers that tare itself runs in
	crio   bool                       // CRI-O runs
}

type residentKey struct {
	kind ResidentKind
	who  string
}

// readResidents finds who lives on the host from processes, their control groups and sockets, and /proc/mdstat. It
// asks no daemon and needs no client.
func readResidents(r *reader, procs map[int]procfs.Process) []Resident {
	s := &residents{r: r, procs: procs, found: map[residentKey]*Resident{}, of: map[int]*Resident{}, in: map[int]string{},
		within: map[string]map[string]bool{}, mine: map[string]bool{}}
	self, _ := r.Self()
	for _, pid := range []int{1, self} {
		for _, group := range r.ControlGroups(pid) {
			_, id := containerIn(group)
			s.mine[id] = true
		}
	}
	var others []int // processes that are neither the kernel's nor tare's
	for _, pid := range slices.Sorted(maps.Keys(procs)) {
		switch p := procs[pid]; {
		case p.Kernel && p.Name == "nfsd":
			s.add(Database, "NFS server").Ports = []int{2049}
		case !p.Kernel && !s.tares(pid, self) && !slices.ContainsFunc(r.ControlGroups(pid), ofTare):
			others = append(others, pid)
			s.crio = s.crio || p.Name == "crio"
		}
	}
	for _, pid := range others {
		s.process(pid, r.Arguments(pid), r.ControlGroups(pid))
	}
	for engine, ids := range s.within {
		one := s.add(Containers, engine)
		one.Count += len(ids)
		for pid, id := range s.in {
			if ids[id] && s.of[pid] == nil {
				s.of[pid] = one
			}
		}
	}
	if n := xenDomains(r); n > 0 {
		s.add(Machines, "Xen").Count = n
	}
	for _, a := range procfs.ParseMDStat(r.optional("residents.raid", "/proc/mdstat")) {
		s.add(RAID, a.Name).Doing = a.Doing
	}
	s.listeners(others)
	var all []Resident
	for _, one := range s.found {
		slices.Sort(one.Ports)
		one.Ports = slices.Compact(one.Ports)
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Resident) int {
		return cmp.Or(slices.Index(residentKinds, a.Kind)-slices.Index(residentKinds, b.Kind), strings.Compare(a.Who, b.Who))
	})
	return all
}

func (s *residents) add(kind ResidentKind, who string) *Resident {
	who = printable(who)
	key := residentKey{kind, who}
	if s.found[key] == nil {
		s.found[key] = &Resident{Kind: kind, Who: who}
	}
	return s.found[key]
}

// printable leaves out what a process that names itself could do to a terminal.
func printable(name string) string {
	return strings.Map(func(c rune) rune {
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, name)
}

// tares reports whether a process is this one or another tare, or was started by one.
func (s *residents) tares(pid, self int) bool {
	for range 100 { // a parent may have been replaced while the processes were read
		p, there := s.procs[pid]
		if !there || pid <= 1 {
			return false
		}
		if pid == self || p.Name == "tare" {
			return true
		}
		pid = p.Parent
	}
	return false
}

// ofTare reports whether a control group is a guest's or a daemon's of a tare.
func ofTare(group string) bool {
	return strings.HasPrefix(strings.TrimPrefix(group, "/"), cgroup.Prefix)
}

// process looks at one process.
func (s *residents) process(pid int, args, groups []string) {
	for _, group := range groups {
		engine, id := containerIn(group)
		if id == "" || s.mine[id] {
			continue
		}
		if engine == kubernetes {
			engine = "containerd"
			if s.crio {
				engine = "CRI-O"
			}
		}
		s.container(engine, id)
		s.in[pid] = id
		break
	}
	if engine, id := shimmed(args); id != "" && !s.mine[id] {
		s.container(engine, id)
	}
	name, args := programOf(s.procs[pid].Name, args)
	if one := s.known(pid, name, args); one != nil {
		s.of[pid] = one
	}
}

// container counts a container once: an engine may be known only by one of its processes.
func (s *residents) container(engine, id string) {
	for other, ids := range s.within {
		if ids[id] {
			if other == anyRuntime || other == "LXC" {
				delete(ids, id)
				if len(ids) == 0 {
					delete(s.within, other)
				}
				break
			}
			return
		}
	}
	if s.within[engine] == nil {
		s.within[engine] = map[string]bool{}
	}
	s.within[engine][id] = true
}

// known returns the resident that a process is, by its program; nil: none.
func (s *residents) known(pid int, name string, args []string) *Resident {
	if product, ok := databases[name]; ok {
		return s.add(Database, product)
	}
	if product, ok := orchestrators[name]; ok {
		return s.add(Orchestrator, product)
	}
	if name == "java" {
		for class, product := range javaDatabases {
			if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, class) }) {
				return s.add(Database, product)
			}
		}
	}
	if vmm := vmmOf(name, args); vmm != "" {
		one := s.add(Machines, vmm)
		one.Count++
		return one
	}
	switch {
	case name == "systemd-nspawn", name == "libvirt_lxc":
		engine := map[string]string{"libvirt_lxc": "libvirt"}[name]
		one := s.add(Containers, cmp.Or(engine, name))
		one.Count++
		return one
	case backsUp(name, args):
		return s.add(Backup, name)
	case upgrades(name, args):
		return s.add(Upgrade, name)
	}
	return nil
}

// listeners adds the ports on which processes listen, if other hosts reach them or if the process is a resident. A
// socket whose process is not to be seen is nobody's.
func (s *residents) listeners(others []int) {
	open := map[uint64]procfs.Listener{}
	for _, l := range s.r.Listeners() {
		open[l.Inode] = l
	}
	for _, pid := range others {
		if len(open) == 0 {
			return
		}
		for _, inode := range s.r.Sockets(pid) {
			l, listens := open[inode]
			if !listens {
				continue
			}
			delete(open, inode)
			one := s.of[pid]
			if one == nil {
				name, _ := programOf(s.procs[pid].Name, s.r.Arguments(pid))
				if l.Address.Addr().IsLoopback() || ownServices[name] || name == "systemd" && l.Address.Port() == 22 {
					continue
				}
				one = s.add(Service, name)
			}
			one.Ports = append(one.Ports, int(l.Address.Port()))
		}
	}
}

// xenDomains counts the domains that have a device of this one.
func xenDomains(r *reader) int {
	domains := map[string]bool{}
	for _, device := range r.Names("/sys/bus/xen-backend/devices") { // "vif-3-0"
		if f := strings.Split(device, "-"); len(f) >= 3 {
			domains[f[1]] = true
		}
	}
	return len(domains)
}

// programOf returns the name of a program in full, and its arguments: the kernel cuts names after 15 bytes, and a
// script's may be that of its interpreter.
func programOf(name string, args []string) (string, []string) {
	for i, a := range args[:min(2, len(args))] {
		base := path.Base(a)
		interpreted := i == 1 && interpreters[strings.TrimRight(name, "0123456789.")] && !strings.HasPrefix(a, "-")
		if interpreted || len(name) == 15 && strings.HasPrefix(base, name) {
			return base, args[i+1:]
		}
		if i == 1 && base == name { // the kernel names a script that is executed after its file
			return name, args[2:]
		}
	}
	return name, args[min(1, len(args)):]
}
