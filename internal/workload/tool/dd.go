package tool

import (
	"cmp"
	"math"
	"regexp"
	"strings"

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
				return nil, Contradiction("rate × time is not the size: %.0f bytes in %v s are %.4g B/s: %s", d.bytes, d.seconds, rate, Quote(d.line))
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
	r.expect("seconds", "bytes copied")
	r.expect("bytes", "bytes copied")
	for _, d := range reports {
		r.add("bytes", d.bytes, "B", "")
		r.seconds("seconds", d.seconds)
		r.add("rate", d.bytes/d.seconds, "B/s", Higher)
	}
	return withTimes(r, text)
}

var (
	cpioBlocks = line(" block", `^(\d+) blocks?\r?$`)
	shellTimes = line("", `^(real|user|sys)\s+(?:(\d+)m)?(\d+(?:\.\d+)?)s?\r?$`)
)

// readCpio reads the report of cpio and the times that the shell's time printed.
func readCpio(text string, r *Report) error {
	if err := refused("cpio", text); err != nil {
		return err
	}
	var blocks float64
	if err := takeOnce("cpio", text, pick{cpioBlocks, []*float64{&blocks}}); err != nil {
		return err
	}
	if blocks == 0 {
		return fault.Guestf("cpio archived nothing")
	}
	r.add("archive blocks", blocks, "512 B", "")
	times := map[string]float64{}
	for _, m := range shellTimes.all(Grep(text, "real", "user", "sys")) {
		f, err := Numbers("0"+m[2], m[3])
		if err != nil {
			return err
		}
		times[m[1]] = max(f[0]*60+f[1], 0.001) // 0.000 means less than the shell's resolution
	}
	for _, name := range []string{"real", "user", "sys"} {
		if times[name] > 0 {
			r.seconds(name, times[name])
		}
	}
	return nil
}

var bogomipsLine = line("", `(?i)^ *(\d+ )?bogomips\s*: *(\d+\.\d+) *$`)

// readCPUInfo reads /proc/cpuinfo, or lines of it with their number: the BogoMIPS of each line, and
// the number of all "readings".
func readCPUInfo(text string, r *Report) error {
	readings := 0.0
	for _, m := range bogomipsLine.all(text) {
		f, err := Numbers(m[2], cmp.Or(strings.TrimSpace(m[1]), "1"))
		if err != nil {
			return err
		}
		r.add("bogomips", f[0], "1", "")
		readings += f[1]
	}
	if readings == 0 {
		return fault.Guestf("the output contains no BogoMIPS: %s", Quote(text))
	}
	r.add("readings", readings, "1", "")
	return nil
}
