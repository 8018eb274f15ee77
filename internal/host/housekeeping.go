package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
)

// maxIRQs bounds how many interrupts are stored: a server has one for each queue of each device,
// and rare ones cost nothing.
const maxIRQs = 32

func readHousekeeping(r *reader, procs map[int]procfs.Process) *Housekeeping {
	const field = "housekeeping"
	text := r.optional(field+".irqs", "/proc/interrupts")
	h := &Housekeeping{
		Workqueues: readMask(r, field+".workqueues", "/sys/devices/virtual/workqueue/cpumask"),
		IRQDefault: readMask(r, field+".irq_default", "/proc/irq/default_smp_affinity"),
	}
	if text == "" && h.Workqueues == "" {
		return nil
	}
	lines := procfs.ParseInterrupts(text)
	slices.SortStableFunc(lines, func(a, b procfs.Interrupt) int { return cmp.Compare(b.Total(), a.Total()) })
	for _, line := range lines[:min(len(lines), maxIRQs)] {
		if line.Total() == 0 {
			break
		}
		dir := fmt.Sprintf("/proc/irq/%d", line.Number)
		q := IRQ{Number: line.Number, Count: line.Total(), Allowed: r.optional(field+".irqs", dir+"/smp_affinity_list")}
		q.CPUs = cmp.Or(r.optional(field+".irqs", dir+"/effective_affinity_list"), q.Allowed)
		q.Device = cmp.Or(r.optional(field+".irqs", fmt.Sprintf("/sys/kernel/irq/%d/actions", line.Number)), line.Name)
		h.IRQs = append(h.IRQs, q)
	}
	const net = "/sys/class/net"
	for _, name := range r.Names(net) {
		var to model.CPUList
		for _, queue := range r.Names(net + "/" + name + "/queues") {
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
		h.IRQBalance = h.IRQBalance || p.Name == "irqbalance"
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
