package tool

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	tioSection = regexp.MustCompile(`^(Sequential|Random) (Reads|Writes)\s*$`)
	tioRow     = regexp.MustCompile(`^\S+ +\d+ +\d+ +(\d+) +([\d.]+) +[\d.]+% +([\d.]+) +([\d.]+) `)
	tioTerse   = regexp.MustCompile(`^(write|rwrite|read|rread):([\d.]+),([\d.]+),([\d.]+),([\d.]+),([\d.]+),([\d.]+),[\d.]+,[\d.]+\s*$`)
	tioHuman   = regexp.MustCompile(`^\| (Write|Random Write|Read|Random Read) +(\d+) MBs \| +[\d.]+ s \| +([\d.]+) MB/s`)
	// tioTerseUnits are those of the figures of a terse line.
	tioTerseUnits = [][2]string{{"size", "MB"}, {"wall time", "s"}, {"user CPU", "s"}, {"system CPU", "s"},
		{"mean latency", "ms"}, {"max latency", "ms"}}
)

// readTiobench reads tiobench.pl's tables, and tiotest's output with and without -T. Its MB are MiB.
func readTiobench(text string, r *Report) error {
	if err := refused("tiobench", text); err != nil {
		return err
	}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := tioSection.FindStringSubmatch(line); m != nil {
			section = m[1] + " " + m[2]
		}
		var names, units, words []string
		if m := tioRow.FindStringSubmatch(line); m != nil && section != "" {
			name := fmt.Sprintf("%s, %s threads", section, m[1])
			names, units, words = []string{name, name + ": mean latency", name + ": max latency"},
				[]string{"MiB/s", "ms", "ms"}, m[2:]
		} else if m := tioTerse.FindStringSubmatch(line); m != nil {
			for i, of := range tioTerseUnits {
				names, units, words = append(names, m[1]+": "+of[0]), append(units, of[1]), append(words, m[2+i])
			}
		} else if m := tioHuman.FindStringSubmatch(line); m != nil {
			names, units, words = []string{m[1], m[1] + ": size"}, []string{"MB/s", "MB"}, []string{m[3], m[2]}
		}
		f, err := Numbers(words...)
		if err != nil {
			return err
		}
		for i, v := range f {
			switch units[i] {
			case "MiB/s", "MB/s":
				r.addAs(1<<20, names[i], v, units[i], Higher)
			case "MB":
				r.addAs(1<<20, names[i], v, units[i], "")
			default:
				r.add(names[i], v, units[i], Lower)
			}
		}
	}
	return nil
}
