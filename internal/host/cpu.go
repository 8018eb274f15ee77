package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
)

const cpuDir = "/sys/devices/system/cpu"

// parseCPUInfo reads /proc/cpuinfo into one map per CPU. It omits a block without a "processor" line
// (the board's name on ARM).
func parseCPUInfo(text string) []map[string]string {
	var out []map[string]string
	var cur map[string]string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			if strings.TrimSpace(line) == "" {
				cur = nil
			}
			continue
		}
		if key == "processor" {
			cur = map[string]string{}
			out = append(out, cur)
		}
		if cur != nil {
			cur[key] = strings.TrimSpace(value)
		}
	}
	return out
}

func readCPU(r *reader, arch string) CPU {
	c := CPU{Arch: arch}
	info := parseCPUInfo(r.text("cpu", "/proc/cpuinfo"))
	if len(info) == 0 {
		r.fail("cpu.model", "/proc/cpuinfo", errors.New("names no processor"))
	} else {
		identify(&c, info)
	}
	c.Online = r.text("cpu.online", cpuDir+"/online")
	c.Offline = r.optional("cpu.offline", cpuDir+"/offline")
	c.Isolated = r.optional("cpu.isolated", cpuDir+"/isolated")
	c.NohzFull = strings.TrimSuffix(strings.TrimPrefix(r.optional("cpu.nohz_full", cpuDir+"/nohz_full"), "("), ")")
	if c.NohzFull == "null" { // %*pbl prints this for an absent mask
		c.NohzFull = ""
	}
	c.Allowed = statusField(r.text("cpu.allowed", "/proc/self/status"), "Cpus_allowed_list")
	cpus, err := model.ParseCPUList(c.Online)
	if err != nil || len(cpus) == 0 {
		r.fail("cpu.threads", cpuDir+"/online", cmp.Or(err, errors.New("empty")))
		for i := range info { // better than nothing: number them in this order
			cpus = append(cpus, i)
		}
	}
	c.Threads = len(cpus)
	readTopology(r, &c, cpus)
	readCaches(r, &c, cpus)
	c.Nodes = readNodes(r)
	readFrequency(r, &c, cpus)
	if dir := cpuDir + "/vulnerabilities"; r.Exists(dir) {
		c.Mitigations = map[string]string{}
		for _, name := range r.Names(dir) {
			c.Mitigations[name] = r.text("cpu.mitigations."+name, dir+"/"+name)
		}
	} else {
		r.fail("cpu.mitigations", dir, errors.New("not there"))
	}
	return c
}

// identify fills in the fields from /proc/cpuinfo, on x86 or ARM.
func identify(c *CPU, info []map[string]string) {
	first := info[0]
	c.Vendor = cmp.Or(first["vendor_id"], first["CPU implementer"])
	c.Model = cmp.Or(first["model name"], first["CPU part"], first["cpu"])
	c.Family = cmp.Or(first["cpu family"], first["CPU architecture"])
	c.ModelID = cmp.Or(first["model"], first["CPU variant"])
	c.Stepping = cmp.Or(first["stepping"], first["CPU revision"])
	c.Flags = cmp.Or(first["flags"], first["Features"])
	c.Bugs = first["bugs"]
	var microcodes []string
	for _, m := range info {
		if v := m["microcode"]; v != "" && !slices.Contains(microcodes, v) {
			microcodes = append(microcodes, v)
		}
		if mhz, err := parseFloat(m["cpu MHz"]); err == nil && mhz > 0 {
			if c.MHzMin == nil || mhz < *c.MHzMin {
				c.MHzMin = new(mhz)
			}
			if c.MHzMax == nil || mhz > *c.MHzMax {
				c.MHzMax = new(mhz)
			}
		}
	}
	c.Microcode = strings.Join(microcodes, ",")
}

// statusField returns one line of /proc/*/status.
func statusField(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && k == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func cpuFile(cpu int, name string) string { return fmt.Sprintf("%s/cpu%d/%s", cpuDir, cpu, name) }

func readTopology(r *reader, c *CPU, cpus model.CPUList) {
	packages, cores := map[int]model.CPUList{}, map[string]bool{}
	byCapacity := map[string]model.CPUList{}
	for _, cpu := range cpus {
		pkg, err := r.ReadFile(cpuFile(cpu, "topology/physical_package_id"))
		sib, err2 := r.ReadFile(cpuFile(cpu, "topology/thread_siblings_list"))
		socket, err3 := strconv.Atoi(strings.TrimSpace(string(pkg)))
		if err := cmp.Or(errors.Join(err, err2), err3); err != nil {
			r.fail("cpu.cores", cpuFile(cpu, "topology"), err)
			return
		}
		packages[socket] = append(packages[socket], cpu)
		list := strings.TrimSpace(string(sib))
		if !cores[list] {
			cores[list] = true
			if strings.ContainsAny(list, ",-") {
				c.Siblings = append(c.Siblings, list)
			}
		}
		if capacity := r.optional("cpu.kinds", cpuFile(cpu, "cpu_capacity")); capacity != "" {
			byCapacity[capacity] = append(byCapacity[capacity], cpu)
		}
	}
	c.Sockets, c.Cores = len(packages), len(cores)
	for _, socket := range slices.Sorted(maps.Keys(packages)) {
		c.Packages = append(c.Packages, packages[socket].String())
	}
	// Intel lists each kind of core as a PMU; others give each core a capacity of 0-1024.
	for _, kind := range []string{"core", "atom", "lowpower"} {
		if list := r.optional("cpu.kinds", "/sys/devices/cpu_"+kind+"/cpus"); list != "" {
			c.Kinds = append(c.Kinds, kind+": "+list)
		}
	}
	if len(c.Kinds) == 0 && len(byCapacity) > 1 {
		for capacity, list := range byCapacity {
			c.Kinds = append(c.Kinds, "capacity "+capacity+": "+list.String())
		}
		slices.Sort(c.Kinds)
	}
}

func readCaches(r *reader, c *CPU, cpus model.CPUList) {
	seen := map[string]bool{}
	index := map[Cache]int{}
	for _, cpu := range cpus {
		dir := cpuFile(cpu, "cache")
		for _, name := range r.Names(dir) {
			if !strings.HasPrefix(name, "index") {
				continue
			}
			d := dir + "/" + name
			shared := r.optional("cpu.caches", d+"/shared_cpu_list")
			level, err := strconv.Atoi(r.optional("cpu.caches", d+"/level"))
			size, err2 := parseSize(r.optional("cpu.caches", d+"/size"))
			kind := r.optional("cpu.caches", d+"/type")
			if err != nil || err2 != nil {
				continue // some hypervisors show caches without a size
			}
			id := fmt.Sprint(level, kind, shared)
			if seen[id] {
				continue
			}
			seen[id] = true
			by, _ := model.ParseCPUList(shared)
			key := Cache{Level: level, Type: kind, Size: size, SharedBy: len(by)}
			if i, ok := index[key]; ok {
				c.Caches[i].Count++
				continue
			}
			index[key] = len(c.Caches)
			key.Count = 1
			c.Caches = append(c.Caches, key)
		}
	}
	if len(c.Caches) == 0 {
		r.fail("cpu.caches", cpuDir+"/cpu*/cache", errors.New("no cache with level and size"))
	}
	slices.SortStableFunc(c.Caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type))
	})
}

// parseSize reads "512K" or "32M" as bytes.
func parseSize(s string) (int64, error) {
	shift := 0
	for i, unit := range []string{"K", "M", "G"} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			s, shift = number, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return int64(n) << shift, err
}

func readNodes(r *reader) []Node {
	const dir = "/sys/devices/system/node"
	online := r.optional("cpu.nodes", dir+"/online")
	ids, err := model.ParseCPUList(online)
	if err != nil {
		r.fail("cpu.nodes", dir+"/online", err)
		return nil
	}
	var out []Node
	for _, id := range ids {
		d := fmt.Sprintf("%s/node%d", dir, id)
		n := Node{ID: id, CPUs: r.text("cpu.nodes", d+"/cpulist"), Distance: r.optional("cpu.nodes", d+"/distance")}
		if total, ok := procfs.Sizes(r.text("cpu.nodes", d+"/meminfo"))[fmt.Sprintf("Node %d MemTotal", id)]; ok {
			n.Memory = &total
		}
		out = append(out, n)
	}
	return out
}
