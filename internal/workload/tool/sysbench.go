package tool

import (
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	sysbenchLines = lines(lineTool{lines: []figureLine{
		figures(`^ *total time: +(\d+\.\d+)s$`, "total time", "s", Lower),
		figures(`^ *total number of events: +(\d+)$`, "events", "1", ""),
		figures(`^ *events per second: +(\d+\.\d+)$`, "events per second", "1/s", Higher),
		figures(`^Total operations: \d+ \( *(\d+\.\d+) per second\)$`, "events per second", "1/s", Higher),
		figures(`^ *transactions: +\d+ +\((\d+\.\d+) per sec\.\)$`, "transactions", "1/s", Higher),
		figures(`^(\d+\.\d+) MiB transferred \(`, "transferred", "MiB", ""),
		figures(`^\d+\.\d+ MiB transferred \((\d+\.\d+) MiB/sec\)$`, "bandwidth", "MiB/s", Higher),
		figures(`^ *reads/s: +(\d+\.\d+)$`, "reads", "1/s", Higher),
		figures(`^ *writes/s: +(\d+\.\d+)$`, "writes", "1/s", Higher),
		figures(`^ *fsyncs/s: +(\d+\.\d+)$`, "fsyncs", "1/s", Higher),
		figures(`^ *avg: +(\d+\.\d+)$`, "mean latency", "ms", Lower),
		figures(`^ *95th percentile: +(\d+\.\d+)$`, "95th percentile latency", "ms", Lower),
	}})
	// sysbenchTests are the tests with figures that others lack. The first one of each tells it from the
	// tests after it.
	sysbenchTests = []struct {
		name    string
		figures []string
	}{
		{"memory", []string{"transferred", "bandwidth", "events per second"}},
		{"fileio", []string{"reads", "writes", "fsyncs"}},
		{"oltp", []string{"transactions"}},
		{"cpu", []string{"events per second"}},
	}
	sysbenchOp   = line("operation", `^  operation: (\w+)$`)
	sysbenchJSON = line(`"tps"`, `^ *"tps": (\d+\.\d+),$`)
)

// readSysbench reads the report that sysbench 1.0 prints at the end of a test. It says the "test",
// which is "threads or mutex" for the two whose reports do not tell them apart, and the "operation" of
// the memory test. It leaves out figures that are 0.
func readSysbench(text string, r *Report) error {
	if err := sysbenchLines(text, r); err != nil {
		return err
	}
	if all := sysbenchJSON.all(text); len(all) > 0 { // one for each interval, then one for the whole run
		r.Figures = nil
		for _, m := range all {
			v, err := Number(m[1])
			if err != nil {
				return err
			}
			r.add("transactions", v, "1/s", Higher)
		}
		return nil
	}
	test, wanted := "threads or mutex", []string{"total time", "events", "mean latency"}
	for _, t := range sysbenchTests {
		if len(r.All(t.figures[0])) > 0 {
			test, wanted = t.name, append(wanted, t.figures...)
			break
		}
	}
	r.say("test", test)
	if m := sysbenchOp.first(text); m != nil {
		r.say("operation", m[1])
	}
	for _, figure := range wanted {
		if _, err := r.One(figure); err != nil {
			return fault.Guestf("this is not the complete output of one run of sysbench: %w", err)
		}
	}
	r.Figures = slices.DeleteFunc(r.Figures, func(f Figure) bool { return f.Value == 0 })
	return sysbenchConsistent(test, r)
}

func sysbenchConsistent(test string, r *Report) error {
	seconds, events := r.Value("total time"), r.Value("events")
	if seconds == 0 || events == 0 {
		return fault.Guestf("sysbench did nothing: %v s, %.0f events", seconds, events)
	}
	rate := r.Value("events per second") + r.Value("transactions") + r.Value("reads") + r.Value("writes") + r.Value("fsyncs")
	if rate == 0 {
		if test != "threads or mutex" {
			return fault.Guestf("sysbench did nothing: its rates are 0")
		}
		return nil
	}
	// sysbench calculates the rate over slightly more than the time that it prints;
	// on a busy machine, over about 0.1 s more.
	const share, busy = 0.05, 0.2
	if took := events / rate; math.Abs(took-seconds) > share*seconds+busy {
		return Contradiction("rate × time is not the number of events: %v/s, %vs, %.0f events", rate, seconds, events)
	}
	mib, mibRate := r.Value("transferred"), r.Value("bandwidth")
	if took := mib / mibRate; mib != 0 && math.Abs(took-seconds) > share*seconds+busy {
		return Contradiction("rate × time is not the size: %v MiB/s, %vs, %v MiB", mibRate, seconds, mib)
	}
	return nil
}
