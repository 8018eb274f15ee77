package tool

import (
	"encoding/csv"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	netperfBad = regexp.MustCompile(`(?m)^(?:establish.control.*|send_.*|recv_.*|netperf: .*|catcher: .*|shutdown_` +
		`control.*|.*[Uu]sage: netperf.*)$`)
	netperfTest = regexp.MustCompile(`^(?:MIGRATED )?([A-Z][\w/| ]*?) TEST from `)
	// netperfUnit is the unit in the heading of a table.
	netperfUnit = regexp.MustCompile(` (10\^[369]bits|[KMG]Bytes)/s(?:ec)?\b`)
	// The histogram of a netperf that was built with one: ten classes in a line.
	netperfClasses = regexp.MustCompile(`^((?:UNIT|TEN|HUNDRED)_(?:NSEC|USEC|MSEC|SEC)S?) *((?:: *\d+)+) *$`)
	netperfBeyond  = regexp.MustCompile(`^(>\d+_\w+|HIST_TOTAL) *: *(\d+) *$`)
	netperfKey     = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)=(.*)$`)
)

// netperfRates are the units of netperf's option -f, in B/s.
var netperfRates = map[string]struct {
	name   string
	factor float64
}{
	"10^3bits": {"10^3 bit/s", 1e3 / 8}, "10^6bits": {"10^6 bit/s", 1e6 / 8}, "10^9bits": {"10^9 bit/s", 1e9 / 8},
	"KBytes": {"KBytes/s", 1 << 10}, "MBytes": {"MBytes/s", 1 << 20}, "GBytes": {"GBytes/s", 1 << 30},
}

// netperfRate is the unit of columns whose unit is in the heading, or in THROUGHPUT_UNITS.
const netperfRate = "THROUGHPUT_UNITS"

const (
	netperfCPU4 = `(?: +(-?\d+\.\d+) +(-?\d+\.\d+) +(-?\d+\.\d+) +(-?\d+\.\d+))?`
	netperfCPU2 = `(?: +(-?\d+\.\d+) +(-?\d+\.\d+))?`
)

// netperfPart is the place of a line in a classic report.
type netperfPart int

const (
	netperfOnly  netperfPart = iota // the only line of a report
	netperfFirst                    // the first of two lines
	netperfMore                     // a line that must follow others
	netperfAside                    // a line that may be anywhere
)

// netperfKinds are the lines of the classic reports. -1 in a column means that netperf did not measure it.
var netperfKinds = []struct {
	figureLine
	part netperfPart
}{
	{row(`^(\d+) +(\d+) +(\d+) +(\d+) +(\d+\.\d+) +(\d+\.\d+)`+netperfCPU4+` *$`, column{"local send socket", "B", ""},
		column{"local receive socket", "B", ""}, column{"request", "B", ""}, column{"response", "B", ""},
		column{"time", "s", Lower},
		column{"transactions", "1/s", Higher}, column{"local CPU", "%", Lower}, column{"remote CPU", "%", Lower},
		column{"local service demand", "us", Lower}, column{"remote service demand", "us", Lower}), netperfFirst},
	{row(`^(\d+) +(\d+) *$`, column{"remote send socket", "B", ""}, column{"remote receive socket", "B", ""}),
		netperfMore},
	{row(`^ *(\d+) +(\d+) +(\d+) +(\d+\.\d+) +(\d+\.\d+)`+netperfCPU4+` *$`, column{"receive socket", "B", ""},
		column{"send socket", "B", ""}, column{"message", "B", ""}, column{"time", "s", Lower},
		column{"throughput", netperfRate, Higher}, column{"local CPU", "%", Lower}, column{"remote CPU", "%", Lower},
		column{"local service demand", "us/KB", Lower}, column{"remote service demand", "us/KB", Lower}), netperfOnly},
	{row(`^(\d+) +(\d+) +(\d+\.\d+) +(\d+) +(\d+) +(\d+\.\d+)`+netperfCPU2+` *$`, column{"send socket", "B", ""},
		column{"message", "B", ""}, column{"time", "s", Lower}, column{"sent messages", "1", ""},
		column{"send errors", "1", Lower}, column{"sent throughput", netperfRate, Higher},
		column{"local CPU", "%", Lower}, column{"local service demand", "us/KB", Lower}), netperfFirst},
	{row(`^(\d+) {6,}(\d+\.\d+) +(\d+) {6,}(\d+\.\d+)`+netperfCPU2+` *$`, column{"receive socket", "B", ""},
		column{"receiver's time", "s", Lower}, column{"received messages", "1", ""},
		column{"received throughput", netperfRate, Higher},
		column{"remote CPU", "%", Lower}, column{"remote service demand", "us/KB", Lower}), netperfMore},
	{row(`^ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+\.\d+) +(\d+) +(\d+\.\d+) +(\d+) *$`,
		column{"local send alignment", "1", ""},
		column{"remote receive alignment", "1", ""}, column{"local send offset", "1", ""},
		column{"remote receive offset", "1", ""}, column{"transferred", "B", ""}, column{"bytes per send", "B", ""},
		column{"sends", "1", ""}, column{"bytes per receive", "B", ""}, column{"receives", "1", ""}), netperfMore},
	{row(`^ +(\d+) *$`, column{"maximum segment", "B", ""}), netperfMore},
	{row(`^ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) *$`,
		column{"local send alignment", "1", ""},
		column{"remote receive alignment", "1", ""}, column{"local send offset", "1", ""},
		column{"remote receive offset", "1", ""}, column{"round trip", "us", Lower},
		column{"transactions, three decimals", "1/s", Higher}, column{"outbound", netperfRate, Higher},
		column{"inbound", netperfRate, Higher}), netperfMore},
	{row(`^(\d+\.\d+) *$`, column{"result", "1/s or 10^6 bit/s", Higher}), netperfOnly},
	{row(`^Interim result: +(\d+\.\d+) (\S+) over (\d+\.\d+) seconds ending at (\d+\.\d+)$`,
		column{"interim at %4 s", "as printed", Higher},
		label, column{"interim at %4 s: time", "s", Lower}, label), netperfAside},
	{row(`^!!! (?:Confidence intervals:)? *(Throughput|Local CPU util|Remote CPU util) *: +(\d+\.\d+)%$`, label,
		column{"%1: confidence interval not reached, is", "%", Lower}), netperfAside},
}

// netperfNames are keys with a name of their own; the other keys are their own names.
var netperfNames = map[string]column{
	"THROUGHPUT": {"throughput", netperfRate, Higher}, "ELAPSED_TIME": {"time", "s", Lower},
	"MEAN_LATENCY": {"mean latency", "us", Lower}, "TRANSACTION_RATE": {"transactions", "1/s", Higher},
	"P50_LATENCY": {"p50 latency", "us", Lower}, "P90_LATENCY": {"p90 latency", "us", Lower},
	"P99_LATENCY": {"p99 latency", "us", Lower},
}

// netperfText reads the output line by line.
type netperfText struct {
	r     *Report
	head  []string // the lines since the last result
	tests int      // reports that have begun
	rows  int      // results
	open  int      // lines that a report still needs
	keys  bool
	unit  string // of netperfRate
}

// readNetperf reads reports of netperf with a table, with keys and as CSV. It says the "test" of the first.
func readNetperf(text string, r *Report) error {
	if line := netperfBad.FindString(text); line != "" {
		if err := r.doubt(fault.Guestf("netperf failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	if err := r.refused(text); err != nil {
		return err
	}
	t := netperfText{r: r}
	for line := range strings.SplitSeq(text, "\n") {
		if err := t.line(line); err != nil {
			return err
		}
	}
	if t.keys {
		t.rows = t.tests
	}
	if t.open > 0 || t.rows < t.tests {
		return r.doubt(fault.Guestf("the output of netperf has the beginning of %d reports, but not all their lines: it is "+
			"cut off", t.tests))
	}
	return nil
}

func (t *netperfText) line(line string) error {
	if m := netperfTest.FindStringSubmatch(line); m != nil {
		if t.tests++; t.tests == 1 {
			t.r.say("test", netperfName(m[1]))
		}
		t.unit, t.head = "", nil
		return nil
	}
	if m := netperfUnit.FindStringSubmatch(line); m != nil {
		t.unit = m[1]
	}
	if m := netperfClasses.FindStringSubmatch(line); m != nil {
		t.histogram(m[1], m[2])
		return nil
	}
	if m := netperfBeyond.FindStringSubmatch(line); m != nil {
		name := "latencies"
		if m[1] != "HIST_TOTAL" {
			name = "latencies " + strings.ToLower(strings.ReplaceAll(m[1], "_", " "))
		}
		t.r.add(name, t.r.number(m[2]), "1", "")
		return nil
	}
	if m := netperfKey.FindStringSubmatch(line); m != nil {
		t.keys = true
		return t.key(m[1], m[2])
	}
	if strings.HasPrefix(line, "Size (bytes)") || strings.HasPrefix(line, "Alignment ") { // of -v 2
		t.open++
	}
	for _, kind := range netperfKinds {
		m := kind.line.FindStringSubmatch(line)
		if m == nil || kind.part == netperfMore && t.open == 0 {
			continue
		}
		switch kind.part {
		case netperfFirst:
			t.rows, t.open = t.rows+1, t.open+1
		case netperfOnly:
			t.rows++
		case netperfMore:
			t.open--
		}
		if kind.part != netperfAside {
			t.head = nil
		}
		for i, c := range kind.columns {
			if c == label || m[i+1] == "" || strings.HasPrefix(m[i+1], "-") {
				continue
			}
			if err := t.add(groups(c.name, m), m[i+1], c.unit, c.better); err != nil {
				return err
			}
		}
		return nil
	}
	if done, err := t.table(line); done || err != nil {
		return err
	}
	if netperfBare.MatchString(line) {
		return damaged("netperf", line)
	}
	t.head = append(t.head, line)
	return nil
}

// histogram adds the counts of a line of the histogram. A class is named by its lower end.
func (t *netperfText) histogram(row, counts string) {
	scale, unit, _ := strings.Cut(strings.TrimSuffix(row, "S"), "_")
	width := map[string]int{"UNIT": 1, "TEN": 10, "HUNDRED": 100}[scale]
	unit = map[string]string{"NSEC": "ns", "USEC": "us", "MSEC": "ms", "SEC": "s"}[unit]
	for i, word := range strings.Split(counts, ":")[1:] {
		t.r.add("latencies from "+strconv.Itoa(i*width)+" "+unit, t.r.number(strings.TrimSpace(word)), "1", "")
	}
}

// add adds a figure. The unit of rates is only known at the end of the report, if it is in a key.
func (t *netperfText) add(name, word, unit string, better Better) error {
	v, err := Number(word)
	if err != nil {
		return err
	}
	if unit == netperfRate {
		if of, ok := netperfRates[t.unit]; ok {
			t.r.addAs(of.factor, name, v, of.name, better)
			return nil
		}
	}
	t.r.add(name, v, unit, better)
	return nil
}

// key reads a line of the option -k. Figures that were not measured are below 0 or not a number.
func (t *netperfText) key(name, word string) error {
	if name == netperfRate {
		t.setUnit(word)
		return nil
	}
	if netperfComma.MatchString(word) {
		return damaged("netperf", name+"="+word)
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return nil
	}
	of, ok := netperfNames[name]
	if !ok {
		of = column{name, "as printed", ""}
	}
	return t.add(of.name, word, of.unit, of.better)
}

// setUnit gives the figures that are rates the unit in a report with keys, or with a column for it.
func (t *netperfText) setUnit(word string) {
	unit, factor := quoteless(word), 0.
	bare, _, _ := strings.Cut(word, "/s")
	if of, ok := netperfRates[bare]; ok {
		unit, factor = of.name, of.factor
	}
	for i, f := range t.r.Figures {
		if f.Unit == netperfRate {
			t.r.Figures[i].Unit, t.r.Figures[i].factor = unit, factor
		}
	}
}

// table reads the line of figures of the options -o and -O, which are below their headings.
func (t *netperfText) table(line string) (bool, error) {
	if len(t.head) == 0 || t.tests == 0 {
		return false, nil
	}
	if last := t.head[len(t.head)-1]; strings.Count(last, ",") > 0 && !strings.HasPrefix(last, "!!!") {
		return t.csv(last, line)
	}
	if !netperfOmni.MatchString(t.head[0]) || !netperfNumber.MatchString(line) {
		return false, nil
	}
	if slices.ContainsFunc(t.head, func(s string) bool { return len(s) != len(line) }) || netperfComma.MatchString(line) {
		return true, damaged("netperf", line)
	}
	// Headings and figures are aligned on the left.
	var starts []int
	for i := range line {
		if line[i] != ' ' && (i == 0 || line[i-1] == ' ') {
			starts = append(starts, i)
		}
	}
	names, words := make([]string, len(starts)), make([]string, len(starts))
	for i, from := range starts {
		to := math.MaxInt
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		cut := func(s string) string { return strings.TrimSpace(s[min(from, len(s)):min(to, len(s))]) }
		for _, head := range t.head {
			names[i] = strings.TrimSpace(names[i] + " " + cut(head))
		}
		words[i] = cut(line)
	}
	return true, t.named(names, words)
}

var (
	netperfOmni = regexp.MustCompile(`^(?:Local|Remote|Throughput|Elapsed|Socket|Request|Mean|\S+ +\S+ +Throughpu` +
		`t)\b.*[^ .:].*$`)
	netperfNumber = regexp.MustCompile(`(?:^| )-?\d+(?:[.,]\d+)? `)
	netperfComma  = regexp.MustCompile(`\d,\d`)
	netperfBare   = regexp.MustCompile(`^[ \d.,-]*\d[ \d.,-]*$`)
)

func (t *netperfText) csv(head, line string) (bool, error) {
	var rows [][]string
	for _, s := range []string{head, line} {
		reader := csv.NewReader(strings.NewReader(s))
		reader.LazyQuotes = true
		fields, err := reader.Read()
		if err != nil {
			return false, nil
		}
		rows = append(rows, fields)
	}
	if len(rows[0]) != len(rows[1]) {
		return true, fault.Guestf("netperf prints %d headings, but %d figures: %s", len(rows[0]), len(rows[1]), Quote(line))
	}
	return true, t.named(rows[0], rows[1])
}

// named adds the figures with these headings.
func (t *netperfText) named(names, words []string) error {
	t.rows++
	t.head = nil
	unit := ""
	for i, name := range names {
		if name == "Throughput Units" {
			unit = words[i]
			continue
		}
		v, err := strconv.ParseFloat(words[i], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			continue
		}
		of := column{quoteless(name), "as printed", ""}
		switch {
		case name == "Throughput":
			of = column{"throughput", netperfRate, Higher}
		case strings.HasPrefix(name, "Elapsed Time"):
			of = column{"time", "s", Lower}
		case name == "Mean Latency Microseconds":
			of = column{"mean latency", "us", Lower}
		}
		if err := t.add(of.name, words[i], of.unit, of.better); err != nil {
			return err
		}
	}
	if unit != "" {
		t.setUnit(unit)
	}
	return nil
}

// netperfName returns the name of a test, such as TCP_STREAM, for the words of its first line.
func netperfName(words string) string {
	switch words {
	case "TCP Connect/Request/Response":
		return "TCP_CRR"
	case "TCP Connect/Close":
		return "TCP_CC"
	case "OMNI Send":
		return "TCP_STREAM"
	}
	return strings.ReplaceAll(strings.ReplaceAll(words, "REQUEST/RESPONSE", "RR"), " ", "_")
}
