package tool

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// ddReport is the last line of dd's output.
type ddReport struct {
	bytes, seconds float64
	line           string
	printed        string // the rate
}

var (
	ddLine = regexp.MustCompile(`(?m)^(\d+) bytes?(?: \([^)\n]*\))? (?:copied,|transferred in) (\d+(?:\.\d+)?(?:e-?\d+)?) s(?:ec(?:ond)?s?)?` +
		`(?:, (\d+(?:\.(\d+))?) ([kMGTP]?B)/s|, (\d+(?:\.(\d+))?)([kMGTP]?B)/s| \(([\d.]+) bytes/sec\))?`)
	// The same line in other languages or with a decimal comma.
	ddForeign = regexp.MustCompile(`(?m)^\d+ \pL+ (?:\([^)\n]*\) )?[^\n]*\d[,.]\d+(?:e-?\d+)? \pL+, [\d.,]+ \S*B/s\s*$`)
	ddUnit    = map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
)

// parseDD returns all reports of dd in the text. The printed rate is rounded, so it
// is only checked against bytes and seconds.
func parseDD(text string, r *Report) ([]ddReport, error) {
	var all []ddReport
	for _, m := range ddLine.FindAllStringSubmatch(Grep(text, " copied, ", " transferred in "), -1) {
		f, err := Numbers(m[1], m[2])
		if err != nil {
			return nil, err
		}
		d := ddReport{bytes: f[0], seconds: f[1], line: m[0]}
		if d.bytes == 0 || d.seconds == 0 {
			return nil, fault.Guestf("dd reports no data or no time: %s", Quote(d.line))
		}
		word, decimals, unit := m[3], m[4], ddUnit[m[5]]
		switch {
		case m[6] != "": // busybox
			word, decimals, unit = m[6], m[7], math.Pow(1024, power(strings.TrimSuffix(m[8], "B")))
			d.printed = m[6] + m[8] + "/s"
		case m[9] != "": // BSD
			word, unit, d.printed = m[9], 1, m[9]+" bytes/sec"
		case m[3] != "":
			d.printed = m[3] + " " + m[5] + "/s"
		}
		if word != "" {
			printed, err := Number(word)
			if err != nil {
				return nil, err
			}
			rate, last := d.bytes/d.seconds, math.Pow10(-len(decimals))
			if off := math.Abs(printed*unit - rate); off > last*unit+(1e-4+0.6*ulp(m[2]))*rate {
				if err := r.doubt(Contradiction("rate × time is not the size: %.0f bytes in %v s are %.4g B/s: %s", d.bytes,
					d.seconds,
					rate, Quote(d.line))); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		if line := ddForeign.FindString(Grep(text, "B/s")); line != "" {
			return nil, foreignLocale(text, line)
		}
	}
	return all, nil
}

// ddRecords are the lines above a report, which dd prints for each run.
var ddRecords = []figureLine{
	row(`^(\d+)\+(\d+) records in$`, column{"records in", "1", ""}, column{"partial records in", "1", ""}),
	row(`^(\d+)\+(\d+) records out$`, column{"records out", "1", ""}, column{"partial records out", "1", ""}),
	row(`^(\d+) truncated records?$`, column{"truncated records", "1", Lower}),
}

// withDD adds the reports of dd, under these names, and the counts of records. With status=progress, dd
// has also printed reports while it ran.
func withDD(r *Report, text, bytes, seconds, rate string) error {
	reports, err := parseDD(text, r)
	if err != nil {
		return err
	}
	lines := Grep(text, "record", "copied", "transferred")
	in, out := len(ddRecords[0].line.FindAllString(lines, -1)), len(ddRecords[1].line.FindAllString(lines, -1))
	ends := ddEnd.FindAllString(lines, -1)
	ends = slices.DeleteFunc(ends, func(end string) bool { return !ddLine.MatchString(end) })
	if in != out || in > len(ends) {
		return fault.Guestf("the output has %d, %d and %d lines \"records in\", \"records out\" and \"bytes copied\" of dd: "+
			"it is cut off, or dd ran with status=noxfer", in, out, len(ends))
	}
	for _, d := range reports {
		if in == 0 && ddWhole.MatchString(d.line) {
			return fault.Guestf("dd was not finished when it printed this: %s", Quote(d.line))
		}
		progress := ""
		if in > 0 && !slices.ContainsFunc(ends, func(end string) bool { return strings.Contains(end, d.line) }) {
			progress = "progress: "
		}
		r.add(progress+bytes, d.bytes, "B", "")
		r.seconds(progress+seconds, d.seconds)
		if rate != "" {
			r.addFrom(d.printed, progress+rate, d.bytes/d.seconds, "B/s", Higher)
		}
	}
	return addFigures(r, lines, ddRecords)
}

// ddWhole is a report of status=progress, which has whole seconds.
var ddWhole = regexp.MustCompile(` copied, \d+ s`)

// ddEnd is a report at the end of a run.
var ddEnd = regexp.MustCompile(`(?m)^\d+\+\d+ records out\n(?:\d+ truncated records?\n)?\d+ bytes?.* (?:copied,|transferred in) .*$`)

func readDD(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	for _, figure := range []string{"bytes", "seconds", "rate"} {
		r.expect(figure, "bytes copied")
	}
	if err := withDD(r, text, "bytes", "seconds", "rate"); err != nil {
		return err
	}
	return withTimes(r, text)
}
