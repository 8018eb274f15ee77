package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// besides are other findings that a planted problem necessarily has.
var besides = map[string][]string{
	"dropped-pairs":    {"did-not-finish"},
	"guests-differ":    {"few-guests"},
	"spread":           {"slow-trials"},
	"no-steady-state":  {"few-guests"},
	"warm-start":       {"few-starts"},
	"cold-restoration": {"few-starts"},
	"phases-differ":    {"few-starts"},
	"most-reached":     {"few-fills"},
	"disturbed-probe":  {"few-fills"},
}

// Each case plants one problem in a run that has no other findings than "faster-than-baseline", and
// names the expected finding.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*fake)
		id       string // "" for nothing
		severity Severity
		text     string
	}{
		{"nothing wrong", func(*fake) {}, "", "", ""},
		{"emulated", func(f *fake) { f.Arms[kvm].Emulated = true }, "emulated", Serious, "nothing about real hardware"},
		{"guest crashed", func(f *fake) {
			f.Failures = []dataset.Failure{{Workload: "cpu", Arm: "kvm", Block: 7, Member: 0, Fault: fault.Guest,
				Text: "soft lockup", Cause: ""}, {Workload: "cpu", Arm: "kvm", Block: 3, Member: 0, Fault: fault.Guest,
				Text: "panic", Cause: ""}}
		}, "did-not-finish", Serious, "2 trials did not finish because of the guest, which is a result in itself; the " +
			"first, in block 4: panic"},
		{"host failed", func(f *fake) {
			f.Failures = []dataset.Failure{{Workload: "cpu", Arm: "kvm", Block: 7, Member: 0, Fault: fault.Host,
				Text: "no space", Cause: ""}}
		}, "did-not-finish", Warning, "1 trial did not finish, through no fault of the guest"},
		{"dropped", func(f *fake) {
			f.drop(func(o dataset.Observation) bool { return o.Metric == 0 && o.Arm == kvm && o.Block < 3 })
			for b := range 3 {
				f.Failures = append(f.Failures, dataset.Failure{Workload: "cpu", Arm: "kvm", Block: b, Member: 0,
					Fault: fault.Guest, Text: "panic", Cause: ""})
			}
		}, "dropped-pairs", Warning, "3 of 30 blocks were dropped"},
		{"no control", func(f *fake) {
			f.drop(func(o dataset.Observation) bool { return o.Metric == 0 && o.Arm == control })
		}, "no-control", Warning, "there are fewer than two A/A pairs"},
		{"control differs", func(f *fake) {
			f.each(0, control, func(o *dataset.Observation) { o.Value *= 1.02 })
		}, "control-differs", Serious, "this host was not steady"},
		{"step", func(f *fake) {
			for arm := range costs {
				f.each(0, arm, func(o *dataset.Observation) {
					if o.Block >= 18 {
						o.Value *= 1.2
					}
				})
			}
		}, "no-steady-state", Warning, "the level changed after 18 of 30 blocks"},
		{"trend", func(f *fake) {
			for arm := range costs {
				f.each(0, arm, func(o *dataset.Observation) { o.Value *= 1 + float64(o.Block)/50 })
			}
		}, "no-steady-state", Warning, "the level has a trend over 30 blocks (Mann-Kendall"},
		{"resumed on a changed machine", func(f *fake) {
			change := dataset.Event{Kind: "changed-midway", Text: `microcode: "0x1" before, "0x2" now`}
			f.Events = []dataset.Event{change, change} // resumed twice
		}, "changed-midway", Warning, `had changed: microcode: "0x1" before, "0x2" now`},
		{"spread", func(f *fake) {
			f.each(0, kvm, func(o *dataset.Observation) {
				if o.Block%4 == 1 {
					o.Value *= 50
				}
			})
		}, "spread", Warning, "so the mean describes them badly"},
		{"zero", func(f *fake) {
			f.each(0, kvm, func(o *dataset.Observation) {
				if o.Block == 4 {
					o.Value = 0
				}
			})
		}, "not-positive", Serious, "no ratio to estimate"},
		{"no variation", func(f *fake) {
			for _, arm := range []int{native, control, kvm, lxc, jail} {
				f.each(0, arm, func(o *dataset.Observation) { o.Value = 2 })
			}
		}, "no-variation", Warning, "the values of 30 pairs vary by less than the metric's own step"},
		{"two different guests", func(f *fake) {
			f.renew(15)
			f.each(0, kvm, func(o *dataset.Observation) { o.Value *= 1 + 0.02*float64(o.Guest) })
		}, "guests-differ", Info, "the interval holds for these guests only"},
		{"few guests", func(f *fake) { f.renew(10) }, "few-guests", Info,
			"all comparisons have at most 3 guests of each arm"},
		{"overhead of one guest changes", func(f *fake) {
			f.renew(30)
			f.each(0, kvm, func(o *dataset.Observation) {
				if o.Block >= 15 {
					o.Value *= 1.1
				}
			})
		}, "no-steady-state", Warning, "the overhead of kvm changed after 15 of 30 blocks"},
		{"overhead of guests changes", func(f *fake) {
			f.renew(1)
			f.each(0, kvm, func(o *dataset.Observation) {
				if o.Block >= 15 {
					o.Value *= 1.1
				}
			})
		}, "no-steady-state", Warning, "the overhead of kvm changed after 15 of 30 guests"},
		{"slow trials", func(f *fake) {
			f.each(0, kvm, func(o *dataset.Observation) {
				if o.Block%4 == 1 {
					o.Value *= 1.5
				}
			})
		}, "slow-trials", Warning, "8 of 30 trials (27 %) took more than 1.25 times the median of their guest (half of " +
			"these more than 1.49 times); of native and its control 0 of 60"},
		{"first of a group", func(f *fake) { f.positions(1.015) }, "position", Info,
			"the first trial of a group costs +1.4 % (95 % interval"},
		{"very first of a group", func(f *fake) { f.positions(1.04) }, "position", Warning,
			"the first trial of a group costs +3.89 % (95 % interval"},
		{"order without effect", func(f *fake) { f.positions(1) }, "", "", ""},
		{"thaws alike", func(f *fake) { f.repeats(1.01, 1.01) }, "thaw", Info, "nothing shows that arms differ in this"},
		{"thaws apart", func(f *fake) { f.repeats(1, 1.03) }, "thaw", Warning, "arms differ in this (F test"},
		{"thaws for nothing", func(f *fake) { f.repeats(1, 1) }, "", "", ""},
		{"two boots", func(f *fake) {
			f.Boots = true
			f.renew(15)
		}, "few-boots", Warning, "2 rounds of boots of the host; nothing is claimed from fewer than 4"},
		{"six boots", func(f *fake) {
			f.Boots = true
			f.renew(5)
		}, "", "", ""},
		{"six different guests", func(f *fake) {
			f.renew(5)
			f.each(0, kvm, func(o *dataset.Observation) { o.Value *= 1 + 0.02*float64(o.Guest%3) })
		}, "guests-differ", Info, "the interval is over guests"},
		{"six equal guests", func(f *fake) { f.renew(5) }, "", "", ""},
		{"cached", func(f *fake) {
			f.probes(model.ProbeWorkloadBytes, kvm, constant(1e9))
			f.probes(model.ProbeDeviceBytes, kvm, constant(4e8))
		}, "cached-writes", Serious, "60 % of what the workload wrote never reached the device"},
		{"cached, and written in the next trial", func(f *fake) {
			f.probes(model.ProbeWorkloadBytes, kvm, constant(1e9))
			f.probes(model.ProbeDeviceBytes, kvm, func(b int) float64 { return 2e9 * float64(b%2) })
		}, "cached-writes", Serious, "50 % of what the workload wrote never reached the device"},
		{"late messages", func(f *fake) {
			f.probes(model.ProbeClockDiff, kvm, func(b int) float64 { return 0.03 * float64(b/24) })
			f.probes(model.ProbeClockError, kvm, constant(0.002))
		}, "", "", ""},
		{"reads from a cache of the host", func(f *fake) {
			f.probes(model.ProbeWorkloadRead, kvm, constant(1e9))
			f.probes(model.ProbeDeviceRead, kvm, func(b int) float64 { return 4e8 + 1.2e9*float64(b%2) })
		}, "cached-reads", Serious, "30 % of what the workload read did not come from the device: it delivered 2.003e+04 of"},
		{"reads from the device", func(f *fake) {
			f.probes(model.ProbeWorkloadRead, kvm, constant(1e9))
			f.probes(model.ProbeDeviceRead, kvm, constant(0.99e9))
		}, "", "", ""},
		{"a slow clock", func(f *fake) {
			f.machines(dataset.Machine{Clocksource: "tsc", ClockReadNS: 24},
				dataset.Machine{Clocksource: "xen", ClockReadNS: 410})
		}, "slow-clock", Warning, "a reading of the clock takes 410 ns (clock source xen) in guests of kvm, but a reading " +
			"of the clock takes 24 ns (clock source tsc) in guests of native"},
		{"a slow clock of native", func(f *fake) {
			f.machines(dataset.Machine{Clocksource: "hpet", ClockReadNS: 1300}, dataset.Machine{Clocksource: "kvm-clock",
				ClockReadNS: 30})
		}, "slow-clock", Warning, "takes 1.3 µs (clock source hpet) in guests of native, but"},
		{"a slow clock of a guest that does not name it", func(f *fake) {
			f.machines(dataset.Machine{Clocksource: "tsc", ClockReadNS: 24}, dataset.Machine{ClockReadNS: 11900})
		}, "slow-clock", Warning, "a reading of the clock takes 11.9 µs in guests of kvm, but"},
		{"a slow clock in a run file of a former version", func(f *fake) {
			f.machines(dataset.Machine{Clocksource: "tsc"}, dataset.Machine{Clocksource: "acpi_pm"})
		}, "slow-clock", Warning, "the clock source is acpi_pm in guests of kvm, but the clock source is tsc"},
		{"another clock that is as fast", func(f *fake) {
			f.machines(dataset.Machine{Clocksource: "tsc", ClockReadNS: 24},
				dataset.Machine{Clocksource: "xen", ClockReadNS: 60})
		}, "", "", ""},
		{"a CPU without AES", func(f *fake) {
			f.rename("openssl-enc")
			f.machines(dataset.Machine{CPUFlags: strings.Fields("fpu vmx pni aes avx2 sha_ni")},
				dataset.Machine{CPUFlags: strings.Fields("fpu hypervisor pni avx2 sha_ni")})
		}, "unequal-features", Warning, "the guests' CPU lacks aes, which native has; the program of this workload uses"},
		{"a CPU without instructions that nobody uses", func(f *fake) {
			f.machines(dataset.Machine{CPUFlags: strings.Fields("pni aes")},
				dataset.Machine{CPUFlags: strings.Fields("pni avx512f")})
		}, "unequal-features", Info, "the guests' CPU lacks aes, which native has, and has avx512f, which native lacks; no " +
			"workload here is known"},
		{"a CPU whose flags are those of a virtual machine", func(f *fake) {
			f.machines(dataset.Machine{CPUFlags: strings.Fields("vmx aes constant_tsc")},
				dataset.Machine{CPUFlags: strings.Fields("hypervisor aes")})
		}, "", "", ""},
		{"a kernel that lists no flags", func(f *fake) {
			f.machines(dataset.Machine{CPUFlags: strings.Fields("vmx aes")}, dataset.Machine{})
		}, "", "", ""},
		{"mitigations only in the guest", func(f *fake) {
			f.machines(dataset.Machine{Mitigations: map[string]string{"meltdown": "Not affected", "mds": "Vulnerable"}},
				dataset.Machine{Mitigations: map[string]string{"meltdown": "Mitigation: PTI", "mds": "Vulnerable: Clear CPU " +
					"buffers attempted, no microcode; SMT Host state unknown"}})
		}, "unequal-mitigations", Warning, "meltdown: Mitigation: PTI (native: Not affected)"},
		{"another mitigation", func(f *fake) {
			f.machines(dataset.Machine{Mitigations: map[string]string{"spectre_v2": "Mitigation: Enhanced / Automatic IBRS; " +
				"IBPB: conditional"}}, dataset.Machine{Mitigations: map[string]string{"spectre_v2": "Mitigation: Retpolines"}})
		}, "unequal-mitigations", Info, "spectre_v2: Mitigation: Retpolines (native: Mitigation: Enhanced / Automatic IBRS)"},
		{"mitigations that differ in details", func(f *fake) {
			f.machines(dataset.Machine{Mitigations: map[string]string{"mds": "Mitigation: Clear CPU buffers; SMT disabled",
				"itlb_multihit": "KVM: Mitigation: Split huge pages"}}, dataset.Machine{Mitigations: map[string]string{
				"mds": "Mitigation: Clear CPU buffers; SMT Host state unknown", "itlb_multihit": "Not affected"}})
		}, "", "", ""},
		{"all written", func(f *fake) {
			f.probes(model.ProbeWorkloadBytes, kvm, constant(1e9))
			f.probes(model.ProbeDeviceBytes, kvm, constant(1.01e9))
		}, "", "", ""},
		{"bytes at the device not known", func(f *fake) { f.probes(model.ProbeWorkloadBytes, kvm, constant(1e9)) }, "", "",
			""},
		{"clock", func(f *fake) {
			f.probes(model.ProbeClockDiff, kvm, func(b int) float64 { return -0.01 * float64(b%2) })
			f.probes(model.ProbeClockError, kvm, constant(0.002))
		}, "guest-clock", Serious, "in 15 of 30 trials: 0.01 s at worst, -0.005 s on average"},
		{"clock within its error", func(f *fake) {
			f.probes(model.ProbeClockDiff, kvm, constant(0.01))
			f.probes(model.ProbeClockError, kvm, constant(0.02))
		}, "", "", ""},
		{"clock without an error", func(f *fake) { f.probes(model.ProbeClockDiff, kvm, constant(0.01)) },
			"guest-clock", Serious, "in 30 of 30 trials"},
		{"hidden CPU", func(f *fake) {
			f.probes(model.ProbeGuestGroupCPU, kvm, constant(3.02))
			f.probes(model.ProbeGuestCPU, kvm, constant(0.17))
		}, "hidden-cpu", Warning, "its control group took 3.02 s, the guest reports 0.17 s"},
		{"CPU accounted for", func(f *fake) {
			f.probes(model.ProbeGuestGroupCPU, kvm, constant(3.1))
			f.probes(model.ProbeGuestCPU, kvm, constant(3.0))
		}, "", "", ""},
		{"cap periods", func(f *fake) {
			f.Arms[kvm].CapRatio = 0.25
			f.probes(model.ProbeCapPeriods, kvm, func(b int) float64 { return float64(95 + b) })
		}, "few-cap-periods", Warning, "5 of 30 trials had fewer than 100 periods of the CPU cap (the shortest 95)"},
		{"throttled by its cap alone", func(f *fake) {
			f.Arms[kvm].CapRatio = 0.25
			f.probes(model.ProbeThrottled, kvm, constant(150))
			f.probes(model.ProbeCapPeriods, kvm, constant(200))
		}, "throttled", Info, "in 150 periods per trial on average, 75 % of them; native does not have the same cap"},
		{"throttled like native", func(f *fake) { f.capped(150, 140) }, "", "", ""},
		{"throttled more than native", func(f *fake) { f.capped(150, 60) }, "throttled", Warning,
			"75 % of them, but native in only 30 %"},
		{"throttled without a cap", func(f *fake) {
			f.probes(model.ProbeThrottled, kvm, constant(3))
			f.probes(model.ProbeCapPeriods, kvm, constant(200))
		}, "throttled", Warning, "the flavor has no cap"},
		{"unequal caps", func(f *fake) {
			f.Arms[native].Size.VCPUs, f.Arms[kvm].Size.VCPUs = 1, 1
			f.Arms[kvm].Size.IO.WriteOps, f.Arms[kvm].Size.Net = 500, model.NetCap{Rate: 1e6, Packets: 2000}
		}, "unequal-arms", Warning, "a cap of write_ops of 500 1/s against none, a cap of net of 1000000 bit/s against " +
			"none, a cap of packets of 2000 1/s against none"},
		{"a cap of I/O that leaks", func(f *fake) { f.rates(1, 9.4, 1.02) }, "cap-leaks", Warning,
			"wrote at 9.41 times the cap of its flavor (9.41 … 9.41): the cap does not hold"},
		{"caps of I/O that hold", func(f *fake) { f.rates(1, 1.03, 0.97) }, "", "", ""},
		{"a cap of I/O that one arm does not reach", func(f *fake) { f.rates(1, 0.5, 1) }, "cap-not-reached", Info,
			"wrote at only 0.5 times the cap of its flavor"},
		{"a cap of I/O that lets bursts pass", func(f *fake) {
			f.rates(1, 1, 1)
			for arm := range costs {
				peak := 1.1 * (20 << 20)
				if arm == kvm {
					peak = 3 * (20 << 20)
				}
				f.probes(model.ProbeWritePeak, arm, constant(peak))
			}
		}, "cap-bursts", Warning, "wrote at 3 times the cap of its flavor in its fastest second (3 … 3), and at"},
		{"a cap of I/O that limits nothing", func(f *fake) { f.rates(0.5, 0.3, 0.4) }, "cap-not-tested", Info,
			"no workload came near the cap write of any flavor: this one came nearest, at 0.5"},
		{"a cap of I/O that noise hides", func(f *fake) {
			f.rates(1, 1, 1)
			for i := range f.probe {
				o := &f.probe[i]
				o.Guest = o.Block
				if o.Arm == kvm {
					o.Value *= []float64{0.3, 1, 3.3}[o.Block%3]
				}
			}
		}, "cap-noise", Warning, "wrote at 0.998 times the cap of its flavor, but the interval is 0.688 … 1.45"},
		{"some steal", func(f *fake) {
			f.probes(model.ProbeSteal, kvm, func(b int) float64 { return 0.1 * float64(b%2) })
			f.probes(model.ProbeHostCPU, kvm, constant(1))
		}, "steal", Info, "took 0.05 s of CPU time from the host per trial, 0.1 s at worst (steal), which is 4.8 %"},
		{"much steal", func(f *fake) {
			f.probes(model.ProbeSteal, kvm, constant(0.5))
			f.probes(model.ProbeHostCPU, kvm, constant(1))
		}, "steal", Warning, "which is 33 %"},
		{"a trace of steal", func(f *fake) {
			f.probes(model.ProbeSteal, kvm, constant(0.01))
			f.probes(model.ProbeHostCPU, kvm, constant(1))
		}, "", "", ""},
		{"energy counters that work", func(f *fake) {
			f.joules(kvm, constant(2), constant(0), 1)
		}, "", "", ""},
		{"an energy counter that stands still", func(f *fake) {
			f.joules(kvm, constant(2), func(b int) float64 { return float64(b % 2) }, 1)
		}, "no-energy", Warning, "in 15 of 30 trials an energy counter stood still"},
		{"trials that are too short for energy counters", func(f *fake) {
			f.joules(kvm, constant(2), constant(0), 0.05)
		}, "no-energy", Info, "30 of 30 trials are shorter than 0.1 s"},
		{"wrong answer", func(f *fake) {
			f.Failures = []dataset.Failure{{Workload: "cpu", Arm: "kvm", Block: 7, Member: 0, Fault: fault.Guest,
				Text: "269 events instead of 270", Cause: store.EventWrongAnswer}}
		}, "wrong-answer", Serious, "1 trial exited normally but did not do the work, or did it wrong; the first, in block " +
			"8: 269 events"},
		{"contradiction", func(f *fake) {
			f.Failures = []dataset.Failure{{Workload: "cpu", Arm: "kvm", Block: 7, Member: 0, Fault: fault.Guest,
				Text: "rate × time is not the size", Cause: store.EventContradiction}}
		}, "impossible-arithmetic", Serious, "1 trial gave figures that contradict each other; the first, in block 8: rate " +
			"× time"},
		{"more CPU than time", func(f *fake) {
			f.Arms[kvm].Size.VCPUs = 2
			f.probes(model.ProbeGuestCPU, kvm, func(b int) float64 { return 2 + float64(b%2) })
			f.probes(model.ProbeTimed, kvm, constant(1))
			f.Arms[native].Size.VCPUs = 2
		}, "impossible-arithmetic", Serious, "in 15 of 30 trials the guest reports more CPU time than there was: 3 s, but " +
			"its 2 CPUs had only 2 s"},
		{"more CPU than its group", func(f *fake) {
			f.probes(model.ProbeGuestCPU, kvm, constant(4))
			f.probes(model.ProbeGuestGroupCPU, kvm, constant(2.5))
		}, "impossible-arithmetic", Warning, "reports 4 s of CPU time per trial, but its control group took only 2.5 s"},
		{"unequal arms", func(f *fake) {
			for i := range f.Arms {
				f.Arms[i].Size = model.Flavor{Name: "s", VCPUs: 2, MemoryBytes: 1 << 30, CPUs: model.CPUList{2, 3}}
			}
			f.Arms[kvm].Size = model.Flavor{Name: "t", VCPUs: 1, MemoryBytes: 1 << 29, CPUCap: 0.25, CPUs: model.CPUList{2, 3}}
		}, "unequal-arms", Warning, "it has 1 CPUs against 2, 512 MiB of memory against 1024, a cap of 0.25 CPUs " +
			"against none"},
		{"soft lockups", func(f *fake) {
			f.Events = []dataset.Event{{Kind: "kernel-soft-lockup", Text: "BUG: soft lockup - CPU#0 stuck for 22s!",
				Workload: "cpu", Arm: "kvm"}, {Kind: "kernel-soft-lockup", Text: "again", Workload: "cpu", Arm: "kvm"},
				{Kind: "kernel-log", Text: "lines lost", Workload: "", Arm: ""}, {Kind: "retry", Text: "made again", Workload: "",
					Arm: ""}}
		}, "host-distress", Serious, "reported soft-lockup: 2 messages, the first during cpu on kvm: BUG: soft lockup"},
		{"host out of memory", func(f *fake) {
			f.Events = []dataset.Event{{Kind: "kernel-oom", Text: "Out of memory: Killed process 1", Workload: "", Arm: ""}}
		}, "host-distress", Serious, "1 message, the first before or between trials: Out of memory"},
		{"guest out of memory", func(f *fake) {
			f.Events = []dataset.Event{{Kind: "kernel-oom-cgroup", Text: "Memory cgroup out of memory: Killed process 1",
				Workload: "cpu", Arm: "kvm"}}
		}, "out-of-memory", Warning, "at the memory limit of their control group: 1 message"},
		{"the host swaps", func(f *fake) {
			f.probes(model.ProbeHostSwapIn, kvm, func(b int) float64 { return float64(b/20) * (1 << 20) })
			f.probes(model.ProbeHostSwapOut, kvm, func(b int) float64 { return float64(b/20) * (2 << 20) })
		}, "swapped", Warning, "in 10 of 30 trials (33.3 %) the host moved memory to its swap or back: 3 MiB in the trial"},
		{"the guest swaps", func(f *fake) {
			f.probes(model.ProbeGuestSwapIn, kvm, constant(0))
			f.probes(model.ProbeGuestSwapOut, kvm, constant(5<<20))
		}, "swapped", Warning, "in 30 of 30 trials (100 %) the guest's kernel moved memory to its swap or back: 5 MiB"},
		{"a guest in the host's swap", func(f *fake) { f.probes(model.ProbeSwapped, lxc, constant(7<<20)) }, "swapped",
			Warning, "memory of the guest was in the host's swap at the end: 7 MiB"},
		{"a guest with its own kernel that should swap", func(f *fake) {
			f.Arms[kvm].Size.SwapBytes = 1 << 30
			f.probes(model.ProbeGuestSwapIn, kvm, constant(0))
			f.probes(model.ProbeGuestSwapOut, kvm, constant(5<<20))
		}, "", "", ""},
		{"a guest with its own swap, which the host swaps", func(f *fake) {
			f.Arms[kvm].Size.SwapBytes = 1 << 30
			f.probes(model.ProbeGuestSwapIn, kvm, constant(0))
			f.probes(model.ProbeSwapped, kvm, constant(5<<20))
		}, "swapped", Warning, "memory of the guest was in the host's swap at the end: 5 MiB"},
		{"a container that should swap", func(f *fake) {
			f.Arms[lxc].Size.SwapBytes = 1 << 30
			f.probes(model.ProbeHostSwapOut, lxc, constant(0))
			f.probes(model.ProbeHostSwapIn, lxc, constant(5<<20))
			f.probes(model.ProbeSwapped, lxc, constant(5<<20))
		}, "", "", ""},
		{"a few pages swapped", func(f *fake) {
			f.probes(model.ProbeHostSwapIn, kvm, constant(4096))
			f.probes(model.ProbeHostSwapOut, kvm, constant(8192))
		}, "", "", ""},
		{"late wake-ups", func(f *fake) {
			f.probes(model.ProbeLagMax, kvm,
				func(b int) float64 { return 0.15 * float64(b%2) })
		},
			"host-distress", Warning, "in 15 of 30 trials the host woke a waiting task too late, 0.15 s at worst"},
		{"slow forks", func(f *fake) { f.probes(model.ProbeForkMax, kvm, constant(0.3)) },
			"host-distress", Warning, "in 30 of 30 trials the host was slow to start a process, 0.3 s at worst"},
		{"other load", func(f *fake) { f.hostCPU(native, 2, 1); f.hostCPU(kvm, 2, 1) }, "other-load", Warning,
			"during the trials of native, 0.90 CPUs of the host were busy with something else"},
		{"other load of known processes", func(f *fake) {
			f.hostCPU(native, 2, 1)
			f.hostCPU(kvm, 2, 1)
			for _, text := range []string{
				"0.12 CPUs: ksmd", "0.90 CPUs: cc (pid 5): of the host", "1.03 CPUs: podman (pid 175), a daemon of arm podman",
				"0.41 CPUs: the kernel's ksmd",
				"0.13 CPUs: podman (pid 175), a daemon of arm podman", "nonsense", "many CPUs: nobody",
			} {
				f.Events = append(f.Events, dataset.Event{Kind: "other-load", Text: text, Workload: "", Arm: ""})
			}
			f.Events = append(f.Events, dataset.Event{Kind: "ksm", Text: "9.00 CPUs: another kind", Workload: "", Arm: ""})
		}, "other-load", Warning, "(limit 0.25); besides the run's guests, podman (pid 175), a daemon of arm podman kept " +
			"up to 1.03 CPUs busy, " +
			"cc (pid 5): of the host kept up to 0.90 CPUs busy, the kernel's ksmd kept up to 0.41 CPUs busy"},
		{"no other load", func(f *fake) { f.hostCPU(native, 1.2, 1); f.hostCPU(kvm, 1.2, 1) }, "", "", ""},
		{"CPU outside the group", func(f *fake) { f.hostCPU(native, 1.2, 1); f.hostCPU(kvm, 1.8, 1) }, "hidden-cpu", Warning,
			"the host spent 0.6 s of CPU time per trial outside this guest's control group"},
		{"dom0 works for a guest", func(f *fake) {
			f.hostCPU(native, 1.2, 1)
			f.hostCPU(kvm, 1.8, 1)
			f.probes(model.ProbeDom0CPU, kvm, constant(0.7))
		}, "hidden-cpu", Warning, "the group itself took 1 s, and Xen's dom0 0.7 s"},
		{"ceiling", func(f *fake) { f.disk(1, 1, 0.2, 0.3) }, "ceiling", Warning, "lxc and native both wrote 100 MB/s"},
		{"no ceiling: one is busy", func(f *fake) { f.disk(1, 1, 0.2, 0.8) }, "", "", ""},
		{"no ceiling: not steady", func(f *fake) { f.disk(1, 1.5, 0.2, 0.3) }, "", "", ""},
		{"no ceiling: only the rest of the trial is steady", func(f *fake) {
			f.disk(1, 1, 0.2, 0.3)
			for _, arm := range []int{native, control, lxc} {
				f.each(0, arm, func(o *dataset.Observation) { o.Value *= 1 + 0.2*float64(o.Block%2) })
			}
		}, "", "", ""},
		{"no ceiling: beside neighbours", func(f *fake) {
			f.disk(1, 1, 0.2, 0.3)
			for i := range f.Arms {
				f.Arms[i].Scenario = "noisy"
			}
		}, "", "", ""},
		{"overload", func(f *fake) { f.requests(kvm, 90, 0) }, "overload", Serious,
			"100 requests a second were due, but only 90 were answered"},
		{"requests answered", func(f *fake) { f.requests(kvm, 97, 0.005) }, "", "", ""},
		{"late requests", func(f *fake) { f.requests(kvm, 100, 0.02) }, "late-requests", Warning,
			"2 % of the requests were sent late"},
		{"a slow sender", func(f *fake) { f.packets(kvm, 0.9, 0.001, 0) }, "slow-sender", Serious,
			"1000 packets a second were due, but the sender managed only 900"},
		{"a sender", func(f *fake) { f.packets(kvm, 0.97, 0.05, 0.01) }, "", "", ""},
		{"a full socket", func(f *fake) { f.packets(kvm, 1, 0.05, 0.04) }, "full-socket", Info,
			"5 % of the packets were lost, and most of these (4 % of all) had arrived"},
		{"lost round trips", func(f *fake) { f.packets(kvm, 1, 0.01, 0); f.roundTrips(kvm) }, "lost-round-trips", Warning,
			"1 % of the messages got no answer"},
		{"few lost round trips", func(f *fake) { f.packets(kvm, 1, 0.0005, 0); f.roundTrips(kvm) }, "", "", ""},
		{"starts", func(f *fake) { f.starts(kvm, 1) }, "few-starts", Info,
			"30 starts are too few for an interval of p95 and p99"},
		{"a cold start", func(f *fake) {
			f.starts(kvm, 1)
			f.Cold = []string{"cpu"}
			f.probes(model.ProbeCached, kvm, constant(0.001))
		}, "few-starts", Info, "30 starts"},
		{"a cold start with a warm cache", func(f *fake) {
			f.starts(kvm, 1)
			f.Cold = []string{"cpu"}
			f.probes(model.ProbeCached, kvm, func(b int) float64 { return float64(b%3) / 4 })
		}, "warm-start", Serious, "up to 50 % of the image's files that a start reads was in the page cache"},
		{"a restoration with a warm cache", func(f *fake) {
			f.starts(kvm, 1)
			f.restored()
			f.probes(model.ProbeCached, kvm, constant(1))
		}, "few-starts", Info, "30 starts"},
		{"a restoration that read from the disk", func(f *fake) {
			f.starts(kvm, 1)
			f.restored()
			f.probes(model.ProbeCached, kvm, func(b int) float64 { return 1 - float64(b%3)/20 })
		}, "cold-restoration", Warning, "as little as 90 % of the saved state was in the page cache"},
		{"phases without a part of the start", func(f *fake) { f.starts(kvm, 0.9) }, "phases-differ", Serious,
			"the rest of +1.09 s exceeds"},
		{"fills", func(f *fake) { f.fills(kvm, model.LimitMemory, never) }, "", "", ""},
		{"few fills", func(f *fake) {
			f.drop(func(o dataset.Observation) bool { return o.Metric == 0 && o.Block >= 20 })
			f.fills(kvm, model.LimitMemory, never)
		}, "few-fills", Info, "20 fills are too few for a lower tolerance limit"},
		{"a probe that was slow alone", func(f *fake) {
			f.fills(kvm, model.LimitSlowdown, never)
			f.alone(func(b int) float64 { return 0.5 + 0.5*float64(b*b%31%2) })
		}, "disturbed-probe", Serious, "the probe alone took 0.495 s in one fill and 1.01 s in another"},
		{"a probe that was alike alone", func(f *fake) {
			f.fills(kvm, model.LimitSlowdown, never)
			f.alone(func(b int) float64 { return 0.5 + 0.01*float64(b*b%7) })
		}, "", "", ""},
		{"fills that ended", func(f *fake) {
			f.fills(kvm, model.LimitMemory, func(b int) bool { return b%3 == 0 })
		}, "most-reached", Warning, "10 of 30 fills ended at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(11, 0.005, 30)
			c.change(f)
			r := analyze(t, f)
			var got []Finding
			for _, found := range r.Findings {
				if !slices.Contains(besides[c.id], found.ID) && found.ID != "faster-than-baseline" {
					got = append(got, found)
				}
			}
			switch {
			case c.id == "" && len(got) > 0:
				t.Errorf("findings %+v, want none", got)
			case c.id == "":
			case !slices.Equal(ids(got), []string{c.id}):
				t.Errorf("findings %+v, want %s only", got, c.id)
			case got[0].Severity != c.severity || !strings.Contains(got[0].Text, c.text):
				t.Errorf("finding %+v, want %s, %q", got[0], c.severity, c.text)
			default:
				arm := got[0].Arm
				if arm == "" || arm == "native" {
					arm = "kvm"
				}
				if metric := r.find("time", arm); !slices.Contains(metric.Findings, c.id) {
					t.Errorf("not noted at the comparison: %v", metric.Findings)
				}
			}
		})
	}
}

// If values are far apart the mean does not stand alone, and only the interval decides whether the
// comparison is claimed.
func TestWideIsClaimed(t *testing.T) {
	f := newFake(12, 0.005, 30)
	f.each(0, kvm, func(o *dataset.Observation) {
		if o.Block%10 == 0 {
			o.Value *= 50
		}
	})
	r := analyze(t, f)
	if c := r.find("time", "kvm"); !c.Wide || c.ArmMean == 0 || c.Verdict != Costs || c.OverheadPercent > 60 {
		t.Errorf("%+v", c)
	}
	if s := r.Arm("kvm", "cpu").Metric("time"); !s.Wide || s.P95 < 400 {
		t.Errorf("%+v", s)
	}
}
