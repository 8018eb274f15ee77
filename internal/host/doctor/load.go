package doctor

import (
	"fmt"
	"strings"
)

// loadRules: other users of the machine now.
var loadRules = []rule{
	{"other-load", otherLoad,
		"other programs take CPU time, cache and memory bandwidth from the trials, from some more than from others"},
	{"load-average", loadAverage, "the machine was busy a moment ago, and the load may come back"},
	{"steal", steal, "a hypervisor runs other guests on these CPUs, and any arm may lose the time"},
	{"io-pressure", ioPressure, "trials would wait for the same device"},
	{"residents", residents,
		"they compete with the trials for CPUs, caches, memory and disks, and so do the trials with them"},
	{"just-booted", justBooted, "services are still starting, caches are cold, and periodic jobs are about to run"},
}

func otherLoad(v view) *NoiseSource {
	s := v.sample
	if s.CPUs == 0 {
		return nil
	}
	share := s.Others / float64(s.CPUs)
	if s.Others < 0.05 && share < 0.01 {
		return nil
	}
	level := Disturbs
	if s.Others >= 0.5 || share >= 0.05 {
		level = Spoils
	}
	var top []string
	for _, p := range s.Top[:min(3, len(s.Top))] {
		top = append(top, fmt.Sprintf("%s (%d) %.2f", p.Name, p.PID, p.CPUs))
	}
	who := ""
	if len(top) > 0 {
		who = "; most by " + strings.Join(top, ", ")
	}
	return found(level, "stop them, or measure at a quiet time or on a quiet machine",
		"other programs kept %.2f of %d CPUs busy over %.1f s, %.1f threads runnable, at most %d%s",
		s.Others, s.CPUs, s.Seconds, s.Runnable, s.RunnableMax, who)
}

func loadAverage(v view) *NoiseSource {
	avg, known := value(v.Load.Avg1)
	if !known || v.CPU.Threads == 0 || avg < 0.5 || avg < 0.1*float64(v.CPU.Threads) {
		return nil
	}
	return found(Disturbs, "wait until it falls below 0.5, or find out what is running: uptime; top",
		"load average %.2f over the last minute, on %d CPUs", avg, v.CPU.Threads)
}

func steal(v view) *NoiseSource {
	share := v.sample.Steal
	switch {
	case share >= 0.01:
		return found(Spoils, "use a host with dedicated CPUs", "%.1f %% of CPU time was stolen over %.1f s", share*100,
			v.sample.Seconds)
	case share > 0:
		return found(Disturbs, "use a host with dedicated CPUs", "%.2f %% of CPU time was stolen over %.1f s", share*100,
			v.sample.Seconds)
	}
	return nil
}

func ioPressure(v view) *NoiseSource {
	p := v.Load.IO
	if p == nil || p.Some10 < 1 && v.sample.IOWait < 0.02 {
		return nil
	}
	return found(Disturbs, "find the writer: iotop -o",
		"tasks waited for I/O %.1f %% of the last 10 s (PSI); %.1f %% iowait in the sample",
		p.Some10, v.sample.IOWait*100)
}

func justBooted(v view) *NoiseSource {
	if up, known := value(v.UptimeS); known && up < 300 {
		return found(Note, "wait until the machine has been up for five minutes", "up for %.0f s", up)
	}
	return nil
}

func residents(v view) *NoiseSource {
	if len(v.Residents) == 0 {
		return nil
	}
	var all []string
	for _, r := range v.Residents {
		all = append(all, r.String())
	}
	return found(Disturbs, "measure on another machine or at a quiet time, or with tare run --polite",
		"this machine works for others: %s", strings.Join(all, "; "))
}
