// Package energy reads the energy counters of the host's processors and memory: RAPL, which Linux
// shows below /sys/class/powercap for Intel and AMD, and AMD's counters in hwmon. What a counter
// counts is used by everything on its socket, not by one guest.
package energy

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// Domain is what a counter covers.
type Domain string

// The domains. The cores and the graphics of a socket also have counters, but are part of it.
const (
	Package  Domain = "package"  // a socket
	DRAM     Domain = "dram"     // the memory of a socket, which is not part of it
	Platform Domain = "platform" // the whole machine (psys), which includes all others
)

// Counter is an energy counter that can be read.
type Counter struct {
	Name   string `json:"name"` // as the kernel does: "package-0", "package-0/dram", "psys"
	Domain Domain `json:"domain"`
	File   string `json:"file"`
	// RangeUJ is the value in µJ beyond which the counter begins at 0 again; 0: never.
	RangeUJ int64 `json:"range_uj,omitempty"`
}

const (
	powercap = "/sys/class/powercap"
	hwmon    = "/sys/class/hwmon"
)

// zone matches the directories of RAPL and of its parts: "intel-rapl:0", "intel-rapl:0:2". On AMD they
// have the same name. What intel-rapl-mmio shows is the same energy again.
var zone = regexp.MustCompile(`^intel-rapl:\d+(:\d+)?$`)

// Find returns the counters that can be read, by name. If the energy of no package can be, err says why,
// and how to change that where it is possible.
func Find(files procfs.FS) ([]Counter, error) {
	counters, err := findRAPL(files)
	if len(counters) == 0 && err == nil {
		counters, err = findHwmon(files)
	}
	switch {
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(counters, func(c Counter) bool { return c.Domain == Package }):
		return nil, fmt.Errorf("no processor has an energy counter in %s: virtual machines have none, and kernels need the "+
			"module intel_rapl_msr", powercap)
	}
	slices.SortFunc(counters, func(a, b Counter) int { return strings.Compare(a.Name, b.Name) })
	return counters, nil
}

func findRAPL(files procfs.FS) (counters []Counter, err error) {
	for _, dir := range files.Names(powercap) {
		if !zone.MatchString(dir) {
			continue
		}
		c := Counter{Name: text(files, path.Join(powercap, dir, "name")), File: path.Join(powercap, dir, "energy_uj")}
		switch {
		case strings.HasPrefix(c.Name, "package-"):
			c.Domain = Package
		case c.Name == "dram":
			c.Domain = DRAM
			parent := dir[:strings.LastIndexByte(dir, ':')]
			c.Name = text(files, path.Join(powercap, parent, "name")) + "/dram"
		case c.Name == "psys":
			c.Domain = Platform
		default:
			continue
		}
		if _, err := read(files, c.File); err != nil {
			return nil, explain(err, c.File)
		}
		if c.RangeUJ, err = read(files, path.Join(powercap, dir, "max_energy_range_uj")); err != nil {
			return nil, explain(err, path.Join(powercap, dir))
		}
		counters = append(counters, c)
	}
	return counters, nil
}

// findHwmon finds the sockets' counters of the driver amd_energy, whose values do not wrap around.
func findHwmon(files procfs.FS) (counters []Counter, err error) {
	for _, dir := range files.Names(hwmon) {
		dir = path.Join(hwmon, dir)
		if text(files, path.Join(dir, "name")) != "amd_energy" {
			continue
		}
		for _, name := range files.Names(dir) {
			number, is := strings.CutSuffix(name, "_label")
			socket, of := strings.CutPrefix(text(files, path.Join(dir, name)), "Esocket")
			if !is || !of {
				continue
			}
			c := Counter{Name: "package-" + socket, Domain: Package, File: path.Join(dir, number+"_input")}
			if _, err := read(files, c.File); err != nil {
				return nil, explain(err, c.File)
			}
			counters = append(counters, c)
		}
	}
	return counters, nil
}

// explain says why a counter that is there cannot be read.
func explain(err error, file string) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read: the kernel permits it to root alone, and container runtimes may hide it; "+
			"run tare as root on the host", file)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is incomplete: the driver of this kernel does not show its energy", file)
	}
	return fmt.Errorf("%s cannot be read: %w", file, err)
}

func text(files procfs.FS, file string) string {
	b, err := files.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// read returns a number of µJ.
func read(files procfs.FS, file string) (int64, error) {
	b, err := files.ReadFile(file)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("it has %.40q, not a number of µJ", b)
	}
	return int64(n), nil
}
