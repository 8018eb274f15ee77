package workload

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	opensslRate  = regexp.MustCompile(`(?m)^\+F:\d+:([^:\n]+):([\d.:]+)$`)
	opensslSizes = regexp.MustCompile(`(?m)^(?:Got: )?\+H((?::\d+)+)(?: from \d+)?$`)
	opensslHuman = regexp.MustCompile(`(?m)^(\S+) +((?:[\d.]+k *){2,})$`)
	opensslCols  = regexp.MustCompile(`(?m)^type +((?:\d+ bytes *)+)$`)
)

// readOpenssl reads the output of openssl speed, with and without -mr, and of
// openssl enc, fed by dd and run under time.
func readOpenssl(text string) ([]Figure, error) {
	if err := refused("openssl", text); err != nil {
		return nil, err
	}
	var all []Figure
	add := func(name string, sizes, rates []string, scale float64) error {
		if len(sizes) != len(rates) {
			return fault.Guestf("openssl prints %d rates for %d sizes", len(rates), len(sizes))
		}
		for i := range rates {
			v, err := number(rates[i])
			if err != nil {
				return err
			}
			all = append(all, Figure{name + " of " + sizes[i] + " bytes", v * scale, "B/s of CPU time", Higher})
		}
		return nil
	}
	sizes := opensslSizes.FindStringSubmatch(grep(text, "+H"))
	for _, m := range opensslRate.FindAllStringSubmatch(grep(text, "+F"), -1) {
		if sizes == nil {
			return nil, fault.Guestf("openssl speed prints rates but no sizes: %s", quote(m[0]))
		}
		if err := add(quoteless(m[1]), strings.Split(sizes[1][1:], ":"), strings.Split(m[2], ":"), 1); err != nil {
			return nil, err
		}
	}
	if cols := opensslCols.FindStringSubmatch(grep(text, "type ")); cols != nil {
		sizes := strings.Fields(strings.ReplaceAll(cols[1], "bytes", ""))
		for _, m := range opensslHuman.FindAllStringSubmatch(text, -1) {
			if err := add(quoteless(m[1]), sizes, strings.Fields(strings.ReplaceAll(m[2], "k", "")), 1000); err != nil {
				return nil, err
			}
		}
	}
	reports, err := parseDD(text)
	if err != nil {
		return nil, err
	}
	for _, d := range reports {
		all = append(all, Figure{"bytes", d.bytes, "B", ""}, seconds("dd's time", d.seconds))
	}
	return withTimes(all, text)
}

var (
	iozoneHead = regexp.MustCompile(`(?m)^ +kB +reclen +write.*$`)
	iozoneRow  = regexp.MustCompile(`(?m)^ {6,}\d+ +\d+ [ \d]+$`)
	iozoneLast = regexp.MustCompile(`(?m)^iozone test complete\.$`)
	iozoneSays = regexp.MustCompile(`(?m)^(?:Error .*|Can not .*|iozone: .*|.*No space left.*)$`)
	// iozoneTests are the columns of iozone's table after size and record.
	iozoneTests = []string{"write", "rewrite", "read", "reread", "random read", "random write", "bkwd read", "record rewrite",
		"stride read", "fwrite", "frewrite", "fread", "freread"}
)

// iozoneCell is a rate in kB/s (1024 bytes) of one test.
type iozoneCell struct {
	test         string
	size, record float64 // kB
	rate         float64
}

// parseIozone reads the table. Its columns have a fixed width, and those of tests
// that -i left out are blank. A number that is too wide shifts the others.
func parseIozone(text string) ([]iozoneCell, error) {
	if line := iozoneSays.FindString(text); line != "" {
		return nil, fault.Guestf("iozone failed: %s", quote(line))
	}
	head := iozoneHead.FindString(text)
	if head == "" {
		return nil, fault.Guestf("the output contains no iozone table: %s", quote(text))
	}
	if !iozoneLast.MatchString(text) {
		return nil, fault.Guestf("iozone did not print \"iozone test complete\"")
	}
	ends := columnEnds(head)
	var cells []iozoneCell
	for _, line := range iozoneRow.FindAllString(text, -1) {
		words := strings.Fields(line)
		if len(words) > len(iozoneTests)+2 {
			return nil, fault.Guestf("iozone's row has %d numbers: %s", len(words), quote(line))
		}
		at := -1
		column := 0
		for i, w := range words {
			f, err := number(w)
			if err != nil {
				return nil, err
			}
			end := at + 1 + strings.Index(line[at+1:], w) + len(w)
			at = end
			switch i {
			case 0, 1:
				column = 2
				if i == 0 {
					cells = append(cells, iozoneCell{size: f})
				} else {
					cells[len(cells)-1].record = f
				}
				continue
			}
			if len(words) < len(iozoneTests)+2 { // some are blank: take the column whose end is nearest
				for column < len(ends)-1 && abs(float64(ends[column+1]-end)) <= abs(float64(ends[column]-end)) {
					column++
				}
			}
			if column >= len(iozoneTests)+2 || f == 0 {
				return nil, fault.Guestf("the row does not fit iozone's table: %s", quote(line))
			}
			of := cells[len(cells)-1]
			if of.test != "" {
				of = iozoneCell{size: of.size, record: of.record}
				cells = append(cells, of)
			}
			cells[len(cells)-1].test, cells[len(cells)-1].rate = iozoneTests[column-2], f
			column++
		}
		if cells[len(cells)-1].test == "" {
			return nil, fault.Guestf("iozone's row has no figures: %s", quote(line))
		}
	}
	if len(cells) == 0 {
		return nil, fault.Guestf("iozone's table is empty")
	}
	return cells, nil
}

// columnEnds returns the ends of the words in the table's header line.
func columnEnds(head string) []int {
	var ends []int
	for i := range head {
		if head[i] != ' ' && (i+1 == len(head) || head[i+1] == ' ') {
			ends = append(ends, i+1)
		}
	}
	return ends
}

func readIozone(text string) ([]Figure, error) {
	cells, err := parseIozone(text)
	if err != nil {
		return nil, err
	}
	var all []Figure
	for _, c := range cells {
		all = append(all, Figure{fmt.Sprintf("%s, %.0f kB by %.0f kB", c.test, c.size, c.record), c.rate, "kB/s", Higher})
	}
	walls, err := wallTimes(text)
	if err == nil && len(walls) > 0 {
		return withTimes(all, text)
	}
	return all, err
}

var (
	tioSection = regexp.MustCompile(`^(Sequential|Random) (Reads|Writes)\s*$`)
	tioRow     = regexp.MustCompile(`^\S+ +\d+ +\d+ +(\d+) +([\d.]+) +[\d.]+% +([\d.]+) +([\d.]+) `)
	tioTerse   = regexp.MustCompile(`^(write|rwrite|read|rread):([\d.]+),([\d.]+),([\d.]+),([\d.]+),([\d.]+),([\d.]+),[\d.]+,[\d.]+\s*$`)
	tioHuman   = regexp.MustCompile(`^\| (Write|Random Write|Read|Random Read) +\d+ MBs \| +[\d.]+ s \| +([\d.]+) MB/s`)
)

// readTiobench reads tiobench.pl's tables, and tiotest's output with and without -T.
func readTiobench(text string) ([]Figure, error) {
	if err := refused("tiobench", text); err != nil {
		return nil, err
	}
	var all []Figure
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := tioSection.FindStringSubmatch(line); m != nil {
			section = m[1] + " " + m[2]
		}
		var names, units, words []string
		if m := tioRow.FindStringSubmatch(line); m != nil && section != "" {
			name := fmt.Sprintf("%s, %s threads", section, m[1])
			names, units, words = []string{name, name + ": mean latency", name + ": max latency"}, []string{"MiB/s", "ms", "ms"}, m[2:]
		} else if m := tioTerse.FindStringSubmatch(line); m != nil {
			for i, what := range []string{"size", "wall time", "user CPU", "system CPU", "mean latency", "max latency"} {
				names, units, words = append(names, m[1]+": "+what), append(units, []string{"MB", "s", "s", "s", "ms", "ms"}[i]), append(words, m[2+i])
			}
		} else if m := tioHuman.FindStringSubmatch(line); m != nil {
			names, units, words = []string{m[1]}, []string{"MB/s"}, m[2:]
		}
		f, err := numbers(words...)
		if err != nil {
			return nil, err
		}
		for i, v := range f {
			better := Lower
			switch units[i] {
			case "MiB/s", "MB/s":
				better = Higher
			case "MB":
				better = ""
			}
			all = append(all, Figure{names[i], v, units[i], better})
		}
	}
	if len(all) == 0 {
		return nil, fault.Guestf("the output contains no figures of tiobench: %s", quote(text))
	}
	return all, nil
}
