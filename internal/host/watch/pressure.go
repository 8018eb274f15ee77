package watch

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/procfs"
)

// Stalls is for how long tasks of the host have waited since it was booted: for CPUs, memory and disks.
type Stalls struct {
	at    time.Duration
	total map[string]time.Duration // by resource
}

// ReadStalls reads /proc/pressure. A kernel without it shows no stalls. Errors are the host's fault.
func ReadStalls() (Stalls, error) { return readStalls(procfs.Host("")) }

func readStalls(files procfs.FS) (Stalls, error) {
	s := Stalls{at: time.Since(programStart), total: map[string]time.Duration{}}
	for _, resource := range []string{"cpu", "memory", "io"} {
		text, err := files.ReadFile("/proc/pressure/" + resource)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, fault.Hostf("the host's pressure: %w", err)
		}
		total, err := parseStalls(string(text))
		if err != nil {
			return s, fault.Hostf("the host's pressure: /proc/pressure/%s: %w", resource, err)
		}
		s.total[resource] = total
	}
	return s, nil
}

// parseStalls reads the total of the line of some tasks.
func parseStalls(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "some" {
			continue
		}
		number, is := strings.CutPrefix(f[len(f)-1], "total=")
		us, err := strconv.ParseUint(number, 10, 53)
		if is && err == nil {
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, errors.New("has no total of some tasks")
}

// Since returns the resource for which tasks waited longest since an earlier reading, and for which share of the
// time, 0 to 1; "" if none waited.
func (s Stalls) Since(before Stalls) (resource string, share float64) {
	elapsed := s.at - before.at
	for _, name := range []string{"cpu", "memory", "io"} {
		if now := s.total[name] - before.total[name]; elapsed > 0 && float64(now)/float64(elapsed) > share {
			resource, share = name, min(1, float64(now)/float64(elapsed))
		}
	}
	return resource, share
}
