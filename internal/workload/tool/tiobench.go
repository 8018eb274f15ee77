package tool

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	tioSection = regexp.MustCompile(`^(Sequential|Random) (Reads|Writes)$`)
	tioRow     = regexp.MustCompile(
		`^(\S.*?) +(\d+) +(\d+) +(\d+) +([\d.]+) +([\d.]+)% +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$`)
	tioTerse = regexp.MustCompile(
		`^(write|rwrite|read|rread|total):(\d+\.\d{5}(?:,\d+\.\d{5}){3}(?:(?:,\d+\.\d{5}){4})?)$`)
	tioThreads = regexp.MustCompile(`^Tiotest results for (\d+) concurrent io threads:$`)
	tioHuman   = regexp.MustCompile(
		`^\| (Write|Random Write|Read|Random Read) +(\d+) MBs \| +([\d.]+) s \| +([\d.]+|inf|-?nan) MB/s \|` +
			` +([\d.]+|inf|-?nan) %  \| +([\d.]+|inf|-?nan) % \|$`)
	tioLatency = regexp.MustCompile(`^\| (Write|Random Write|Read|Random Read|Total) +\| +([\d.]+) ms \| +([\d.]+) ms \|` +
		` +([\d.]+) \| +([\d.]+) \|$`)

	tioRowColumns = []column{{"", "MiB/s", Higher}, {": CPU", "%", Lower}, {": mean latency", "ms", Lower},
		{": max latency", "ms", Lower}, {": longer than 2 s", "%", Lower}, {": longer than 10 s", "%", Lower},
		{": efficiency", "1", Higher}} // the rate divided by the share of CPU
	tioHumanColumns = []column{{": size", "MB", ""}, {": time", "s", Lower}, {"", "MB/s", Higher},
		{": user CPU", "%", Lower}, {": system CPU", "%", Lower}}
	tioTerseColumns = append([]column{{": size", "MB", ""}, {": wall time", "s", Lower}, {": user CPU", "s", Lower},
		{": system CPU", "s", Lower}}, tioLatencyColumns...)
	tioLatencyColumns = []column{{": mean latency", "ms", Lower}, {": max latency", "ms", Lower},
		{": longer than 2 s", "%", Lower}, {": longer than 10 s", "%", Lower}}
)

// readTiobench reads tiobench.pl's tables, and tiotest's output with and without -T. Its MB are MiB.
func readTiobench(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	section, open := "", false
	rows := map[string]int{} // of each section
	of := tioSettings(text)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if m := tioSection.FindStringSubmatch(line); m != nil {
			section = m[1] + " " + m[2]
			continue
		}
		if m := tioRow.FindStringSubmatch(line); m != nil && section != "" {
			rows[section]++
			addTio(r, section+", "+m[4]+" threads"+of(m), tioRowColumns, m[5:])
			continue
		}
		switch {
		case strings.HasPrefix(line, "| Item "), tioThreads.MatchString(line):
			open = true
		case strings.HasPrefix(line, "`--"):
			open = false
		}
		if err := readTiotest(line, r); err != nil {
			return err
		}
	}
	if open || strings.Contains(text, "Tiotest latency") && len(r.All("Total: mean latency")) == 0 ||
		strings.Contains("\n"+text, "\nwrite:") && len(r.All("total: mean latency")) == 0 {
		return fault.Guestf("a table of tiotest has no end: the output is cut off")
	}
	if section != "" {
		if err := tioEven(rows); err != nil {
			return err
		}
	}
	return tioOnce(r)
}

// readTiotest reads a line of tiotest, which has figures if it is a row of a table or one of -T.
func readTiotest(line string, r *Report) error {
	switch {
	case strings.HasPrefix(line, "| Item "):
	case strings.HasPrefix(line, "| "):
		if m := tioHuman.FindStringSubmatch(line); m != nil {
			addTio(r, m[1], tioHumanColumns, m[2:])
		} else if m := tioLatency.FindStringSubmatch(line); m != nil {
			addTio(r, m[1], tioLatencyColumns, m[2:])
		} else {
			return damaged("tiotest", line)
		}
	case tioThreads.MatchString(line):
		addTio(r, "threads", []column{{"", "1", ""}}, tioThreads.FindStringSubmatch(line)[1:])
	case tioTerse.MatchString(line):
		m := tioTerse.FindStringSubmatch(line)
		columns, words := tioTerseColumns, strings.Split(m[2], ",")
		if m[1] == "total" {
			columns = tioLatencyColumns
		}
		if len(words) != len(columns) {
			return damaged("tiotest", line)
		}
		addTio(r, m[1], columns, words)
	case tioTerseStart.MatchString(line):
		return damaged("tiotest", line)
	}
	return nil
}

// tioEven returns an error if the four tables of tiobench do not have as many rows each.
func tioEven(rows map[string]int) error {
	n := rows["Sequential Reads"]
	if n > 0 && rows["Random Reads"] == n && rows["Sequential Writes"] == n && rows["Random Writes"] == n {
		return nil
	}
	return fault.Guestf("the tables of tiobench have %d, %d, %d and %d rows instead of as many in each: the output "+
		"is cut off or damaged", n, rows["Random Reads"], rows["Sequential Writes"], rows["Random Writes"])
}

// tioTerseStart is how the lines of tiotest -T begin.
var tioTerseStart = regexp.MustCompile(`^(?:write|rwrite|read|rread|total):\d`)

// tioSettings returns a function that gives a row's identifier, size and block size, if rows differ in them.
func tioSettings(text string) func(row []string) string {
	differ := map[string]bool{}
	for line := range strings.Lines(text) {
		if m := tioRow.FindStringSubmatch(strings.TrimRight(line, " \n")); m != nil {
			differ[strings.Join(m[1:4], " ")] = true
		}
	}
	return func(row []string) string {
		if len(differ) < 2 {
			return ""
		}
		return fmt.Sprintf(", %s, %s MB by %s bytes", row[1], row[2], row[3])
	}
}

// addTio adds the columns of a row. What was too fast for a rate has "inf" or "nan", which is no figure.
func addTio(r *Report, name string, columns []column, words []string) {
	for i, c := range columns {
		if strings.HasSuffix(words[i], "inf") || strings.HasSuffix(words[i], "nan") {
			continue
		}
		factor := 0.0
		if strings.HasPrefix(c.unit, "M") {
			factor = 1 << 20
		}
		r.addAs(factor, quoteless(name)+c.name, r.number(words[i]), c.unit, c.better)
	}
}

// tioOnce returns an error if a test is there twice.
func tioOnce(r *Report) error {
	seen := map[string]bool{}
	for _, f := range r.Figures {
		if seen[f.Name] {
			return fault.Guestf("the output has two figures %s; save each run of tiobench in its own file", Quote(f.Name))
		}
		seen[f.Name] = true
	}
	return nil
}
