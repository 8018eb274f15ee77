package host

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/model"
)

// maxIRQs bounds how many interrupts are stored: a server has one for each queue of each device,
// and rare ones cost nothing.
const maxIRQs = 32

func readHousekeeping(r *reader, procs map[int]procTime) *Housekeeping {
	const field = "housekeeping"
	text := r.optional(field+".irqs", "/proc/interrupts")
	h := &Housekeeping{
		Workqueues: readMask(r, field+".workqueues", "/sys/devices/virtual/workqueue/cpumask"),
		IRQDefault: readMask(r, field+".irq_default", "/proc/irq/default_smp_affinity"),
	}
	if text == "" && h.Workqueues == "" {
		return nil
	}
	lines := parseInterrupts(text)
	slices.SortStableFunc(lines, func(a, b irqLine) int { return cmp.Compare(b.total(), a.total()) })
	for _, line := range lines[:min(len(lines), maxIRQs)] {
		if line.total() == 0 {
			break
		}
		dir := fmt.Sprintf("/proc/irq/%d", line.number)
		q := IRQ{Number: line.number, Count: line.total(), Allowed: r.optional(field+".irqs", dir+"/smp_affinity_list")}
		q.CPUs = cmp.Or(r.optional(field+".irqs", dir+"/effective_affinity_list"), q.Allowed)
		q.Device = cmp.Or(r.optional(field+".irqs", fmt.Sprintf("/sys/kernel/irq/%d/actions", line.number)), line.last)
		h.IRQs = append(h.IRQs, q)
	}
	const net = "/sys/class/net"
	for _, name := range r.names(net) {
		var to model.CPUList
		for _, queue := range r.names(net + "/" + name + "/queues") {
			if strings.HasPrefix(queue, "rx-") {
				cpus, _ := model.ParseCPUList(readMask(r, field+".steering", net+"/"+name+"/queues/"+queue+"/rps_cpus"))
				to = append(to, cpus...)
			}
		}
		if len(to) > 0 {
			slices.Sort(to)
			h.Steering = append(h.Steering, name+": "+slices.Compact(to).String())
		}
	}
	for _, p := range procs {
		h.IRQBalance = h.IRQBalance || p.name == "irqbalance"
	}
	return h
}

// readMask reads a file with a CPU mask as a CPU list.
func readMask(r *reader, field, p string) string {
	s := r.optional(field, p)
	if s == "" {
		return ""
	}
	cpus, err := model.ParseCPUMask(s)
	if err != nil {
		r.fail(field, p, err)
	}
	return cpus.String()
}

// irqLine is a line of /proc/interrupts.
type irqLine struct {
	number int
	cpus   []int // the columns
	counts []int64
	last   string // the last word, which names the device
}

func (l irqLine) total() int64 {
	var sum int64
	for _, n := range l.counts {
		sum += n
	}
	return sum
}

// parseInterrupts reads /proc/interrupts. It omits interrupts that no device raised: lines without
// a number, CPU timers, and Xen's per-CPU events.
func parseInterrupts(text string) []irqLine {
	var cpus []int
	var out []irqLine
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
		l := irqLine{number: int(number), cpus: cpus, last: f[len(f)-1]}
		for _, s := range f[1 : 1+len(cpus)] {
			n, err := strconv.ParseUint(s, 10, 40)
			if err != nil {
				break
			}
			l.counts = append(l.counts, int64(n))
		}
		if len(l.counts) == len(cpus) {
			out = append(out, l)
		}
	}
	return out
}

// perCPU sums interrupts by CPU.
func perCPU(lines []irqLine) map[int]int64 {
	sum := map[int]int64{}
	for _, l := range lines {
		for i, n := range l.counts {
			sum[l.cpus[i]] += n
		}
	}
	return sum
}
