package workload

import (
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// mbwArray is the size of each of mbw's two arrays in MiB.
const mbwArray = 32

// mbw copies an array that exceeds the caches, in three ways.
func mbw() *Workload {
	w := &Workload{
		Name:       "memory-copy",
		Title:      "copy memory: bandwidth",
		ArticleIDs: []string{"P3-bw_mem"},
		Source:     "mbw (mbw)",
		StandIn:    "for lmbench's bw_mem (cp): mbw copies 32 MiB in one process; bw_mem copied 1 MB in each of 1, 10 and 50 processes",
		Tools:      []string{"mbw"},
		Packages:   []string{"mbw"},
		Metrics: []Metric{
			rateMetric("memcpy", "B/s", "with the C library's memcpy"),
			rateMetric("loop", "B/s", "with a loop over long integers (mbw's DUMB)"),
			rateMetric("blocks", "B/s", "with memcpy of 256 KiB at a time (mbw's MCBLOCK)"),
			wallMetric("all copies, and initializing the arrays"),
		},
		SizeUnit:    "copies of 32 MiB in each way",
		MinSize:     2,
		MaxSize:     1_000_000,
		DefaultSize: 50,
		Steps: func(size int64) []Step {
			return []Step{{Name: "mbw", Timed: true, Argv: []string{"mbw", "-q", "-n", strconv.FormatInt(size, 10), strconv.Itoa(mbwArray)}}}
		},
	}
	return w.measuredBy("mbw", func(text string) (reading, error) {
		m, err := parseMbw(text)
		if err != nil {
			return reading{}, err
		}
		return reading{values: map[string]float64{
			"memcpy": m["MEMCPY"].rate * (1 << 20), "loop": m["DUMB"].rate * (1 << 20), "blocks": m["MCBLOCK"].rate * (1 << 20),
		}, did: m["MEMCPY"].runs}, nil
	})
}

// mbwMethod is one of mbw's copy methods: the mean rate in MiB/s as printed, and the
// number of runs.
type mbwMethod struct{ rate, runs float64 }

var mbwLine = regexp.MustCompile(`(?m)^(\d+|AVG)\tMethod: (MEMCPY|DUMB|MCBLOCK)\tElapsed: (\d+\.\d+)\tMiB: (\d+\.\d+)\tCopy: (\d+\.\d+) MiB/s\r?$`)

func parseMbw(text string) (map[string]mbwMethod, error) {
	if err := refused("mbw", text); err != nil {
		return nil, err
	}
	all := map[string]mbwMethod{}
	for _, m := range mbwLine.FindAllStringSubmatch(grep(text, "Method:"), -1) {
		f, err := numbers(m[3:]...)
		if err != nil {
			return nil, err
		}
		// Seconds have a resolution of 10 µs.
		if seconds, mib, rate := f[0], f[1], f[2]; rate == 0 || abs(mib/rate-seconds) > 0.00001+0.001*seconds {
			return nil, contradiction("rate × time is not the size: %s", quote(m[0]))
		}
		method := all[m[2]]
		if m[1] == "AVG" {
			if method.rate != 0 {
				return nil, fault.Guestf("the output contains two means of %s; save each run in its own file", m[2])
			}
			method.rate = f[2]
		} else {
			method.runs++
		}
		all[m[2]] = method
	}
	for _, name := range []string{"MEMCPY", "DUMB", "MCBLOCK"} {
		if method := all[name]; method.rate == 0 || method.runs != all["MEMCPY"].runs {
			return nil, fault.Guestf("mbw printed no mean of %s, or another number of runs than for the other methods: this is not the complete output of one run", name)
		}
	}
	return all, nil
}

// pipeCopy sends zeros through a pipe, 64 KiB at a time.
func pipeCopy() *Workload {
	w := &Workload{
		Name:       "pipe-copy",
		Title:      "send data from one process to another through a pipe, 64 KiB at a time",
		ArticleIDs: []string{"P10-bw_pipe"},
		Source:     "dd (coreutils), twice",
		StandIn: "for lmbench's bw_pipe: dd | dd with the same block size. For each block, the writer also reads zeros from the kernel; " +
			"bw_pipe wrote the same buffer repeatedly",
		Tools:    []string{"bash", "dd"},
		Packages: []string{"bash", "coreutils"},
		Metrics: []Metric{
			rateMetric("bandwidth", "B/s", "bytes / the seconds that the reading dd prints"),
			wallMetric("both programs, from start to end"),
			guestTimeMetric("the seconds that the reading dd prints"),
		},
		SizeUnit:    "MiB",
		MinSize:     64,
		MaxSize:     1 << 30,
		DefaultSize: 8192,
		Steps: func(size int64) []Step {
			return []Step{{Name: "pipe", Timed: true, Argv: []string{"bash", "-c", `set -o pipefail
dd if=/dev/zero bs=65536 count="$1" status=none | dd of=/dev/null bs=65536 iflag=fullblock`, "pipe", strconv.FormatInt(size*16, 10)}}}
		},
	}
	return w.measuredBy("pipe", func(text string) (reading, error) {
		if err := refused("dd", text); err != nil {
			return reading{}, err
		}
		reports, err := parseDD(text)
		if err != nil {
			return reading{}, err
		}
		if len(reports) != 1 {
			return reading{}, fault.Guestf("the output contains %d reports of dd instead of one", len(reports))
		}
		d := reports[0]
		return reading{values: map[string]float64{"bandwidth": d.bytes / d.seconds, "time-guest": d.seconds}, did: d.bytes / (1 << 20)}, nil
	})
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
