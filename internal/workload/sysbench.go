package workload

import (
	"math"
	"regexp"
	"strconv"

	"github.com/tare-bench/tare/internal/fault"
)

func sysbenchCPU() *Workload {
	steps := func(size int64) []Step {
		return []Step{{
			Name:  "cpu",
			Argv:  []string{"sysbench", "cpu", "--threads=1", "--events=" + strconv.FormatInt(size, 10), "--time=0", "run"},
			Timed: true,
		}}
	}
	return &Workload{
		Name:     "sysbench-cpu",
		Title:    "find primes by division: integer CPU, no memory",
		Source:   "sysbench cpu (sysbench)",
		Tools:    []string{"sysbench"},
		Packages: []string{"sysbench"},
		Metrics: []Metric{
			{Name: "time", Unit: "s", Better: Lower, Clock: HostClock, About: "all events, and the start of sysbench"},
			{Name: "rate", Unit: "1/s", Better: Higher, Clock: GuestClock, About: "events a second, as sysbench prints it"},
			{Name: "time-guest", Unit: "s", Better: Lower, Clock: GuestClock, About: "the total time that sysbench prints"},
		},
		SizeUnit:    "events (each finds the primes up to 10000)",
		MinSize:     150,
		MaxSize:     100_000_000,
		DefaultSize: 10_000,
		Steps:       steps,
		Parse: func(output []byte) (map[string]float64, error) {
			text := string(output)
			s, err := parseSysbenchCPU(text)
			if err != nil {
				return nil, err
			}
			m := map[string]float64{"rate": s.rate, "time-guest": s.seconds}
			if err := oneWallTime(m, "time", text); err != nil {
				return nil, err
			}
			return sane(m)
		},
		Evaluate: func(size int64, results []StepResult) (map[string]float64, error) {
			by, err := ran(steps(size), results)
			if err != nil {
				return nil, err
			}
			r := by["cpu"]
			s, err := parseSysbenchCPU(string(r.Stdout) + "\n" + string(r.Stderr))
			if err != nil {
				return nil, inStep(r.Name, err)
			}
			if s.events != float64(size) {
				return nil, fault.Guestf("step cpu: sysbench did %.0f events instead of %d", s.events, size)
			}
			return sane(map[string]float64{"time": r.Wall.Seconds(), "rate": s.rate, "time-guest": s.seconds})
		},
	}
}

type sysbenchReport struct{ rate, seconds, events float64 }

var (
	sysbenchRate   = regexp.MustCompile(`(?m)^ *events per second: +(\d+\.\d+)$`)
	sysbenchTime   = regexp.MustCompile(`(?m)^ *total time: +(\d+\.\d+)s$`)
	sysbenchEvents = regexp.MustCompile(`(?m)^ *total number of events: +(\d+)$`)
)

func parseSysbenchCPU(text string) (sysbenchReport, error) {
	var s sysbenchReport
	if err := refused("sysbench", text); err != nil {
		return s, err
	}
	text = grep(text, "events per second", "total time", "total number of events")
	for _, want := range []struct {
		what string
		line *regexp.Regexp
		to   *float64
	}{
		{"events per second", sysbenchRate, &s.rate},
		{"total time", sysbenchTime, &s.seconds},
		{"total number of events", sysbenchEvents, &s.events},
	} {
		m := want.line.FindAllStringSubmatch(text, -1)
		if len(m) != 1 {
			return s, fault.Guestf("%d lines with %q instead of one: this is not the whole output of one run of sysbench cpu", len(m), want.what)
		}
		f, err := number(m[0][1])
		if err != nil {
			return s, err
		}
		if f == 0 {
			return s, fault.Guestf("sysbench did nothing: %s", quote(m[0][0]))
		}
		*want.to = f
	}
	// sysbench takes the rate over a little more than the time it prints.
	if took := s.events / s.rate; math.Abs(took-s.seconds) > 0.05*s.seconds+0.02 {
		return s, fault.Guestf("rate × time is not the number of events: %v/s, %vs, %.0f events", s.rate, s.seconds, s.events)
	}
	return s, nil
}
