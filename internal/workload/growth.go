package workload

import "strings"

// Growth says how the values of a metric depend on the size of the trial, and so
// whether trials of different sizes can be compared.
type Growth int

const (
	// Unlike: a trial of another size is a different measurement.
	Unlike Growth = iota
	// Proportional: values grow with the size; value / size is the value of one
	// unit of work.
	Proportional
	// PerUnit: values do not depend on the size: rates, or times of one operation.
	PerUnit
)

// Growth returns how a metric of w depends on the size of the trial; metric may also
// be cpu-time, which every workload has. If it is Unlike, why is the reason.
func (w *Workload) Growth(metric string) (g Growth, why string) {
	if w.Uneven != "" {
		return Unlike, w.Uneven
	}
	for _, m := range w.Metrics {
		switch {
		case m.Name != metric:
		case strings.HasSuffix(metric, "-max"):
			return Unlike, "the maximum of more operations tends to be larger"
		case m.Better == Higher || !ofTheTrial(metric):
			return PerUnit, ""
		}
	}
	if ofTheTrial(metric) {
		return Proportional, ""
	}
	return Unlike, "the workload has no such metric"
}

// ofTheTrial reports whether a metric of this name is the time of all work of a
// trial: its name, without GuestSuffix and FlushedSuffix, ends in time, user or
// system.
func ofTheTrial(metric string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(metric, GuestSuffix), FlushedSuffix)
	for _, end := range []string{"time", "user", "system"} {
		if name == end || strings.HasSuffix(name, "-"+end) {
			return true
		}
	}
	return false
}
