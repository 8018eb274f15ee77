package tool

import (
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	perfName  = line("# Running", `^# Running '([a-z]+/[a-z]+)' benchmark:$`)
	perfDone  = line("# Executed", `^# Executed ([\d,]+) (?:getppid\(\) calls|pipe operations between two (?:processes|threads))$`)
	perfTotal = line("Total time", `^ *Total time: (\d+\.\d+) \[sec\]$`)
	perfEach  = line("usecs/op", `^ *(\d+\.\d+) usecs/op$`)
	perfRate  = line("/sec", `^ +(\d+\.\d+) ([KMG]?B)/sec$`)
	perfOps   = line("ops/sec", `^ +(\d+) ops/sec$`)
	perfUnit  = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
)

// readPerfBench reads the output of one of perf's benchmarks, in perf's default format, because that
// for scripts does not name the benchmark. It says the "benchmark", such as sched/pipe.
func readPerfBench(text string, r *Report) error {
	if err := refused("perf", text); err != nil {
		return err
	}
	name := perfName.all(text)
	if len(name) != 1 {
		return fault.WithRemedy(fault.Guestf("the output names a perf benchmark %d times instead of once", len(name)),
			"run perf bench without --format=simple, and one benchmark at a time")
	}
	r.say("benchmark", name[0][1])
	var done, seconds, each float64 // 0: not printed
	for _, want := range []pick{{perfDone, []*float64{&done}}, {perfTotal, []*float64{&seconds}},
		{perfEach, []*float64{&each}}} {
		if m := want.line.first(text); m != nil {
			f, err := Number(strings.ReplaceAll(m[1], ",", ""))
			if err != nil {
				return err
			}
			*want.to[0] = f
		}
	}
	if seconds > 0 {
		r.seconds("total time", seconds)
	}
	if each > 0 {
		r.add("latency", each, "us/op", Lower)
	}
	for _, m := range perfOps.all(text) {
		f, err := Number(m[1])
		if err != nil {
			return err
		}
		r.add("operations per second", f, "1/s", Higher)
	}
	for _, m := range perfRate.all(text) {
		f, err := Number(m[1])
		if err != nil {
			return err
		}
		r.addAs(perfUnit[m[2]], "bandwidth", f, m[2]+"/s", Higher)
	}
	if len(r.Figures) == 0 {
		return fault.Guestf("perf bench %s prints no figures", name[0][1])
	}
	if done > 0 {
		r.add("operations", done, "1", "")
	}
	if got := each * done / 1e6; each != 0 && done != 0 && math.Abs(got-seconds) > 0.01*got+0.001 {
		return Contradiction("latency × operations is not the time: %v µs × %.0f, but %v s", each, done, seconds)
	}
	return nil
}
