package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
)

// housekeepingRules: kernel work on the CPUs that guests use.
var housekeepingRules = []rule{
	{"nohz-full", nohzFull,
		"entering the kernel costs more there, and native processes and containers enter it more often than virtual " +
			"machines"},
	{"guest-interrupts", guestInterrupts,
		"each interrupt takes time from the trial on that CPU, and more from a virtual machine, which must exit for it"},
	{"guest-housekeeping", guestHousekeeping,
		"it takes a little time from every trial, and more from a virtual machine, which must exit each time"},
}

// guestCPUs returns the CPUs of guests, and says whether they are the campaign's or the default. It
// returns none in Xen's dom0, which does not see the CPUs of its guests.
func (v view) guestCPUs() (cpus model.CPUList, use string) {
	if cpus, err := model.ParseCPUList(v.needs.CPUs); err == nil && len(cpus) > 0 {
		return cpus, "which guests use"
	}
	online, err := model.ParseCPUList(v.CPU.Online)
	if err != nil || len(online) == 0 || v.Virt.Role == host.XenDom0 {
		return nil, ""
	}
	cpus = online[len(online)-max(1, len(online)/2):]
	return cpus, "which guests use by default"
}

// hostCPUs are the CPUs that guests leave to the host.
func (v view) hostCPUs(guests model.CPUList) model.CPUList {
	online, _ := model.ParseCPUList(v.CPU.Online)
	return online.Without(guests)
}

func cpuNames(cpus model.CPUList) string {
	if len(cpus) == 1 {
		return "CPU " + cpus.String()
	}
	return "CPUs " + cpus.String()
}

// common returns the CPUs of the list that are in cpus.
func common(list string, cpus model.CPUList) model.CPUList {
	in, _ := model.ParseCPUList(list)
	return in.Common(cpus)
}

func nohzFull(v view) *NoiseSource {
	guests, use := v.guestCPUs()
	in := common(v.CPU.NohzFull, guests)
	if len(in) == 0 {
		return nil
	}
	return found(Disturbs, "boot without nohz_full=, or give guests other CPUs in the campaign (cpuset:)",
		"nohz_full stops the timer tick on %s, %s", cpuNames(in), use)
}

// guestInterrupts looks at the CPU with most interrupts among those that guests use. An interrupt
// and the work that follows it cost some microseconds, so 1000 per second take about 0.5 % of the
// CPU.
func guestInterrupts(v view) *NoiseSource {
	const few, many = 100, 1000
	guests, use := v.guestCPUs()
	if v.Housekeeping == nil || len(guests) == 0 {
		return nil
	}
	cpu, rate, when := v.mostInterrupted(guests)
	if rate < few {
		return nil
	}
	level := Note
	if rate >= many {
		level = Disturbs
	}
	from := ""
	if names := devices(v.frequent(v.interruptsOf(model.CPUList{cpu}))); names != "" {
		from = ", most from " + names
	}
	return found(level, v.moveInterrupts(guests), "CPU %d, %s, took %.0f device interrupts per second %s%s", cpu, use,
		rate, when, from)
}

// mostInterrupted finds the CPU with most device interrupts in the sample. Without a sample it takes
// the mean since boot, as if each interrupt had always gone to its present CPUs.
func (v view) mostInterrupted(among model.CPUList) (cpu int, perSecond float64, when string) {
	rates := v.sample.Interrupts
	when = fmt.Sprintf("over %.1f s", v.sample.Seconds)
	if up, known := value(v.UptimeS); len(rates) == 0 && known && up > 0 {
		rates, when = map[int]float64{}, "on average since boot"
		for _, q := range v.Housekeeping.IRQs {
			to, _ := model.ParseCPUList(q.CPUs)
			for _, n := range to {
				rates[n] += float64(q.Count) / up / float64(len(to))
			}
		}
	}
	for _, n := range among {
		if rates[n] > perSecond {
			cpu, perSecond = n, rates[n]
		}
	}
	return cpu, perSecond, when
}

// interruptsOf returns the interrupts that go to one of the CPUs, most frequent first.
func (v view) interruptsOf(cpus model.CPUList) []host.IRQ {
	var out []host.IRQ
	for _, q := range v.Housekeeping.IRQs {
		if len(common(q.CPUs, cpus)) > 0 {
			out = append(out, q)
		}
	}
	return out
}

// frequent omits interrupts that come less than once a second.
func (v view) frequent(irqs []host.IRQ) []host.IRQ {
	up, _ := value(v.UptimeS)
	return slices.DeleteFunc(irqs, func(q host.IRQ) bool { return float64(q.Count) < up })
}

func devices(irqs []host.IRQ) string {
	var names []string
	for _, q := range irqs {
		name := cmp.Or(q.Device, fmt.Sprintf("IRQ %d", q.Number))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return some(names, ", ")
}

// moveInterrupts is the remedy that keeps interrupts off the CPUs of guests.
func (v view) moveInterrupts(guests model.CPUList) string {
	left := v.hostCPUs(guests)
	if len(left) == 0 {
		return leaveSome
	}
	first := ""
	if v.Housekeeping.IRQBalance {
		first = "systemctl stop irqbalance; "
	}
	var numbers []string
	for _, q := range v.frequent(v.interruptsOf(guests)) {
		numbers = append(numbers, fmt.Sprint(q.Number))
	}
	return fmt.Sprintf("%sfor i in %s; do echo %s > /proc/irq/$i/smp_affinity_list; done; "+
		"if the kernel refuses, the interrupt is managed: boot with isolcpus=managed_irq,%s",
		first, strings.Join(numbers, " "), left, guests)
}

const leaveSome = "leave the host a CPU that no guest uses: give guests fewer CPUs in the campaign (cpuset:)"

// guestHousekeeping is one note about the default housekeeping of every kernel.
func guestHousekeeping(v view) *NoiseSource {
	h := v.Housekeeping
	guests, use := v.guestCPUs()
	if h == nil || len(guests) == 0 {
		return nil
	}
	left := v.hostCPUs(guests)
	var what, boot, set []string
	ticks := len(common(v.CPU.NohzFull, guests)) < len(guests)
	if ticks && !v.rcuOffloaded(guests) { // nohz_full implies rcu_nocbs
		what, boot = append(what, "RCU callbacks"), append(boot, "rcu_nocbs="+guests.String())
	}
	if names := devices(v.frequent(v.interruptsOf(guests))); names != "" && guestInterrupts(v) == nil {
		what, boot = append(what, "interrupts of "+names), append(boot, "irqaffinity="+left.String())
	}
	if len(common(h.Workqueues, guests)) > 0 {
		what = append(what, "unbound workqueues")
		set = append(set, "echo "+left.Mask()+" > /sys/devices/virtual/workqueue/cpumask")
	}
	if v.Kernel.Sysctl["kernel.timer_migration"] == "1" {
		what, set = append(what, "timers that migrate from idle CPUs"), append(set, "sysctl -w kernel.timer_migration=0")
	}
	for _, s := range h.Steering {
		if name, to, _ := strings.Cut(s, ": "); len(common(to, guests)) > 0 {
			what = append(what, "packets received by "+name+" (RPS)")
			set = append(set, fmt.Sprintf("for f in /sys/class/net/%s/queues/rx-*/rps_cpus; do echo 0 > $f; done", name))
		}
	}
	if what == nil {
		return nil
	}
	// There is no remedy for the tick: stopping it makes system calls slower.
	if hz := v.Kernel.Config["CONFIG_HZ"]; ticks && hz != "" {
		what = append(what, "the timer tick ("+hz+" a second)")
	} else if ticks {
		what = append(what, "the timer tick")
	}
	remedy := leaveSome
	if len(left) > 0 {
		if boot != nil {
			set = append([]string{"boot with " + strings.Join(boot, " ")}, set...)
		}
		remedy = "leave it if the numbers are to hold for stock hosts; otherwise: " + strings.Join(set, "; ")
	}
	return found(Note, remedy, "the kernel's housekeeping also runs on %s, %s: %s", cpuNames(guests), use,
		strings.Join(what, ", "))
}

// rcuOffloaded reports whether the RCU callbacks of these CPUs are left to threads that may run on
// other CPUs.
func (v view) rcuOffloaded(cpus model.CPUList) bool {
	if v.Kernel.Config["CONFIG_RCU_NOCB_CPU_DEFAULT_ALL"] == "y" {
		return true
	}
	for f := range strings.FieldsSeq(v.Kernel.Cmdline) {
		if list, ok := strings.CutPrefix(f, "rcu_nocbs="); ok {
			return list == "all" || len(common(list, cpus)) == len(cpus)
		}
	}
	return false
}
