package tool

import (
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// wrkNumber is a number with wrk's prefix or unit.
const wrkNumber = `(\d\S*|-?nan%?)`

var (
	wrkTotal = regexp.MustCompile(`(?m)^ *\d+ requests in \d\S*, \d\S* read$`)
	wrkEnd   = regexp.MustCompile(`(?m)^ *(?:Requests|Transfer)/sec: +\d\S*$`)
	wrkBad   = regexp.MustCompile(`(?m)^(?:unable to .*| *Socket errors:.*| *Non-2xx.*)$`)
	wrkWord  = regexp.MustCompile(`^(\d+(?:\.\d+)?)(us|ms|s|m|h|k|M|G|[KMGT]?B|%)?$`)
	wrkUnits = map[string]struct {
		unit   string
		factor float64
	}{"": {"1", 1}, "k": {"1", 1e3}, "M": {"1", 1e6}, "G": {"1", 1e9}, "us": {"s", 1e-6}, "ms": {"s", 1e-3}, "s": {"s",
		1}, "m": {"s", 60}, "%": {"%", 1},
		"h": {"s", 3600}, "B": {"B", 1}, "KB": {"B", 1 << 10}, "MB": {"B", 1 << 20}, "GB": {"B", 1 << 30}, "TB": {"B",
			1 << 40}}
	// wrkUncorrected heads the second distribution of wrk2's option -U.
	wrkUncorrected = regexp.MustCompile(`^ *Latency Distribution \(HdrHistogram - Uncorrected`)
)

// wrkLines are those of wrk and wrk2. A unit of "" is that of the printed number, and "/s" that per second.
var wrkLines = []figureLine{
	figures(`^ *Requests/sec: +`+wrkNumber+`$`, "requests", "/s", Higher),
	figures(`^ *Transfer/sec: +`+wrkNumber+`$`, "transfer", "/s", Higher),
	row(`^ *(Latency|Req/Sec) +`+wrkNumber+` +`+wrkNumber+` +`+wrkNumber+` +`+wrkNumber+`$`, label,
		column{"%1 of a thread", "", ""}, column{"%1 of a thread: standard deviation", "", Lower},
		column{"%1 of a thread: max", "", ""}, column{"%1 of a thread: within the deviation", "", ""}),
	figures(`^ *(\d+(?:\.\d+)?)% +`+wrkNumber+`$`, "percentile %1", "", Lower),
	row(`^ *(\d+) requests in (\d\S*), (\d\S*) read$`, column{"requests made", "", ""}, column{"time", "", ""},
		column{"read", "", ""}),
	row(`^ *Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`, column{"errors: connect", "", Lower},
		column{"errors: read", "", Lower}, column{"errors: write", "", Lower}, column{"errors: timeout", "", Lower}),
	figures(`^ *Non-2xx or 3xx responses: (\d+)$`, "non-2xx", "", Lower),
	// Of wrk2. The spectrum and its summary are in milliseconds.
	row(`^ *Thread calibration: mean lat\.: `+wrkNumber+`, rate sampling interval: `+wrkNumber+`$`,
		column{"calibration: mean latency", "", Lower}, column{"calibration: sampling interval", "", ""}),
	row(`^ +(\d+\.\d{3}) +(\d\.\d+) +(\d+) +(?:\d+\.\d+|inf)$`, column{"spectrum to %2", "ms", Lower},
		label, column{"spectrum to %2: requests", "", ""}),
	row(`^#\[Mean +=(?: +(\d+\.\d+)|.*), StdDeviation +=(?: +(\d+\.\d+)|.*)\]$`, column{"spectrum: mean", "ms", Lower},
		column{"spectrum: standard deviation", "ms", Lower}),
	row(`^#\[Max +=(?: +(\d+\.\d+)|.*), Total count +=(?: +(\d+)|.*)\]$`, column{"spectrum: max", "ms", Lower},
		column{"spectrum: requests", "", ""}),
	row(`^#\[Buckets +=(?: +(\d+)|.*), SubBuckets +=(?: +(\d+)|.*)\]$`, column{"spectrum: buckets", "", ""},
		column{"spectrum: subbuckets", "", ""}),
}

// readWrk reads the report of wrk and wrk2, whose numbers have prefixes; their units are s, B, 1 and 1/s here. Names of
// the latencies that wrk2 does not correct (-U) begin with "uncorrected ".
func readWrk(text string, r *Report) error {
	if line := wrkBad.FindString(text); line != "" {
		if err := r.doubt(fault.Guestf("wrk failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	if err := r.doubt(timedFailure(text)); err != nil {
		return err
	}
	r.expect("requests", "Requests/sec:")
	if strings.Contains(text, "HdrHistogram") || strings.Contains(text, "Thread calibration:") {
		r.Version = "wrk2"
	}
	prefix, uncorrected := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if wrkUncorrected.MatchString(line) {
			uncorrected = true
		}
		for _, kind := range wrkLines {
			m := kind.line.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			prefix = ""
			if name := kind.columns[0].name + kind.columns[len(kind.columns)-1].name; uncorrected &&
				(strings.Contains(name, "percentile") || strings.Contains(name, "spectrum")) {
				prefix = "uncorrected "
			}
			for i, c := range kind.columns {
				if c == label || m[i+1] == "" || strings.Contains(m[i+1], "nan") {
					continue
				}
				word := wrkWord.FindStringSubmatch(m[i+1])
				if word == nil {
					return damaged("wrk", line)
				}
				of := wrkUnits[word[2]]
				unit := c.unit
				if unit == "" || unit == "/s" {
					unit = of.unit + c.unit
				}
				r.addScaled(prefix+groups(c.name, m), word[1], word[2], of.factor, unit, c.better)
			}
			break
		}
	}
	if len(r.Figures) > 0 && (len(wrkEnd.FindAllString(text, -1)) < 2 || len(wrkTotal.FindAllString(text, -1)) == 0) {
		return r.doubt(fault.Guestf("wrk did not print all of \"requests in\", \"Requests/sec\" and \"Transfer/sec\": the " +
			"output is cut off"))
	}
	return nil
}
