package tool

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// The report of iozone's throughput mode (-t, -l, -u): a block for each test, which begins with what the
// children see.
var (
	iozoneSees  = regexp.MustCompile(`^\t(Children|Parent) sees? throughput for +(\d+) (.+?)\s+= +(\d+\.\d+) (\S+) *$`)
	iozoneEach  = regexp.MustCompile(`^\t(Min|Max|Avg) throughput per (?:process|thread)\s+= +(\d+\.\d+) (\S+) *$`)
	iozoneXfer  = regexp.MustCompile(`^\tMin xfer\s+= +(\d+\.\d+) (\S+) *$`)
	iozoneChild = regexp.MustCompile(`^\tChild\[(\d+)\] xfer count = +(\d+\.\d+) (\S+), Throughput = +(\d+\.\d+) (` +
		`[^\s,]+)`)
	iozoneCPU = regexp.MustCompile(`^\tCPU [Uu]tilization: Wall time +(\d+\.\d+) +CPU time +(\d+\.\d+) +CPU util` +
		`ization +(\d+\.\d+) %`)
	iozoneLines = regexp.MustCompile(`^\t(?:Children|Parent) see|^\t(?:Min|Max|Avg) throughput|^\tMin xfer|^\tChil` +
		`d\[|^\tCPU [Uu]tilization:`)
	iozoneRates  = map[string]string{"kB/sec": "kB/s", "KB/sec": "KB/s", "ops/sec": "1/s", "usec/op": "us/op"}
	iozoneAmount = map[string]string{"kB": "KiB", "KB": "KiB", "ops": "1"}
)

// readIozoneThroughput names figures like "readers, 2 processes: children".
func readIozoneThroughput(text string, r *Report) error {
	test, figures := "", 0
	add := func(name, word, unit string, better Better) {
		r.add(test+name, r.number(word), unit, better)
		figures++
	}
	rate := func(name, word, unit string) error {
		printed := unit
		if unit = iozoneRates[unit]; unit == "" {
			return fault.Guestf("iozone: unknown unit %s", Quote(printed))
		}
		better := Higher
		if unit == "us/op" {
			better = Lower
		}
		add(name, word, unit, better)
		return nil
	}
	blocks := 0
	for line := range strings.SplitSeq(text, "\n") {
		if !iozoneLines.MatchString(line) {
			continue
		}
		var err error
		if m := iozoneSees.FindStringSubmatch(line); m != nil {
			if m[1] == "Children" {
				if blocks > 0 && figures < 6 {
					return fault.Guestf("iozone's report of %s is incomplete", Quote(strings.TrimSuffix(test, ": ")))
				}
				test, figures = fmt.Sprintf("%s, %s processes: ", m[3], m[2]), 0
				blocks++
			}
			err = rate(strings.ToLower(m[1]), m[4], m[5])
		} else if m := iozoneEach.FindStringSubmatch(line); m != nil {
			err = rate(strings.ToLower(m[1])+" per process", m[2], m[3])
		} else if m := iozoneXfer.FindStringSubmatch(line); m != nil {
			add("min xfer", m[1], iozoneAmount[m[2]], "")
		} else if m := iozoneChild.FindStringSubmatch(line); m != nil {
			add("child "+m[1]+", xfer", m[2], iozoneAmount[m[3]], "")
			err = rate("child "+m[1], m[4], m[5])
		} else if m := iozoneCPU.FindStringSubmatch(line); m != nil {
			for i, of := range []column{{"wall time", "s", Lower}, {"CPU time", "s", Lower}, {"CPU utilization", "%", ""}} {
				add(of.name, m[i+1], of.unit, of.better)
			}
		} else {
			err = damaged("iozone", line)
		}
		if err != nil {
			return err
		}
	}
	if figures < 6 {
		return fault.Guestf("iozone's report of %s is incomplete", Quote(strings.TrimSuffix(test, ": ")))
	}
	return nil
}
