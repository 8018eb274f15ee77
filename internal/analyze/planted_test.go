package analyze

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
)

// capped gives native and kvm the same cap, and sets how many of 200 periods are throttled.
func (f *fake) capped(kvmBitten, nativeBitten float64) {
	for i := range f.Arms {
		f.Arms[i].CapRatio = 0.25
	}
	for arm, bitten := range map[int]float64{native: nativeBitten, kvm: kvmBitten} {
		f.probes(model.ProbeThrottled, arm, constant(bitten))
		f.probes(model.ProbeCapPeriods, arm, constant(200))
	}
}

// machines sets what the guests of kvm, and those of all other arms, say of their machine.
func (f *fake) machines(others, of dataset.Machine) {
	for i := range f.Arms {
		f.Arms[i].Machine = others
	}
	f.Arms[kvm].Machine = of
}

// rename gives the workload another name.
func (f *fake) rename(workload string) {
	for i := range f.Metrics {
		f.Metrics[i].Workload = workload
	}
}

// rates caps what all guests write, and sets how much of the cap three arms got.
func (f *fake) rates(nativeGot, kvmGot, lxcGot float64) {
	const limit = 20 << 20
	for i := range f.Arms {
		f.Arms[i].Size.IO.Write = limit
	}
	for arm, got := range map[int]float64{native: nativeGot, kvm: kvmGot, lxc: lxcGot} {
		f.probes(model.ProbeWriteRate, arm, func(b int) float64 { return limit * got * (1 + 0.001*float64(b%3)) })
	}
}

// hostCPU sets the CPU time of the host, and of the guest's control group, in a trial of one second.
func (f *fake) hostCPU(arm int, host, group float64) {
	f.probes(model.ProbeHostCPU, arm, func(b int) float64 { return host + 0.01*float64(b%2) })
	f.probes(model.ProbeGuestGroupCPU, arm, constant(group))
	f.probes(model.ProbeOwnCPU, arm, constant(0.1))
	f.probes(model.ProbeTimed, arm, constant(1))
}

// disk makes native and lxc write 100 MB in a time that varies between two values, and sets their
// CPU time.
func (f *fake) disk(low, high, nativeCPU, lxcCPU float64) {
	for arm, cpu := range map[int]float64{native: nativeCPU, lxc: lxcCPU} {
		f.probes(model.ProbeWorkloadBytes, arm, constant(1e8))
		f.probes(model.ProbeTimed, arm, func(b int) float64 { return low + (high-low)*float64(b%2) })
		f.probes(model.ProbeGuestGroupCPU, arm, constant(cpu))
	}
}

// requests gives an arm 100 requests a second of which so many are answered, and a share is sent late.
func (f *fake) requests(arm int, answered, late float64) {
	f.probes(model.ProbeStatedRate, arm, constant(100))
	f.probes(model.ProbeAchievedRate, arm, constant(answered))
	f.probes(model.ProbeLateShare, arm, constant(late))
}

// packets gives an arm 1000 packets a second that are to be sent for 2 s, of which a share is sent; shares of these are
// lost, and lost at the socket.
func (f *fake) packets(arm int, sent, lost, socket float64) {
	f.probes(model.ProbePacketsAsked, arm, constant(1000))
	f.probes(model.ProbePacketsTime, arm, constant(2))
	f.probes(model.ProbePacketsSent, arm, constant(2000*sent))
	f.probes(model.ProbePacketsReceived, arm, constant(2000*sent*(1-lost)))
	f.probes(model.ProbePacketsLost, arm, constant(2000*sent*lost))
	f.probes(model.ProbePacketsSocket, arm, constant(2000*sent*socket))
}

// roundTrips gives an arm 10 single latencies in each block.
func (f *fake) roundTrips(arm int) {
	for b := range int32(f.Planned) {
		h := &histogram.Histogram{}
		if err := h.Add(20_000, 10); err != nil {
			panic(err)
		}
		f.Latencies = append(f.Latencies, dataset.Latencies{Metric: 0, Arm: int32(arm), Block: b, Guest: 0, Member: 0,
			Histogram: h})
	}
}

// positions shuffles the arms of each block, and multiplies the time of the first trial.
func (f *fake) positions(first float64) {
	r := rand.New(rand.NewPCG(5, 2))
	order := make([][]int, f.Planned)
	for b := range order {
		order[b] = r.Perm(len(f.Arms))
	}
	for i := range f.obs {
		o := &f.obs[i]
		o.Position = int32(order[o.Block][o.Arm])
		if o.Position == 0 && o.Metric == 0 {
			o.Value *= first
		}
	}
}

// repeats runs every third trial of native and kvm twice, and sets the ratio of the counted trial
// to the one right after it.
func (f *fake) repeats(native, kvm float64) {
	r := rand.New(rand.NewPCG(6, 2))
	for _, o := range slices.Clone(f.obs) {
		if o.Block%3 != 0 || o.Metric != 0 || o.Arm != 0 && o.Arm != 2 {
			continue
		}
		o.Repeat = true
		o.Value *= math.Exp(0.002*r.NormFloat64()) / []float64{native, 0, kvm}[o.Arm]
		f.obs = append(f.obs, o)
	}
}

// starts makes the trials of an arm starts, whose phases are this share of them.
func (f *fake) starts(arm int, share float64) {
	took := map[int]float64{}
	f.each(0, arm, func(o *dataset.Observation) { took[int(o.Block)] = o.Value })
	f.probes(model.ProbePhaseSetup, arm, func(b int) float64 { return took[b] / 4 })
	f.probes(model.ProbePhaseProgram, arm, func(b int) float64 { return (share - 0.25) * took[b] })
}

// restored makes all starts restorations.
func (f *fake) restored() {
	r := rand.New(rand.NewPCG(13, 1))
	for _, name := range []string{restoreMetrics.fresh, restoreMetrics.save, restoreMetrics.flushed, restoreMetrics.size,
		restoreMetrics.first, restoreMetrics.second} {
		metric := len(f.Metrics)
		f.Metrics = append(f.Metrics, dataset.Metric{Workload: "cpu", Name: name, Unit: "s", Better: "lower"})
		for arm := range costs {
			for b := range f.Planned {
				f.add(metric, arm, b, math.Exp(0.005*r.NormFloat64()))
			}
		}
	}
}

// fills makes the trials of an arm fills, which broke a limit in every block but those in which ended is true.
func (f *fake) fills(arm int, limit string, ended func(block int) bool) {
	for _, of := range model.FillLimits {
		f.probes(model.ProbeBroke(of), arm, func(b int) float64 {
			if of == limit && !ended(b) {
				return 1
			}
			return 0
		})
	}
}

// alone gives every arm the metric of the probe's time before there were other guests.
func (f *fake) alone(took func(block int) float64) {
	metric := len(f.Metrics)
	f.Metrics = append(f.Metrics, dataset.Metric{Workload: "cpu", Name: fillAlone, Unit: "s", Better: "lower"})
	r := rand.New(rand.NewPCG(12, 1))
	for arm := range costs {
		for b := range f.Planned {
			f.add(metric, arm, b, took(b)*math.Exp(0.005*r.NormFloat64()))
		}
	}
}

// never is true of no block.
func never(int) bool { return false }

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }
