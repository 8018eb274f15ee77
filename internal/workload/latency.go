package workload

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// hackbench runs groups of processes that send each other messages over "pipe" or
// "socket".
func hackbench(over string) *Workload {
	const groups = 2 // each with 20 senders and 20 receivers
	args := []string{"hackbench", "--groups", strconv.Itoa(groups)}
	if over == "pipe" {
		args = append(args, "--pipe")
	}
	w := &Workload{
		Name:     "hackbench-" + over,
		Title:    "80 processes send each other messages over " + over + "s: scheduler and system calls",
		Source:   "hackbench (rt-tests)",
		Tools:    []string{"hackbench"},
		Packages: []string{"rt-tests"},
		Metrics: []Metric{
			wallMetric("all messages, and the start of the processes"),
			guestTimeMetric("the time that hackbench prints, for the messages alone"),
		},
		SizeUnit:    "messages of each sender",
		MinSize:     50,
		MaxSize:     10_000_000,
		DefaultSize: 2000,
		Steps: func(size int64) []Step {
			return []Step{{Name: "hackbench", Timed: true, Argv: append(args[:len(args):len(args)], "--loops", strconv.FormatInt(size, 10))}}
		},
	}
	return w.measuredBy("hackbench", func(text string) (reading, error) {
		h, err := parseHackbench(text)
		if err != nil {
			return reading{}, err
		}
		return reading{values: map[string]float64{"time-guest": h.seconds}, did: h.messages}, nil
	})
}

type hackbenchReport struct{ seconds, messages, tasks float64 }

var (
	hackbenchTime  = regexp.MustCompile(`(?m)^Time: (\d+\.\d+)$`)
	hackbenchLoops = regexp.MustCompile(`(?m)^Each sender will pass (\d+) messages of \d+ bytes$`)
	hackbenchTasks = regexp.MustCompile(`(?m)^Running in \w+ mode with \d+ groups using \d+ file descriptors each \(== (\d+) tasks\)$`)
)

func parseHackbench(text string) (hackbenchReport, error) {
	var h hackbenchReport
	if err := refused("hackbench", text); err != nil {
		return h, err
	}
	err := takeOnce("hackbench", text, []pick{
		{hackbenchTasks, "Running in", []*float64{&h.tasks}},
		{hackbenchLoops, "Each sender", []*float64{&h.messages}},
		{hackbenchTime, "Time:", []*float64{&h.seconds}},
	})
	return h, err
}

// cyclictest sleeps for a millisecond at a time and records how late it wakes up.
func cyclictest() *Workload {
	w := &Workload{
		Name:     "cyclictest",
		Title:    "delay of a thread's timed wake-ups: timers and scheduler",
		Source:   "cyclictest (rt-tests)",
		Tools:    []string{"cyclictest"},
		Packages: []string{"rt-tests"},
		Metrics: []Metric{
			latencyMetric("latency-mean", "mean delay, by the guest's clock alone"),
			latencyMetric("latency-max", "the longest delay"),
			wallMetric("the whole run, which is mostly sleep"),
		},
		SizeUnit:    "wake-ups (one each millisecond)",
		MinSize:     200,
		MaxSize:     100_000_000,
		DefaultSize: 3000,
		Steps: func(size int64) []Step {
			return []Step{{Name: "cyclictest", Timed: true,
				Argv: []string{"cyclictest", "--quiet", "--threads=1", "--interval=1000", "--loops=" + strconv.FormatInt(size, 10)}}}
		},
	}
	return w.measuredBy("cyclictest", func(text string) (reading, error) {
		c, err := parseCyclictest(text)
		if err != nil {
			return reading{}, err
		}
		return reading{values: map[string]float64{"latency-mean": c.mean * 1e-6, "latency-max": c.max * 1e-6}, did: c.cycles}, nil
	})
}

// cyclictestReport is cyclictest's report on its thread, in microseconds.
type cyclictestReport struct{ cycles, min, mean, max float64 }

var cyclictestLine = regexp.MustCompile(`(?m)^T: *\d+ \( *\d+\) P: *\d+ I: *\d+ C: *(\d+) Min: *(\d+) Act: *\d+ Avg: *(\d+) Max: *(\d+)\r?$`)

// parseCyclictest reads the line of one thread, or the JSON of --json.
func parseCyclictest(text string) (cyclictestReport, error) {
	var c cyclictestReport
	if err := refused("cyclictest", text); err != nil {
		return c, err
	}
	if at := strings.Index("\n"+text, "\n{"); at >= 0 {
		var doc struct {
			Status  float64 `json:"return_code"`
			Threads map[string]struct {
				Cycles, Min, Avg, Max float64
			} `json:"thread"`
		}
		if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&doc); err != nil {
			return c, fault.Guestf("cyclictest's JSON is damaged or cut off: %w", err)
		}
		t, one := doc.Threads["0"]
		if !one || len(doc.Threads) != 1 || doc.Status != 0 {
			return c, fault.Guestf("cyclictest's JSON has %d threads and return code %v; expected one thread and return code 0", len(doc.Threads), doc.Status)
		}
		c = cyclictestReport{t.Cycles, t.Min, t.Avg, t.Max}
	} else if err := takeOnce("cyclictest", text, []pick{{cyclictestLine, "T:", []*float64{&c.cycles, &c.min, &c.mean, &c.max}}}); err != nil {
		return c, err
	}
	if c.cycles == 0 || c.min > c.mean || c.mean > c.max {
		return c, contradiction("%.0f wake-ups cannot have minimum %v, mean %v and maximum %v µs", c.cycles, c.min, c.mean, c.max)
	}
	return c, nil
}

// ioping does one small read at a time: the latency of the disk.
func ioping() *Workload {
	w := &Workload{
		Name:     "disk-latency",
		Title:    "read 4 KiB blocks at random, one at a time, bypassing the page cache: latency of the disk",
		Source:   "ioping (ioping)",
		Tools:    []string{"ioping"},
		Packages: []string{"ioping"},
		Metrics: []Metric{
			latencyMetric("latency", "mean per request, as ioping prints it"),
			latencyMetric("latency-max", "the longest request"),
			rateMetric("iops", "1/s", "requests / the sum of their times"),
			wallMetric("all requests, and writing the file that they read"),
		},
		SizeUnit:    "requests (the first is not counted)",
		MinSize:     100,
		MaxSize:     100_000_000,
		DefaultSize: 10_000,
		DiskBytes:   func(int64) int64 { return 65 << 20 },
		Steps: func(size int64) []Step {
			return []Step{{Name: "ioping", Timed: true,
				Argv: []string{"ioping", "-q", "-D", "-i", "0", "-S", "64m", "-c", strconv.FormatInt(size, 10), "."}}}
		},
	}
	return w.measuredBy("ioping", func(text string) (reading, error) {
		p, err := parseIoping(text)
		if err != nil {
			return reading{}, err
		}
		return reading{values: map[string]float64{"latency": p.mean, "latency-max": p.max, "iops": 1 / p.mean}, did: p.requests}, nil
	})
}

// iopingReport has times in seconds. requests includes the first one, which ioping
// leaves out of counted.
type iopingReport struct{ requests, counted, min, mean, max, dev float64 }

var (
	iopingCounted = regexp.MustCompile(`(?m)^(\d+(?:\.\d+)?)( [kMG])? requests completed in `)
	iopingMade    = regexp.MustCompile(`(?m)^generated (\d+(?:\.\d+)?)( [kMG])? requests in `)
	iopingTimes   = regexp.MustCompile(`(?m)^min/avg/max/mdev = (\d+(?:\.\d+)?) (ns|us|ms|s|min) / (\d+(?:\.\d+)?) (ns|us|ms|s|min) / (\d+(?:\.\d+)?) (ns|us|ms|s|min) / (\d+(?:\.\d+)?) (ns|us|ms|s|min)\r?$`)
	iopingUnit    = map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "": 1, " k": 1e3, " M": 1e6, " G": 1e9}
)

// parseIoping reads ioping's final statistics, or the JSON of -J.
func parseIoping(text string) (iopingReport, error) {
	var p iopingReport
	if err := refused("ioping", text); err != nil {
		return p, err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return parseIopingJSON(text)
	}
	for _, want := range []struct {
		line *regexp.Regexp
		word string
		to   []*float64
	}{
		{iopingCounted, "requests completed", []*float64{&p.counted}},
		{iopingMade, "generated", []*float64{&p.requests}},
		{iopingTimes, "min/avg", []*float64{&p.min, &p.mean, &p.max, &p.dev}},
	} {
		m := want.line.FindAllStringSubmatch(grep(text, want.word), -1)
		if len(m) != 1 {
			return p, fault.Guestf("%d lines with %q instead of one: this is not the complete output of one run of ioping", len(m), want.word)
		}
		for i, to := range want.to {
			f, err := number(m[0][1+2*i])
			if err != nil {
				return p, err
			}
			*to = f * iopingUnit[m[0][2+2*i]]
		}
	}
	return p, p.consistent()
}

func parseIopingJSON(text string) (iopingReport, error) {
	var p iopingReport
	var list []struct {
		IO struct {
			Time    float64 `json:"time"`
			Ignored bool    `json:"ignored"`
		} `json:"io"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&list); err != nil {
		return p, fault.Guestf("ioping's JSON is damaged or cut off: %w", err)
	}
	for _, r := range list {
		p.requests++
		if r.IO.Ignored {
			continue
		}
		s := r.IO.Time / 1e9
		if p.counted == 0 || s < p.min {
			p.min = s
		}
		p.counted++
		p.mean += s
		p.max = max(p.max, s)
	}
	if p.counted > 0 {
		p.mean /= p.counted
	}
	return p, p.consistent()
}

func (p iopingReport) consistent() error {
	const rounding = 1.001
	if p.counted == 0 || p.mean == 0 || p.min > p.mean*rounding || p.mean > p.max*rounding {
		return contradiction("%.0f requests cannot have minimum %v, mean %v and maximum %v s", p.counted, p.min, p.mean, p.max)
	}
	return nil
}
