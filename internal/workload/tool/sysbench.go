package tool

import (
	"math"

	"github.com/tare-bench/tare/internal/fault"
)

// sysbenchLine is a line with one or two figures.
type sysbenchLine struct {
	line    *pattern
	figures []sysbenchFigure
}

type sysbenchFigure struct {
	name, unit string
	better     Better
}

// sysbenchTests are the tests with lines that no other test prints. The reports of threads and mutex
// have none, and do not tell which of the two it was.
var sysbenchTests = []struct {
	name string
	own  []sysbenchLine
}{
	{"cpu", []sysbenchLine{
		{line("events per second", `^ *events per second: +(\d+\.\d+)$`),
			[]sysbenchFigure{{"events per second", "1/s", Higher}}},
	}},
	{"oltp", []sysbenchLine{
		{line("transactions", `^ *transactions: +\d+ +\((\d+\.\d+) per sec\.\)$`),
			[]sysbenchFigure{{"transactions", "1/s", Higher}}},
	}},
	{"memory", []sysbenchLine{
		{line("Total operations", `^Total operations: \d+ \( *(\d+\.\d+) per second\)$`),
			[]sysbenchFigure{{"events per second", "1/s", Higher}}},
		{line("transferred", `^(\d+\.\d+) MiB transferred \((\d+\.\d+) MiB/sec\)$`),
			[]sysbenchFigure{{"transferred", "MiB", ""}, {"bandwidth", "MiB/s", Higher}}},
	}},
	{"fileio", []sysbenchLine{
		{line("reads/s", `^ *reads/s: +(\d+\.\d+)$`), []sysbenchFigure{{"reads", "1/s", Higher}}},
		{line("writes/s", `^ *writes/s: +(\d+\.\d+)$`), []sysbenchFigure{{"writes", "1/s", Higher}}},
		{line("fsyncs/s", `^ *fsyncs/s: +(\d+\.\d+)$`), []sysbenchFigure{{"fsyncs", "1/s", Higher}}},
	}},
	{"threads or mutex", nil},
}

var (
	sysbenchSeconds = line("total time", `^ *total time: +(\d+\.\d+)s$`)
	sysbenchEvents  = line("total number of events", `^ *total number of events: +(\d+)$`)
	sysbenchMean    = line("avg", `^ *avg: +(\d+\.\d+)$`)
	sysbenchP95     = line("95th percentile", `^ *95th percentile: +(\d+\.\d+)$`)
	sysbenchOp      = line("operation", `^  operation: (\w+)$`)
	sysbenchJSON    = line(`"tps"`, `^ *"tps": (\d+\.\d+),$`)
)

// readSysbench reads the report that sysbench 1.0 prints at the end of a test. It says the "test",
// and the "operation" of the memory test.
func readSysbench(text string, r *Report) error {
	if err := refused("sysbench", text); err != nil {
		return err
	}
	for _, m := range sysbenchJSON.all(text) { // one for each interval, then one for the whole run
		v, err := Number(m[1])
		if err != nil {
			return err
		}
		r.add("transactions", v, "1/s", Higher)
	}
	if len(r.Figures) > 0 {
		return nil
	}
	test := sysbenchTests[0]
	for _, test = range sysbenchTests {
		if test.own != nil && test.own[0].line.find(text) != "" {
			break
		}
	}
	r.say("test", test.name)
	if m := sysbenchOp.first(text); m != nil {
		r.say("operation", m[1])
	}
	by := "sysbench"
	if test.own != nil {
		by += " " + test.name
	}
	var seconds, events, mean float64
	err := takeOnce(by, text, pick{sysbenchSeconds, []*float64{&seconds}},
		pick{sysbenchEvents, []*float64{&events}},
		pick{sysbenchMean, []*float64{&mean}})
	if err != nil {
		return err
	}
	if seconds == 0 || events == 0 {
		return fault.Guestf("sysbench did nothing: %v s, %.0f events", seconds, events)
	}
	r.seconds("total time", seconds)
	r.add("events", events, "1", "")
	for _, own := range test.own {
		values := make([]float64, len(own.figures))
		to := make([]*float64, len(own.figures))
		for i := range values {
			to[i] = &values[i]
		}
		if err := takeOnce(by, text, pick{own.line, to}); err != nil {
			return err
		}
		for i, f := range own.figures {
			if values[i] != 0 {
				r.add(f.name, values[i], f.unit, f.better)
			}
		}
	}
	if mean != 0 {
		r.add("mean latency", mean, "ms", Lower)
	}
	r.expect("95th percentile latency", "95th percentile:")
	if m := sysbenchP95.first(text); m != nil {
		p95, err := Number(m[1])
		if err != nil {
			return err
		}
		if p95 != 0 {
			r.add("95th percentile latency", p95, "ms", Lower)
		}
	}
	return sysbenchConsistent(test.name, r)
}

func sysbenchConsistent(test string, r *Report) error {
	seconds, events := r.Value("total time"), r.Value("events")
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
