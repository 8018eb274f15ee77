package host

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how much a noise source matters.
type Severity string

// The severities, worst first.
const (
	Spoils   Severity = "spoils"   // numbers would be wrong, or trials fail
	Disturbs Severity = "disturbs" // numbers would be noisier, or hold for fewer cases than they seem to
	Note     Severity = "note"     // worth knowing when numbers are compared
)

// Spoiler is one noise source on this host.
type Spoiler struct {
	ID       string   `json:"id"` // stable: "cpu-governor"
	Severity Severity `json:"severity"`
	What     string   `json:"what"` // the evidence, with its number
	Why      string   `json:"why"`  // one line
	Mend     string   `json:"mend"` // the remedy: a command or advice; commands need root
}

// Needs is what the campaign needs of the host; zero fields have defaults.
type Needs struct {
	DiskBytes   int64 // on the data path; default 5 GiB
	MemoryBytes int64 // for all guests at once; default a tenth of all memory
	// CPUs is the list of CPUs that guests run on. The default is the last half of the host's
	// CPUs, because guests get the last ones first.
	CPUs string
}

// view is the input of a rule. The sample is never nil: if none was taken it is all zero, and
// rules find nothing in it.
type view struct {
	*Environment
	sample *Sample
	needs  Needs
}

// rule finds one noise source; a nil result means that there is none or that tare cannot tell. The
// rule fills in Severity, What and Mend.
type rule struct {
	id   string
	why  string
	find func(v view) *Spoiler
}

// rules in the order in which noise sources of one severity are shown.
var rules = slices.Concat(loadRules, cpuRules, virtRules, memoryRules, kernelRules, housekeepingRules, placeRules)

// Spoilers returns the host's noise sources, worst first. s is a sample taken while tare did
// nothing else, or nil if none was taken.
func Spoilers(env *Environment, s *Sample, needs Needs) []Spoiler {
	if s == nil {
		s = &Sample{}
	}
	v := view{Environment: env, sample: s, needs: needs}
	var out []Spoiler
	for _, r := range rules {
		if f := r.find(v); f != nil {
			f.ID, f.Why = r.id, r.why
			out = append(out, *f)
		}
	}
	rank := []Severity{Spoils, Disturbs, Note}
	slices.SortStableFunc(out, func(a, b Spoiler) int {
		return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity)
	})
	return out
}

// found makes the result of a rule.
func found(s Severity, mend, what string, args ...any) *Spoiler {
	return &Spoiler{Severity: s, What: fmt.Sprintf(what, args...), Mend: mend}
}

// value returns the value that p points to, and whether it is known.
func value[T any](p *T) (v T, known bool) {
	if p == nil {
		return v, false
	}
	return *p, true
}

// is reports whether p is known and equal to want.
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// size formats a number of bytes.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/1024, 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", x, units[i])
}

// loadRules: other users of the machine now.
var loadRules = []rule{
	{"other-load", "other programs take CPU time, cache and memory bandwidth from the trials, from some more than from others", otherLoad},
	{"load-average", "the machine was busy a moment ago, and the load may come back", loadAverage},
	{"steal", "a hypervisor runs other guests on these CPUs, and any arm may lose the time", steal},
	{"io-pressure", "trials would wait for the same device", ioPressure},
	{"just-booted", "services are still starting, caches are cold, and periodic jobs run at once", justBooted},
}

func otherLoad(v view) *Spoiler {
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

func loadAverage(v view) *Spoiler {
	avg, known := value(v.Load.Avg1)
	if !known || v.CPU.Threads == 0 || avg < 0.5 || avg < 0.1*float64(v.CPU.Threads) {
		return nil
	}
	return found(Disturbs, "wait until it falls below 0.5, or find out what is running: uptime; top",
		"load average %.2f over the last minute, on %d CPUs", avg, v.CPU.Threads)
}

func steal(v view) *Spoiler {
	share := v.sample.Steal
	switch {
	case share >= 0.01:
		return found(Spoils, "use a host with dedicated CPUs", "%.1f %% of CPU time was stolen over %.1f s", share*100, v.sample.Seconds)
	case share > 0:
		return found(Disturbs, "use a host with dedicated CPUs", "%.2f %% of CPU time was stolen over %.1f s", share*100, v.sample.Seconds)
	}
	return nil
}

func ioPressure(v view) *Spoiler {
	p := v.Load.IO
	if p == nil || p.Some10 < 1 && v.sample.IOWait < 0.02 {
		return nil
	}
	return found(Disturbs, "find the writer: iotop -o", "tasks waited for I/O %.1f %% of the last 10 s (PSI); %.1f %% iowait in the sample",
		p.Some10, v.sample.IOWait*100)
}

func justBooted(v view) *Spoiler {
	if up, known := value(v.UptimeS); known && up < 300 {
		return found(Note, "wait until the machine has been up for five minutes", "up for %.0f s", up)
	}
	return nil
}
