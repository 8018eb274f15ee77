package tool

import (
	"math"
	"regexp"

	"github.com/tare-bench/tare/internal/fault"
)

// ddReport is the last line of dd's output.
type ddReport struct {
	bytes, seconds float64
	line           string
}

var (
	ddLine = regexp.MustCompile(`(?m)^(\d+) bytes?(?: \([^)\n]*\))? copied, (\d+(?:\.\d+)?(?:e-?\d+)?) s(?:econds)?(?:, (\d+(?:\.(\d+))?) ([kMGTP]?B)/s)?`)
	// The same line in other languages or with a decimal comma.
	ddForeign = regexp.MustCompile(`(?m)^\d+ \pL+ (?:\([^)\n]*\) )?[^\n]*\d[,.]\d+(?:e-?\d+)? \pL+, [\d.,]+ \S*B/s\s*$`)
	ddUnit    = map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
)

// parseDD returns all reports of dd in the text. The printed rate is rounded, so it
// is only checked against bytes and seconds.
func parseDD(text string) ([]ddReport, error) {
	var all []ddReport
	for _, m := range ddLine.FindAllStringSubmatch(Grep(text, " copied, "), -1) {
		f, err := Numbers(m[1], m[2])
		if err != nil {
			return nil, err
		}
		d := ddReport{bytes: f[0], seconds: f[1], line: m[0]}
		if d.bytes == 0 || d.seconds == 0 {
			return nil, fault.Guestf("dd reports no data or no time: %s", Quote(d.line))
		}
		if m[3] != "" {
			printed, err := Number(m[3])
			if err != nil {
				return nil, err
			}
			unit := ddUnit[m[5]]
			rate, last := d.bytes/d.seconds, math.Pow10(-len(m[4]))
			if off := math.Abs(printed*unit - rate); off > last*unit+1e-4*rate {
				return nil, Contradiction("rate × time is not the size: %.0f bytes in %v s are %.4g B/s: %s", d.bytes, d.seconds,
					rate, Quote(d.line))
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

func readDD(text string, r *Report) error {
	if err := refused("dd", text); err != nil {
		return err
	}
	reports, err := parseDD(text)
	if err != nil {
		return err
	}
	for _, figure := range []string{"bytes", "seconds", "rate"} {
		r.expect(figure, "bytes copied")
	}
	for _, d := range reports {
		r.add("bytes", d.bytes, "B", "")
		r.seconds("seconds", d.seconds)
		r.add("rate", d.bytes/d.seconds, "B/s", Higher)
	}
	return withTimes(r, text)
}
