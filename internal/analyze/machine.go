package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/dataset"
)

// Limits of the finding about clock sources.
const (
	slowReadNS   = 100 // of a reading that takes a system call or an exit, not less; ns
	slowReadMore = 4   // times the other arm's
)

// slowClocks are clock sources that the kernel alone can read, or that an exit to the hypervisor emulates.
var slowClocks = []string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "xen"}

// findSlowClock compares how long a reading of the clock takes. Run files of former versions have only the clock
// sources.
func findSlowClock(a *analysis) []Finding {
	return a.eachMachine(func(arm, base dataset.Arm) (out []Finding) {
		slow, fast := arm, base
		if !slower(slow.Machine, fast.Machine) {
			slow, fast = base, arm
		}
		s, f := slow.Machine, fast.Machine
		if !slower(s, f) {
			return nil
		}
		return []Finding{{Arm: arm.Name, Text: fmt.Sprintf("%s of %s, but %s of %s: a program that reads the time often, "+
			"such as fio, sysbench or a database, measures the clock",
			clockText(s), slow.Name, clockText(f), fast.Name)}}
	})
}

// slower reports whether one machine reads its clock much more slowly than another.
func slower(s, f dataset.Machine) bool {
	if s.ClockReadNS > 0 && f.ClockReadNS > 0 {
		return s.ClockReadNS >= slowReadNS && s.ClockReadNS >= slowReadMore*f.ClockReadNS
	}
	return slices.Contains(slowClocks, s.Clocksource) && f.Clocksource != "" &&
		!slices.Contains(slowClocks, f.Clocksource)
}

func clockText(m dataset.Machine) string {
	if m.ClockReadNS == 0 {
		return "the clock source is " + cmp.Or(m.Clocksource, "unknown") + " in guests"
	}
	took, source := fmt.Sprintf("%.3g ns", m.ClockReadNS), ""
	if m.ClockReadNS >= 1000 {
		took = fmt.Sprintf("%.3g µs", m.ClockReadNS/1000)
	}
	if m.Clocksource != "" {
		source = " (clock source " + m.Clocksource + ")"
	}
	return "a reading of the clock takes " + took + source + " in guests"
}

// eachMachine calls f with each arm and its baseline. It leaves out controls, and emulated arms that are compared with
// a real machine, since nobody believes their times anyway.
func (a *analysis) eachMachine(f func(arm, base dataset.Arm) []Finding) (out []Finding) {
	for _, arm := range a.in.Arms {
		if base, self := a.baselineArm(arm); !self && arm.Emulated == base.Emulated {
			out = append(out, f(arm, base)...)
		}
	}
	return out
}

// programFlags are the flags of CPUs that programs look for to choose a faster way, as Linux names them on x86
// and on ARM. Other flags are about the kernel or the hypervisor, and every virtual machine has others of these.
var programFlags = strings.Fields(`
	pni ssse3 sse4_1 sse4_2 popcnt aes pclmulqdq movbe avx avx2 fma f16c bmi1 bmi2 abm lzcnt adx rdrand rdseed sha_ni
	sha512 erms fsrm vaes vpclmulqdq gfni avx_vnni avx_ifma amx_tile amx_int8 amx_bf16
	avx512f avx512bw avx512cd avx512dq avx512vl avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg
	avx512_vpopcntdq avx512_bf16 avx512_fp16
	asimd pmull sha1 sha2 sha3 crc32 atomics asimddp sve sve2 i8mm bf16`)

// usedFlags are those that the programs of workloads are known to look for, by the beginning of the workloads' names.
var usedFlags = map[string][]string{
	// crypto/x86cpuid.pl and crypto/armcap.c: AES and SHA, and vector code for what has no instruction of its own
	"openssl": strings.Fields("aes vaes pclmulqdq vpclmulqdq sha_ni avx avx2 bmi2 adx avx512f avx512vl ssse3 pmull sha1 " +
		"sha2 sha512 asimd"),
	// x264's common/cpu.c
	"ffmpeg": strings.Fields("ssse3 sse4_1 sse4_2 avx avx2 fma bmi1 bmi2 avx512f avx512bw avx512vl asimd"),
	// zstd chooses code for BMI2 at run time
	"zstd": {"bmi2"},
	// PostgreSQL's checksums of its log, src/port/pg_crc32c_sse42_choose.c
	"pgbench": {"sse4_2", "crc32"},
}

// findUnequalFeatures reports arms whose CPUs have other instructions than the baseline's.
func findUnequalFeatures(a *analysis) []Finding {
	return a.eachMachine(func(arm, base dataset.Arm) (out []Finding) {
		if strings.HasPrefix(arm.System, "gvisor") || strings.HasPrefix(base.System, "gvisor") {
			return nil // its kernel lists fewer than programs find
		}
		x, y := programs(arm.Machine.CPUFlags), programs(base.Machine.CPUFlags)
		if len(x) == 0 || len(y) == 0 {
			return nil
		}
		lacks, has := without(y, x), without(x, y)
		if len(lacks)+len(has) == 0 {
			return nil
		}
		concerned := false
		for _, workload := range a.workloads() {
			used := flagsUsed(workload)
			l, h := bothOf(lacks, used), bothOf(has, used)
			if len(l)+len(h) == 0 {
				continue
			}
			concerned = true
			out = append(out, Finding{Workload: workload, Arm: arm.Name, Severity: Warning, Text: fmt.Sprintf(
				"the guests' CPU %s; the program of this workload uses them where it finds them", differenceText(l, h, base))})
		}
		if !concerned {
			out = append(out, Finding{Arm: arm.Name, Text: fmt.Sprintf(
				"the guests' CPU %s; no workload here is known to use them", differenceText(lacks, has, base))})
		}
		return out
	})
}

// differenceText says which instructions a CPU lacks, and which it has beyond the baseline's.
func differenceText(lacks, has []string, base dataset.Arm) string {
	var parts []string
	if len(lacks) > 0 {
		parts = append(parts, "lacks "+strings.Join(lacks, ", ")+", which "+base.Name+" has")
	}
	if len(has) > 0 {
		parts = append(parts, "has "+strings.Join(has, ", ")+", which "+base.Name+" lacks")
	}
	return strings.Join(parts, ", and ")
}

// flagsUsed are those that a workload is known to use.
func flagsUsed(workload string) []string {
	for name, flags := range usedFlags {
		if strings.HasPrefix(workload, name) {
			return flags
		}
	}
	return nil
}

// programs returns those flags that programs look for, sorted.
func programs(flags []string) []string {
	return slices.Sorted(slices.Values(bothOf(programFlags, flags)))
}

// bothOf returns the words of x that are in y, too.
func bothOf(x, y []string) (both []string) {
	for _, word := range x {
		if slices.Contains(y, word) {
			both = append(both, word)
		}
	}
	return both
}

// without returns the words of x that are not in y.
func without(x, y []string) (rest []string) {
	for _, word := range x {
		if !slices.Contains(y, word) {
			rest = append(rest, word)
		}
	}
	return rest
}

// ofHosts are vulnerabilities that only hypervisors do anything about.
var ofHosts = []string{"itlb_multihit"}

// findUnequalMitigations reports arms whose kernels do other things about the vulnerabilities of the CPU than the
// baseline's.
func findUnequalMitigations(a *analysis) []Finding {
	return a.eachMachine(func(arm, base dataset.Arm) []Finding {
		x, y := arm.Machine.Mitigations, base.Machine.Mitigations
		if len(x) == 0 || len(y) == 0 {
			return nil
		}
		f := Finding{Arm: arm.Name}
		names := map[string]bool{}
		for _, m := range []map[string]string{x, y} {
			for name := range m {
				names[name] = !slices.Contains(ofHosts, name)
			}
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			mine, theirs := mitigation(x[name]), mitigation(y[name])
			if !names[name] || mine == theirs {
				continue
			}
			if strings.HasPrefix(mine, "Mitigation") != strings.HasPrefix(theirs, "Mitigation") {
				f.Severity = Warning // one of them pays and the other does not
			}
			parts = append(parts, fmt.Sprintf("%s: %s (%s: %s)", name, mine, base.Name, theirs))
		}
		if parts == nil {
			return nil
		}
		f.Text = "the guests' kernel does something else about vulnerabilities of the CPU: " + strings.Join(parts, "; ")
		return []Finding{f}
	})
}

// mitigation is the first part of what a kernel says of a vulnerability. The others are details, such as whether SMT is
// on, of which a guest often knows nothing.
func mitigation(says string) string {
	first, _, _ := strings.Cut(says, ";")
	first, _, _ = strings.Cut(first, ",")
	return cmp.Or(strings.TrimSpace(first), "the kernel does not know it")
}
