package procfs

import (
	"strconv"
	"strings"
)

// Interrupt is a device interrupt, and how often it came since boot.
type Interrupt struct {
	Number int
	Name   string  // the last word of its line, which names the device
	CPUs   []int   // all of the host's
	Counts []int64 // on each of CPUs
}

// Total is how often the interrupt came on all CPUs.
func (i Interrupt) Total() int64 {
	var sum int64
	for _, n := range i.Counts {
		sum += n
	}
	return sum
}

// ParseInterrupts reads /proc/interrupts. It omits interrupts that no device raised: lines without
// a number, CPU timers, and Xen's per-CPU events.
func ParseInterrupts(text string) []Interrupt {
	var cpus []int
	var out []Interrupt
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if cpus == nil {
			for _, name := range f {
				n, err := strconv.ParseUint(strings.TrimPrefix(name, "CPU"), 10, 16)
				if err != nil {
					return nil
				}
				cpus = append(cpus, int(n))
			}
			continue
		}
		if len(f) < len(cpus)+2 || !strings.HasSuffix(f[0], ":") {
			continue
		}
		number, err := strconv.ParseUint(strings.TrimSuffix(f[0], ":"), 10, 31)
		if err != nil || strings.HasPrefix(f[len(cpus)+1], "xen-percpu") || strings.Contains(f[len(f)-1], "timer") {
			continue
		}
		i := Interrupt{Number: int(number), Name: f[len(f)-1], CPUs: cpus}
		for _, s := range f[1 : 1+len(cpus)] {
			n, err := strconv.ParseUint(s, 10, 40)
			if err != nil {
				break
			}
			i.Counts = append(i.Counts, int64(n))
		}
		if len(i.Counts) == len(cpus) {
			out = append(out, i)
		}
	}
	return out
}
