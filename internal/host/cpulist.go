package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds CPU numbers, so that a broken list cannot eat all memory.
const maxCPU = 1 << 16

// ParseCPUList reads the kernel's notation of CPUs, "0-3,8", into ascending
// numbers. The empty list is valid. Groups ("0-31:1/2") are not known.
func ParseCPUList(s string) ([]int, error) {
	var out []int
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseUint(lo, 10, 32)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(hi, 10, 32)
		}
		if err != nil || last < first || last >= maxCPU {
			return nil, fmt.Errorf("%q is no list of CPUs", clip(s, 60))
		}
		if len(out)+int(last-first) >= 2*maxCPU {
			return nil, fmt.Errorf("list of CPUs is too long")
		}
		for n := first; n <= last; n++ {
			out = append(out, int(n))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// FormatCPUList writes ascending CPU numbers in the kernel's notation.
func FormatCPUList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
