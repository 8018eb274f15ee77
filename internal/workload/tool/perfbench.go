package tool

import (
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	perfName = regexp.MustCompile(`(?m)^# Running '?([a-z]+/[\w-]+)'? benchmark(?::|\.\.\.)$`)
	// perfAbout are lines that say what the figures after them are of, until the next such line.
	perfAbout = regexp.MustCompile(`^# function '([^']+)'|^ *Number of (synthesis threads): (\d+)$` +
		`|^(\d+ operations \d+ bits set of \d+ bits)$|^ # Running ([^,]+), "perf bench numa`)
	// perfTook begins a group of lines about the same thing.
	perfTook = regexp.MustCompile(`^ *Average (\S.*?) took: `)
)

const perfNumber = `([\d,]+(?:\.\d+)?)`

// perfLines are all lines with figures. A time has the unit that perf prints.
var perfLines = []figureLine{
	row(`^ *Total time: `+perfNumber+` \[?(sec|usecs)\]?$`, column{"total time", "%2", Lower}, label),
	row(`^ *`+perfNumber+` usecs/op( to baseline)?$`, column{"latency%2", "us/op", Lower}, label),
	figures(`^ *`+perfNumber+` usecs/op/cpu$`, "latency of a CPU", "us/op", Lower),
	figures(`^ *`+perfNumber+` ops/sec$`, "operations per second", "1/s", Higher),
	row(`^ +`+perfNumber+` ([KMG]?B)/sec$`, column{"bandwidth", "%2/s", Higher}, label),
	figures(`^ +`+perfNumber+` cycles/byte$`, "cycles of a byte", "1", Lower),
	figures(`^# Executed `+perfNumber+` `, "operations", "1", ""),
	row(`^# `+perfNumber+` sender and receiver (processes|threads) per group$`,
		column{"senders, and receivers, of a group", "1", ""}, label),
	row(`^# `+perfNumber+` groups == `+perfNumber+` (processes|threads) run$`, column{"groups", "1", ""},
		column{"%3", "1", ""}, label),
	row(`^# Enabled/disabled breakpoint `+perfNumber+` time with (\d+) passive and (\d+) active threads$`,
		column{"operations", "1", ""}, column{"passive threads", "1", ""}, column{"active threads", "1", ""}),
	row(`^# Created/joined `+perfNumber+` threads with (\d+) breakpoints and (\d+) parallelism$`,
		column{"operations", "1", ""},
		column{"breakpoints", "1", ""}, column{"parallel threads", "1", ""}),
	row(`^\[thread +(\d+)\] .* \[ `+perfNumber+` ops/sec \]$`, label,
		column{"thread %1: operations per second", "1/s", Higher}),
	row(`^\[thread +(\d+)\] .* \[ add: `+perfNumber+` ops; mod: `+perfNumber+` ops; del: `+perfNumber+` ops \]$`, label,
		column{"thread %1: ADD operations", "1", Higher}, column{"thread %1: MOD operations", "1", Higher},
		column{"thread %1: DEL operations", "1", Higher}),
	row(`^Averaged `+perfNumber+` operations/sec \(\+- `+perfNumber+`%\), total secs = (\d+)$`,
		column{"operations per second",
			"1/s", Higher}, column{"operations per second: deviation", "%", Lower}, column{"total time", "s", ""}),
	row(`^Averaged `+perfNumber+` (ADD|MOD|DEL) operations \(\+- `+perfNumber+`%\)$`,
		column{"%2 operations", "1", Higher}, label, column{"%2 operations: deviation", "%", Lower}),
	row(`^exiting writer-thread \(total full-loops: (\d+)\)$`, column{"full loops of the writer", "1", ""}),
	row(`^\[(Run \d+)\]: (Wokeup|Requeued|Awoke and Requeued) \(?([\d.]+)(?:\+([\d.]+)\))? of (\d+) threads in `+
		perfNumber+` ms$`,
		label, label, column{"%1: threads", "1", ""}, column{"%1: requeued threads", "1", ""}, label,
		column{"%1: time", "ms", Lower}),
	row(`^(Wokeup|Requeued|Awoke and Requeued) \(?([\d.]+)(?:\+([\d.]+)\))? of (\d+) threads in `+perfNumber+` ms \(\+-`+
		perfNumber+
		`%\)$`, label, column{"mean: threads", "1", ""}, column{"mean: requeued threads", "1", ""},
		column{"threads", "1", ""}, column{"mean: time", "ms", Lower}, column{"mean: deviation", "%", Lower}),
	row(`^\[(Run \d+)\]: Avg per-thread latency \(waking ([\d.]+)/(\d+) threads\) in `+perfNumber+` ms \(\+-`+
		perfNumber+`%\)$`,
		label, column{"%1: threads", "1", ""}, label, column{"%1: time", "ms", Lower}, column{"%1: deviation", "%", Lower}),
	row(`^Avg per-thread latency \(waking ([\d.]+)/(\d+) threads\) in `+perfNumber+` ms \(\+-`+perfNumber+`%\)$`,
		column{"mean: threads", "1", ""}, column{"threads", "1", ""}, column{"mean: time", "ms", Lower},
		column{"mean: deviation", "%", Lower}),
	row(`^ *Average (\S.*?) took: +`+perfNumber+` ([mun]?s(?:ec)?) \(\+- `+perfNumber+` [mun]?s(?:ec)?\)$`, label,
		column{"time", "%3", Lower}, label, column{"deviation of time", "%3", Lower}),
	row(`^ *Average (num\. events|memory usage): `+perfNumber+`(?: (KB))? \(\+- `+perfNumber+`(?: KB)?\)$`, label,
		column{"%1", "%3", ""}, label, column{"deviation of %1", "%3", ""}),
	row(`^ *Average time per event:? `+perfNumber+` ([mun]sec)(?: \(\+- `+perfNumber+` [mun]sec\))?$`,
		column{"time per event", "%2", Lower}, label, column{"deviation of time per event", "%2", Lower}),
	row(`^  Number of (cpus|threads|events|iterations):\t(\d+)(?: \((\d+) fds\))?$`, label, column{"%1", "1", ""},
		column{"file descriptors", "1", ""}),
	// perf bench numa, with and without -q
	row(`^ +`+perfNumber+` (secs|%|GB|\S+/\S+) +(\S.*)$`, column{"%3", "%2", ""}, label, label),
	row(`^ (\S+), +`+perfNumber+`, (\S+), +(\S.*)$`, label, column{"%4", "%3", ""}, label, label),
	figures(`threads initialized in `+perfNumber+` seconds\.$`, "start of the threads", "s", Lower),
}

// perfEnds are the last figures of each benchmark, by the start of its name; with a colon, it is the end of a name. The
// output of others is complete if there are figures.
var perfEnds = []struct{ benchmark, last string }{
	{"sched/messaging", "total time"}, {"sched/", "operations per second"}, {"syscall/", "operations per second"},
	{"breakpoint/enable", "latency"}, {"breakpoint/thread", "latency of a CPU"}, {"futex/hash", "operations per second"},
	{"futex/lock-pi", "operations per second"}, {"futex/", "mean: time"}, {"epoll/wait", "operations per second"},
	{"epoll/ctl", "DEL operations"}, {"internals/inject-build-id", "build-id-all injection: deviation of memory usage"},
	{"internals/synthesize/single", "data synthesis: time per event"},
	{"internals/synthesize", ": time per event"}, {"internals/", ": deviation of time"}, {"numa/mem", "total speed"},
	{"mem/mem", ""}, {"mem/find_bit", "operations 2048 bits set of 2048 bits: test_bit loop: deviation of time"},
}

// perfUnits are what units mean; perf's KB, MB and GB are powers of 1024.
var perfUnits = map[string]struct {
	unit   string
	factor float64
}{"sec": {"s", 1}, "secs": {"s", 1}, "usecs": {"us", 1e-6}, "usec": {"us", 1e-6}, "msec": {"ms", 1e-3}, "nsec": {"ns",
	1e-9},
	"B/s": {"B/s", 1}, "KB/s": {"KB/s", 1 << 10}, "MB/s": {"MB/s", 1 << 20}, "GB/s": {"GB/s", 1 << 30}, "": {"1", 1}}

// readPerfBench reads the output of perf's benchmarks, in perf's default format, because that for scripts does not
// name the benchmark. It says the "benchmark", such as sched/pipe. With several, names begin with the benchmark's.
func readPerfBench(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	starts := perfName.FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 {
		return fault.WithRemedy(fault.Guestf("the output has no line \"# Running '…' benchmark:\" of perf bench"),
			"run perf bench without --format=simple")
	}
	seen := map[string]bool{}
	for i, at := range starts {
		name, end := text[at[2]:at[3]], len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if seen[name] {
			return fault.Guestf("the output has two results of perf bench %s; save each run in its own file", name)
		}
		seen[name] = true
		section := r.part()
		if err := readPerfSection(name, text[at[1]:end], section); err != nil {
			return err
		}
		if len(starts) > 1 {
			r.include(name+": ", section)
		} else {
			r.include("", section)
			r.say("benchmark", name)
		}
	}
	return nil
}

// readPerfSection reads the figures of one benchmark.
func readPerfSection(benchmark, text string, r *Report) error {
	about, took := "", ""
	functions := 0
	for line := range strings.SplitSeq(text, "\n") {
		if m := perfAbout.FindStringSubmatch(line); m != nil {
			about, took = strings.TrimSpace(m[1]+strings.TrimPrefix(m[3]+" "+m[2]+m[4], " ")+m[5]), ""
			if about == "main" {
				about = ""
			}
			if m[1] != "" {
				functions++
			}
			continue
		}
		if m := perfTook.FindStringSubmatch(line); m != nil {
			took = m[1]
		}
		one := &Report{}
		if err := addFigures(one, line, perfLines); err != nil {
			return err
		}
		if len(one.Figures) == 0 && strings.HasPrefix(strings.TrimSpace(line), "Average") {
			return damaged("perf bench", line)
		}
		for _, f := range one.Figures {
			name := f.Name
			if took != "" {
				name = took + ": " + name
			}
			if about != "" {
				name = about + ": " + name
			}
			of, ok := perfUnits[f.Unit]
			if !ok {
				of.unit = f.Unit
			}
			r.addAs(of.factor, name, f.Value, of.unit, f.Better)
		}
	}
	if err := perfComplete(benchmark, text, functions, r); err != nil {
		return err
	}
	each, done, seconds := r.Value("latency"), r.Value("operations"), 0.0
	if total := r.All("total time"); len(total) > 0 {
		seconds = total[0].In("s")
	}
	parallel := r.Value("parallel threads") > 1
	if got := each * done / 1e6; !parallel && each != 0 && math.Abs(got-seconds) > 0.01*got+0.001 {
		return r.doubt(Contradiction("latency × operations is not the time: %v µs × %.0f, but %v s", each, done, seconds))
	}
	return nil
}

// perfComplete returns an error if the last figure of the benchmark is missing.
func perfComplete(benchmark, text string, functions int, r *Report) error {
	last, n := "", 0
	if strings.Contains(text, "single threaded") {
		benchmark += "/single"
	}
	for _, end := range perfEnds {
		if strings.HasPrefix(benchmark, end.benchmark) {
			last = end.last
			break
		}
	}
	for _, f := range r.Figures {
		name := strings.ReplaceAll(f.Name, "total-speed", "total speed")
		if last == "" || name == last || strings.Contains(last, ":") && strings.HasSuffix(name, last) ||
			benchmark == "numa/mem" && strings.HasSuffix(name, ": "+last) {
			n++
		}
	}
	if n == 0 || functions > 0 && len(r.Figures) != functions {
		return fault.Guestf("the output of perf bench %s ends before its figure %s: it is cut off", benchmark, Quote(last))
	}
	return nil
}
