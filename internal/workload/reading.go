package workload

import (
	"maps"
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// reading has the figures from the output of one run of a tool.
type reading struct {
	values map[string]float64 // by the metrics' names, all by the guest's clock
	did    float64            // the work in the unit of sizes; 0: not printed, or checked by check
	// check returns what is wrong with the run as a trial of that size. It does not
	// apply to output that a user saved. nil: no further checks.
	check func(size int64) error
}

// parsing returns a Parse: the values that read finds in the text and, as the
// metric named wall, the time that time(1) or the shell's time printed.
func parsing(wall string, read func(text string) (map[string]float64, error)) func(output []byte) (map[string]float64, error) {
	return func(output []byte) (map[string]float64, error) {
		text := string(output)
		times := map[string]float64{}
		if err := oneWallTime(times, wall, text); err != nil {
			return nil, err
		}
		m, err := read(text)
		if err != nil {
			return nil, err
		}
		maps.Copy(m, times)
		return sane(m)
	}
}

// measuredBy completes a workload whose figures are all in the output of one
// step. Parse and Evaluate use read. The step's time is the metric "time"; with
// the time of a step named flush added, it is the metric "time-flushed". A trial
// is refused if its output reports less or more work than its size.
func (w *Workload) measuredBy(step string, read func(text string) (reading, error)) *Workload {
	w.Parse = parsing("time", func(text string) (map[string]float64, error) {
		r, err := read(text)
		return r.values, err
	})
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		by, err := ran(w.Trial(size, ""), results)
		if err != nil {
			return nil, err
		}
		at := by[step]
		r, err := read(at.output())
		if err != nil {
			return nil, inStep(step, err)
		}
		if r.did != 0 && math.Abs(r.did-float64(size)) > 1e-9*float64(size) {
			unit, _, _ := strings.Cut(w.SizeUnit, " (")
			return nil, fault.Guestf("step %s: %.10g %s instead of %d", step, r.did, unit, size)
		}
		if r.check != nil {
			if err := r.check(size); err != nil {
				return nil, inStep(step, err)
			}
		}
		r.values["time"] = at.Wall.Seconds()
		if flush, ok := by["flush"]; ok {
			r.values["time"+FlushedSuffix] = (at.Wall + flush.Wall).Seconds()
		}
		return sane(r.values)
	}
	return w
}

// output is everything that a step wrote.
func (r StepResult) output() string { return string(r.Stdout) + "\n" + string(r.Stderr) }

// wallMetric is the metric "time" of measuredBy.
func wallMetric(about string) Metric {
	return Metric{Name: "time", Unit: "s", Better: Lower, Clock: HostClock, About: about}
}

// guestTimeMetric is the same time by the tool's own clock.
func guestTimeMetric(about string) Metric {
	return Metric{Name: "time" + GuestSuffix, Unit: "s", Better: Lower, Clock: GuestClock, About: about}
}

// rateMetric is a rate by the guest's clock.
func rateMetric(name, unit, about string) Metric {
	return Metric{Name: name, Unit: unit, Better: Higher, Clock: GuestClock, About: about}
}

// latencyMetric is a time in seconds by the guest's clock.
func latencyMetric(name, about string) Metric {
	return Metric{Name: name, Unit: "s", Better: Lower, Clock: GuestClock, About: about}
}

// pick is a line that must occur once in the output of a tool, and the
// destinations of its numbers.
type pick struct {
	line *regexp.Regexp
	word string // occurs in every such line
	to   []*float64
}

// takeOnce finds each of the lines and reads its numbers.
func takeOnce(tool, text string, picks []pick) error {
	for _, p := range picks {
		m := p.line.FindAllStringSubmatch(grep(text, p.word), -1)
		if len(m) != 1 {
			return fault.Guestf("%d lines with %q instead of one: this is not the complete output of one run of %s", len(m), p.word, tool)
		}
		f, err := numbers(m[0][1:]...)
		if err != nil {
			return err
		}
		for i, to := range p.to {
			*to = f[i]
		}
	}
	return nil
}
