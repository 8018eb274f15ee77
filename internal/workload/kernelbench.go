package workload

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// perfBench runs three of perf's benchmarks in sequence.
func perfBench() *Workload {
	w := &Workload{
		Name:       "kernel-ops",
		Title:      "system calls, messages between two processes over a pipe, and memory copies: kernel and CPU",
		ArticleIDs: []string{"C3-lmbench"},
		Source:     "perf bench (linux-perf)",
		StandIn: "for lmbench's lat_syscall, lat_pipe and bw_mem: getppid() instead of lmbench's set of calls, 4-byte tokens over " +
			"two pipes, and memcpy of 32 MB",
		Tools:    []string{"perf"},
		Packages: []string{"linux-perf"},
		Metrics: []Metric{
			latencyMetric("syscall", "one system call, getppid()"),
			latencyMetric("pipe", "sending one token to the other process"),
			rateMetric("memcpy", "B/s", "with the C library's memcpy; perf's GB are 2^30 bytes"),
			wallMetric("all three, including the starts of perf"),
		},
		SizeUnit:    "thousand tokens, and as many times 50 thousand system calls and 32 MB copied",
		MinSize:     5,
		MaxSize:     10_000_000,
		DefaultSize: 100,
	}
	perf := func(args ...string) []string { return append([]string{"perf", "bench"}, args...) }
	w.Steps = func(size int64) []Step {
		n := func(times int64) string { return strconv.FormatInt(size*times, 10) }
		return []Step{
			{Name: "syscall", Timed: true, Argv: perf("syscall", "basic", "--loop", n(50_000))},
			{Name: "pipe", Timed: true, Argv: perf("sched", "pipe", "--loop", n(1000))},
			{Name: "memcpy", Timed: true, Argv: perf("mem", "memcpy", "--size", "32MB", "--nr_loops", n(1), "--function", "default")},
		}
	}
	w.Sparse = true // saved output may be of one benchmark only
	w.Parse = parsing("time", func(text string) (map[string]float64, error) {
		b, err := parsePerfBench(text)
		return b.values(), err
	})
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := ran(w.Steps(size), results)
		if err != nil {
			return nil, err
		}
		m := map[string]float64{}
		for _, want := range []struct {
			step string
			done float64
		}{{"syscall", float64(size) * 50_000}, {"pipe", float64(size) * 1000}, {"memcpy", 0}} {
			r := by[want.step]
			b, err := parsePerfBench(r.output())
			if err != nil {
				return nil, inStep(want.step, err)
			}
			v, ok := b.values()[want.step]
			if !ok || b.done != want.done {
				return nil, fault.Guestf("step %s: perf did %.0f operations instead of %.0f%s", want.step, b.done, want.done, said(r))
			}
			m[want.step] = v
			m["time"] += r.Wall.Seconds()
		}
		return sane(m)
	}
	return w
}

// perfReport is the report of one of perf's benchmarks.
type perfReport struct {
	name    string  // "sched/pipe"
	done    float64 // operations, 0: not printed
	seconds float64 // in total, 0: not printed
	each    float64 // seconds per operation, 0: not printed
	rates   []float64
	units   []string // of rates, as printed: "MB", "GB"
}

// values returns the report's metrics.
func (p perfReport) values() map[string]float64 {
	switch {
	case p.name == "syscall/basic":
		return map[string]float64{"syscall": p.each}
	case p.name == "sched/pipe":
		return map[string]float64{"pipe": p.each}
	case p.name == "mem/memcpy" && len(p.rates) > 0:
		return map[string]float64{"memcpy": p.rates[0] * perfUnit[p.units[0]]}
	}
	return map[string]float64{}
}

var (
	perfName  = regexp.MustCompile(`(?m)^# Running '([a-z]+/[a-z]+)' benchmark:$`)
	perfDone  = regexp.MustCompile(`(?m)^# Executed ([\d,]+) (?:getppid\(\) calls|pipe operations between two (?:processes|threads))$`)
	perfTotal = regexp.MustCompile(`(?m)^ *Total time: (\d+\.\d+) \[sec\]$`)
	perfEach  = regexp.MustCompile(`(?m)^ *(\d+\.\d+) usecs/op$`)
	perfRate  = regexp.MustCompile(`(?m)^ +(\d+\.\d+) ([KMG]?B)/sec$`)
	perfUnit  = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
	perfComma = regexp.MustCompile(`,`)
)

// parsePerfBench reads the output of one benchmark in perf's default format. The
// format for scripts does not name the benchmark.
func parsePerfBench(text string) (perfReport, error) {
	var p perfReport
	if err := refused("perf", text); err != nil {
		return p, err
	}
	name := perfName.FindAllStringSubmatch(grep(text, "# Running"), -1)
	if len(name) != 1 {
		return p, fault.WithRemedy(fault.Guestf("the output names a perf benchmark %d times instead of once", len(name)),
			"run perf bench without --format=simple, and one benchmark at a time")
	}
	p.name = name[0][1]
	for _, want := range []struct {
		line *regexp.Regexp
		word string
		to   *float64
	}{{perfDone, "# Executed", &p.done}, {perfTotal, "Total time", &p.seconds}, {perfEach, "usecs/op", &p.each}} {
		if m := want.line.FindStringSubmatch(grep(text, want.word)); m != nil {
			f, err := number(perfComma.ReplaceAllString(m[1], ""))
			if err != nil {
				return p, err
			}
			*want.to = f
		}
	}
	for _, m := range perfRate.FindAllStringSubmatch(grep(text, "/sec"), -1) {
		f, err := number(m[1])
		if err != nil {
			return p, err
		}
		p.rates, p.units = append(p.rates, f), append(p.units, m[2])
	}
	if p.each == 0 && len(p.rates) == 0 && p.seconds == 0 {
		return p, fault.Guestf("perf bench %s prints no figures", p.name)
	}
	if got := p.each * p.done / 1e6; p.each != 0 && p.done != 0 && abs(got-p.seconds) > 0.01*got+0.001 {
		return p, contradiction("latency × operations is not the time: %v µs × %.0f, but %v s", p.each, p.done, p.seconds)
	}
	p.each /= 1e6
	return p, nil
}

// cpuKernels are the kernels of kernelBench, one for each of nbench's indices.
var cpuKernels = []struct {
	name, about string
	args        []string
	ops         int64 // for a size of 1
}{
	{"memory", "sorting an array of integers", []string{"--qsort", "1", "--qsort-size", "65536", "--qsort-ops"}, 1},
	{"integer", "adding, multiplying and shifting integers of 64 bits", []string{"--cpu", "1", "--cpu-method", "int64", "--cpu-ops"}, 60},
	{"float", "multiplying matrices of floating-point numbers", []string{"--cpu", "1", "--cpu-method", "matrixprod", "--cpu-ops"}, 6},
}

// kernelBench runs small kernels of arithmetic and sorting, like nbench.
func kernelBench() *Workload {
	w := &Workload{
		Name:       "cpu-kernels",
		Title:      "sorting, integer and floating-point arithmetic",
		ArticleIDs: []string{"P2-nbench"},
		Source:     "stress-ng (stress-ng)",
		StandIn: "for nbench: three of stress-ng's kernels for nbench's memory, integer and floating-point indices. There is " +
			"no index against a K6-233, only rates that compare on one machine",
		Tools:    []string{"stress-ng"},
		Packages: []string{"stress-ng"},
		Metrics:  []Metric{wallMetric("all three, including the starts of stress-ng")},
		SizeUnit: "rounds (a sort, 60 of the integer and 6 of the floating-point kernel)",
		MinSize:  2, MaxSize: 1_000_000, DefaultSize: 50,
	}
	for _, k := range cpuKernels {
		w.Metrics = append(w.Metrics, rateMetric(k.name, "1/s", k.about+": rounds per second, from stress-ng's rate"))
	}
	w.Steps = func(size int64) []Step {
		var steps []Step
		for _, k := range cpuKernels {
			argv := slices.Concat([]string{"stress-ng"}, k.args, []string{strconv.FormatInt(size*k.ops, 10), "--no-rand-seed", "--metrics"})
			steps = append(steps, Step{Name: k.name, Timed: true, Argv: argv})
		}
		return steps
	}
	w.Sparse = true // saved output may be of one kernel only
	w.Parse = parsing("time", func(text string) (map[string]float64, error) {
		rows, err := parseStressNG(text)
		if err != nil {
			return nil, err
		}
		if len(rows) != 1 || rows[0].stressor != "qsort" {
			return nil, fault.Guestf("the output of stress-ng's cpu stressor does not name its kernel, so only that of qsort can be read: %s", quote(rows[0].line))
		}
		return map[string]float64{"memory": rows[0].rate}, nil
	})
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := ran(w.Steps(size), results)
		if err != nil {
			return nil, err
		}
		m := map[string]float64{}
		for _, k := range cpuKernels {
			r := by[k.name]
			row, err := stressor(k.args[0][2:], r.output())
			if err != nil {
				return nil, inStep(k.name, err)
			}
			if row.ops < float64(size*k.ops) {
				return nil, fault.Guestf("step %s: stress-ng did %.0f operations instead of %d: %s", k.name, row.ops, size*k.ops, quote(row.line))
			}
			m[k.name] = row.rate / float64(k.ops)
			m["time"] += r.Wall.Seconds()
		}
		return sane(m)
	}
	return w
}
