package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// Usage is what a group has used since it was made.
type Usage struct {
	CPU              time.Duration // CPU time of everything in the group, guest and VMM
	Periods          uint64        // cap periods in which a process wanted to run
	ThrottledPeriods uint64        // of those, periods in which the cap took effect
	Throttled        time.Duration
	// Swapped is how many bytes of the group's memory are in the host's swap now; nil: the kernel does not say.
	Swapped *int64
}

// Usage reads the group's counters.
func (g *Group) Usage() (Usage, error) {
	values, err := readPairs(filepath.Join(g.layout.V2, g.name, "cpu.stat"))
	u := Usage{
		CPU:       time.Duration(values["usage_usec"]) * time.Microsecond,
		Throttled: time.Duration(values["throttled_usec"]) * time.Microsecond,
	}
	if at := g.layout.V1["cpu"]; at != "" && err == nil {
		values, err = readPairs(filepath.Join(at, g.name, "cpu.stat"))
		u.Throttled = time.Duration(values["throttled_time"])
	}
	if at := g.layout.V1["cpuacct"]; at != "" && err == nil {
		// A runtime may have moved processes to groups that exist only in version 1.
		var ns int64
		ns, err = readNumber(filepath.Join(at, g.name, "cpuacct.usage"))
		u.CPU = time.Duration(ns)
	}
	if err != nil {
		return Usage{}, fault.Hostf("control group %s: %w", g.name, err)
	}
	u.Periods, u.ThrottledPeriods = values["nr_periods"], values["nr_throttled"]
	u.Swapped = g.swapped()
	return u, nil
}

// swapped is how many bytes of the group's memory are in the host's swap; nil where the kernel does not account for
// swap by group.
func (g *Group) swapped() *int64 {
	if at := g.layout.V1["memory"]; at != "" {
		values, _ := readPairs(filepath.Join(at, g.name, "memory.stat"))
		if n, ok := values["total_swap"]; ok { // with the groups below
			return new(int64(n))
		}
		return nil
	}
	if n, err := readNumber(filepath.Join(g.layout.V2, g.name, "memory.swap.current")); err == nil {
		return &n
	}
	return nil
}

// readNumber reads a file that contains one number.
func readNumber(file string) (int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

func readPairs(file string) (map[string]uint64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	values := map[string]uint64{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 {
			if v, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				values[f[0]] = v
			}
		}
	}
	return values, nil
}
