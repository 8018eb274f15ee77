package host

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/host/procfs"
)

func readMemory(r *reader, procs map[int]procfs.Process) Memory {
	var m Memory
	info := procfs.Sizes(r.text("memory", "/proc/meminfo"))
	get := func(field, key string) *int64 {
		if n, ok := info[key]; ok {
			return &n
		}
		r.fail("memory."+field, "/proc/meminfo", errors.New("has no "+key))
		return nil
	}
	m.Total = get("total", "MemTotal")
	m.Available = get("available", "MemAvailable")
	m.SwapTotal = get("swap_total", "SwapTotal")
	if free := get("swap_used", "SwapFree"); free != nil && m.SwapTotal != nil {
		m.SwapUsed = new(*m.SwapTotal - *free)
	}
	m.HugePages = get("huge_pages", "HugePages_Total")
	m.HugePagesFree = get("huge_pages_free", "HugePages_Free")
	m.HugePageSize = get("huge_page_size", "Hugepagesize")
	const mm = "/sys/kernel/mm"
	m.THP = chosen(r.text("memory.thp", mm+"/transparent_hugepage/enabled"))
	m.THPDefrag = chosen(r.optional("memory.thp_defrag", mm+"/transparent_hugepage/defrag"))
	m.KSM = r.number("memory.ksm_run", mm+"/ksm/run")
	m.KSMSharing = r.optionalNumber("memory.ksm_pages_sharing", mm+"/ksm/pages_sharing")
	m.Zswap = r.optional("memory.zswap", "/sys/module/zswap/parameters/enabled")
	for _, name := range []string{"swappiness", "overcommit_memory", "dirty_ratio", "dirty_background_ratio",
		"zone_reclaim_mode", "compaction_proactiveness"} {
		r.setting(&m.VM, "memory.vm", name, "/proc/sys/vm/"+name)
	}
	readBackground(r, &m, procs)
	return m
}

// memoryThreads are the kernel threads that scan, move or evict pages, without the number of a node
// or monitor at the end of the name.
var memoryThreads = []string{"kdamond", "khugepaged", "ksmd", "kcompactd"}

// readBackground adds the mechanisms that move, merge and evict pages in the background.
func readBackground(r *reader, m *Memory, procs map[int]procfs.Process) {
	const mm = "/sys/kernel/mm"
	for _, name := range []string{"defrag", "pages_to_scan", "scan_sleep_millisecs", "pages_collapsed"} {
		r.setting(&m.Khugepaged, "memory.khugepaged", name, mm+"/transparent_hugepage/khugepaged/"+name)
	}
	for _, name := range []string{"pages_to_scan", "sleep_millisecs", "advisor_mode", "merge_across_nodes"} {
		r.setting(&m.KSMScan, "memory.ksm_scan", name, mm+"/ksm/"+name)
	}
	m.NUMADemotion = r.optional("memory.numa_demotion", mm+"/numa/demotion_enabled")
	if n, ok := procfs.Counters(r.optional("memory.numa_pages_migrated", "/proc/vmstat"))["numa_pages_migrated"]; ok {
		m.NUMAMigrated = &n
	}
	m.Swaps = parseSwaps(r.optional("memory.swaps", "/proc/swaps"))
	m.DAMON = readDAMON(r)
	for _, p := range procs {
		if name := strings.TrimRight(p.Name, "0123456789."); p.Kernel && slices.Contains(memoryThreads, name) {
			if m.Threads == nil {
				m.Threads = map[string]float64{}
			}
			m.Threads[name] += p.Seconds
		}
	}
}

// parseSwaps reads /proc/swaps, whose sizes are in KiB.
func parseSwaps(text string) []Swap {
	var out []Swap
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		size, err := strconv.ParseUint(f[2], 10, 52)
		used, err2 := strconv.ParseUint(f[3], 10, 52)
		if err != nil || err2 != nil {
			continue // the header
		}
		s := Swap{Device: "file", Size: int64(size) << 10, Used: int64(used) << 10}
		if strings.HasPrefix(f[0], "/dev/") {
			s.Device = f[0]
		}
		out = append(out, s)
	}
	return out
}

const (
	modules  = "/sys/module"
	kdamonds = "/sys/kernel/mm/damon/admin/kdamonds"
)

// damonModules lists the actions of the kernel modules that use DAMON.
var damonModules = map[string][]string{
	"damon_reclaim":      {"pageout"},
	"damon_lru_sort":     {"lru_prio", "lru_deprio"},
	"damon_stat":         {"stat"},
	"damon_sample_wsse":  {"stat"},
	"damon_sample_prcl":  {"pageout"},
	"damon_sample_mtier": {"migrate_hot", "migrate_cold"},
}

// readDAMON finds both kinds of monitors: modules with their own switch, and monitors that were set
// up in sysfs. Documentation/admin-guide/mm/damon/usage.rst of the kernel describes that layout.
func readDAMON(r *reader) []DAMON {
	const field = "memory.damon"
	var out []DAMON
	for _, name := range r.Names(modules) {
		if !strings.HasPrefix(name, "damon_") {
			continue
		}
		if on := r.optional(field, modules+"/"+name+"/parameters/enabled"); on != "" {
			out = append(out, DAMON{Name: name, On: on == "Y", Targets: []string{"paddr"}, Actions: damonModules[name]})
		}
	}
	for _, n := range r.numbered(kdamonds) {
		dir := kdamonds + "/" + n
		state := r.optional(field, dir+"/state")
		if state == "" {
			continue
		}
		d := DAMON{Name: "kdamonds/" + n, On: state == "on"}
		for _, c := range r.numbered(dir + "/contexts") {
			context := dir + "/contexts/" + c
			d.Targets = addNew(d.Targets, r.optional(field, context+"/operations"))
			for _, s := range r.numbered(context + "/schemes") {
				d.Actions = addNew(d.Actions, r.optional(field, context+"/schemes/"+s+"/action"))
			}
		}
		out = append(out, d)
	}
	return out
}

// numbered returns the entries of a directory with a number as name.
func (r *reader) numbered(dir string) []string {
	return slices.DeleteFunc(r.Names(dir), func(name string) bool {
		_, err := strconv.ParseUint(name, 10, 32)
		return err != nil
	})
}

// addNew appends a word unless it is empty or already in the list.
func addNew(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
