package workload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	makeFailed   = regexp.MustCompile(`(?m)^(?:make(?:\[\d+\])?: \*\*\* .*|tar: .*|(?:ba|da)?sh: .*)$`)
	sysbenchJSON = regexp.MustCompile(`(?m)^ *"tps": (\d+\.\d+),$`)
)

// figureLine is a kind of line with figures. %1, %2 and so on in a metric's name
// stand for the expression's groups; the last group is the value.
type figureLine struct {
	line   *regexp.Regexp
	metric string
	unit   string
	better Better
}

func figures(line, metric, unit string, better Better) figureLine {
	return figureLine{regexp.MustCompile("(?m)" + line), metric, unit, better}
}

// lineTool is a tool that prints each figure on a line of its own.
type lineTool struct {
	failed *regexp.Regexp // lines of a failed run; nil: the complaints of any tool
	lines  []figureLine
}

// toolLines are the tools whose figures can be read line by line.
var toolLines = map[string]lineTool{
	"ab": {regexp.MustCompile(`(?m)^(?:.*apr_.*|ab: .*|Test aborted.*)$`), []figureLine{
		figures(`^Document Length: +(\d+) bytes`, "document length", "B", ""),
		figures(`^Concurrency Level: +(\d+)`, "concurrency", "1", ""),
		figures(`^Time taken for tests: +([\d.]+) seconds`, "time", "s", Lower),
		figures(`^Complete requests: +(\d+)`, "complete", "1", ""),
		figures(`^Failed requests: +(\d+)`, "failed", "1", Lower),
		figures(`^Non-2xx responses: +(\d+)`, "non-2xx", "1", Lower),
		figures(`^Requests per second: +([\d.]+)`, "requests", "1/s", Higher),
		figures(`^Time per request: +([\d.]+) \[ms\] \(mean\)`, "time per request", "ms", Lower),
	}},
	"dbench": {regexp.MustCompile(`(?m)^.*(?:Can't open|Failed to|No such file|No space left|clients failed).*$`), []figureLine{
		figures(`^Throughput ([\d.]+) MB/sec`, "throughput", "MB/s", Higher),
		figures(`max_latency=([\d.]+) ms`, "max latency", "ms", Lower),
	}},
	"iperf2": {regexp.MustCompile(`(?m)^.*(?:connect failed|WARNING|unable to).*$`), []figureLine{
		figures(`^(?:[^,\n]+,){7}(\d+),\d+$`, "bytes", "B", ""),
		figures(`^(?:[^,\n]+,){8}(\d+)$`, "throughput", "bit/s", Higher),
		figures(`([\d.]+) Gbits/sec$`, "throughput", "Gbit/s", Higher),
		figures(`([\d.]+) Mbits/sec$`, "throughput", "Mbit/s", Higher),
	}},
	"lmbench": {nil, []figureLine{
		figures(`^Pipe bandwidth: ([\d.]+) MB/sec$`, "pipe bandwidth", "MB/s", Higher),
		figures(`^(Pipe latency|Simple [\w/]+|Process [\w+]+|Signal [\w ]+|AF_UNIX sock stream latency): ([\d.]+) microseconds$`, "%1", "us", Lower),
		figures(`^((?:u?int(?:eger|64)|float|double) \w+): ([\d.]+) nanoseconds$`, "%1", "ns", Lower),
	}},
	"nbench": {nil, []figureLine{
		figures(`^(NUMERIC SORT|STRING SORT|BITFIELD|FP EMULATION|FOURIER|ASSIGNMENT|IDEA|HUFFMAN|NEURAL NET|LU DECOMPOSITION) *: +([\d.e+]+) `, "%1", "1/s", Higher),
		figures(`^(MEMORY|INTEGER|FLOATING-POINT) INDEX *: ([\d.]+)$`, "%1 INDEX", "index", Higher),
	}},
	"netperf": {regexp.MustCompile(`(?m)^(?:establish.control.*|netperf: .*|.*[Uu]sage: netperf.*)$`), []figureLine{
		figures(`^\d+ +\d+ +\d+ +\d+ +[\d.]+ +([\d.]+) *$`, "transactions", "1/s", Higher),
		figures(`^ *\d+ +\d+ +\d+ +[\d.]+ +([\d.]+) *$`, "throughput", "10^6 bit/s", Higher),
		figures(`^([\d.]+)$`, "result", "1/s or 10^6 bit/s", Higher),
		figures(`^THROUGHPUT=([\d.]+)$`, "throughput", "THROUGHPUT_UNITS", Higher),
		figures(`^MEAN_LATENCY=([\d.]+)$`, "mean latency", "us", Lower),
		figures(`Throughput +: ([\d.]+)%$`, "confidence interval not reached, is", "%", Lower),
	}},
	"netpipe": {regexp.MustCompile(`(?m)^(?:Client: Cannot.*|NetPIPE: .*)$`), []figureLine{
		figures(`^ *\d+: +(\d+) bytes +\d+ times --> +([\d.]+) Mbps`, "throughput of %1 bytes", "2^20 bit/s", Higher),
		figures(`^ *\d+: +(\d+) bytes +\d+ times --> +[\d.]+ Mbps in +([\d.]+) usec$`, "time of %1 bytes", "us", Lower),
		figures(`^ +(\d+) ([\d.]+) +[\d.]+$`, "throughput of %1 bytes", "2^20 bit/s", Higher),
		figures(`^ +(\d+) [\d.]+ +([\d.]+)$`, "time of %1 bytes", "s", Lower),
		figures(`^ +(\d+) [\d.]+ +[\d.]+$`, "message", "B", ""),
	}},
	"nuttcp": {nil, []figureLine{
		figures(`rate_Mbps=([\d.]+)`, "throughput", "10^6 bit/s", Higher),
		figures(`megabytes=([\d.]+)`, "transferred", "MiB", ""),
		figures(`real_seconds=([\d.]+)`, "time", "s", Lower),
		figures(` sec = +([\d.]+) Mbps`, "throughput", "10^6 bit/s", Higher),
	}},
	"qperf": {nil, []figureLine{
		figures(`^ +(\w+) += +([\d.]+) [KMGT]?B/sec`, "%1", "as printed", Higher),
		figures(`^ +(\w+) += +([\d.]+) (?:us|ns|ms)`, "%1", "as printed", Lower),
		figures(`^ +(\w+) += +([\d.]+) bytes/sec`, "%1", "B/s", Higher),
		figures(`^ +(\w+) += +([\d.]+) /sec`, "%1", "1/s", Higher),
	}},
	"sockperf": {nil, []figureLine{
		figures(`Summary: Latency is ([\d.]+) usec`, "mean latency", "us", Lower),
		figures(`percentile ([\d.]+) = +([\d.]+)`, "percentile %1", "us", Lower),
		figures(`Summary: Message Rate is ([\d.]+) \[msg/sec\]`, "messages", "1/s", Higher),
		figures(`Summary: BandWidth is ([\d.]+) MBps`, "bandwidth", "MB/s", Higher),
	}},
	"tcpbench": {nil, []figureLine{
		figures(`Avg Mbps: +([\d.]+)`, "throughput", "10^6 bit/s", Higher),
	}},
	"ttcp": {nil, []figureLine{
		figures(`real seconds = ([\d.]+) KB/sec`, "throughput", "KB/s", Higher),
		figures(`real seconds = ([\d.]+) Mbit/sec`, "throughput", "Mbit/s", Higher),
		figures(`: (\d+) bytes in [\d.]+ real seconds`, "bytes", "B", ""),
	}},
	"unixbench": {regexp.MustCompile(`(?m)^(?:.*\*\*\* (?:Error|No rule).*|Run: .*|.*[Aa]bort(?:ing|ed).*)$`), []figureLine{
		figures(`^(\w.*?\S) {2,}([\d.]+) +[\d.]+ +[\d.]+$`, "%1: baseline", "as printed", Higher),
		figures(`^(\w.*?\S) {2,}[\d.]+ +([\d.]+) +[\d.]+$`, "%1", "as printed", Higher),
		figures(`^(\w.*?\S) {2,}[\d.]+ +[\d.]+ +([\d.]+)$`, "%1: index", "index", Higher),
		figures(`^System Benchmarks Index Score.*? +([\d.]+)$`, "index", "index", Higher),
	}},
	"wrk": {regexp.MustCompile(`(?m)^(?:unable to .*|  Socket errors:.*|  Non-2xx.*)$`), []figureLine{
		figures(`^Requests/sec: +([\d.]+)$`, "requests", "1/s", Higher),
	}},
}

// read returns a function that finds all figures in all kinds of line.
func (l lineTool) read(name string) func(text string) ([]Figure, error) {
	return func(text string) ([]Figure, error) {
		if l.failed == nil {
			if err := refused(name, text); err != nil {
				return nil, err
			}
		} else if line := l.failed.FindString(text); line != "" {
			return nil, fault.Guestf("%s failed: %s", name, quote(line))
		}
		var all []Figure
		if name == "lmbench" {
			all = lmbenchPairs(text)
		}
		for _, want := range l.lines {
			for _, m := range want.line.FindAllStringSubmatch(text, -1) {
				v, err := number(m[len(m)-1])
				if err != nil {
					return nil, err
				}
				metric := want.metric
				for i, group := range m[1:] {
					metric = strings.ReplaceAll(metric, "%"+strconv.Itoa(i+1), quoteless(group))
				}
				all = append(all, Figure{metric, v, want.unit, want.better})
			}
		}
		if len(all) == 0 {
			return nil, fault.Guestf("the output contains no figures of %s: %s", name, quote(text))
		}
		return all, nil
	}
}

// quoteless returns a tool's word in a form fit to be part of a name.
func quoteless(s string) string {
	q := quote(s)
	return strings.ToValidUTF8(q[1:len(q)-1], "?")
}

var (
	lmbenchPair = regexp.MustCompile(`(?m)^([\d.]+) ([\d.]+)$`)
	lmbenchCtx  = regexp.MustCompile(`(?m)^"size=`)
	lmbenchLat  = regexp.MustCompile(`(?m)^"stride=`)
)

// lmbenchPairs reads lines of two numbers. Their meaning depends on the header
// line above them, which bw_mem and bw_file_rd do not print.
func lmbenchPairs(text string) []Figure {
	var all []Figure
	for _, m := range lmbenchPair.FindAllStringSubmatch(text, -1) {
		f, err := numbers(m[1:]...)
		if err != nil {
			continue
		}
		switch {
		case lmbenchCtx.MatchString(text):
			all = append(all, Figure{fmt.Sprintf("context switch of %s processes", m[1]), f[1], "us", Lower}, Figure{"processes", f[0], "1", ""})
		case lmbenchLat.MatchString(text):
			all = append(all, Figure{fmt.Sprintf("load of %s MB", m[1]), f[1], "ns", Lower})
		default:
			all = append(all, Figure{"size", f[0], "MB", ""}, Figure{"bandwidth", f[1], "MB/s", Higher})
		}
	}
	return all
}
