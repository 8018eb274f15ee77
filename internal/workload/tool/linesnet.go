package tool

import (
	"cmp"
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// streamed checks that rate × time is the size in the report of one transfer. Times have two
// decimals.
func streamed(rate, size, time string) func(r *Report) error {
	return func(r *Report) error {
		if len(r.All(rate)) != 1 || len(r.All(size)) != 1 || len(r.All(time)) != 1 {
			return nil
		}
		perSecond, bytes, seconds := r.All(rate)[0].In("B/s"), r.All(size)[0].In("B"), r.Value(time)
		if off := math.Abs(perSecond*seconds - bytes); off > 0.001*bytes+0.006*perSecond {
			if err := r.doubt(Contradiction("rate × time is not the size: %v bit/s, %v s, %.0f bytes", perSecond*8, seconds,
				bytes)); err != nil {
				return err
			}
		}
		return nil
	}
}

var ttcpLines = lineTool{nil, ttcpFigures("bytes"), func(r *Report) error {
	for _, name := range []string{"I/O calls", "user time"} { // lines that every run has
		if _, err := r.One(name); err != nil && len(r.Figures) > 0 {
			return fault.Guestf("this is not the complete output of one run of ttcp: %w", err)
		}
	}
	return streamed("throughput", "bytes", "time")(r)
}}

// ttcpFigures are the lines of ttcp. Its k, K, m, M, g and G are powers of 1024.
func ttcpFigures(size string) []figureLine {
	lines := []figureLine{
		figures(`: (\d+) bytes in [\d.]+ real seconds`, size, "B", ""),
		figures(`: \d+ bytes in ([\d.]+) real seconds`, "time", "s", Lower),
		figures(`: \d+ bytes in ([\d.]+) CPU seconds`, "CPU time", "s", Lower),
		row(`: (\d+) I/O calls, msec/call = ([\d.]+), calls/sec = ([\d.]+)`, column{"I/O calls", "1", ""},
			column{"time of a call", "ms", Lower}, column{"calls", "1/s", Higher}),
		row(`^(?:nu)?ttcp-[tr]: ([\d.]+)user ([\d.]+)sys ([\d:]+)real (\d+)% (\d+)i\+(\d+)d (\d+)maxrss (\d+)\+(\d+)pf (\d+)\+(\d+)csw$`,
			column{"user time", "s", Lower}, column{"system time", "s", Lower}, label, column{"CPU", "%", ""},
			column{"shared text", "KiB", Lower}, column{"private data", "KiB", Lower}, column{"max resident set", "KiB", Lower},
			column{"major page faults", "1", Lower}, column{"minor page faults", "1", Lower},
			column{"voluntary context switches", "1", Lower}, column{"involuntary context switches", "1", Lower}),
	}
	for _, unit := range [][2]string{{"KB", "KB/s"}, {"MB", "MiB/s"}, {"GB", "GiB/s"}, {"Kbit", "2^10 bit/s"},
		{"Mbit", "2^20 bit/s"}, {"Gbit", "2^30 bit/s"}} {
		lines = append(lines, figures(`real seconds = ([\d.]+) `+unit[0]+`/sec`, "throughput", unit[1], Higher),
			figures(`CPU seconds = ([\d.]+) `+unit[0]+`/cpu sec`, "throughput of CPU time", unit[1], Higher))
	}
	return lines
}

// netpipeRow is a row of NetPIPE's table, of a measurement or of a check with -i.
const netpipeRow = `^ *\d+: +(\d+) bytes +(\d+) times --> +(?:([\d.]+) Mbps in +([\d.]+) usec|Integrity check passed) *$`

var (
	netpipeStart = regexp.MustCompile(`^ *\d+: +\d`)
	netpipeWhole = regexp.MustCompile(netpipeRow)
)

// readNetpipe reads NetPIPE's table, whose last row may be cut off.
func readNetpipe(text string, r *Report) error {
	for line := range strings.SplitSeq(text, "\n") {
		if netpipeStart.MatchString(line) && !netpipeWhole.MatchString(line) {
			return damaged("NetPIPE", line)
		}
	}
	return lines(netpipeLines)(text, r)
}

// netpipeLines are those of the output on the terminal, and of the file of -o, which has no number
// of round trips.
var netpipeLines = lineTool{regexp.MustCompile(`(?m)^(?:Client: Cannot.*|NetPIPE: .*)$`), []figureLine{
	row(netpipeRow, label, column{"round trips of %1 bytes", "1", ""},
		column{"throughput of %1 bytes", "2^20 bit/s", Higher}, column{"time of %1 bytes", "us", Lower}),
	row(`^ +(\d+) ([\d.]+) +([\d.]+) *$`, column{"message", "B", ""},
		column{"throughput of %1 bytes", "2^20 bit/s", Higher}, column{"time of %1 bytes", "s", Lower}),
}, func(r *Report) error {
	var times []Figure // in the order of the rates
	for _, f := range r.Figures {
		if strings.HasPrefix(f.Name, "time of ") {
			times = append(times, f)
		}
	}
	for _, rate := range r.Figures {
		size, ok := strings.CutPrefix(rate.Name, "throughput of ")
		if !ok || len(times) == 0 {
			continue
		}
		time := times[0]
		times = times[1:]
		word, _, _ := strings.Cut(size, " ")
		bytes := r.number(word)
		if bytes == 0 || rate.Value == 0 || time.Value == 0 {
			return fault.Guestf("NetPIPE reports no data or no time for messages of %s", size)
		}
		// Microseconds and rates have at least two decimals. With -2, both sides send at the same time.
		rounding := 0.01/rate.Value + 1e-8/time.In("s")
		product := rate.In("B/s") * time.In("s")
		if math.Abs(product-bytes) > (0.01+rounding)*bytes && math.Abs(product-2*bytes) > 2*(0.01+rounding)*bytes {
			if err := r.doubt(Contradiction("rate × time is not the size of messages of %s: %v × 2^20 bit/s, %v %s",
				size, rate.Value, time.Value, time.Unit)); err != nil {
				return err
			}
		}
	}
	return nil
}}

var (
	qperfTest = regexp.MustCompile(`^(\w+):$`)
	qperfLine = regexp.MustCompile(`^ +(\w+) += +(\S+)(?: (\S+(?: cpus)?))? *$`)
)

// readQperf names figures like "tcp_bw: bw", with the units as printed.
func readQperf(text string, r *Report) error {
	if err := r.refused(text); err != nil {
		return err
	}
	test, open := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := qperfTest.FindStringSubmatch(line); m != nil {
			if open {
				break
			}
			test, open = m[1], true
			continue
		}
		m := qperfLine.FindStringSubmatch(line)
		if m == nil || test == "conf" {
			open = open && test != "conf"
			continue
		}
		v, err := Number(m[2])
		if err != nil {
			return damaged("qperf", line)
		}
		better := Higher
		if strings.HasSuffix(m[1], "latency") || strings.Contains(m[1], "cpu") || strings.HasSuffix(m[1], "cost") {
			better = Lower
		}
		r.add(test+": "+m[1], v, m[3], better)
		open = false
	}
	if open {
		return fault.Guestf("the output of qperf has no figures of %s: it is cut off", test)
	}
	return nil
}

var sockperfLines = lineTool{lines: []figureLine{
	figures(`Summary: Latency is ([\d.]+) usec`, "mean latency", "us", Lower),
	figures(`Summary: Round trip is ([\d.]+) usec`, "mean round trip", "us", Lower),
	figures(`percentile ([\d.]+) = +([\d.]+)$`, "percentile %1", "us", Lower),
	figures(`Summary: Message Rate is ([\d.]+) \[msg/sec\]`, "messages", "1/s", Higher),
	row(`Packet Rate is about ([\d.]+) \[pkt/sec\](?: \((\d+) ip frags / msg\))?`, column{"packets, about", "1/s", Higher},
		column{"fragments of a message", "1", ""}),
	row(`Summary: BandWidth is (\d+\.\d+) MBps \((\d+\.\d+) Mbps\)$`, column{"bandwidth", "MiB/s", Higher},
		column{"bandwidth, Mbps", "2^20 bit/s", Higher}),
	row(`\[(Total Run|Valid Duration)\] RunTime=(\d+\.\d+) sec;(?: Warm up time=(\d+) msec;)? SentMessages=(\d+); R`+
		`eceivedMessages=(\d+)$`,
		label, column{"%1: time", "s", ""}, column{"%1: warm-up", "ms", ""}, column{"%1: sent", "1", ""},
		column{"%1: received", "1", ""}),
	row(`# dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)$`,
		column{"dropped", "1", Lower},
		column{"duplicated", "1", Lower}, column{"out of order", "1", Lower}),
	row(`Total (\d+) observations; each percentile contains (\d+\.\d+) observations$`, column{"observations", "1", ""},
		column{"observations of a percentile", "1", ""}),
	figures(`---> <(MAX|MIN)> observation = +(\d+\.\d+)$`, "%1 observation", "us", Lower),
	row(`Total of (\d+) messages sent in (\d+\.\d+) sec$`, column{"sent", "1", ""}, column{"time", "s", ""}),
}}

var tcpbenchLines = lineTool{lines: []figureLine{
	figures(`Avg Mbps: +(\d+\.\d+) *$`, "throughput", "10^6 bit/s", Higher),
	figures(`Conn: +\d+ Mbps: +(\d+\.\d+) `, "throughput of the last interval", "10^6 bit/s", Higher),
	figures(`Peak Mbps: +(\d+\.\d+) `, "peak throughput", "10^6 bit/s", Higher),
	figures(`Conn: +(\d+) Mbps: +\d`, "connections", "1", ""),
	row(`^ +(\d+) +(\d+) +(\d+\.\d+) +(\d+\.\d+)% *$`, column{"at", "ms", ""}, column{"bytes", "B", ""},
		column{"interval", "10^6 bit/s", Higher}, column{"bandwidth share", "%", ""}),
}, check: func(r *Report) error {
	if at, sums := len(r.All("at")), len(r.All("throughput")); at != sums {
		return fault.Guestf("the output of tcpbench has %d intervals, but %d lines \"Conn:\": it is cut off", at, sums)
	}
	return nil
}}

var (
	// sockperfMean is the line of the mean; each version prints more statistics in it.
	sockperfMean  = regexp.MustCompile(`avg-(?:latency|rtt|lat)= *([\d.]+) \((.*)\)$`)
	sockperfPair  = regexp.MustCompile(`([a-z][a-z-]*)=([\d.]+)`)
	sockperfRange = regexp.MustCompile(`([\d.]+)% ci=\[([\d.]+), ([\d.]+)\]`)
	sockperfIs    = regexp.MustCompile(`== version #(\S+) ==`)
	sockperfNames = map[string]string{"std-dev": "standard deviation"}
)

// readSockperf reads the report of sockperf, also in parts that people published.
func readSockperf(text string, r *Report) error {
	if err := lines(sockperfLines)(text, r); err != nil {
		return err
	}
	if m := sockperfIs.FindStringSubmatch(text); m != nil {
		r.Version = m[1]
	}
	for line := range strings.Lines(text) {
		m := sockperfMean.FindStringSubmatch(strings.TrimRight(line, " \n"))
		if m == nil {
			continue
		}
		for _, of := range sockperfPair.FindAllStringSubmatch(m[2], -1) {
			unit := "us"
			if of[1] == "cv" {
				unit = "1"
			}
			name, ok := sockperfNames[of[1]]
			if !ok {
				name = of[1]
			}
			r.add(name, r.number(of[2]), unit, Lower)
		}
		for _, of := range sockperfRange.FindAllStringSubmatch(m[2], -1) {
			r.add(of[1]+" % confidence interval: from", r.number(of[2]), "us", Lower)
			r.add(of[1]+" % confidence interval: to", r.number(of[3]), "us", Lower)
			r.Version = cmp.Or(r.Version, "3.7 or later")
		}
		if len(r.All("mean latency")) == 0 && len(r.All("mean round trip")) == 0 { // a part without the summary
			r.add("mean latency", r.number(m[1]), "us", Lower)
		}
	}
	last := "MIN observation"
	if len(r.All("messages")) > 0 || len(r.All("sent")) > 0 {
		last = "bandwidth, Mbps"
	}
	if _, err := r.One(last); err != nil && len(r.Figures) > 0 {
		if err := r.doubt(fault.Guestf("this is not the complete output of one run of sockperf: %w", err)); err != nil {
			return err
		}
	}
	// Its MBps and Mbps are 2^20 bytes and bits.
	for i, f := range r.Figures {
		switch f.Name {
		case "bandwidth":
			r.Figures[i].Printed = number(f.Value) + " MBps"
		case "bandwidth, Mbps":
			r.Figures[i].Printed = number(f.Value) + " Mbps"
		}
	}
	return nil
}
