package workload

import (
	"math"
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

// sysbench returns the command line of one of sysbench's tests, without a time limit.
func sysbench(test string, args ...string) []string {
	return append([]string{"sysbench", test, "--time=0"}, args...)
}

// threadsParam is a tool's number of threads. The default is one, because the
// smallest guests have one CPU.
var threadsParam = Param{Name: "threads", Default: "1", Min: 1, Max: 1024, About: "threads that share the work"}

func sysbenchCPU() *Workload {
	return withParams([]Param{threadsParam}, sysbenchCPUWith)
}

func sysbenchCPUWith(set Settings) *Workload {
	w := &Workload{
		Name:  "sysbench-cpu",
		Title: "find primes by division: integer arithmetic without memory access",
		Metrics: []Metric{
			wallMetric("all events, and the start of sysbench"),
			rateMetric("rate", "1/s", "events per second, as sysbench prints it"),
			guestTimeMetric("the total time that sysbench prints"),
		},
		SizeUnit:    "events (each finds the primes up to 10000)",
		MinSize:     150,
		MaxSize:     100_000_000,
		DefaultSize: 10_000,
	}
	return w.bySysbench("cpu", func(size int64) []Step {
		return []Step{{
			Name:  "cpu",
			Argv:  []string{"sysbench", "cpu", "--threads=" + set["threads"], "--events=" + strconv.FormatInt(size, 10), "--time=0", "run"},
			Timed: true,
		}}
	}, func(r sysbenchReport) (reading, error) {
		return reading{values: map[string]float64{"rate": r.rate, "time-guest": r.seconds}, did: r.events}, nil
	})
}

// sysbenchMemory writes or reads blocks of 1 MiB in memory ("write", "read").
func sysbenchMemory(op string) *Workload {
	return withParams([]Param{threadsParam}, func(set Settings) *Workload { return sysbenchMemoryWith(op, set) })
}

func sysbenchMemoryWith(op string, set Settings) *Workload {
	w := &Workload{
		Name:       "sysbench-memory-" + op,
		Title:      op + " the same 1 MiB of memory repeatedly: bandwidth of the caches",
		ArticleIDs: []string{"P3-bw_mem"},
		StandIn:    "for lmbench's bw_mem (rd, wr): sysbench also covers 1 MB, but with threads of one process instead of processes, and in C loops of 8 bytes that are not unrolled; for cp, see memory-copy",
		Metrics: []Metric{
			rateMetric("bandwidth", "B/s", "as sysbench prints it, in bytes"),
			wallMetric("all blocks, and the start of sysbench"),
			guestTimeMetric("the total time that sysbench prints"),
		},
		SizeUnit:    "MiB by each thread",
		MinSize:     512,
		MaxSize:     1 << 30,
		DefaultSize: 64 << 10,
	}
	threads := set.Int("threads")
	return w.bySysbench("memory", func(size int64) []Step {
		return []Step{{
			Name: "memory", Timed: true,
			Argv: sysbench("memory", "--threads="+set["threads"], "--memory-block-size=1M", "--memory-oper="+op,
				"--memory-total-size="+strconv.FormatInt(int64(threads)*size, 10)+"M", "run"),
		}}
	}, func(r sysbenchReport) (reading, error) {
		if r.operation != op {
			return reading{}, fault.Guestf("sysbench memory did the operation %s, not %s", quote(r.operation), op)
		}
		return reading{values: map[string]float64{"bandwidth": r.mibRate * (1 << 20), "time-guest": r.seconds}, did: r.mib / float64(threads)}, nil
	})
}

func sysbenchThreads() *Workload {
	w := &Workload{
		Name:  "sysbench-threads",
		Title: "four threads yield the CPU and wait for locks: the scheduler",
		Metrics: []Metric{
			wallMetric("all events, and the start of sysbench"),
			latencyMetric("latency", "mean per event, as sysbench prints it"),
			guestTimeMetric("the total time that sysbench prints"),
		},
		SizeUnit:    "events (each locks, yields and unlocks 1000 times)",
		MinSize:     50,
		MaxSize:     100_000_000,
		DefaultSize: 2000,
	}
	return w.bySysbench("threads", func(size int64) []Step {
		return []Step{{
			Name: "threads", Timed: true,
			Argv: sysbench("threads", "--threads=4", "--events="+strconv.FormatInt(size, 10), "run"),
		}}
	}, func(r sysbenchReport) (reading, error) {
		return reading{values: map[string]float64{"latency": r.mean, "time-guest": r.seconds}, did: r.events}, nil
	})
}

func sysbenchMutex() *Workload {
	w := &Workload{
		Name:  "sysbench-mutex",
		Title: "four threads lock and unlock 4096 mutexes: contention in user space",
		Metrics: []Metric{
			wallMetric("all locks, and the start of sysbench"),
			guestTimeMetric("the total time that sysbench prints"),
		},
		SizeUnit:    "locks of each thread",
		MinSize:     5000,
		MaxSize:     1_000_000_000,
		DefaultSize: 100_000,
	}
	return w.bySysbench("mutex", func(size int64) []Step {
		return []Step{{
			Name: "mutex", Timed: true,
			Argv: sysbench("mutex", "--threads=4", "--mutex-locks="+strconv.FormatInt(size, 10), "run"),
		}}
	}, func(r sysbenchReport) (reading, error) {
		// Each thread is one event; sysbench does not print the number of locks.
		return reading{values: map[string]float64{"time-guest": r.seconds}}, nil
	})
}

// sysbenchFileio reads and writes blocks of 16 KiB at random, three reads to two
// writes, with an fsync after every hundred operations: the pattern of a database.
func sysbenchFileio() *Workload {
	files := func(size int64) []string {
		return []string{"--file-num=4", "--file-total-size=" + strconv.FormatInt(fileioTotal(size), 10)}
	}
	w := &Workload{
		Name:      "sysbench-fileio",
		Title:     "read and write 16 KiB blocks at random, with fsync: files of a database",
		ReadsBack: true,
		Metrics: []Metric{
			wallMetric("all operations, the flush of the files and the start of sysbench"),
			rateMetric("reads", "1/s", "reads per second, as sysbench prints them"),
			rateMetric("writes", "1/s", "writes per second, as sysbench prints them"),
			latencyMetric("latency", "mean per operation, as sysbench prints it"),
			guestTimeMetric("the total time that sysbench prints"),
		},
		SizeUnit:    "operations (reads of 16 KiB, writes and fsyncs)",
		MinSize:     500,
		MaxSize:     10_000_000,
		DefaultSize: 20_000,
		DiskBytes:   func(size int64) int64 { return fileioTotal(size) + 16<<20 },
	}
	return w.bySysbench("fileio", func(size int64) []Step {
		fileio := func(args ...string) []string { return sysbench("fileio", append(files(size), args...)...) }
		return []Step{
			{Name: "prepare", Argv: fileio("prepare")},
			{Name: "sync", Argv: []string{"sync", "-f", "."}},
			{Name: "fileio", Timed: true, DropCaches: true, Argv: fileio("--threads=1", "--file-test-mode=rndrw",
				"--rand-seed=1", "--events="+strconv.FormatInt(size, 10), "run")},
			{Name: "clean", Argv: fileio("cleanup")},
		}
	}, func(r sysbenchReport) (reading, error) {
		return reading{values: map[string]float64{
			"reads": r.reads, "writes": r.writes, "latency": r.mean, "time-guest": r.seconds,
		}, did: r.events}, nil
	})
}

// fileioTotal returns the size of the files: at least 64 MiB, at most 4 GiB, and
// otherwise as much as the operations can touch.
func fileioTotal(size int64) int64 { return max(64<<20, min(size*16<<10, 4<<30)) }

// bySysbench completes a workload that is one test of sysbench.
func (w *Workload) bySysbench(test string, steps func(size int64) []Step, figures func(sysbenchReport) (reading, error)) *Workload {
	w.Source = "sysbench " + test + " (sysbench)"
	w.Tools, w.Packages, w.Steps = []string{"sysbench", "sync"}, []string{"coreutils", "sysbench"}, steps
	return w.measuredBy(test, func(text string) (reading, error) {
		r, err := parseSysbench(test, text)
		if err != nil {
			return reading{}, err
		}
		return figures(r)
	})
}

// sysbenchReport is what sysbench 1.0 prints at the end of a test.
type sysbenchReport struct {
	seconds, events      float64
	mean, p95            float64 // latency of an event in seconds; p95 0: not printed
	rate                 float64 // of events or transactions; 0: the test has none
	mib, mibRate         float64 // memory
	operation            string  // memory: "read" or "write"
	reads, writes, syncs float64 // fileio, per second
}

type sysbenchLine struct {
	what string
	line *regexp.Regexp
	to   func(*sysbenchReport) []*float64
}

var (
	sysbenchSeconds = sysbenchLine{"total time", regexp.MustCompile(`(?m)^ *total time: +(\d+\.\d+)s$`),
		func(r *sysbenchReport) []*float64 { return []*float64{&r.seconds} }}
	sysbenchEvents = sysbenchLine{"total number of events", regexp.MustCompile(`(?m)^ *total number of events: +(\d+)$`),
		func(r *sysbenchReport) []*float64 { return []*float64{&r.events} }}
	sysbenchMean = sysbenchLine{"avg", regexp.MustCompile(`(?m)^ *avg: +(\d+\.\d+)$`),
		func(r *sysbenchReport) []*float64 { return []*float64{&r.mean} }}

	// The lines that only one test prints. The tests threads and mutex have none.
	sysbenchOwn = map[string][]sysbenchLine{
		"cpu": {{"events per second", regexp.MustCompile(`(?m)^ *events per second: +(\d+\.\d+)$`),
			func(r *sysbenchReport) []*float64 { return []*float64{&r.rate} }}},
		"oltp": {{"transactions", regexp.MustCompile(`(?m)^ *transactions: +\d+ +\((\d+\.\d+) per sec\.\)$`),
			func(r *sysbenchReport) []*float64 { return []*float64{&r.rate} }}},
		"memory": {
			{"Total operations", regexp.MustCompile(`(?m)^Total operations: \d+ \( *(\d+\.\d+) per second\)$`),
				func(r *sysbenchReport) []*float64 { return []*float64{&r.rate} }},
			{"transferred", regexp.MustCompile(`(?m)^(\d+\.\d+) MiB transferred \((\d+\.\d+) MiB/sec\)$`),
				func(r *sysbenchReport) []*float64 { return []*float64{&r.mib, &r.mibRate} }},
		},
		"fileio": {
			{"reads/s", regexp.MustCompile(`(?m)^ *reads/s: +(\d+\.\d+)$`), func(r *sysbenchReport) []*float64 { return []*float64{&r.reads} }},
			{"writes/s", regexp.MustCompile(`(?m)^ *writes/s: +(\d+\.\d+)$`), func(r *sysbenchReport) []*float64 { return []*float64{&r.writes} }},
			{"fsyncs/s", regexp.MustCompile(`(?m)^ *fsyncs/s: +(\d+\.\d+)$`), func(r *sysbenchReport) []*float64 { return []*float64{&r.syncs} }},
		},
	}
	sysbenchOp  = regexp.MustCompile(`(?m)^  operation: (\w+)$`)
	sysbenchP95 = regexp.MustCompile(`(?m)^ *95th percentile: +(\d+\.\d+)$`)
)

// sysbenchTest returns the test that printed the report: "cpu", "oltp", "memory",
// "fileio", or "threads" for threads and mutex, whose reports do not tell.
func sysbenchTest(text string) string {
	for test, lines := range sysbenchOwn {
		if lines[0].line.MatchString(grep(text, lines[0].what)) {
			return test
		}
	}
	return "threads"
}

// parseSysbench reads the report of a run of that test.
func parseSysbench(test, text string) (sysbenchReport, error) {
	var r sysbenchReport
	if err := refused("sysbench", text); err != nil {
		return r, err
	}
	own, has := sysbenchOwn[test]
	if is := sysbenchTest(text); !has && is != "threads" {
		return r, fault.Guestf("this is a report of sysbench %s, not of sysbench %s", is, test)
	}
	for _, want := range append([]sysbenchLine{sysbenchSeconds, sysbenchEvents, sysbenchMean}, own...) {
		m := want.line.FindAllStringSubmatch(grep(text, want.what), -1)
		if len(m) != 1 {
			return r, fault.Guestf("%d lines with %q instead of one: this is not the complete output of one run of sysbench %s", len(m), want.what, test)
		}
		f, err := numbers(m[0][1:]...)
		if err != nil {
			return r, err
		}
		for i, to := range want.to(&r) {
			*to = f[i]
		}
	}
	if m := sysbenchOp.FindStringSubmatch(text); m != nil {
		r.operation = m[1]
	}
	if m := sysbenchP95.FindStringSubmatch(grep(text, "95th percentile")); m != nil {
		p95, err := number(m[1])
		if err != nil {
			return r, err
		}
		r.p95 = p95 / 1e3
	}
	r.mean /= 1e3
	return r, r.consistent(test)
}

func (r sysbenchReport) consistent(test string) error {
	if r.seconds == 0 || r.events == 0 {
		return fault.Guestf("sysbench did nothing: %v s, %.0f events", r.seconds, r.events)
	}
	rate := r.rate
	if test == "fileio" {
		rate = r.reads + r.writes + r.syncs
	}
	if rate == 0 {
		if sysbenchOwn[test] != nil {
			return fault.Guestf("sysbench did nothing: its rates are 0")
		}
		return nil
	}
	// sysbench calculates the rate over slightly more than the time that it prints;
	// on a busy machine, over about 0.1 s more.
	const share, busy = 0.05, 0.2
	if took := r.events / rate; math.Abs(took-r.seconds) > share*r.seconds+busy {
		return contradiction("rate × time is not the number of events: %v/s, %vs, %.0f events", rate, r.seconds, r.events)
	}
	if r.mib != 0 {
		if took := r.mib / r.mibRate; math.Abs(took-r.seconds) > share*r.seconds+busy {
			return contradiction("rate × time is not the size: %v MiB/s, %vs, %v MiB", r.mibRate, r.seconds, r.mib)
		}
	}
	return nil
}
