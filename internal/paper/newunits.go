package paper

import (
	"slices"
	"strings"
)

// unitOf finds the unit in the brackets of a row's or a column's name, or else among its words.
func (w *importer) unitOf(names ...string) string {
	for _, name := range names {
		if m := inBrackets.FindStringSubmatch(name); m != nil {
			if unit, ok := knownUnit(m[1]); ok {
				return unit
			}
		}
	}
	for _, name := range names {
		before := ""
		for word := range strings.FieldsSeq(inBrackets.ReplaceAllString(name, "")) {
			word = strings.Trim(word, ",;:()[]")
			unit, ok := knownUnit(word)
			if ok && (strings.HasSuffix(unit, "/s") || slices.Contains(plainUnits, unit) && len(word) > 1) &&
				!plainNumber.MatchString(before) { // "in 10 seconds" is no unit
				return unit
			}
			before = word
		}
	}
	return w.Unit
}

// plainUnits are units that mean nothing else in the name of a row or a column, besides rates.
var plainUnits = []string{"s", "ms", "us", "µs", "μs", "ns", "IOPS", "MFLOPS", "GFLOPS"}

// unitWords are other ways to write units that tare knows; bits and bytes differ by their case.
var unitWords = map[string]string{
	"seconds": "s", "secs": "s", "milliseconds": "ms", "msec": "ms", "msecs": "ms", "microseconds": "us", "usec": "us",
	"usecs": "us", "nanoseconds": "ns", "nsec": "ns", "minutes": "min", "hours": "h", "iops": "IOPS",
	"tps": "transactions/s", "qps": "queries/s", "rps": "requests/s", "req/s": "requests/s", "reqs/s": "requests/s",
	"TPS": "transactions/s", "QPS": "queries/s", "RPS": "requests/s", "MBps": "MB/s", "GBps": "GB/s", "KBps": "kB/s",
	"kBps": "kB/s", "Gbps": "Gbit/s", "Mbps": "Mbit/s", "Kbps": "kbit/s", "kbps": "kbit/s", "Gbits/s": "Gbit/s",
	"Mbits/s": "Mbit/s", "Kbits/s": "kbit/s", "kbits/s": "kbit/s",
}

// knownUnit returns a unit as tare writes it: "Events/sec" is events/s. false: tare does not know it.
func knownUnit(word string) (string, bool) {
	bare := word
	for _, second := range []string{"/second", "/sec", " per second", " per sec"} {
		if at := len(word) - len(second); at > 0 && strings.EqualFold(word[at:], second) {
			bare = word[:at] + "/s"
		}
	}
	for _, unit := range []string{bare, unitWords[bare], strings.ToLower(bare), unitWords[strings.ToLower(bare)]} {
		_, known := measureOf(unit)
		if data := strings.TrimSuffix(unit, "/s"); unit != bare && unit == strings.ToLower(bare) && len(bytesPer[data]) > 0 {
			continue // bits or bytes
		}
		if known && unit != "" {
			return unit, true
		}
	}
	return "", false
}
