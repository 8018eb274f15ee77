package workload

import "strings"

// Growth says what another size of a trial does to the values of a metric, and
// so whether figures of trials of unlike sizes can be set beside each other.
type Growth int

const (
	// Unlike: it makes another measurement of it.
	Unlike Growth = iota
	// Proportional: values grow with the size, and a value over the size is of
	// one unit of work.
	Proportional
	// PerUnit: values stay as they are, being rates or of one operation.
	PerUnit
)

// Growth says how a metric of w follows the size of the trial; cpu-time, which
// every workload has, is one of them. Where it is Unlike, why says so.
func (w *Workload) Growth(metric string) (g Growth, why string) {
	if w.Uneven != "" {
		return Unlike, w.Uneven
	}
	for _, m := range w.Metrics {
		switch {
		case m.Name != metric:
		case strings.HasSuffix(metric, "-max"):
			return Unlike, "the longest of more is longer"
		case m.Better == Higher || !ofTheTrial(metric):
			return PerUnit, ""
		}
	}
	if ofTheTrial(metric) {
		return Proportional, ""
	}
	return Unlike, "the workload has no such metric"
}

// ofTheTrial reports whether a metric of this name is a time that all work of a
// trial takes together: the name ends in time, user or system, but for the
// suffixes that say how it was read.
func ofTheTrial(metric string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(metric, GuestSuffix), FlushedSuffix)
	for _, end := range []string{"time", "user", "system"} {
		if name == end || strings.HasSuffix(name, "-"+end) {
			return true
		}
	}
	return false
}
