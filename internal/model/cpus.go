package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxCPUs is how many CPUs Linux supports at most.
const MaxCPUs = 8192

// CPUList is a set of CPU numbers (or of other things that Linux numbers in this notation, such as
// NUMA nodes), in rising order and without repeats.
type CPUList []int

// ParseCPUList reads Linux's list notation, "0-3,8". An empty text is the empty list. It does not
// support groups ("0-31:1/2").
func ParseCPUList(text string) (CPUList, error) {
	var list CPUList
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first > last || last >= MaxCPUs {
			return nil, fmt.Errorf("%q is not a list of CPUs", shorten(text))
		}
		for cpu := first; cpu <= last; cpu++ {
			list = append(list, int(cpu))
		}
		if len(list) > 64*MaxCPUs { // the same ranges again and again
			return nil, errors.New("the list of CPUs is too long")
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// ParseCPUMask reads Linux's mask notation: hexadecimal words of 32 bits, "3,ffffffff".
func ParseCPUMask(text string) (CPUList, error) {
	words := strings.Split(strings.TrimSpace(text), ",")
	var list CPUList
	for i, word := range slices.Backward(words) {
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil || len(words) > MaxCPUs/32 {
			return nil, fmt.Errorf("%q is not a mask of CPUs", shorten(text))
		}
		for n := range 32 {
			if bits>>n&1 == 1 {
				list = append(list, 32*(len(words)-1-i)+n)
			}
		}
	}
	return list, nil
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:57]) + "..."
	}
	return text
}

// FirstCPUs returns the CPUs 0 to n-1.
func FirstCPUs(n int) CPUList {
	list := make(CPUList, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// String writes l in Linux's list notation, "0-3,8".
func (l CPUList) String() string {
	var b strings.Builder
	for i := 0; i < len(l); {
		j := i
		for j+1 < len(l) && l[j+1] == l[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(l[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(l[j]))
		}
		i = j + 1
	}
	return b.String()
}

// MarshalText writes what String does.
func (l CPUList) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what ParseCPUList does.
func (l *CPUList) UnmarshalText(text []byte) (err error) {
	*l, err = ParseCPUList(string(text))
	return err
}

// Mask writes l in the notation that ParseCPUMask reads, without leading zeros.
func (l CPUList) Mask() string {
	words := []uint32{0}
	for _, n := range l {
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

// Contains reports whether a CPU is in l.
func (l CPUList) Contains(cpu int) bool {
	_, found := slices.BinarySearch(l, cpu)
	return found
}

// Common returns the CPUs that are in both lists.
func (l CPUList) Common(other CPUList) CPUList {
	return l.only(other.Contains)
}

// Without returns the CPUs of l that are not in other.
func (l CPUList) Without(other CPUList) CPUList {
	return l.only(func(cpu int) bool { return !other.Contains(cpu) })
}

func (l CPUList) only(keep func(int) bool) CPUList {
	var some CPUList
	for _, cpu := range l {
		if keep(cpu) {
			some = append(some, cpu)
		}
	}
	return some
}
