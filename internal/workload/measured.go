package workload

import (
	"cmp"
	"maps"
	"math"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/workload/tool"
)

// Measurement says how the output of one step becomes the values of a workload: a tool's reader finds
// the figures, and each metric with a Figure is the figure of that name.
type Measurement struct {
	Step string // the timed step with the output
	Tool string // the name of its reader, see tool.Get
	// Report is the step that prints what Step wrote to a file; "": Step has the output itself.
	Report string

	// Did is the figure that counts the work of the trial, and Per is how many bytes or pieces of it are
	// one unit of sizes; 0: 1. A trial is refused if it did less or more work than its size. "": no such figure.
	Did string
	Per float64

	// Accept returns why a report is not one of this workload. nil: it accepts every report.
	Accept func(r *tool.Report) error
	// Values returns the metrics that are not simply a figure. nil: there are none.
	Values func(r *tool.Report) (map[string]float64, error)
	// Points returns the points of the workload's curves in the report of a trial, by the names of their metrics. nil:
	// there are none.
	Points func(r *tool.Report) map[string]float64
	// SingleOf is the metric whose single values Singles finds in the report. "": the output has none.
	SingleOf string
	Singles  tool.Singles
	// Check returns what is wrong with an accepted report as that of a trial of this size. It does not
	// apply to output that a user saved. nil: no further checks.
	Check func(size int64, r *tool.Report) error
}

// MeasuredBy completes a workload whose figures are all in the output of one step. The step's time is
// the metric "time"; with the time of a step named flush added, it is the metric "time-flushed".
func (w *Workload) MeasuredBy(by Measurement) *Workload {
	w.Tool = by.Tool
	w.Parse = timed(func(text string) (map[string]float64, error) {
		_, m, err := by.read(w, text)
		return m, err
	})
	w.Evaluate = func(size int64, results []StepResult) (map[string]float64, error) {
		done, err := Ran(w.Trial(size, ""), results)
		if err != nil {
			return nil, err
		}
		at, report := done[by.Step], cmp.Or(by.Report, by.Step)
		printed := done[report]
		r, m, err := by.read(w, printed.Output())
		if err == nil {
			err = by.check(w, size, r)
		}
		if err != nil {
			return nil, InStep(report, err)
		}
		if by.Points != nil {
			maps.Copy(m, by.Points(r))
		}
		m["time"] = at.Wall.Seconds()
		if flush, ok := done["flush"]; ok {
			m["time"+FlushedSuffix] = (at.Wall + flush.Wall).Seconds()
		}
		return Sane(m)
	}
	if by.SingleOf != "" {
		w.SingleOf = by.SingleOf
		w.Latencies = func(results []StepResult) (*histogram.Histogram, error) {
			for _, s := range results {
				if s.Name == by.Step {
					return by.latencies(s)
				}
			}
			return nil, fault.Guestf("the trial has no step %s", by.Step)
		}
	}
	return w
}

// latencies returns the single latencies in the output of the step.
func (by Measurement) latencies(s StepResult) (*histogram.Histogram, error) {
	r, err := tool.Read(by.Tool, s.Output())
	if err != nil {
		return nil, InStep(by.Step, err)
	}
	h, err := r.Histogram(by.Singles)
	if err != nil {
		return nil, InStep(by.Step, err)
	}
	return h, nil
}

// read returns the tool's report in a text, and the metrics by the guest's clock.
func (by Measurement) read(w *Workload, text string) (*tool.Report, map[string]float64, error) {
	var wanted []string
	for _, metric := range w.Metrics {
		if metric.Figure != "" {
			wanted = append(wanted, metric.Figure)
		}
	}
	r, err := tool.Read(by.Tool, text, wanted...)
	if err == nil && by.Accept != nil {
		err = by.Accept(r)
	}
	if err != nil {
		return nil, nil, err
	}
	m := map[string]float64{}
	if by.Values != nil {
		if m, err = by.Values(r); err != nil {
			return nil, nil, err
		}
	}
	for _, metric := range w.Metrics {
		if metric.Figure == "" || w.Sparse && r.Value(metric.Figure) == 0 {
			continue
		}
		f, err := r.One(metric.Figure)
		if err != nil {
			return nil, nil, err
		}
		m[metric.Name] = f.In(metric.Unit)
	}
	return r, m, nil
}

// check returns what is wrong with a report as that of a trial of this size.
func (by Measurement) check(w *Workload, size int64, r *tool.Report) error {
	if by.Did != "" {
		f, err := r.One(by.Did)
		if err != nil {
			return err
		}
		if did := f.In("1") / max(by.Per, 1); math.Abs(did-float64(size)) > 1e-9*float64(size) {
			unit, _, _ := strings.Cut(w.SizeUnit, " (")
			return fault.Guestf("%.10g %s instead of %d", did, unit, size)
		}
	}
	if by.Check != nil {
		return by.Check(size, r)
	}
	return nil
}

// ParsedBy returns a Parse: the values in a tool's report and, as the metric "time", the time that
// time(1) or the shell's time printed. values nil: only the time.
func ParsedBy(name string, values func(r *tool.Report) (map[string]float64,
	error)) func(output []byte) (map[string]float64, error) {
	return timed(func(text string) (map[string]float64, error) {
		r, err := tool.Read(name, text)
		if err != nil || values == nil {
			return map[string]float64{}, err
		}
		return values(r)
	})
}

// timed adds the time that time(1) or the shell's time printed, as the metric "time".
func timed(read func(text string) (map[string]float64, error)) func(output []byte) (map[string]float64, error) {
	return func(output []byte) (map[string]float64, error) {
		m, err := read(string(output))
		if err != nil {
			return nil, err
		}
		walls, err := tool.WallTimes(string(output))
		switch {
		case err != nil:
			return nil, err
		case len(walls) > 1:
			return nil, fault.Guestf("the output contains the times of %d runs (the first took %v s); "+
				"save each run in its own file", len(walls), walls[0])
		case len(walls) == 1:
			m["time"] = walls[0]
		}
		return Sane(m)
	}
}

// Sane returns m, or an error if a value cannot come from a real run.
func Sane(m map[string]float64) (map[string]float64, error) {
	if len(m) == 0 {
		return nil, fault.Guestf("the output has no figure of a metric of this workload")
	}
	for name, v := range m {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			return nil, fault.Guestf("%s is %v, which a run that did its work cannot produce", name, v)
		}
	}
	return m, nil
}

// Time is the metric "time" of MeasuredBy.
func Time(about string) Metric {
	return Metric{Name: "time", Unit: "s", Better: Lower, Clock: HostClock, About: about}
}

// HostTime is another time by the host's clock.
func HostTime(name, about string) Metric {
	return Metric{Name: name, Unit: "s", Better: Lower, Clock: HostClock, About: about}
}

// GuestTime is the metric "time" by the tool's own clock. For this and the next two, figure is Metric.Figure.
func GuestTime(figure, about string) Metric {
	return Metric{Name: "time" + GuestSuffix, Unit: "s", Better: Lower, Clock: GuestClock, About: about, Figure: figure}
}

// Rate is a rate by the guest's clock.
func Rate(name, unit, figure, about string) Metric {
	return Metric{Name: name, Unit: unit, Better: Higher, Clock: GuestClock, About: about, Figure: figure}
}

// Latency is a time in seconds by the guest's clock.
func Latency(name, figure, about string) Metric {
	return Metric{Name: name, Unit: "s", Better: Lower, Clock: GuestClock, About: about, Figure: figure}
}
