// Package probe measures from outside what a trial did to the host: the CPU
// time of the whole guest and of the whole host, the bytes that reached the data
// device, and signs that the host was overloaded. It does not judge trials.
package probe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host/energy"
	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/host/watch"
	"github.com/tare-bench/tare/internal/model"
)

// Units lists the probes with their units, in display order.
var Units = []struct{ Name, Unit string }{
	{model.ProbeTimed, "s"}, {model.ProbeGuestGroupCPU, "s"}, {model.ProbeGuestCPU, "s"}, {model.ProbeHostCPU, "s"},
	{model.ProbeDom0CPU, "s"}, {model.ProbeOwnCPU, "s"},
	{model.ProbeDeviceBytes, "B"}, {model.ProbeWorkloadBytes, "B"},
	{model.ProbeDeviceRead, "B"}, {model.ProbeWorkloadRead, "B"},
	{model.ProbeReadRate, "B/s"}, {model.ProbeWriteRate, "B/s"}, {model.ProbeReadOps, "1/s"}, {model.ProbeWriteOps, "1/s"},
	{model.ProbeReadPeak, "B/s"}, {model.ProbeWritePeak, "B/s"},
	{model.ProbeReadOpsPeak, "1/s"}, {model.ProbeWriteOpsPeak, "1/s"},
	{model.ProbeWaits, "switches"}, {model.ProbePreemptions, "switches"},
	{model.ProbeSteal, "s"}, {model.ProbeThrottled, "periods"}, {model.ProbeCapPeriods, "periods"},
	{model.ProbeEnergyPackage, "J"}, {model.ProbeEnergyDRAM, "J"}, {model.ProbeEnergyPlatform, "J"},
	{model.ProbeEnergyTime, "s"}, {model.ProbeEnergyFaults, "counters"},
	{model.ProbeGuestMemory, "B"}, {model.ProbeMemoryLeft, "B"}, {model.ProbeLagMax, "s"}, {model.ProbeForkMax, "s"},
	{model.ProbeHostSwapIn, "B"}, {model.ProbeHostSwapOut, "B"},
	{model.ProbeGuestSwapIn, "B"}, {model.ProbeGuestSwapOut, "B"}, {model.ProbeSwapped, "B"},
	{model.ProbeClockDiff, "s"}, {model.ProbeClockError, "s"}, {model.ProbeHostTimeError, "s"},
	{model.ProbeStartSkew, "s"}, {model.ProbeBarrierSkew, "s"},
	{model.ProbeRetransmits, "segments"},
	{model.ProbeNeighbourTime, "s"}, {model.ProbeNeighbourCPU, "s"}, {model.ProbeNeighbourBytes, "B"},
}

// StartUnits are the further probes of trials that create their guests.
var StartUnits = []struct{ Name, Unit string }{
	{model.ProbePhaseSetup, "s"}, {model.ProbePhaseRuntime, "s"}, {model.ProbePhaseKernel, "s"},
	{model.ProbePhaseInit, "s"}, {model.ProbePhaseAgent, "s"}, {model.ProbePhaseProgram, "s"},
	{model.ProbeStartOwn, "s"}, {model.ProbeStartError, "s"}, {model.ProbeCached, "1"}, {model.ProbeDiskRead, "B"},
}

// FillUnits are the further probes of trials that fill the host with guests.
var FillUnits = fillUnits()

func fillUnits() []struct{ Name, Unit string } {
	units := []struct{ Name, Unit string }{
		{model.ProbeFillStart, "s"}, {model.ProbeFillSlowdown, "1"}, {model.ProbeFillP99, "1"},
		{model.ProbeServingP99, "s"}, {model.ProbeServed, "requests"},
		{model.ProbeFillLost, "guests"}, {model.ProbeGuestShare, "B"}, {model.ProbeOwnMemory, "B"},
	}
	for _, limit := range model.FillLimits {
		units = append(units, struct{ Name, Unit string }{model.ProbeBroke(limit), "fills"})
	}
	return units
}

// RateUnits are the further probes of trials with requests at a constant rate.
var RateUnits = []struct{ Name, Unit string }{
	{model.ProbeStatedRate, "1/s"}, {model.ProbeAchievedRate, "1/s"}, {model.ProbeLateShare, "1"},
}

// PacketUnits are the further probes of trials that count packets.
var PacketUnits = []struct{ Name, Unit string }{
	{model.ProbePacketsAsked, "1/s"}, {model.ProbePacketsTime, "s"}, {model.ProbePacketsSent, "packets"},
	{model.ProbePacketsReceived, "packets"}, {model.ProbePacketsLost, "packets"}, {model.ProbePacketsSocket, "packets"},
	{model.ProbePeerCPU, "s"},
}

// UnitsOf lists the probes of a workload's trials with their units, in display order.
func UnitsOf(kind model.WorkloadKind) []struct{ Name, Unit string } {
	return slices.Concat(Units, map[model.WorkloadKind][]struct{ Name, Unit string }{
		model.Fills: FillUnits, model.Starts: StartUnits, model.AtRate: RateUnits,
		model.CountsPackets: PacketUnits,
	}[kind])
}

// Target is the guest that a window watches. If a method returns
// cgroup.ErrUnknown, the readings lack its values.
type Target interface {
	// Usage reads the counters of its control group.
	Usage() (cgroup.Usage, error)
	// Written returns how many bytes have reached its data device so far.
	Written() (int64, error)
	// IOCaps are those of its flavor, and Traffic is what has passed between it and its data device
	// so far.
	IOCaps() model.IOCaps
	Traffic() (model.Traffic, error)
}

// Watch observes the host during a whole run. The caller closes it.
type Watch struct {
	lag   *watch.Lag
	forks *watch.Lag // nil: not possible on this host
	log   *watch.KernelLog
	meter *energy.Meter // nil: not possible on this host; its environment says why
	// Missing says what cannot be observed on this host, one line each.
	Missing []string
}

// Effort is what a neighbour did so far: how much it disturbs others is by its own CPU time and writes.
type Effort struct {
	At       time.Time
	CPU      time.Duration
	Bytes    int64
	cpu, dev bool // these are known
}

// EffortOf reads what a guest did so far.
func EffortOf(t Target) (e Effort, err error) {
	e.At = time.Now()
	usage, ok, err := known(t.Usage())
	if err != nil {
		return e, err
	}
	e.CPU, e.cpu = usage.CPU, ok
	e.Bytes, e.dev, err = known(t.Written())
	return e, err
}

// Since returns the probes of a neighbour that has done e, and had done before when the others began.
func (e Effort) Since(before Effort) map[string]float64 {
	values := map[string]float64{model.ProbeNeighbourTime: e.At.Sub(before.At).Seconds()}
	if e.cpu && before.cpu {
		values[model.ProbeNeighbourCPU] = (e.CPU - before.CPU).Seconds()
	}
	if e.dev && before.dev {
		values[model.ProbeNeighbourBytes] = float64(e.Bytes - before.Bytes)
	}
	return values
}

// Start begins to observe the host.
func Start() *Watch {
	w := &Watch{lag: watch.StartLag(0)}
	log, err := watch.OpenKernelLog()
	if err != nil {
		w.Missing = append(w.Missing, fmt.Sprintf("the kernel log: %v", err))
	}
	w.log = log
	if w.forks, err = watch.StartForks(); err != nil {
		w.Missing = append(w.Missing, fmt.Sprintf("how long the host takes to start a process: %v", err))
	}
	w.meter, _ = energy.Open(procfs.Host(""))
	return w
}

// Close ends the watch.
func (w *Watch) Close() {
	w.lag.Stop()
	if w.forks != nil {
		w.forks.Stop()
	}
	if w.log != nil {
		w.log.Close()
	}
	if w.meter != nil {
		w.meter.Close()
	}
}

// Notice is an event on the host that readers of the results must know.
type Notice struct {
	Kind string
	Text string
}

// kernelNotice begins the kind of a notice from the kernel's log.
const kernelNotice = "kernel-"

// KernelOOMCgroup is the kind of a notice that the kernel killed processes at the memory
// limit of a control group.
const KernelOOMCgroup = kernelNotice + string(watch.OOMCgroup)

// Drain returns the problems in the kernel's log since the last call.
func (w *Watch) Drain() []Notice {
	if w.log == nil {
		return nil
	}
	d, err := w.log.Drain()
	if err != nil {
		return []Notice{{"kernel-log", fmt.Sprintf("cannot be read: %v", err)}}
	}
	var notices []Notice
	for _, m := range d.Messages {
		notices = append(notices, Notice{kernelNotice + string(m.Kind), m.Text})
	}
	if d.Lost > 0 {
		notices = append(notices, Notice{"kernel-log",
			fmt.Sprintf("%d messages were overwritten before they were read", d.Lost)})
	}
	return notices
}

// Window is the part of a trial over which its target and the host are observed.
type Window struct {
	watch  *Watch
	target Target
	usage  cgroup.Usage
	cpu    procfs.CPUTime
	xen    map[int]time.Duration // CPU time by domain; nil without Xen
	bytes  int64
	read   int64
	disk   *diskRates // nil: its flavor caps no I/O
	// cpuKnown, bytesKnown and readKnown: the target can measure them.
	cpuKnown, bytesKnown, readKnown bool

	swap       swapTraffic
	lag, forks *watch.LagWindow
	own        time.Duration // CPU time of tare so far
	energy     *energySpan   // nil: not measured
	clocks     watch.Clocks
}

// Begin opens a window on a guest. The caller ends it, also to discard it.
func (w *Watch) Begin(target Target) (*Window, error) {
	v := &Window{watch: w, target: target}
	var err error
	if v.clocks, err = watch.ReadClocks(); err != nil {
		return nil, err
	}
	v.lag = w.lag.Window()
	if w.forks != nil {
		v.forks = w.forks.Window()
	}
	v.own, v.swap = ownCPU(), readSwapTraffic()
	if v.bytes, v.bytesKnown, err = known(target.Written()); err != nil {
		return nil, err
	}
	if v.read, v.readKnown, err = known(delivered(target)); err != nil {
		return nil, err
	}
	if v.cpu, err = hostCPU(); err != nil {
		return nil, err
	}
	if v.xen, err = domainTimes(); err != nil {
		return nil, err
	}
	if v.usage, v.cpuKnown, err = known(target.Usage()); err != nil {
		return nil, err
	}
	if caps := target.IOCaps(); caps != (model.IOCaps{}) {
		v.disk, err = watchDisk(target, caps)
	}
	if v.cpuKnown { // the work of a remote machine takes no energy of this host
		v.energy = w.beginEnergy()
	}
	return v, err
}

// delivered is how many bytes have been read from the target's data device so far.
func delivered(t Target) (int64, error) {
	traffic, err := t.Traffic()
	return traffic.Read, err
}

// hostCPU is the time that all CPUs of the host spent since boot.
func hostCPU() (procfs.CPUTime, error) {
	st, err := procfs.Host("").Stat()
	return st.Total, err
}

// known reports whether v could be measured; cgroup.ErrUnknown is no error.
func known[V any](v V, err error) (V, bool, error) {
	if errors.Is(err, cgroup.ErrUnknown) {
		return v, false, nil
	}
	return v, err == nil, err
}

// ownCPU is the CPU time of this process so far, and of the child processes that
// it has waited for.
func ownCPU() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// Readings are the results of a window.
type Readings struct {
	Values  map[string]float64 // by probe
	Notices []Notice
	// Suspended: the host was suspended, so the trial does not count.
	Suspended bool
}

// End closes the window and returns its readings.
func (v *Window) End() (Readings, error) {
	joules := v.energy.end()
	rates, err := v.disk.end()
	if err != nil {
		return Readings{}, err
	}
	usage, cpuKnown, err := known(v.target.Usage())
	if err != nil {
		return Readings{}, err
	}
	cpu, err := hostCPU()
	if err != nil {
		return Readings{}, err
	}
	xen, err := domainTimes()
	if err != nil {
		return Readings{}, err
	}
	bytes, bytesKnown, err := known(v.target.Written())
	if err != nil {
		return Readings{}, err
	}
	read, readKnown, err := known(delivered(v.target))
	if err != nil {
		return Readings{}, err
	}
	clocks, err := watch.ReadClocks()
	if err != nil {
		return Readings{}, err
	}
	spent := cpu.Sub(v.cpu)
	r := Readings{Values: map[string]float64{
		model.ProbeHostCPU: spent.Busy(),
		model.ProbeSteal:   spent.Steal,
		model.ProbeOwnCPU:  (ownCPU() - v.own).Seconds(),
	}}
	if xen != nil { // dom0's /proc/stat shows only dom0, and counts the guests' work as steal
		delete(r.Values, model.ProbeSteal)
		all, dom0 := domainsSince(xen, v.xen)
		r.Values[model.ProbeHostCPU], r.Values[model.ProbeDom0CPU] = all.Seconds(), dom0.Seconds()
	}
	if cpuKnown && v.cpuKnown {
		r.Values[model.ProbeGuestGroupCPU] = (usage.CPU - v.usage.CPU).Seconds()
	}
	if usage.Swapped != nil {
		r.Values[model.ProbeSwapped] = float64(*usage.Swapped)
	}
	v.swap.add(r.Values)
	if bytesKnown && v.bytesKnown {
		r.Values[model.ProbeDeviceBytes] = float64(bytes - v.bytes)
	}
	if readKnown && v.readKnown {
		r.Values[model.ProbeDeviceRead] = float64(read - v.read)
	}
	maps.Copy(r.Values, rates)
	maps.Copy(r.Values, joules)
	if usage.Periods > 0 {
		r.Values[model.ProbeCapPeriods] = float64(usage.Periods - v.usage.Periods)
		r.Values[model.ProbeThrottled] = float64(usage.ThrottledPeriods - v.usage.ThrottledPeriods)
	}
	if longest, ok := v.lag.End(); ok {
		r.Values[model.ProbeLagMax] = longest.Seconds()
	}
	if v.forks != nil {
		if longest, ok := v.forks.End(); ok {
			r.Values[model.ProbeForkMax] = longest.Seconds()
		}
	}
	change := clocks.Since(v.clocks)
	r.Suspended = change.WasSuspended()
	if change.Stepped() {
		r.Notices = append(r.Notices, Notice{"clock-step",
			fmt.Sprintf("the host's wall clock was changed by %v during a trial; durations use its monotonic clock and are "+
				"not affected", change.Step)})
	}
	if r.Suspended {
		r.Notices = append(r.Notices, Notice{"suspend",
			fmt.Sprintf("the host was suspended for %v during a trial, which is repeated", change.Suspended)})
	}
	r.Notices = append(r.Notices, v.watch.Drain()...)
	return r, nil
}
