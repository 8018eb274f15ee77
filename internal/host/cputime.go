package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// userHZ is the unit of /proc/stat and /proc/*/stat: 100 per second on every Linux that Go runs on,
// regardless of CONFIG_HZ.
const userHZ = 100

// CPUTime is the time of CPUs by state, in seconds, summed over CPUs. Its resolution is 10 ms, and
// kernels without full time accounting sample it at every tick.
type CPUTime struct {
	User    float64 `json:"user"` // with Guest
	Nice    float64 `json:"nice"` // with GuestNice
	System  float64 `json:"system"`
	Idle    float64 `json:"idle"`
	IOWait  float64 `json:"iowait"` // idle with outstanding I/O; not reliable per CPU
	IRQ     float64 `json:"irq"`
	SoftIRQ float64 `json:"softirq"`
	Steal   float64 `json:"steal"` // a hypervisor ran someone else
	// Guest and GuestNice, time in vCPUs, are contained in User and Nice.
	Guest     float64 `json:"guest"`
	GuestNice float64 `json:"guest_nice"`
}

// CPUTimes returns the time that all CPUs of the host spent since boot.
func CPUTimes() (CPUTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}, fault.Hostf("host CPU time: %w", err)
	}
	st, err := parseStat(string(b))
	if err != nil {
		return CPUTime{}, fault.Hostf("host CPU time: /proc/stat: %w", err)
	}
	return st.total, nil
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
		Guest: d(t.Guest, earlier.Guest), GuestNice: d(t.GuestNice, earlier.GuestNice),
	}
}

// stat is the part of /proc/stat that tare reads.
type stat struct {
	total   CPUTime
	perCPU  map[int]CPUTime // CPUs that are online
	running int             // runnable threads at this instant; -1: not known
}

func parseStat(text string) (stat, error) {
	st := stat{perCPU: map[int]CPUTime{}, running: -1}
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
				return stat{}, fmt.Errorf("procs_running is %q", clip(f[1], 20))
			}
			st.running = int(n)
			continue
		}
		id, ok := strings.CutPrefix(f[0], "cpu")
		if !ok {
			continue
		}
		t, err := parseCPUTime(f[1:])
		if err != nil {
			return stat{}, fmt.Errorf("line of %s: %w", clip(f[0], 20), err)
		}
		if id == "" {
			st.total, found = t, true
		} else if n, err := strconv.ParseUint(id, 10, 16); err == nil {
			st.perCPU[int(n)] = t
		}
	}
	if !found {
		return stat{}, errors.New(`no line "cpu"`)
	}
	return st, nil
}

// parseCPUTime needs the eight columns up to steal, which every kernel since 2.6.11 has: a missing
// one would read as zero. Guest time came later; it ignores the columns after that.
func parseCPUTime(f []string) (CPUTime, error) {
	if len(f) < 8 {
		return CPUTime{}, fmt.Errorf("%d columns, want 8 or more", len(f))
	}
	var v [10]float64
	for i := range min(len(f), len(v)) {
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return CPUTime{}, fmt.Errorf("column %d is %q", i+1, clip(f[i], 24))
		}
		v[i] = float64(n) / userHZ
	}
	return CPUTime{User: v[0], Nice: v[1], System: v[2], Idle: v[3], IOWait: v[4], IRQ: v[5],
		SoftIRQ: v[6], Steal: v[7], Guest: v[8], GuestNice: v[9]}, nil
}
