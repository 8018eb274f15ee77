package tool

import (
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

// memaslapLines are those of memaslap, of which the last one ends its report. Counts of a verification are there
// with -v only.
var memaslapLines = []figureLine{
	figures(`^threads count: (\d+)$`, "threads", "1", ""),
	figures(`^concurrency: (\d+)$`, "concurrency", "1", ""),
	figures(`^execute number: (\d+)$`, "execute number", "1", ""),
	figures(`^run time: (\d+)s$`, "requested time", "s", ""),
	figures(`^windows size: (\d+)k$`, "window", "KiB", ""),
	figures(`^(cmd_get|cmd_set): (\d+)$`, "%1", "1", ""),
	figures(`^(get_misses|verify_misses|verify_failed): (\d+)$`, "%1", "1", Lower),
	figures(`^(written_bytes|read_bytes|object_bytes): (\d+)$`, "%1", "B", ""),
	row(`^Run time: ([\d.]+)s Ops: (\d+) TPS: (\d+) Net_rate: ([\d.]+)M/s$`, column{"time", "s", Lower},
		column{"operations", "1", ""}, column{"rate", "1/s", Higher}, column{"net rate", "MiB/s", Higher}),
}

// memaslapStatistics heads the times of requests, which -S adds: in classes that are twice as long each.
var memaslapStatistics = regexp.MustCompile(`(?m)^(?:Get|Set|Total) Statistics`)

// readMemaslap reads the report of memaslap, which Debian calls memcaslap.
func readMemaslap(text string, r *Report) error {
	if memaslapStatistics.MatchString(text) {
		return fault.Guestf("the output has the statistics of memaslap's -S, which tare does not read: run it without -S")
	}
	if err := r.doubt(timedFailure(text)); err != nil {
		return err
	}
	if err := addFigures(r, text, memaslapLines); err != nil {
		return err
	}
	done := r.All("operations")
	if len(done) != 1 {
		return fault.Guestf(`memaslap did not finish: the output has %d lines "Run time:", not one. `+
			`It prints none if the server does not answer`, len(done))
	}
	if sum := r.Value("cmd_get") + r.Value("cmd_set"); sum != done[0].Value {
		if err := r.doubt(Contradiction("memaslap counts %.0f operations, but %.0f GETs and SETs", done[0].Value,
			sum)); err != nil {
			return err
		}
	}
	return nil
}
