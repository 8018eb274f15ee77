// Package watch observes what happens on the host while tare measures: how late the host wakes tare,
// what the kernel's log reports, whether a clock was changed, which processes use the CPUs, and how
// much memory is left. It does not judge what it sees.
package watch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tare-bench/tare/internal/host/procfs"
)

// Sample is the host's activity over a short interval while tare itself waited.
type Sample struct {
	Seconds float64
	CPUs    int
	// Others is the CPU time of everything but tare, in CPUs: 1.5 means that one and a half CPUs
	// were busy all the time.
	Others float64
	// Busy is the busy share of each CPU, 0 to 1, including tare's.
	Busy map[int]float64
	// Steal is the share of all CPU time that a hypervisor gave to others, 0 to 1.
	Steal float64
	// IOWait is the share of all CPU time that was idle with outstanding I/O, 0 to 1.
	IOWait float64
	// Runnable is the mean number of runnable threads without tare's, and RunnableMax the largest.
	Runnable    float64
	RunnableMax int
	// SwapIn and SwapOut are pages per second; nil if the kernel does not report them.
	SwapIn  *float64
	SwapOut *float64
	// Interrupts is how many device interrupts each CPU took per second.
	Interrupts map[int]float64
	// Top is the processes that used most CPU time, at most five.
	Top []ProcessUse
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
	return takeSample(procfs.Host(proc), d, func() time.Duration { return time.Since(start) }, wait)
}

// takeSample reads the counters at both ends, and the run queue in between.
func takeSample(files procfs.FS, d time.Duration, clock func() time.Duration,
	wait func(time.Duration) error) (*Sample, error) {
	self, err := files.Self()
	if err != nil {
		return nil, err
	}
	before, err := takeSnapshot(files, clock)
	if err != nil {
		return nil, err
	}
	const looks = 20
	sum, most, n := 0, 0, 0
	for range looks {
		if err := wait(d / looks); err != nil {
			return nil, err
		}
		st, err := files.Stat()
		if err != nil {
			return nil, err
		}
		if st.Running >= 0 {
			others := max(0, st.Running-1)
			sum, most, n = sum+others, max(most, others), n+1
		}
	}
	after, err := takeSnapshot(files, clock)
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
	at         time.Duration
	stat       procfs.Stat
	vm         map[string]int64 // of /proc/vmstat
	procs      map[int]procfs.Process
	interrupts map[int]int64 // of devices, by CPU
}

func takeSnapshot(files procfs.FS, clock func() time.Duration) (snapshot, error) {
	s := snapshot{at: clock(), interrupts: map[int]int64{}}
	var err error
	if s.stat, err = files.Stat(); err != nil {
		return snapshot{}, err
	}
	if b, err := files.ReadFile("/proc/vmstat"); err == nil {
		s.vm = procfs.Counters(string(b))
	}
	s.procs = files.Processes()
	if b, err := files.ReadFile("/proc/interrupts"); err == nil {
		for _, irq := range procfs.ParseInterrupts(string(b)) {
			for i, n := range irq.Counts {
				s.interrupts[irq.CPUs[i]] += n
			}
		}
	}
	return s, nil
}

func difference(a, b snapshot, self int) *Sample {
	s := &Sample{Seconds: (b.at - a.at).Seconds(), CPUs: len(b.stat.PerCPU),
		Busy: map[int]float64{}, Interrupts: map[int]float64{}}
	if s.Seconds <= 0 {
		return s
	}
	t := b.stat.Total.Sub(a.stat.Total)
	if total := t.Total(); total > 0 {
		s.Steal, s.IOWait = t.Steal/total, t.IOWait/total
	}
	for cpu, after := range b.stat.PerCPU {
		if before, ok := a.stat.PerCPU[cpu]; ok {
			d := after.Sub(before)
			s.Busy[cpu] = d.Busy() / max(d.Total(), 1e-9)
		}
	}
	for cpu, n := range b.interrupts {
		s.Interrupts[cpu] = float64(max(0, n-a.interrupts[cpu])) / s.Seconds
	}
	own := 0.0
	for pid, p := range b.procs {
		used := max(0, p.Seconds-a.procs[pid].Seconds)
		switch {
		case pid == self:
			own = used
		case used > 0:
			s.Top = append(s.Top, ProcessUse{PID: pid, Name: p.Name, CPUs: used / s.Seconds})
		}
	}
	slices.SortFunc(s.Top, func(x, y ProcessUse) int {
		return cmp.Or(cmp.Compare(y.CPUs, x.CPUs), cmp.Compare(x.PID, y.PID))
	})
	s.Top = s.Top[:min(len(s.Top), 5)]
	s.Others = max(0, t.Busy()-own) / s.Seconds
	rate := func(key string) *float64 {
		before, ok := a.vm[key]
		after, ok2 := b.vm[key]
		if !ok || !ok2 {
			return nil
		}
		return new(float64(max(0, after-before)) / s.Seconds)
	}
	s.SwapIn, s.SwapOut = rate("pswpin"), rate("pswpout")
	return s
}
