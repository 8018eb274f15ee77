package tool

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// The lines of iperf 2. -y C prints nine fields for TCP and fourteen for UDP.
var (
	iperf2Row = regexp.MustCompile(`^\[(SUM(?:-\d+)?| *\*?\d+)\] +(\d+\.\d+)- *(\d+\.\d+) sec +(\d+(?:\.\d+)?) ([KM` +
		`GT]?)Bytes +` +
		`(\d+(?:\.\d+)?|-?nan|-?inf) ([KMGT]?)(bits|Bytes)/sec(.*)$`)
	iperf2Any  = regexp.MustCompile(`^\[(?:SUM(?:-\d+)?| *\*?\d+)\] +\d+[.,]\d+-`)
	iperf2TCP  = regexp.MustCompile(`^ +(\d+)/(\d+) +(\d+)(?: +(-?\d+)K/(\d+)\((\d+)\) us +(\d+(?:\.\d+)?))? *$`)
	iperf2Send = regexp.MustCompile(`^ +(\d+)/(\d+) +(\d+) pps *$`)
	iperf2UDP  = regexp.MustCompile(`^ +(\d+\.\d+) ms +(\d+)/ *(\d+) \((-?[\d.e+-]+|-?nan)%\)(?: +(\d+\.\d+)/ *(\d+` +
		`\.\d+)/ *(\d+\.\d+)/ *(\d+\.\d+) ms +(\d+) pps +(\d+)/\d+\((\d+)\) pkts +(\d+(?:\.\d+)?))? *$`)
	iperf2CSV = regexp.MustCompile(`^\d{14}(?:[.:+-]\d+)*,[^,]*,-?\d+,[^,]*,-?\d+,(-?\d+),(\d+\.\d+)-(\d+\.\d+),(` +
		`\d+),(\d+)(?:,(\d+\.\d+),(\d+),(-?\d+),(-?\d+\.\d+),(\d+))?$`)
	iperf2Open = regexp.MustCompile(`(?m)^\[ *\*?\d+\] local .* connected with `)
	iperf2Sent = regexp.MustCompile(`^\[(SUM(?:-\d+)?| *\d+)\] Sent (\d+) datagrams$`)
	iperf2Swap = regexp.MustCompile(`^\[(?:SUM(?:-\d+)?| *\d+)\] +\d+\.\d+-\d+\.\d+ sec +(\d+) datagrams received o` +
		`ut-of-order$`)
	iperf2Port = regexp.MustCompile(`(?m)^\[ *\*?\d+\] local .* connected with (.*? port \d+)`)
	iperf2Conn = regexp.MustCompile(`^\[ *CT\] final connect times \(min/avg/max/stdev\) = (\d+\.\d+)/(\d+\.\d+)/(` +
		`\d+\.\d+)/(\d+\.\d+) ms`)
	iperf2Bad = regexp.MustCompile(`(?m)^.*(?:connect failed|did not receive ack|unable to|bind failed|read failed|write failed).*$`)
)

// iperf2Line is a line with a rate.
type iperf2Line struct {
	stream          string
	from, to        float64
	bytes, rate     float64
	rateUnit, order string
	none            bool // there is no rate: the line is of no time
	printedRate     string
	printedBytes    string
	more            []column
	values          []float64
}

// readIperf2 reads the text and the CSV of the client and the server. The figures of the whole test are those
// of the sum, if there are several streams, or of the only stream.
func readIperf2(text string, r *Report) error {
	if line := iperf2Bad.FindString(text); line != "" {
		if err := r.doubt(fault.Guestf("iperf failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	if err := r.doubt(timedFailure(text)); err != nil {
		return err
	}
	var rows []iperf2Line
	server, extra := "", false // the lines that follow are the server's report to the client, have columns after the rate
	sent, reports := 0, strings.Count(text, "] Server Report:\n")
	for line := range strings.SplitSeq(text, "\n") {
		if m := iperf2Swap.FindStringSubmatch(line); m != nil {
			r.add("datagrams received out of order", r.number(m[1]), "1", Lower)
			continue
		}
		if strings.HasPrefix(line, "[ ID]") {
			extra = !strings.HasSuffix(strings.TrimSpace(line), "Bandwidth")
		}
		row, ok, err := iperf2Read(r, line)
		if err != nil {
			return err
		}
		switch m := iperf2Sent.FindStringSubmatch(line); {
		case ok && extra && len(row.more) == 0 && !r.lenient:
			return damaged("iperf", line)
		case ok:
			row.order = server
			rows = append(rows, row)
			server = ""
		case m != nil:
			sent++
			r.add("stream "+strings.TrimSpace(m[1])+": sent datagrams", r.number(m[2]), "1", "")
		case strings.HasSuffix(line, "] Server Report:"):
			server = "server: "
		case strings.HasPrefix(line, "[ CT]"):
			if err := addFigures(r, line, []figureLine{{iperf2Conn, "", []column{{"min connect time", "ms", Lower},
				{"mean connect time", "ms", Lower}, {"max connect time", "ms", Lower},
				{"connect time, deviation", "ms", Lower}}}}); err != nil {
				return err
			}
		}
	}
	if server != "" {
		if err := r.doubt(fault.Guestf("iperf's output has no figures after \"Server Report:\": it is cut off")); err != nil {
			return err
		}
	}
	opened := len(iperf2Open.FindAllString(text, -1))
	if err := r.doubt(iperf2Complete(text, rows, opened)); err != nil {
		return err
	}
	if strings.Contains(text, "\nSending ") && (sent < opened || reports < opened) {
		if err := r.doubt(fault.Guestf("iperf sent datagrams in %d streams, but the output has %d reports of the server: it "+
			"is cut off", opened, reports)); err != nil {
			return err
		}
	}
	return addIperf2(r, rows)
}

// iperf2Complete returns an error if the output is not that of all streams that were opened. CSV does not say
// how many there were.
func iperf2Complete(text string, rows []iperf2Line, opened int) error {
	streams, sum := map[string]bool{}, false
	for _, row := range rows {
		if strings.HasPrefix(row.stream, "SUM") {
			sum = true
		} else {
			streams[row.stream] = true
		}
	}
	ports := map[string]bool{} // with -d and -r, the streams of the two directions have different ones
	for _, m := range iperf2Port.FindAllStringSubmatch(text, -1) {
		ports[m[1]] = true
	}
	want, wantSum := opened, opened > 1 && len(ports) == 1
	if strings.Contains(text, " (full-duplex) ") {
		want, wantSum = 2*opened, true
	}
	if opened > 0 && (len(streams) != want || wantSum && !sum) && (len(streams) > 0 || !sum) {
		return fault.Guestf("iperf had %d streams, but the output has results of %d: it is cut off, or of several runs; "+
			"save each run in its own file", want, len(streams))
	}
	return nil
}

// iperf2Read reads a line with a rate; ok is false for other lines.
func iperf2Read(r *Report, line string) (row iperf2Line, ok bool, err error) {
	if m := iperf2CSV.FindStringSubmatch(line); m != nil {
		f, err := Numbers(m[2:6]...)
		if err != nil {
			return row, false, err
		}
		stream := m[1]
		if stream == "-1" {
			stream = "SUM"
		}
		row = iperf2Line{stream: stream, from: f[0], to: f[1], bytes: f[2], rate: f[3], rateUnit: "bit/s"}
		if m[6] != "" {
			row.addAll([]column{{"jitter", "ms", Lower}, {"lost datagrams", "1", Lower}, {"datagrams", "1", ""},
				{"lost", "%", Lower}, {"datagrams out of order", "1", Lower}}, m[6:])
		}
		return row, true, nil
	}
	m := iperf2Row.FindStringSubmatch(line)
	if m == nil {
		if iperf2Any.MatchString(line) || len(line) > 14 && iperf2Stamp.MatchString(line) {
			return row, false, damaged("iperf", line)
		}
		return row, false, nil
	}
	if strings.Trim(m[6], "-ainf") == "" { // of no time
		m[6] = "0"
		row.none = true
	}
	none := row.none
	f, err := Numbers(m[2], m[3], m[4], m[6])
	if err != nil {
		return row, false, err
	}
	row = iperf2Line{stream: strings.TrimSpace(m[1]), from: f[0], to: f[1], bytes: f[2] * math.Pow(1024, power(m[5])),
		none: none, printedRate: m[6] + " " + m[7] + m[8] + "/sec", printedBytes: m[4] + " " + m[5] + "Bytes"}
	row.rate, row.rateUnit = f[3]*math.Pow(1000, power(m[7])), "bit/s"
	bytesPerSecond := row.rate / 8
	if m[8] == "Bytes" {
		row.rate, row.rateUnit = f[3]*math.Pow(1024, power(m[7])), "B/s"
		bytesPerSecond = row.rate
	}
	if off := math.Abs(bytesPerSecond*(row.to-row.from) - row.bytes); off > (ulp(m[4])+ulp(m[6]))*row.bytes+
		0.06*bytesPerSecond && !none {
		if err := r.doubt(Contradiction("rate × time is not the size: %s", Quote(line))); err != nil {
			return row, false, err
		}
	}
	rest := m[9]
	if m := iperf2TCP.FindStringSubmatch(rest); m != nil {
		row.addAll([]column{{"writes", "1", ""}, {"write errors", "1", Lower}, {"retransmits", "1", Lower},
			{"congestion window", "KiB", ""},
			{"round trip", "us", Lower}, {"round trip, variance", "us", Lower}, {"network power", "as printed", Higher}}, m[1:])
	} else if m := iperf2Send.FindStringSubmatch(rest); m != nil {
		row.addAll([]column{{"writes", "1", ""}, {"write errors", "1", Lower}, {"packets", "1/s", Higher}}, m[1:])
	} else if m := iperf2UDP.FindStringSubmatch(rest); m != nil {
		row.addAll([]column{{"jitter", "ms", Lower}, {"lost datagrams", "1", Lower}, {"datagrams", "1", ""},
			{"lost", "%", Lower}, {"mean latency", "ms", Lower}, {"min latency", "ms", Lower}, {"max latency", "ms", Lower},
			{"latency, deviation", "ms", Lower}, {"packets", "1/s", Higher}, {"received packets", "1", ""},
			{"packets in flight", "1", ""}, {"network power", "as printed", Higher}}, m[1:])
	} else if strings.TrimSpace(rest) != "" { // such as the columns of another version
		if err := r.doubt(damaged("iperf", line)); err != nil {
			return row, false, err
		}
	}
	return row, true, nil
}

var iperf2Stamp = regexp.MustCompile(`^\d{14}(?:[.:+-]\d+)*,`)

// addAll adds what follows the rate. Counts below 0 mean that there are none.
func (row *iperf2Line) addAll(columns []column, words []string) {
	for i, word := range words {
		if v, err := strconv.ParseFloat(word, 64); err == nil && !math.IsNaN(v) {
			row.more, row.values = append(row.more, columns[i]), append(row.values, max(v, 0))
		}
	}
}

// addIperf2 adds all lines. Those of the whole test begin at 0 and have the latest end of their stream.
func addIperf2(r *Report, rows []iperf2Line) error {
	last, streams := map[string]int{}, map[string]bool{} // the last line of each stream
	for i, row := range rows {
		last[row.order+row.stream] = i
		if !strings.HasPrefix(row.stream, "SUM") {
			streams[row.stream] = true
		}
	}
	for i, row := range rows {
		whole := last[row.order+row.stream] == i
		if whole && row.from != 0 {
			if err := r.doubt(fault.Guestf("the last figures of iperf's stream %s begin at %g s: the output is cut off",
				Quote(row.stream), row.from)); err != nil {
				return err
			}
			whole = false
		}
		prefix := row.order
		switch {
		case !whole:
			prefix += number(row.from) + "-" + number(row.to) + " s, " + row.stream + ": "
		case len(streams) > 1 && !strings.HasPrefix(row.stream, "SUM"):
			prefix += "stream " + row.stream + ": "
		}
		if !row.none {
			r.addFrom(row.printedRate, prefix+"throughput", row.rate, row.rateUnit, Higher)
		}
		r.addFrom(row.printedBytes, prefix+"bytes", row.bytes, "B", "")
		r.seconds(prefix+"time", row.to-row.from)
		for j, of := range row.more {
			r.add(prefix+of.name, row.values[j], of.unit, of.better)
		}
	}
	return nil
}

// iperf2Starts finds the runs in CSV, in which nothing else begins one: a stream's number comes back with other ports.
var iperf2Starts = perLine(func(ports map[string]string, line string) (map[string]string, bool) {
	m := iperf2Ends.FindStringSubmatch(line)
	switch {
	case m == nil || m[2] == "-1": // of a sum, the ports say nothing
		return ports, false
	case ports[m[2]] != "" && ports[m[2]] != m[1]:
		return map[string]string{m[2]: m[1]}, true
	case ports == nil:
		ports = map[string]string{}
	}
	ports[m[2]] = m[1]
	return ports, false
})

// iperf2Ends are the two ends of a stream, and its number, in a line of CSV.
var iperf2Ends = regexp.MustCompile(`^\d{14}(?:[.:+-]\d+)*,([^,]*,-?\d+,[^,]*,-?\d+),(-?\d+),\d`)
