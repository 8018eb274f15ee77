package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// sysbenchRate is a rate, which is not a number for an interval of no events.
const sysbenchRate = `(\d+\.\d+|-?nan|-?inf)`

// sysbenchKinds are the lines of sysbench's report, of versions 0.4 to 1.1, and of what it prints each
// --report-interval.
var sysbenchKinds = []figureLine{
	figures(`^ *(?:total time|time elapsed): +(\d+\.\d+|-?nan|-?inf)s$`, "total time", "s", Lower),
	figures(`^ *total number of events: +(\d+)$`, "events", "1", ""),
	figures(`^ *events per second: +(\d+\.\d+|-?nan|-?inf)$`, "events per second", "1/s", Higher),
	figures(`^ *events/s \(eps\): +(\d+\.\d+|-?nan|-?inf)$`, "events/s", "1/s", Higher),
	row(`^(?:Total operations|Operations performed): (\d+) \( *(\d+\.\d+|-?nan|-?inf) (?:per second|ops/sec)\)$`,
		column{"operations", "1", ""}, column{"events per second", "1/s", Higher}),
	row(`^ *transactions: +(\d+) +\((\d+\.\d+|-?nan|-?inf) per sec\.\)$`, column{"transactions made", "1", ""},
		column{"transactions", "1/s", Higher}),
	row(`^ *(queries|ignored errors|reconnects|deadlocks|read/write requests|other operations): +(\d+) +\((\d+\.\d+`+
		`) per sec\.\)$`,
		label, column{"%1 made", "1", ""}, column{"%1", "1/s", ""}),
	figures(`^ {8}(read|write|other|total): +(\d+)$`, "queries: %1", "1", ""),
	row(`^(\d+\.\d+|-?nan|-?inf) Mi?B transferred \((\d+\.\d+|-?nan|-?inf) Mi?B/sec\)$`, column{"transferred", "MiB", ""},
		column{"bandwidth", "MiB/s", Higher}),
	row(`^(\d+) bytes written in (\d+\.\d+) seconds \((\d+\.\d+) (?:Mi?B/sec|MB/s)\)\.?$`, column{"prepared", "B", ""},
		column{"preparation time", "s", Lower}, column{"preparation rate", "MiB/s", Higher}),
	figures(`^ *reads/s: +(\d+\.\d+|-?nan|-?inf)$`, "reads", "1/s", Higher),
	figures(`^ *writes/s: +(\d+\.\d+|-?nan|-?inf)$`, "writes", "1/s", Higher),
	figures(`^ *fsyncs/s: +(\d+\.\d+|-?nan|-?inf)$`, "fsyncs", "1/s", Higher),
	row(`^ *(read|write|fsync): +IOPS=(\d+\.\d+|-?nan|-?inf)(?: (\d+\.\d+|-?nan|-?inf) MiB/s \((\d+\.\d+|-?nan|-?inf) MB/s\))?$`, label,
		column{"%1s", "1/s", Higher},
		column{"%1 throughput", "MiB/s", Higher}, column{"%1 throughput, MB/s", "MB/s", Higher}),
	figures(`^ *read, MiB/s: +(\d+\.\d+|-?nan|-?inf)$`, "read throughput", "MiB/s", Higher),
	figures(`^ *written, MiB/s: +(\d+\.\d+|-?nan|-?inf)$`, "write throughput", "MiB/s", Higher),
	row(`^Operations performed: +(\d+) [Rr]eads?, (\d+) [Ww]rites?, (\d+) Other = (\d+) Total$`,
		column{"read operations", "1", ""},
		column{"write operations", "1", ""}, column{"other operations", "1", ""}, column{"operations", "1", ""}),
	// Version 0.4 counts in powers of 1024 and writes b for bytes; sysbenchUnits makes KiB of Kb.
	row(`^Read ([\d.]+)(\w+)  Written ([\d.]+)(\w+)  Total transferred ([\d.]+)(\w+)  \(([\d.]+)(\w+)/sec\)$`,
		column{"read", "%2", ""}, label, column{"written", "%4", ""}, label, column{"transferred", "%6", ""}, label,
		column{"bandwidth", "%8/s", Higher}, label),
	figures(`^ *(\d+\.\d+|-?nan|-?inf) Requests/sec executed$`, "requests", "1/s", Higher),
	figures(`^ *total time taken by event execution: +(\d+\.\d+|-?nan|-?inf)s?$`, "sum of latencies", "s", Lower),
	figures(`^ *min: +(\d+\.\d+|-?nan|-?inf)(?:ms)?$`, "min latency", "ms", Lower),
	figures(`^ *avg: +(\d+\.\d+|-?nan|-?inf)(?:ms)?$`, "mean latency", "ms", Lower),
	figures(`^ *max: +(\d+\.\d+|-?nan|-?inf)(?:ms)?$`, "max latency", "ms", Lower),
	figures(`^ *(?:approx\. +)?(\d+)(?:th)? percentile: +(\d+\.\d+|-?nan|-?inf)(?:ms)?$`, "%1th percentile latency", "ms", Lower),
	figures(`^ *sum: +(\d+\.\d+|-?nan|-?inf)$`, "sum of latencies", "ms", Lower),
	row(`^ *events \(avg/stddev\): +(\d+\.\d+|-?nan|-?inf)/(\d+\.\d+|-?nan|-?inf)$`, column{"events of a thread", "1", ""},
		column{"events of a thread, deviation", "1", Lower}),
	row(`^ *execution time \(avg/stddev\): +(\d+\.\d+|-?nan|-?inf)/(\d+\.\d+|-?nan|-?inf)$`, column{"execution time of a thread", "s", ""},
		column{"execution time of a thread, deviation", "s", Lower}),
	figures(`^ *(\d+\.\d+|-?nan|-?inf) \|\** +(\d+)$`, "latencies of %1 ms", "1", ""),
	row(`^\[ (\d+)s \] thds: (\d+) eps: (\d+\.\d+|-?nan|-?inf) lat \(ms,(\d+)%\): (\d+\.\d+|-?nan|-?inf)$`, label,
		column{"at %1 s: threads", "1", ""},
		column{"at %1 s: events per second", "1/s", Higher}, label, column{"at %1 s: %4th percentile latency", "ms", Lower}),
	row(`^\[ (\d+)s \] thds: (\d+) tps: (\d+\.\d+|-?nan|-?inf) qps: (\d+\.\d+|-?nan|-?inf) \(r/w/o: (\d+\.\d+|-?nan|-?inf)/(\d+\.\d+|-?nan|-?inf)/(\d+\.\d+|-?nan|-?inf)\) lat `+
		`\(ms,(\d+)%\): `+
		`(\d+\.\d+|-?nan|-?inf) err/s:? (\d+\.\d+|-?nan|-?inf) reconn/s: (\d+\.\d+|-?nan|-?inf)$`,
		label, column{"at %1 s: threads", "1", ""}, column{"at %1 s: transactions", "1/s", Higher},
		column{"at %1 s: queries", "1/s", Higher}, column{"at %1 s: queries: read", "1/s", ""},
		column{"at %1 s: queries: write", "1/s", ""}, column{"at %1 s: queries: other", "1/s", ""}, label,
		column{"at %1 s: %8th percentile latency", "ms", Lower}, column{"at %1 s: errors", "1/s", Lower},
		column{"at %1 s: reconnects", "1/s", Lower}),
	figures(`^\[ (\d+)s \] (\d+\.\d+|-?nan|-?inf) MiB/sec$`, "at %1 s: bandwidth", "MiB/s", Higher),
	row(`^\[ (\d+)s \] reads: (\d+\.\d+|-?nan|-?inf) MiB/s writes: (\d+\.\d+|-?nan|-?inf) MiB/s fsyncs: (\d+\.\d+|-?nan|-?inf)/s latency \(ms,(\d+)%\):`+
		` (\d+\.\d+|-?nan|-?inf)$`,
		label, column{"at %1 s: read throughput", "MiB/s", Higher}, column{"at %1 s: write throughput", "MiB/s", Higher},
		column{"at %1 s: fsyncs", "1/s", Higher}, label, column{"at %1 s: %5th percentile latency", "ms", Lower}),
	row(`^\[ *(\d+)s ?\] queue length: (\d+),? concurrency: (\d+)$`, label, column{"at %1 s: queue length", "1", Lower},
		column{"at %1 s: concurrency", "1", ""}),
	// Of version 0.5.
	row(`^\[ *(\d+)s\] (?:Intermediate results: )?(?:threads: )?(\d+)(?: threads)?, tps: +`+sysbenchRate+`, reads(?:/s)?: +`+
		sysbenchRate+` ?, writes(?:/s)?: +`+sysbenchRate+` ?,? response time: +`+sysbenchRate+`ms \((\d+)%\)(?:, errors: +`+
		sysbenchRate+`, reconnects: +`+sysbenchRate+`)?$`, label, column{"at %1 s: threads", "1", ""},
		column{"at %1 s: transactions", "1/s", Higher}, column{"at %1 s: queries: read", "1/s", ""},
		column{"at %1 s: queries: write", "1/s", ""}, column{"at %1 s: %7th percentile latency", "ms", Lower}, label,
		column{"at %1 s: errors", "1/s", Lower}, column{"at %1 s: reconnects", "1/s", Lower}),
	row(`^\[ *(\d+)s\] (?:Intermediate results: )?(?:threads: )?(\d+)(?: threads)?, events/s: +`+sysbenchRate+`, response time: +`+
		sysbenchRate+`ms \((\d+)%\)$`, label, column{"at %1 s: threads", "1", ""},
		column{"at %1 s: events per second", "1/s", Higher}, column{"at %1 s: %5th percentile latency", "ms", Lower}, label),
	row(`^\[ *(\d+)s\] reads: +`+sysbenchRate+` MB/s,? writes: +`+sysbenchRate+` MB/s,? fsyncs: +`+sysbenchRate+
		`/s,? response time: +`+sysbenchRate+`ms \((\d+)%\)$`, label, column{"at %1 s: read throughput", "MiB/s", Higher},
		column{"at %1 s: write throughput", "MiB/s", Higher}, column{"at %1 s: fsyncs", "1/s", Higher},
		column{"at %1 s: %6th percentile latency", "ms", Lower}, label),
	figures(`^\[ *(\d+)s\] +`+sysbenchRate+` MB/sec,?$`, "at %1 s: bandwidth", "MiB/s", Higher),
	row(`^DEBUG: +thread # *(\d+): min: (\d+\.\d+|-?nan|-?inf)s +avg: (\d+\.\d+|-?nan|-?inf)s +max: (\d+\.\d+|-?nan|-?inf)s +events: (\d+)$`, label,
		column{"thread %1: min latency", "s", Lower}, column{"thread %1: mean latency", "s", Lower},
		column{"thread %1: max latency", "s", Lower}, column{"thread %1: events", "1", ""}),
	figures(`^DEBUG: +total time taken by event execution: (\d+\.\d+|-?nan|-?inf)s$`, "execution time of one thread", "s", ""),
}

// sysbenchTests are the tests with figures that others lack. The first one of each tells it from the
// tests after it.
var sysbenchTests = []struct {
	name    string
	figures []string
}{
	{"fileio", []string{"read operations", "write operations", "other operations", "requests", "bandwidth"}},
	// version 0.4
	{"memory", []string{"operations", "events per second"}},
	{"fileio", []string{"reads", "writes", "fsyncs"}},
	{"oltp", []string{"transactions"}},
	{"cpu", []string{"events per second"}},
}

var (
	sysbenchOld        = regexp.MustCompile(`(?m)^Read [\d.]+\w*b  Written .*$`)
	sysbenchHalf       = regexp.MustCompile(`(?m)^ *total time taken by event execution: +[\d.]+s$|^\[ *\d+s\] .*response time:`)
	sysbenchUnits      = strings.NewReplacer("Kb", "KiB", "Mb", "MiB", "Gb", "GiB", "Tb", "TiB", "b", "B")
	sysbenchLines      = lines(lineTool{lines: sysbenchKinds})
	sysbenchOp         = line("operation", `^  operation: (\w+)$`)
	sysbenchInterval   = line("[ ", `^\[ +\d+s ?\].*$`)
	sysbenchIs         = regexp.MustCompile(`(?m)^sysbench (\d+\.\S+?):? `)
	sysbenchCheckpoint = regexp.MustCompile(`(?m)^\[ (\d+)s \] Checkpoint report:\n(?s:.*?)\n *execution time \(avg` +
		`/stddev\):.*\n`)
)

// readSysbench reads the report that sysbench prints at the end of a test, and what it prints before. It says
// the "test", which is "threads or mutex" for the two whose reports do not tell them apart, and the
// "operation" of the memory test.
func readSysbench(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	if m := sysbenchIs.FindStringSubmatch(text); m != nil {
		r.Version = m[1]
	} else if sysbenchHalf.MatchString(text) {
		r.Version = "0.5"
	} else if strings.Contains(text, "total time taken by event execution: ") {
		r.Version = "0.4"
	}
	text = sysbenchOld.ReplaceAllStringFunc(text, sysbenchUnits.Replace)
	for _, m := range sysbenchCheckpoint.FindAllStringSubmatch(text, -1) {
		at := Report{lenient: r.lenient}
		if err := addFigures(&at, m[0], sysbenchKinds); err != nil {
			return err
		}
		r.include("checkpoint at "+m[1]+" s: ", &at)
	}
	text = sysbenchCheckpoint.ReplaceAllString(text, "")
	for _, m := range sysbenchInterval.all(text) {
		if !sysbenchReads(m[0]) {
			return damaged("sysbench", m[0])
		}
	}
	if strings.Contains(text, `"tps":`) {
		return readSysbenchJSON(text, r)
	}
	if err := sysbenchLines(text, r); err != nil {
		return err
	}
	test, wanted := "threads or mutex", []string{"total time", "events", "min latency", "mean latency", "max latency",
		"execution time of a thread"}
	for _, t := range sysbenchTests {
		if len(r.All(t.figures[0])) > 0 {
			test, wanted = t.name, append(wanted, t.figures...)
			break
		}
	}
	if strings.Contains(text, "IOPS=") && len(r.All("total time")) == 0 { // version 1.1 may leave out the rest for files
		wanted = []string{"reads", "writes", "fsyncs", "min latency", "mean latency", "max latency", "sum of latencies"}
	}
	r.say("test", test)
	if m := sysbenchOp.first(text); m != nil {
		r.say("operation", m[1])
	}
	for _, figure := range wanted {
		if _, err := r.One(figure); err != nil {
			err := r.doubt(fault.Guestf("this is not the complete output of one run of sysbench: %w", err))
			if err != nil || len(r.All(figure)) > 1 { // several runs, of which one is not complete
				return cmp.Or(err, notOnce("sysbench", figure, len(r.All(figure))))
			}
			break
		}
	}
	if debug := r.All("execution time of one thread"); strings.Contains(text, "\nDebug mode enabled.\n") &&
		!strings.Contains(text, fmt.Sprintf("\nNumber of threads: %d\n", len(debug))) {
		return fault.Guestf("the output of sysbench has the statistics of %d threads only: it is cut off", len(debug))
	}
	return sysbenchConsistent(test, r)
}

// sysbenchReads reports whether a line is of a known kind.
func sysbenchReads(line string) bool {
	for _, kind := range sysbenchKinds {
		if kind.line.MatchString(line) {
			return true
		}
	}
	return false
}

// readSysbenchJSON reads what sysbench's hook report_json prints: a report for each interval, and one of the
// whole run, which has no threads.
func readSysbenchJSON(text string, r *Report) error {
	whole := 0
	for rest := "\n" + text; ; {
		at := strings.Index(rest, "\n[\n")
		if at < 0 {
			break
		}
		rest = rest[at+1:]
		var list []struct {
			Time, Threads, TPS, Latency, Errors, Reconnects float64
			QPS                                             struct{ Total, Reads, Writes, Other float64 }
		}
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&list); err != nil {
			return fault.Guestf("sysbench's JSON is damaged or cut off: %w", err)
		}
		for _, of := range list {
			prefix := ""
			if of.Threads > 0 {
				prefix = "at " + number(of.Time) + " s: "
				r.add(prefix+"threads", of.Threads, "1", "")
			} else {
				whole++
				r.seconds("total time", of.Time)
			}
			r.add(prefix+"transactions", of.TPS, "1/s", Higher)
			r.add(prefix+"queries", of.QPS.Total, "1/s", Higher)
			r.add(prefix+"queries: read", of.QPS.Reads, "1/s", "")
			r.add(prefix+"queries: write", of.QPS.Writes, "1/s", "")
			r.add(prefix+"queries: other", of.QPS.Other, "1/s", "")
			r.add(prefix+"latency percentile", of.Latency, "ms", Lower)
			r.add(prefix+"errors", of.Errors, "1/s", Lower)
			r.add(prefix+"reconnects", of.Reconnects, "1/s", Lower)
		}
	}
	if whole != 1 {
		return fault.Guestf("the output has %d JSON reports of a whole run of sysbench instead of one", whole)
	}
	return nil
}

func sysbenchConsistent(test string, r *Report) error {
	seconds, events := r.Value("total time"), r.Value("events")
	if len(r.All("total time")) == 0 && len(r.All("reads")) > 0 {
		return nil // version 1.1 prints neither for files
	}
	if len(r.Doubts) > 0 && (len(r.All("total time")) == 0 || len(r.All("events")) == 0) {
		return nil // a part of the output
	}
	if seconds == 0 || events == 0 {
		return r.doubt(fault.Guestf("sysbench did nothing: %v s, %.0f events", seconds, events))
	}
	rate := r.Value("events per second") + r.Value("transactions") + r.Value("reads") + r.Value("writes") +
		r.Value("requests")
	if rate == 0 || math.Abs((rate+r.Value("fsyncs"))*seconds-events) < math.Abs(rate*seconds-events) {
		rate += r.Value("fsyncs") // some versions do not count them as events
	}
	if rate == 0 {
		if test != "threads or mutex" {
			return r.doubt(fault.Guestf("sysbench did nothing: its rates are 0"))
		}
		return nil
	}
	// sysbench calculates the rate over slightly more than the time that it prints;
	// on a busy machine, over about 0.1 s more.
	const share, busy = 0.05, 0.2
	if len(r.Figures) > 0 && strings.HasPrefix(r.Figures[0].Name, "checkpoint") {
		return nil // events are those since the last checkpoint, and the time is that of the whole run
	}
	if took := events / rate; math.Abs(took-seconds) > share*seconds+busy {
		if err := r.doubt(Contradiction("rate × time is not the number of events: %v/s, %vs, %.0f events", rate, seconds,
			events)); err != nil {
			return err
		}
	}
	mib, mibRate := r.Value("transferred"), r.Value("bandwidth")
	if took := mib / mibRate; len(r.All("requests")) == 0 && mib != 0 && math.Abs(took-seconds) > share*seconds+busy {
		if err := r.doubt(Contradiction("rate × time is not the size: %v MiB/s, %vs, %v MiB", mibRate, seconds,
			mib)); err != nil {
			return err
		}
	}
	return nil
}
