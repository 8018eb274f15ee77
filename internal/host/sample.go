package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// Sample is the host's activity over a short interval while tare itself waited.
type Sample struct {
	Seconds float64 `json:"seconds"`
	CPUs    int     `json:"cpus"`
	// Others is the CPU time of everything but tare, in CPUs: 1.5 means that one and a half CPUs
	// were busy all the time.
	Others float64 `json:"others"`
	// Busy is the busy share of each CPU, 0 to 1, including tare's.
	Busy []CPUShare `json:"busy,omitempty"`
	// Steal is the share of all CPU time that a hypervisor gave to others, 0 to 1.
	Steal float64 `json:"steal"`
	// IOWait is the share of all CPU time that was idle with outstanding I/O, 0 to 1.
	IOWait float64 `json:"iowait"`
	// Runnable is the mean number of runnable threads without tare's, and RunnableMax the largest.
	Runnable    float64 `json:"runnable"`
	RunnableMax int     `json:"runnable_max"`
	// SwapIn and SwapOut are pages per second; nil if the kernel does not report them.
	SwapIn  *float64 `json:"swap_in,omitempty"`
	SwapOut *float64 `json:"swap_out,omitempty"`
	// Interrupts is how many device interrupts each CPU took per second.
	Interrupts []CPURate `json:"interrupts,omitempty"`
	// Top is the processes that used most CPU time, at most five.
	Top []ProcessShare `json:"top,omitempty"`
}

// CPUShare is the busy share of one CPU, 0 to 1.
type CPUShare struct {
	CPU  int     `json:"cpu"`
	Busy float64 `json:"busy"`
}

// CPURate is how often something happened on a CPU.
type CPURate struct {
	CPU       int     `json:"cpu"`
	PerSecond float64 `json:"per_second"`
}

// ProcessShare is a process and how many CPUs it kept busy.
type ProcessShare struct {
	PID  int     `json:"pid"`
	Name string  `json:"name"` // the kernel's, at most 15 bytes
	CPUs float64 `json:"cpus"`
}

// TakeSample observes the host for d, which should be two seconds or more: the resolution of the
// counters is 10 ms. It returns early with an error if ctx ends. proc is the host's own /proc, which
// shows all processes.
func TakeSample(ctx context.Context, d time.Duration, proc string) (*Sample, error) {
	start := time.Now()
	wait := func(d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
	self, err := os.Readlink(filepath.Join(proc, "self")) // this process may have another number there
	if err != nil {
		return nil, fault.Hostf("watching the load: %w", err)
	}
	pid, err := strconv.Atoi(self)
	if err != nil {
		return nil, fault.Hostf("watching the load: %s/self: %w", proc, err)
	}
	r := &reader{fsys: os.DirFS("/"), proc: proc}
	return takeSample(r, d, pid, func() time.Duration { return time.Since(start) }, wait)
}

// takeSample reads the counters at both ends, and the run queue in between.
func takeSample(r *reader, d time.Duration, self int, clock func() time.Duration, wait func(time.Duration) error) (*Sample, error) {
	before, err := takeSnapshot(r, clock)
	if err != nil {
		return nil, err
	}
	const looks = 20
	sum, most, n := 0, 0, 0
	for range looks {
		if err := wait(d / looks); err != nil {
			return nil, err
		}
		b, err := r.raw("/proc/stat")
		if err != nil {
			return nil, fault.Hostf("watching the load: %w", err)
		}
		if st, err := parseStat(string(b)); err == nil && st.running >= 0 {
			others := max(0, st.running-1)
			sum, most, n = sum+others, max(most, others), n+1
		}
	}
	after, err := takeSnapshot(r, clock)
	if err != nil {
		return nil, err
	}
	s := difference(before, after, self)
	if n > 0 {
		s.Runnable, s.RunnableMax = float64(sum)/float64(n), most
	}
	return s, nil
}

// snapshot is the counters at one instant.
type snapshot struct {
	at    time.Duration
	stat  stat
	swap  map[string]int64
	procs map[int]procTime
	// interrupts of devices, by CPU
	interrupts map[int]int64
}

func takeSnapshot(r *reader, clock func() time.Duration) (snapshot, error) {
	b, err := r.raw("/proc/stat")
	if err != nil {
		return snapshot{}, fault.Hostf("watching the load: %w", err)
	}
	s := snapshot{at: clock(), swap: map[string]int64{}}
	if s.stat, err = parseStat(string(b)); err != nil {
		return snapshot{}, fault.Hostf("watching the load: /proc/stat: %w", err)
	}
	if b, err := r.raw("/proc/vmstat"); err == nil {
		for line := range strings.Lines(string(b)) {
			if key, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(key, "pswp") {
				if n, err := strconv.ParseInt(v, 10, 64); err == nil {
					s.swap[key] = n
				}
			}
		}
	}
	s.procs = r.processes()
	if b, err := r.raw("/proc/interrupts"); err == nil {
		s.interrupts = perCPU(parseInterrupts(string(b)))
	}
	return s, nil
}

func difference(a, b snapshot, self int) *Sample {
	s := &Sample{Seconds: (b.at - a.at).Seconds(), CPUs: len(b.stat.perCPU)}
	if s.Seconds <= 0 {
		return s
	}
	t := b.stat.total.Sub(a.stat.total)
	if total := t.Total(); total > 0 {
		s.Steal, s.IOWait = t.Steal/total, t.IOWait/total
	}
	for cpu, after := range b.stat.perCPU {
		before, ok := a.stat.perCPU[cpu]
		if !ok {
			continue
		}
		d := after.Sub(before)
		share := CPUShare{CPU: cpu}
		if total := d.Total(); total > 0 {
			share.Busy = d.Busy() / total
		}
		s.Busy = append(s.Busy, share)
	}
	slices.SortFunc(s.Busy, func(x, y CPUShare) int { return cmp.Compare(x.CPU, y.CPU) })
	for cpu, n := range b.interrupts {
		s.Interrupts = append(s.Interrupts, CPURate{CPU: cpu, PerSecond: float64(max(0, n-a.interrupts[cpu])) / s.Seconds})
	}
	slices.SortFunc(s.Interrupts, func(x, y CPURate) int { return cmp.Compare(x.CPU, y.CPU) })
	own := 0.0
	for pid, p := range b.procs {
		used := max(0, p.seconds-a.procs[pid].seconds)
		switch {
		case pid == self:
			own = used
		case used > 0:
			s.Top = append(s.Top, ProcessShare{PID: pid, Name: p.name, CPUs: used / s.Seconds})
		}
	}
	slices.SortFunc(s.Top, func(x, y ProcessShare) int {
		return cmp.Or(cmp.Compare(y.CPUs, x.CPUs), cmp.Compare(x.PID, y.PID))
	})
	s.Top = s.Top[:min(len(s.Top), 5)]
	s.Others = max(0, t.Busy()-own) / s.Seconds
	rate := func(key string) *float64 {
		before, ok := a.swap[key]
		after, ok2 := b.swap[key]
		if !ok || !ok2 {
			return nil
		}
		return new(float64(max(0, after-before)) / s.Seconds)
	}
	s.SwapIn, s.SwapOut = rate("pswpin"), rate("pswpout")
	return s
}
