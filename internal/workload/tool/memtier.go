package tool

import (
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	memtierHead = regexp.MustCompile(`^Type +Ops/sec .*$`)
	memtierRow  = regexp.MustCompile(`^(Sets|Gets|Waits|Totals|[A-Z][\w-]*) +((?:[\d.]+|-+|-?nan)(?: +(?:[\d.]+|-+|-?nan))+)$`)
	// memtierNamed is the beginning of a row.
	memtierNamed = regexp.MustCompile(`^(?:Sets|Gets|Waits|Totals)\b`)
	memtierGap   = regexp.MustCompile(` {2,}`)
)

// memtierLines are the lines besides the table of the results.
var memtierLines = []figureLine{
	figures(`^(\d+) +Threads$`, "threads", "1", ""),
	figures(`^(\d+) +Connections per thread$`, "connections of a thread", "1", ""),
	figures(`^(\d+) +Requests per (?:client|thread)$`, "requests of a client", "1", ""),
	figures(`^(\d+) +Seconds$`, "duration", "s", ""),
	row(`^([A-Z]+) +(\d+\.\d+) +(\d+\.\d+)$`, label, label, column{"%1: within %2 ms", "%", Higher}),
}

// readMemtier reads the table of the results of memtier_benchmark, whose heading names the columns, and the
// distribution of latencies.
func readMemtier(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	var columns []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if memtierHead.MatchString(line) {
			columns = memtierGap.Split(line, -1)[1:]
			continue
		}
		m := memtierRow.FindStringSubmatch(line)
		switch {
		case m == nil && columns != nil && memtierNamed.MatchString(line):
			return damaged("memtier_benchmark", line)
		case m == nil || columns == nil:
			continue
		}
		cells := strings.Fields(m[2])
		if len(cells) != len(columns) {
			return damaged("memtier_benchmark", line)
		}
		for i, cell := range cells {
			if strings.Trim(cell, "-na") == "" {
				continue
			}
			unit, better := "1/s", Higher
			switch {
			case strings.HasSuffix(columns[i], "Latency"):
				unit, better = "ms", Lower
			case columns[i] == "KB/sec":
				unit = "KB/s"
			case columns[i] == "Misses/sec":
				better = ""
			}
			r.add(m[1]+": "+columns[i], r.number(cell), unit, better)
		}
		if m[1] == "Totals" {
			columns = nil
		}
	}
	if err := addFigures(r, text, memtierLines); err != nil {
		return err
	}
	if len(r.Figures) > 0 && len(r.All("Totals: Ops/sec")) == 0 {
		return r.doubt(fault.Guestf("memtier_benchmark did not print its totals: the output is cut off"))
	}
	return nil
}
