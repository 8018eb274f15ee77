// Package probe measures from outside what a trial did to the host: the CPU
// time of everything that belongs to the guest, that of the whole host, the
// bytes that reached the data device, and how the host bore it. It does not
// judge trials.
package probe

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/host"
)

// Names of the probes; each is one value a trial, over its timed steps.
const (
	GuestGroupCPU = "guest_cgroup_cpu" // s of CPU of the guest's whole cgroup: vCPUs, VMM, helpers
	HostCPU       = "host_cpu"         // s of CPU of the whole host; under Xen, of all domains
	Dom0CPU       = "dom0_cpu"         // s of CPU of Xen's privileged domain, which works for all others
	DeviceBytes   = "device_bytes"     // bytes that reached the data device
	Steal         = "steal"            // s that a hypervisor below took from the host
	Throttled     = "nr_throttled"     // periods in which the CPU cap bit
	CapPeriods    = "cap_periods"      // periods of the CPU cap that passed
	LagMax        = "lag_max"          // s, the longest that the host woke tare too late
	ForkMax       = "fork_max"         // s, the longest that it took to start a process on the host
	OwnCPU        = "own_cpu"          // s of CPU that tare itself took
	// The rest is the runner's to fill in: it takes the guest's word for them.
	GuestMemory   = "guest_memory"    // B of the host's memory that the guest held half way; once for each guest
	MemoryLeft    = "memory_left"     // B, the least that the host had available; where the campaign has a limit of it
	Timed         = "timed"           // s, the timed steps on the host's clock
	GuestCPU      = "guest_cpu"       // s of CPU as the guest's own rusage says
	WorkloadBytes = "workload_bytes"  // bytes that the workload wrote
	ClockDiff     = "clock_diff"      // s, guest's clock less host's over the trial
	ClockError    = "clock_error"     // s, ± of clock_diff
	HostTimeError = "host_time_error" // s, host's time less the guest's where both read one clock
	StartSkew     = "start_skew"      // s, start as the host heard of it less the instant agreed
	BarrierSkew   = "barrier_skew"    // s, start on the guest's own clock less that instant on it
)

// Units of the probes, in the order to show them.
var Units = []struct{ Name, Unit string }{
	{Timed, "s"}, {GuestGroupCPU, "s"}, {GuestCPU, "s"}, {HostCPU, "s"}, {Dom0CPU, "s"}, {OwnCPU, "s"}, {DeviceBytes, "B"}, {WorkloadBytes, "B"},
	{Steal, "s"}, {Throttled, "periods"}, {CapPeriods, "periods"}, {GuestMemory, "B"}, {MemoryLeft, "B"}, {LagMax, "s"}, {ForkMax, "s"},
	{ClockDiff, "s"}, {ClockError, "s"}, {HostTimeError, "s"}, {StartSkew, "s"}, {BarrierSkew, "s"},
}

// Target is the guest that a window watches. What cgroup.ErrUnknown stands for
// is left out of the readings.
type Target interface {
	// Usage reads the counters of its control group.
	Usage() (cgroup.Usage, error)
	// Written is how many bytes reached its data device so far.
	Written() (int64, error)
}

// Watch is what watches the host during a whole run. The caller closes it.
type Watch struct {
	lag   *host.Lag
	forks *host.Lag // nil: the host cannot
	log   *host.KernelLog
	// Missing says what cannot be watched on this host, one line each.
	Missing []string
}

// Start begins to watch.
func Start() *Watch {
	w := &Watch{lag: host.StartLag(0)}
	log, err := host.WatchKernelLog()
	if err != nil {
		w.Missing = append(w.Missing, fmt.Sprintf("the kernel log: %v", err))
	}
	w.log = log
	if w.forks, err = host.StartForks(); err != nil {
		w.Missing = append(w.Missing, fmt.Sprintf("how long the host takes to start a process: %v", err))
	}
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
}

// Notice is something that happened to the host and that a reader of the
// numbers must know.
type Notice struct {
	Kind string
	Text string
}

// Drain returns what the kernel's log has complained of since the last call.
func (w *Watch) Drain() []Notice {
	if w.log == nil {
		return nil
	}
	d, err := w.log.Drain()
	if err != nil {
		return []Notice{{"kernel-log", fmt.Sprintf("cannot be read: %v", err)}}
	}
	var notices []Notice
	for _, line := range d.Lines {
		notices = append(notices, Notice{"kernel-" + string(line.Kind), strings.ToValidUTF8(line.Text, "?")})
	}
	if d.Lost > 0 {
		notices = append(notices, Notice{"kernel-log", fmt.Sprintf("%d messages were overwritten before they were read", d.Lost)})
	}
	return notices
}

// Window is the time over which a trial is watched.
type Window struct {
	watch  *Watch
	target Target
	usage  cgroup.Usage
	cpu    host.CPUTime
	xen    map[int]time.Duration // CPU time by domain; nil where there is no Xen
	bytes  int64
	// cpuKnown and bytesKnown: the target could tell.
	cpuKnown, bytesKnown bool
	lag, forks           *host.LagWindow
	own                  time.Duration // CPU time of tare so far
	clocks               host.Clocks
}

// Begin opens a window on a guest.
func (w *Watch) Begin(target Target) (*Window, error) {
	v := &Window{watch: w, target: target}
	var err error
	if v.clocks, err = host.ReadClocks(); err != nil {
		return nil, err
	}
	v.lag = w.lag.Window()
	if w.forks != nil {
		v.forks = w.forks.Window()
	}
	v.own = ownCPU()
	if v.bytes, v.bytesKnown, err = known(target.Written()); err != nil {
		return nil, err
	}
	if v.cpu, err = host.CPUTimes(); err != nil {
		return nil, err
	}
	if v.xen, err = domainTimes(); err != nil {
		return nil, err
	}
	v.usage, v.cpuKnown, err = known(target.Usage())
	return v, err
}

// known takes what cannot be measured for no error.
func known[V any](v V, err error) (V, bool, error) {
	if errors.Is(err, cgroup.ErrUnknown) {
		return v, false, nil
	}
	return v, err == nil, err
}

// ownCPU is the CPU time that this process took so far, and those that it made.
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

// Readings are what a window saw.
type Readings struct {
	Values  map[string]float64 // by probe
	Notices []Notice
	// Suspended: the host slept meanwhile, so the trial does not count.
	Suspended bool
}

// End closes the window.
func (v *Window) End() (Readings, error) {
	usage, cpuKnown, err := known(v.target.Usage())
	if err != nil {
		return Readings{}, err
	}
	cpu, err := host.CPUTimes()
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
	clocks, err := host.ReadClocks()
	if err != nil {
		return Readings{}, err
	}
	spent := cpu.Sub(v.cpu)
	r := Readings{Values: map[string]float64{
		HostCPU: spent.Busy(),
		Steal:   spent.Steal,
		OwnCPU:  (ownCPU() - v.own).Seconds(),
	}}
	if xen != nil { // what dom0 sees in /proc/stat is itself, and guests at work are its steal
		delete(r.Values, Steal)
		all, dom0 := domainsSince(xen, v.xen)
		r.Values[HostCPU], r.Values[Dom0CPU] = all.Seconds(), dom0.Seconds()
	}
	if cpuKnown && v.cpuKnown {
		r.Values[GuestGroupCPU] = (usage.CPU - v.usage.CPU).Seconds()
	}
	if bytesKnown && v.bytesKnown {
		r.Values[DeviceBytes] = float64(bytes - v.bytes)
	}
	if usage.Periods > 0 {
		r.Values[CapPeriods] = float64(usage.Periods - v.usage.Periods)
		r.Values[Throttled] = float64(usage.ThrottledPeriods - v.usage.ThrottledPeriods)
	}
	if lag := v.lag.End(); lag.Samples > 0 {
		r.Values[LagMax] = lag.Max
	}
	if v.forks != nil {
		if forks := v.forks.End(); forks.Samples > 0 {
			r.Values[ForkMax] = forks.Max
		}
	}
	change := clocks.Since(v.clocks)
	r.Suspended = change.WasSuspended()
	if change.Stepped(host.DefaultClockStep) {
		r.Notices = append(r.Notices, Notice{"clock-step", fmt.Sprintf("the host's wall clock was set by %v during a trial; durations are by its monotonic clock and not affected", change.Step)})
	}
	if r.Suspended {
		r.Notices = append(r.Notices, Notice{"suspend", fmt.Sprintf("the host slept for %v during a trial, which is made again", change.Suspended)})
	}
	r.Notices = append(r.Notices, v.watch.Drain()...)
	return r, nil
}
