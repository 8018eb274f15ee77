package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Memory is how much of the host's memory a group holds, in bytes.
type Memory struct {
	// PSS is the proportional set size of all processes in the group, including the VMM, plus
	// what was swapped out: a page that several processes map counts for each in equal parts.
	PSS int64
	// Charged is the memory controller's charge to the group, which includes page cache and
	// kernel memory. A page that several groups use is charged only to the first.
	Charged int64
}

// CheckSwap returns an error if this host cannot limit how much memory of groups is in its swap.
func (l Layout) CheckSwap() error {
	b, err := os.ReadFile("/proc/swaps")
	if err != nil || strings.Count(string(b), "\n") < 2 { // a header, and a line for each swap
		return fault.WithRemedy(fault.Hostf("the host has no swap"), "fallocate -l 1G FILE; chmod 600 FILE; mkswap FILE; "+
			"swapon FILE")
	}
	return l.countsSwap()
}

// countsSwap returns an error if the kernel does not account for swap by group.
func (l Layout) countsSwap() error {
	pattern := filepath.Join(l.V2, "*", "memory.swap.max") // the root group has no such file
	if at := l.V1["memory"]; at != "" {
		pattern = filepath.Join(at, "memory.memsw.limit_in_bytes")
	}
	if found, _ := filepath.Glob(pattern); found == nil {
		return fault.WithRemedy(fault.Hostf("control groups (%s): the kernel does not account for swap", l.Mode()),
			"boot the host with swapaccount=1")
	}
	return nil
}

// Memory reads how much the group holds. The group may be frozen.
func (g *Group) Memory() (Memory, error) {
	var m Memory
	fail := func(err error) (Memory, error) {
		return Memory{}, fault.Hostf("memory of control group %s: %w", g.name, err)
	}
	pids := map[string]bool{} // a process is in one group of each hierarchy
	for _, dir := range g.dirs() {
		if err := eachGroup(dir, func(path string) error {
			b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			for _, pid := range strings.Fields(string(b)) {
				pids[pid] = true
			}
			return err
		}); err != nil {
			return fail(err)
		}
	}
	for pid := range pids {
		n, err := pssOf(pid)
		if err != nil {
			return fail(err)
		}
		m.PSS += n
	}
	charged := filepath.Join(g.layout.V2, g.name, "memory.current")
	if at := g.layout.V1["memory"]; at != "" {
		charged = filepath.Join(at, g.name, "memory.usage_in_bytes")
	}
	var err error
	if m.Charged, err = readNumber(charged); err != nil {
		return fail(err)
	}
	return m, nil
}

// PeakMemory is the largest charge of the memory controller to the group since it was made, in bytes;
// ErrUnknown where the kernel does not record it: version 2 does so since Linux 5.19.
func (g *Group) PeakMemory() (int64, error) {
	file := filepath.Join(g.layout.V2, g.name, "memory.peak")
	if at := g.layout.V1["memory"]; at != "" {
		file = filepath.Join(at, g.name, "memory.max_usage_in_bytes")
	}
	n, err := readNumber(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrUnknown
	}
	if err != nil {
		return 0, fault.Hostf("memory of control group %s: %w", g.name, err)
	}
	return n, nil
}

// eachGroup calls do for a group's directory and all below it, and ignores those that disappear
// meanwhile.
func eachGroup(dir string, do func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = do(path)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return nil
		}
		return err
	})
}

// pssOf returns the proportional set size of a process in bytes; 0 for a kernel thread or a process
// that has ended.
func pssOf(pid string) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, nil
	}
	return rollup(string(b)), err
}

// rollup adds up Pss and, if present, SwapPss of a /proc/PID/smaps_rollup.
func rollup(text string) (bytes int64) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "Pss:" || f[0] == "SwapPss:") && f[2] == "kB" {
			if n, err := strconv.ParseInt(f[1], 10, 44); err == nil && n >= 0 {
				bytes += n << 10
			}
		}
	}
	return bytes
}
