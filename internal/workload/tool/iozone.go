package tool

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	iozoneHead = regexp.MustCompile(`(?m)^ +kB +reclen +write.*$`)
	iozoneRow  = regexp.MustCompile(`(?m)^ {6,}\d+ +\d+ [ \d]+$`)
	iozoneLast = regexp.MustCompile(`(?m)^iozone test complete\.$`)
	iozoneSays = regexp.MustCompile(`(?m)^(?:Error .*|Can not .*|iozone: .*|.*No space left.*)$`)
	// iozoneTests are the columns of iozone's table after size and record.
	iozoneTests = []string{"write", "rewrite", "read", "reread", "random read", "random write", "bkwd read",
		"record rewrite",
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
	ends, all := columnEnds(iozoneHead.FindString(text)), len(iozoneTests)+2
	var cells []iozoneCell
	for _, line := range iozoneRow.FindAllString(text, -1) {
		words := strings.Fields(line)
		if len(words) > all {
			return nil, fault.Guestf("iozone's row has %d numbers: %s", len(words), Quote(line))
		}
		if len(words) < 3 {
			return nil, fault.Guestf("iozone's row has no figures: %s", Quote(line))
		}
		f, err := Numbers(words...)
		if err != nil {
			return nil, err
		}
		end, column := 0, 2
		for i, w := range words {
			end += strings.Index(line[end:], w) + len(w)
			if i < 2 { // the sizes of the file and of the record
				continue
			}
			if len(words) < all { // some are blank: take the column whose end is nearest
				for column < len(ends)-1 && distance(ends[column+1], end) <= distance(ends[column], end) {
					column++
				}
			}
			if column >= all {
				return nil, fault.Guestf("the row does not fit iozone's table: %s", Quote(line))
			}
			cells = append(cells, iozoneCell{iozoneTests[column-2], f[0], f[1], f[i]})
			column++
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

// readIozone reads the table, in which it names figures like "random read, 65536 kB by 4 kB" (the test, the
// size of the file and of its records), or the report of the throughput mode. What -R prints for Excel
// repeats them.
func readIozone(text string, r *Report) error {
	if line := iozoneSays.FindString(text); line != "" {
		if err := r.doubt(fault.Guestf("iozone failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	throughput := strings.Contains(text, "\tChildren see throughput for ")
	if !throughput && iozoneHead.FindString(text) == "" {
		return fault.Guestf("the output contains no iozone table: %s", Quote(text))
	}
	if runs, ends := strings.Count(text, "\tCommand line used: "), len(iozoneLast.FindAllString(text, -1)); ends == 0 ||
		ends < runs {
		return fault.Guestf("iozone did not print \"iozone test complete\"")
	}
	if throughput {
		return readIozoneThroughput(text, r)
	}
	cells, err := parseIozone(text)
	if err != nil {
		return err
	}
	unit, better := "kB/s", Higher
	if strings.Contains(text, "\tOPS Mode.") {
		unit = "1/s"
	} else if strings.Contains(text, "\tMicroseconds/op Mode.") {
		unit, better = "us/op", Lower
	}
	for _, c := range cells {
		if c.rate == 0 && better == Higher {
			return fault.Guestf("iozone did nothing: %s of %.0f kB by %.0f kB is 0", c.test, c.size, c.record)
		}
		r.add(fmt.Sprintf("%s, %.0f kB by %.0f kB", c.test, c.size, c.record), c.rate, unit, better)
	}
	return nil
}
