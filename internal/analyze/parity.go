package analyze

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
)

// findUnequalArms reports arms that the campaign made unequal.
func findUnequalArms(a *analysis) (out []Finding) {
	for _, arm := range a.in.Arms {
		base, self := a.baselineArm(arm)
		x, y := arm.Size, base.Size
		if self || x.VCPUs == 0 {
			continue
		}
		var parts []string
		differ := func(differs bool, format string, args ...any) {
			if differs {
				parts = append(parts, fmt.Sprintf(format, args...))
			}
		}
		differ(x.VCPUs != y.VCPUs, "%d CPUs against %d", x.VCPUs, y.VCPUs)
		differ(x.MemoryBytes != y.MemoryBytes, "%.4g MiB of memory against %.4g", float64(x.MemoryBytes)/mebi,
			float64(y.MemoryBytes)/mebi)
		differ(x.SwapBytes != y.SwapBytes, "%.4g MiB of swap against %.4g", float64(x.SwapBytes)/mebi,
			float64(y.SwapBytes)/mebi)
		differ(x.CPUCap != y.CPUCap, "a cap of %s against %s", capText(x.CPUCap), capText(y.CPUCap))
		differ(x.CPUs.String() != y.CPUs.String(), "host CPUs %s against %s", x.CPUs, y.CPUs)
		differ(x.DiskBytes != y.DiskBytes, "a disk of %.4g MiB against %.4g", float64(x.DiskBytes)/mebi,
			float64(y.DiskBytes)/mebi)
		differ(x.DiskFS != y.DiskFS, "%s against %s", x.DiskFS, y.DiskFS)
		differ(x.Backing != y.Backing, "its data on %s against %s", x.Backing, y.Backing)
		for _, c := range rateCapKinds {
			mine, theirs := c.limit(x), c.limit(y)
			differ(mine != theirs, "a cap of %s of %s against %s", c.name, limitText(mine, c.unit), limitText(theirs, c.unit))
		}
		if parts != nil {
			out = append(out, Finding{Arm: arm.Name, Text: fmt.Sprintf("does not have the size of %s: it has %s", base.Name,
				strings.Join(parts, ", "))})
		}
	}
	return out
}

func capText(cpus float64) string {
	if cpus == 0 {
		return "none"
	}
	return fmt.Sprintf("%.4g CPUs", cpus)
}

func limitText(limit int64, unit string) string {
	if limit == 0 {
		return "none"
	}
	return fmt.Sprintf("%d %s", limit, unit)
}

func findOwnUserland(a *analysis) []Finding {
	return a.eachUnequal(func(p dataset.Parity) string {
		if !p.OwnUserland {
			return ""
		}
		return "ran its own programs, not those of the image that the other arms run: a difference may come from versions " +
			"and builds"
	})
}

func findUnequalSize(a *analysis) []Finding {
	return a.eachUnequal(func(p dataset.Parity) string {
		if p.Size == "" {
			return ""
		}
		return "its machine has " + p.Size
	})
}

// bare reports whether guests of a system are processes of the host that nothing virtualizes.
func bare(system string) bool { return system == "native" || system == "xen-dom0" }

// findUnequalConfinement reports arms whose system calls pass other filters than those of the first
// arm of their scenario that is confined by the host's kernel. Native arms do not count: that nothing
// confines them is what they are for.
func findUnequalConfinement(a *analysis) (out []Finding) {
	first := map[string]dataset.Arm{} // by scenario
	for _, arm := range a.in.Arms {
		c := arm.Parity.Confinement
		if c == nil || bare(arm.System) {
			continue
		}
		other, found := first[arm.Scenario]
		if !found {
			first[arm.Scenario] = arm
			continue
		}
		if mine, theirs := c.PerCall(), other.Parity.Confinement.PerCall(); mine != theirs {
			out = append(out, Finding{Arm: arm.Name, Text: fmt.Sprintf("ran under %s, but %s under %s", mine, other.Name,
				theirs)})
		}
	}
	return out
}

func findUnfrozen(a *analysis) []Finding {
	return a.eachUnequal(func(p dataset.Parity) string {
		if !p.Unfrozen {
			return ""
		}
		return "cannot be frozen: other programs on that machine kept running while other arms were measured, and may have " +
			"run during its own trials"
	})
}

// eachUnequal makes a finding for every arm for which say returns a text.
func (a *analysis) eachUnequal(say func(dataset.Parity) string) (out []Finding) {
	for _, arm := range a.in.Arms {
		if text := say(arm.Parity); text != "" {
			out = append(out, Finding{Arm: arm.Name, Text: text})
		}
	}
	return out
}
