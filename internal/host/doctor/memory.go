package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// memoryRules: what moves pages while a workload runs.
var memoryRules = []rule{
	{"swap", swap, "getting a page back from disk takes a thousand times as long as using one in memory"},
	{"memory-low", memoryLow, "guests run out of memory or are swapped out, and disk trials have less page cache"},
	{"memory-pressure", memoryPressure, "reclaim takes CPU time and stalls tasks at random"},
	{"thp-always", thp,
		"whether a guest or a process gets huge pages depends on fragmentation, and thus on what ran before"},
	{"ksm", ksm, "merging takes CPU time, and identical guests share pages, which native processes do not"},
	{"damon", damon, "it looks for idle pages to evict, move or reorder, and the pages of a frozen guest are idle"},
	{"numa-balancing", balancing,
		"it unmaps pages to find out where they are used, and moves them, so one trial pays for page faults that the " +
			"next does not have"},
	{"compressed-swap", compressedSwap,
		"compression takes CPU time from whatever runs, and pages of frozen guests are swapped out first"},
	{"memory-threads", memoryDaemons,
		"it moves the pages of running guests, so a guest may become faster some minutes after its start"},
}

func swap(v view) *NoiseSource {
	in, _ := value(v.sample.SwapIn)
	out, _ := value(v.sample.SwapOut)
	used, _ := value(v.Memory.SwapUsed)
	total, _ := value(v.Memory.SwapTotal)
	switch {
	case in+out > 0:
		return found(Spoils, "free memory, then swapoff -a", "swapping now: %.0f pages in and %.0f out per second", in, out)
	case used > 0:
		return found(Disturbs, "swapoff -a", "%s of %s swap are in use", size(used), size(total))
	}
	return nil
}

func memoryLow(v view) *NoiseSource {
	total, known := value(v.Memory.Total)
	have, known2 := value(v.Memory.Available)
	if !known || !known2 {
		return nil
	}
	level, need := Spoils, v.needs.MemoryBytes
	if need == 0 {
		level, need = Disturbs, total/10
	}
	if have >= need {
		return nil
	}
	return found(level, "stop what uses it, or make the flavors smaller", "%s of %s memory available, %s needed",
		size(have), size(total), size(need))
}

func memoryPressure(v view) *NoiseSource {
	p := v.Load.MemWait
	if p == nil || p.Some10 < 0.1 && p.Some60 < 0.1 {
		return nil
	}
	level := Disturbs
	if p.Some10 >= 10 {
		level = Spoils
	}
	return found(level, "free memory",
		"tasks waited for memory %.1f %% of the last 10 s, %.1f %% of the last minute (PSI)", p.Some10, p.Some60)
}

func thp(v view) *NoiseSource {
	if v.Memory.THP != "always" {
		return nil
	}
	return found(Disturbs,
		"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or back guests with reserved huge pages",
		"transparent huge pages: always")
}

func ksm(v view) *NoiseSource {
	if !is(v.Memory.KSM, 1) {
		return nil
	}
	sharing, _ := value(v.Memory.KSMSharing)
	pace := ""
	if pages, ms := v.Memory.KSMScan["pages_to_scan"], v.Memory.KSMScan["sleep_millisecs"]; pages != "" && ms != "" {
		pace = fmt.Sprintf(", %s scanned every %s ms", pages, ms)
	}
	return found(Disturbs, "systemctl stop ksmtuned; echo 2 > /sys/kernel/mm/ksm/run", "KSM runs: %d pages shared%s%s",
		sharing, pace, v.cpuTime("ksmd"))
}

// cpuTime says how much CPU time a kernel thread used, if known.
func (v view) cpuTime(thread string) string {
	s, known := v.Memory.Threads[thread]
	if !known {
		return ""
	}
	return fmt.Sprintf("; %.1f s of CPU since boot", s)
}

// damon is worst if pages leave their place in memory.
func damon(v view) *NoiseSource {
	leave := []string{"pageout", "cold", "migrate_hot", "migrate_cold"}
	level := Note
	var what, remedy []string
	for _, d := range v.Memory.DAMON {
		if !d.On {
			continue
		}
		for _, action := range d.Actions {
			switch {
			case slices.Contains(leave, action):
				level = Spoils
			case action != "stat" && level == Note:
				level = Disturbs
			}
		}
		what = append(what, fmt.Sprintf("%s (%s)", d.Name, strings.Join(d.Actions, ", ")))
		off := "echo N > /sys/module/" + d.Name + "/parameters/enabled"
		if n, ok := strings.CutPrefix(d.Name, "kdamonds/"); ok {
			off = "echo off > /sys/kernel/mm/damon/admin/kdamonds/" + n + "/state"
		}
		remedy = append(remedy, off)
	}
	if _, runs := v.Memory.Threads["kdamond"]; runs && what == nil {
		level, what = Disturbs, []string{"a kdamond thread (its purpose is not shown)"}
		remedy = []string{"damo stop; or see /sys/kernel/debug/damon"}
	}
	if what == nil {
		return nil
	}
	return found(level, strings.Join(remedy, "; "), "DAMON is on: %s%s", strings.Join(what, ", "), v.cpuTime("kdamond"))
}

func balancing(v view) *NoiseSource {
	on := v.Kernel.Sysctl["kernel.numa_balancing"]
	auto, demotion := on != "" && on != "0", v.Memory.NUMADemotion == "true"
	if len(v.CPU.Nodes) < 2 || !auto && !demotion {
		return nil
	}
	var what, remedy []string
	if auto {
		what, remedy = append(what, "automatic NUMA balancing is on"), append(remedy, "sysctl -w kernel.numa_balancing=0")
		if n, known := value(v.Memory.NUMAMigrated); known {
			what[0] += fmt.Sprintf(" (%d pages moved since boot)", n)
		}
	}
	if demotion {
		what = append(what, "idle pages are demoted to slower memory")
		remedy = append(remedy, "echo false > /sys/kernel/mm/numa/demotion_enabled")
	}
	return found(Disturbs, strings.Join(remedy, "; "), "%s", strings.Join(what, "; "))
}

// compressedSwap is only a note: the rule for swap reports swapped pages.
func compressedSwap(v view) *NoiseSource {
	var what, remedy []string
	if on := v.Memory.Zswap; (on == "Y" || on == "1") && v.Memory.SwapTotal != nil && *v.Memory.SwapTotal > 0 {
		what, remedy = append(what, "by zswap"), append(remedy, "echo N > /sys/module/zswap/parameters/enabled")
	}
	for _, s := range v.Memory.Swaps {
		if strings.HasPrefix(s.Device, "/dev/zram") {
			what = append(what, fmt.Sprintf("in %s (%s of %s used)", s.Device, size(s.Used), size(s.Size)))
			remedy = append(remedy, "swapoff "+s.Device)
		}
	}
	if what == nil {
		return nil
	}
	return found(Note, strings.Join(remedy, "; "), "swapped-out pages stay in memory, compressed %s",
		strings.Join(what, " and "))
}

// memoryDaemons is a note about what nearly every kernel does, and more than a note only if the
// kernel is configured to do more of it than by default.
func memoryDaemons(v view) *NoiseSource {
	const (
		proactiveness = 20  // the kernel's default
		scanned       = 410 // pages a second: 4096 every 10 s
		sleep         = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs"
	)
	level := Note
	var what, remedy []string
	pages, err := strconv.Atoi(v.Memory.Khugepaged["pages_to_scan"])
	ms, err2 := strconv.Atoi(v.Memory.Khugepaged["scan_sleep_millisecs"])
	if err == nil && err2 == nil && v.Memory.THP != "never" {
		made := ""
		if n := v.Memory.Khugepaged["pages_collapsed"]; n != "" {
			made = "; " + n + " huge pages made"
		}
		what = append(what, fmt.Sprintf("khugepaged (scans %d pages every %g s%s%s)", pages, float64(ms)/1000,
			made, v.cpuTime("khugepaged")))
		remedy = append(remedy, "echo 3600000 > "+sleep)
		if pages*1000 > 10*scanned*ms {
			level = Disturbs
		}
	}
	if p, err := strconv.Atoi(v.Memory.VM["compaction_proactiveness"]); err == nil && p > 0 {
		what = append(what, fmt.Sprintf("kcompactd (proactiveness %d%s)", p, v.cpuTime("kcompactd")))
		remedy = append(remedy, "sysctl -w vm.compaction_proactiveness=0")
		if p > proactiveness {
			level = Disturbs
		}
	}
	if what == nil {
		return nil
	}
	advice := strings.Join(remedy, "; ")
	if level == Note {
		advice = "leave it, unless differences below 1 % matter; then: " + advice
	}
	return found(level, advice, "the kernel rearranges memory in the background: %s", strings.Join(what, ", "))
}
