package tool

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
func readOpenssl(text string, r *Report) error {
	if err := refused("openssl", text); err != nil {
		return err
	}
	add := func(name string, sizes, rates []string, scale float64) error {
		if len(sizes) != len(rates) {
			return fault.Guestf("openssl prints %d rates for %d sizes", len(rates), len(sizes))
		}
		for i := range rates {
			v, err := Number(rates[i])
			if err != nil {
				return err
			}
			r.add(name+" of "+sizes[i]+" bytes", v*scale, "B/s of CPU time", Higher)
		}
		return nil
	}
	sizes := opensslSizes.FindStringSubmatch(Grep(text, "+H"))
	for _, m := range opensslRate.FindAllStringSubmatch(Grep(text, "+F"), -1) {
		if sizes == nil {
			return fault.Guestf("openssl speed prints rates but no sizes: %s", Quote(m[0]))
		}
		if err := add(quoteless(m[1]), strings.Split(sizes[1][1:], ":"), strings.Split(m[2], ":"), 1); err != nil {
			return err
		}
	}
	if cols := opensslCols.FindStringSubmatch(Grep(text, "type ")); cols != nil {
		sizes := strings.Fields(strings.ReplaceAll(cols[1], "bytes", ""))
		for _, m := range opensslHuman.FindAllStringSubmatch(text, -1) {
			if err := add(quoteless(m[1]), sizes, strings.Fields(strings.ReplaceAll(m[2], "k", "")), 1000); err != nil {
				return err
			}
		}
	}
	r.expect("dd's time", "bytes copied")
	reports, err := parseDD(text)
	if err != nil {
		return err
	}
	for _, d := range reports {
		r.add("bytes", d.bytes, "B", "")
		r.seconds("dd's time", d.seconds)
	}
	return withTimes(r, text)
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
		return nil, fault.Guestf("iozone failed: %s", Quote(line))
	}
	head := iozoneHead.FindString(text)
	if head == "" {
		return nil, fault.Guestf("the output contains no iozone table: %s", Quote(text))
	}
	if !iozoneLast.MatchString(text) {
		return nil, fault.Guestf("iozone did not print \"iozone test complete\"")
	}
	ends := columnEnds(head)
	var cells []iozoneCell
	for _, line := range iozoneRow.FindAllString(text, -1) {
		words := strings.Fields(line)
		if len(words) > len(iozoneTests)+2 {
			return nil, fault.Guestf("iozone's row has %d numbers: %s", len(words), Quote(line))
		}
		at := -1
		column := 0
		for i, w := range words {
			f, err := Number(w)
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
				for column < len(ends)-1 && distance(ends[column+1], end) <= distance(ends[column], end) {
					column++
				}
			}
			if column >= len(iozoneTests)+2 || f == 0 {
				return nil, fault.Guestf("the row does not fit iozone's table: %s", Quote(line))
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
			return nil, fault.Guestf("iozone's row has no figures: %s", Quote(line))
		}
	}
	if len(cells) == 0 {
		return nil, fault.Guestf("iozone's table is empty")
	}
	return cells, nil
}

func distance(a, b int) int { return max(a-b, b-a) }

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

// readIozone names figures like "random read, 65536 kB by 4 kB": the test, the size of the file and of
// its records.
func readIozone(text string, r *Report) error {
	cells, err := parseIozone(text)
	if err != nil {
		return err
	}
	for _, c := range cells {
		r.add(fmt.Sprintf("%s, %.0f kB by %.0f kB", c.test, c.size, c.record), c.rate, "kB/s", Higher)
	}
	return withTimes(r, text)
}

var (
	tioSection = regexp.MustCompile(`^(Sequential|Random) (Reads|Writes)\s*$`)
	tioRow     = regexp.MustCompile(`^\S+ +\d+ +\d+ +(\d+) +([\d.]+) +[\d.]+% +([\d.]+) +([\d.]+) `)
	tioTerse   = regexp.MustCompile(`^(write|rwrite|read|rread):([\d.]+),([\d.]+),([\d.]+),([\d.]+),([\d.]+),([\d.]+),[\d.]+,[\d.]+\s*$`)
	tioHuman   = regexp.MustCompile(`^\| (Write|Random Write|Read|Random Read) +(\d+) MBs \| +[\d.]+ s \| +([\d.]+) MB/s`)
	// tioTerseUnits are those of the figures of a terse line.
	tioTerseUnits = [][2]string{{"size", "MB"}, {"wall time", "s"}, {"user CPU", "s"}, {"system CPU", "s"}, {"mean latency", "ms"}, {"max latency", "ms"}}
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
			names, units, words = []string{name, name + ": mean latency", name + ": max latency"}, []string{"MiB/s", "ms", "ms"}, m[2:]
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
