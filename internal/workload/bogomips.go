package workload

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// bogomips reads the rate of the kernel's calibrated delay loop, which the article
// printed and called useless. The timed work is reading /proc/cpuinfo.
func bogomips() *Workload {
	w := &Workload{
		Name: "bogomips", Title: "BogoMIPS in /proc/cpuinfo: a constant of the kernel, no measure of speed", ArticleIDs: []string{"P1-bogomips"},
		Source: "the kernel's /proc/cpuinfo, read by grep (grep)",
		Tools:  []string{"sh", "seq", "grep", "sort", "uniq"}, Packages: []string{"coreutils", "dash", "grep"},
		Metrics: []Metric{
			wallMetric("all reads of /proc/cpuinfo, each by a new process"),
			{Name: "bogomips", Unit: "1", Better: Higher, Clock: GuestClock, About: "BogoMIPS of the first CPU, calibrated or derived from the CPU's frequency"},
		},
		SizeUnit: "readings", MinSize: 20, MaxSize: 1_000_000, DefaultSize: 500,
		Steps: func(size int64) []Step {
			const read = `for i in $(seq "$1"); do grep -im1 '^bogomips' /proc/cpuinfo || exit; done | sort | uniq -c`
			return []Step{{Name: "read", Timed: true, Argv: []string{"sh", "-c", read, "sh", strconv.FormatInt(size, 10)}}}
		},
	}
	return w.measuredBy("read", readBogomips)
}

var bogomipsLine = regexp.MustCompile(`(?mi)^ *(\d+ )?bogomips\s*: *(\d+\.\d+) *$`)

// readBogomips reads /proc/cpuinfo, or lines of it with their number.
func readBogomips(text string) (reading, error) {
	lines := bogomipsLine.FindAllStringSubmatch(text, -1)
	if len(lines) == 0 {
		return reading{}, fault.Guestf("the output contains no BogoMIPS: %s", quote(text))
	}
	var r reading
	for _, m := range lines {
		f, err := number(m[2])
		if err != nil {
			return reading{}, err
		}
		n := 1.0
		if m[1] != "" {
			if n, err = number(m[1][:len(m[1])-1]); err != nil {
				return reading{}, err
			}
		}
		r.did += n
		if r.values == nil {
			r.values = map[string]float64{"bogomips": f}
		}
	}
	return r, nil
}
