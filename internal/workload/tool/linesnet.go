package tool

import (
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
			return Contradiction("rate × time is not the size: %v bit/s, %v s, %.0f bytes", perSecond*8, seconds, bytes)
		}
		return nil
	}
}

// nuttcpLines are those of nuttcp, with and without -fparse, and of ttcp.
var nuttcpLines = lineTool{nil, append([]figureLine{
	figures(`rate_Mbps=([\d.]+)`, "throughput", "10^6 bit/s", Higher),
	figures(`megabytes=([\d.]+)`, "transferred", "MiB", ""),
	figures(`real_seconds=([\d.]+)`, "time", "s", Lower),
	figures(` sec = +([\d.]+) Mbps`, "throughput", "10^6 bit/s", Higher),
	figures(`^ *([\d.]+) MB / +[\d.]+ sec = `, "transferred", "MiB", ""),
	figures(` MB / +([\d.]+) sec = `, "time", "s", Lower),
}, ttcpFigures("transferred")...), streamed("throughput", "transferred", "time")}

var ttcpLines = lineTool{nil, ttcpFigures("bytes"), streamed("throughput", "bytes", "time")}

func ttcpFigures(size string) []figureLine {
	return []figureLine{
		figures(`real seconds = ([\d.]+) KB/sec`, "throughput", "KB/s", Higher),
		figures(`real seconds = ([\d.]+) Mbit/sec`, "throughput", "Mbit/s", Higher),
		figures(`: (\d+) bytes in [\d.]+ real seconds`, size, "B", ""),
		figures(`: \d+ bytes in ([\d.]+) real seconds`, "time", "s", Lower),
	}
}

// netpipeLines are those of the output on the terminal, and of the file of -o, which has no number
// of round trips.
var netpipeLines = lineTool{regexp.MustCompile(`(?m)^(?:Client: Cannot.*|NetPIPE: .*)$`), []figureLine{
	figures(`^ *\d+: +(\d+) bytes +\d+ times --> +([\d.]+) Mbps`, "throughput of %1 bytes", "2^20 bit/s", Higher),
	figures(`^ *\d+: +(\d+) bytes +\d+ times --> +[\d.]+ Mbps in +([\d.]+) usec *$`, "time of %1 bytes", "us", Lower),
	figures(`^ +(\d+) ([\d.]+) +[\d.]+ *$`, "throughput of %1 bytes", "2^20 bit/s", Higher),
	figures(`^ +(\d+) [\d.]+ +([\d.]+) *$`, "time of %1 bytes", "s", Lower),
	figures(`^ +(\d+) [\d.]+ +[\d.]+ *$`, "message", "B", ""),
	figures(`^ *\d+: +(\d+) bytes +(\d+) times -->`, "round trips of %1 bytes", "1", ""),
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
		bytes, err := Number(word)
		if err != nil {
			return err
		}
		if bytes == 0 || rate.Value == 0 || time.Value == 0 {
			return fault.Guestf("NetPIPE reports no data or no time for messages of %s", size)
		}
		// Microseconds and rates have at least two decimals.
		rounding := 0.01/rate.Value + 1e-8/time.In("s")
		if off := math.Abs(rate.In("B/s")*time.In("s") - bytes); off > (0.01+rounding)*bytes {
			return Contradiction("rate × time is not the size of messages of %s: %v × 2^20 bit/s, %v %s",
				size, rate.Value, time.Value, time.Unit)
		}
	}
	return nil
}}

var qperfLines = lineTool{lines: []figureLine{
	figures(`^ +(\w+) += +([\d.]+) [KMGT]?B/sec`, "%1", "as printed", Higher),
	figures(`^ +(\w+) += +([\d.]+) (?:us|ns|ms)`, "%1", "as printed", Lower),
	figures(`^ +(\w+) += +([\d.]+) bytes/sec`, "%1", "B/s", Higher),
	figures(`^ +(\w+) += +([\d.]+) /sec`, "%1", "1/s", Higher),
}}

var sockperfLines = lineTool{lines: []figureLine{
	figures(`Summary: Latency is ([\d.]+) usec`, "mean latency", "us", Lower),
	figures(`percentile ([\d.]+) = +([\d.]+)`, "percentile %1", "us", Lower),
	figures(`Summary: Message Rate is ([\d.]+) \[msg/sec\]`, "messages", "1/s", Higher),
	figures(`Summary: BandWidth is ([\d.]+) MBps`, "bandwidth", "MB/s", Higher),
}}

var tcpbenchLines = lineTool{lines: []figureLine{figures(`Avg Mbps: +([\d.]+)`, "throughput", "10^6 bit/s", Higher)}}

var wrkLines = lineTool{failed: regexp.MustCompile(`(?m)^(?:unable to .*|  Socket errors:.*|  Non-2xx.*)$`),
	lines: []figureLine{
		figures(`^Requests/sec: +([\d.]+)$`, "requests", "1/s", Higher),
	}}
