package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds CPU numbers, so that a broken list cannot use up all memory.
const maxCPU = 1 << 16

// ParseCPUList reads the kernel's notation of CPUs, "0-3,8", into ascending numbers. The empty list
// is valid. Groups ("0-31:1/2") are not supported.
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

// parseCPUMask reads a CPU mask as the kernel prints it, hexadecimal words of 32 bits,
// "3,ffffffff", into ascending numbers.
func parseCPUMask(s string) ([]int, error) {
	words := strings.Split(strings.TrimSpace(s), ",")
	var out []int
	for i, word := range slices.Backward(words) {
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil || len(words) > maxCPU/32 {
			return nil, fmt.Errorf("%q is no mask of CPUs", clip(s, 60))
		}
		for n := range 32 {
			if bits>>n&1 == 1 {
				out = append(out, 32*(len(words)-1-i)+n)
			}
		}
	}
	return out, nil
}

// formatCPUMask writes CPU numbers as the mask that parseCPUMask reads.
func formatCPUMask(cpus []int) string {
	words := []uint32{0}
	for _, n := range cpus {
		for len(words) <= n/32 {
			words = append(words, 0)
		}
		words[n/32] |= 1 << (n % 32)
	}
	text := ""
	for _, w := range slices.Backward(words) {
		text += fmt.Sprintf(",%08x", w)
	}
	return strings.TrimLeft(text, ",0")
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
