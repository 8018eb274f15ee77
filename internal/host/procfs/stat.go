package procfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// userHZ is the unit of /proc/stat and /proc/*/stat: 100 per second on every Linux that Go runs on,
// regardless of CONFIG_HZ.
const userHZ = 100

// CPUTime is the time of CPUs by state, in seconds, summed over CPUs. Its resolution is 10 ms, and
// kernels without full time accounting sample it at every tick. Guest time, that of vCPUs, is in
// User and Nice.
type CPUTime struct {
	User, Nice, System float64
	Idle               float64
	IOWait             float64 // idle with outstanding I/O; not reliable per CPU
	IRQ, SoftIRQ       float64
	Steal              float64 // a hypervisor ran someone else
}

// Busy is the time in which the CPUs worked: neither idle nor stolen.
func (t CPUTime) Busy() float64 { return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ }

// Total is the time of all states: over an interval, its length times the number of CPUs.
func (t CPUTime) Total() float64 { return t.Busy() + t.Idle + t.IOWait + t.Steal }

// Sub returns the time since earlier. No field is negative, although the kernel's idle and iowait
// counters sometimes run backwards.
func (t CPUTime) Sub(earlier CPUTime) CPUTime {
	d := func(a, b float64) float64 { return max(0, a-b) }
	return CPUTime{
		User: d(t.User, earlier.User), Nice: d(t.Nice, earlier.Nice), System: d(t.System, earlier.System),
		Idle: d(t.Idle, earlier.Idle), IOWait: d(t.IOWait, earlier.IOWait), IRQ: d(t.IRQ, earlier.IRQ),
		SoftIRQ: d(t.SoftIRQ, earlier.SoftIRQ), Steal: d(t.Steal, earlier.Steal),
	}
}

// Stat is the part of /proc/stat that tare reads.
type Stat struct {
	Total   CPUTime         // since boot, of all CPUs
	PerCPU  map[int]CPUTime // of those that are online
	Running int             // runnable threads at this instant; -1: not known
}

// Stat reads /proc/stat. Errors are the host's fault.
func (f FS) Stat() (Stat, error) {
	b, err := f.ReadFile("/proc/stat")
	if err != nil {
		return Stat{}, fault.Hostf("the host's CPU time: %w", err)
	}
	st, err := parseStat(string(b))
	if err != nil {
		return Stat{}, fault.Hostf("the host's CPU time: /proc/stat: %w", err)
	}
	return st, nil
}

func parseStat(text string) (Stat, error) {
	st := Stat{PerCPU: map[int]CPUTime{}, Running: -1}
	found := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "intr ") {
			continue // long, and not used
		}
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if f[0] == "procs_running" {
			n, err := strconv.ParseUint(f[1], 10, 31)
			if err != nil {
				return Stat{}, fmt.Errorf("procs_running is %.20q", f[1])
			}
			st.Running = int(n)
			continue
		}
		id, ok := strings.CutPrefix(f[0], "cpu")
		if !ok {
			continue
		}
		t, err := parseCPUTime(f[1:])
		if err != nil {
			return Stat{}, fmt.Errorf("line of %.20s: %w", f[0], err)
		}
		if id == "" {
			st.Total, found = t, true
		} else if n, err := strconv.ParseUint(id, 10, 16); err == nil {
			st.PerCPU[int(n)] = t
		}
	}
	if !found {
		return Stat{}, errors.New(`no line "cpu"`)
	}
	return st, nil
}

// parseCPUTime needs the eight columns up to steal, which every kernel since 2.6.11 has: a missing
// one would read as zero. It ignores the columns after that.
func parseCPUTime(f []string) (CPUTime, error) {
	if len(f) < 8 {
		return CPUTime{}, fmt.Errorf("%d columns, want 8 or more", len(f))
	}
	var v [8]float64
	for i := range v {
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return CPUTime{}, fmt.Errorf("column %d is %.24q", i+1, f[i])
		}
		v[i] = float64(n) / userHZ
	}
	return CPUTime{User: v[0], Nice: v[1], System: v[2], Idle: v[3], IOWait: v[4], IRQ: v[5],
		SoftIRQ: v[6], Steal: v[7]}, nil
}
