package tool

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// figureLine is a kind of line with figures: each group of the expression is a column.
type figureLine struct {
	line    *regexp.Regexp
	words   string // with which such a line begins; "": not the same in all of them
	columns []column
}

// column is a figure in a line. %1, %2 and so on in its name stand for the groups of the expression. A
// group without a name is only there for that. A figure that a line leaves out is no figure.
type column struct {
	name, unit string
	better     Better
}

// label is a column that is no figure.
var label = column{}

// figures returns the lines whose last group is a figure and whose other groups are part of its name.
func figures(line, name, unit string, better Better) figureLine {
	re := regexp.MustCompile("(?m)" + line)
	columns := append(make([]column, re.NumSubexp()-1), column{name, unit, better})
	words := strings.TrimLeft(strings.TrimPrefix(line, "^"), " *+")
	if i := strings.IndexAny(words, `([\+*{|`); i >= 0 {
		words = words[:i]
	}
	return figureLine{re, strings.TrimSpace(words), columns}
}

// row returns the lines with a figure, or a label, for each group.
func row(line string, columns ...column) figureLine {
	of := figures(line, "", "", "")
	of.columns = columns
	return of
}

// lineTool is a tool that prints each figure on a line of its own.
type lineTool struct {
	failed *regexp.Regexp // lines of a failed run; nil: the complaints of any tool
	lines  []figureLine
	check  func(r *Report) error // returns the contradictions between figures; nil: none
}

// lines returns a function that finds all figures in all kinds of line.
func lines(t lineTool) func(text string, r *Report) error {
	return func(text string, r *Report) error {
		if t.failed == nil {
			if err := refused(r.Tool, text); err != nil {
				return err
			}
		} else if line := t.failed.FindString(text); line != "" {
			return fault.Guestf("%s failed: %s", r.Tool, Quote(line))
		} else if err := timedFailure(text); err != nil {
			return err
		}
		if err := addFigures(r, text, t.lines); err != nil {
			return err
		}
		if t.check != nil {
			return t.check(r)
		}
		return nil
	}
}

// addFigures finds all figures in all kinds of line.
func addFigures(r *Report, text string, kinds []figureLine) error {
	for _, kind := range kinds {
		for _, c := range kind.columns {
			r.expect(c.name, kind.words)
		}
		for _, m := range kind.line.FindAllStringSubmatch(text, -1) {
			for i, c := range kind.columns {
				if c == label || m[i+1] == "" {
					continue
				}
				v, err := Number(m[i+1])
				if err != nil {
					return err
				}
				r.add(groups(c.name, m), v, c.unit, c.better)
			}
		}
	}
	return nil
}

// groups returns a name with the groups of a match in place of %1, %2 and so on.
func groups(name string, m []string) string {
	for i := len(m) - 1; i > 0 && strings.Contains(name, "%"); i-- {
		name = strings.ReplaceAll(name, "%"+strconv.Itoa(i), quoteless(m[i]))
	}
	return name
}

var abLines = lineTool{regexp.MustCompile(`(?m)^(?:.*apr_.*|ab: .*|Test aborted.*|The timeout specified.*)$`),
	[]figureLine{
		figures(`^Document Length: +(\d+) bytes`, "document length", "B", ""),
		figures(`^Concurrency Level: +(\d+)`, "concurrency", "1", ""),
		figures(`^Time taken for tests: +([\d.]+) seconds`, "time", "s", Lower),
		figures(`^Complete requests: +(\d+)`, "complete", "1", ""),
		figures(`^Failed requests: +(\d+)`, "failed", "1", Lower),
		figures(`^Non-2xx responses: +(\d+)`, "non-2xx", "1", Lower),
		figures(`^Requests per second: +([\d.]+)`, "requests", "1/s", Higher),
		figures(`^Time per request: +([\d.]+) \[ms\] \(mean\)`, "time per request", "ms", Lower),
		figures(`^ +\(Connect: (\d+), Receive: `, "failed to connect", "1", Lower),
		figures(`^ +\(Connect: \d+, Receive: (\d+), `, "failed to receive", "1", Lower),
		figures(`, Length: (\d+), Exceptions: `, "failed by length", "1", Lower),
		figures(`, Exceptions: (\d+)\)`, "failed by exception", "1", Lower),
		figures(`^Write errors: +(\d+)`, "write errors", "1", Lower),
		figures(`^Total transferred: +(\d+) bytes`, "transferred", "B", ""),
		figures(`^HTML transferred: +(\d+) bytes`, "transferred pages", "B", ""),
		figures(`^Transfer rate: +([\d.]+) \[Kbytes/sec\] received`, "transfer rate", "KB/s", Higher),
		figures(`^ +(\d+)% +(\d+)(?: \(longest request\))?$`, "percentile %1", "ms", Lower),
	}, func(r *Report) error {
		complete, seconds, rate := r.Value("complete"), r.Value("time"), r.Value("requests")
		if did := rate * seconds; math.Abs(did-complete) > 0.01*complete+1 && math.Abs(did-complete) > 0.0006*rate {
			return Contradiction("rate × time is not the number of requests: %v/s, %v s, %.0f requests", rate, seconds, complete)
		}
		latency, clients := r.Value("time per request")/1e3, r.Value("concurrency")
		if math.Abs(latency*rate-clients) > 0.01*clients+1e-6*rate {
			return Contradiction("latency × rate is not the number of clients: %v s, %v/s, %v clients", latency, rate, clients)
		}
		return nil
	}}

var dbenchLines = lineTool{failed: regexp.MustCompile(`(?m)^.*(?:Can't open|Failed to|No such file|No space left|clients failed).*$`),
	lines: []figureLine{
		figures(`^Throughput ([\d.]+) MB/sec`, "throughput", "MB/s", Higher),
		figures(`max_latency=([\d.]+) ms`, "max latency", "ms", Lower),
	}}

var nbenchLines = lineTool{lines: []figureLine{
	figures(`^(NUMERIC SORT|STRING SORT|BITFIELD|FP EMULATION|FOURIER|ASSIGNMENT|IDEA|HUFFMAN|NEURAL NET|LU DECOMPOSITION) *: +([\d.e+]+) `,
		"%1", "1/s", Higher),
	figures(`^(MEMORY|INTEGER|FLOATING-POINT) INDEX *: ([\d.]+)$`, "%1 INDEX", "index", Higher),
}}

// unixbenchLines are those of UnixBench's Run, and of its program fstime.
var unixbenchLines = lineTool{regexp.MustCompile(`(?m)^(?:.*\*\*\* (?:Error|No rule).*|Run: .*|.*[Aa]bort(?:ing|ed).*)$`), []figureLine{
	figures(`^(\w.*?\S) {2,}([\d.]+) +[\d.]+ +[\d.]+$`, "%1: baseline", "as printed", Higher),
	figures(`^(\w.*?\S) {2,}[\d.]+ +([\d.]+) +[\d.]+$`, "%1", "as printed", Higher),
	figures(`^(\w.*?\S) {2,}[\d.]+ +[\d.]+ +([\d.]+)$`, "%1: index", "index", Higher),
	figures(`^System Benchmarks Index Score.*? +([\d.]+)$`, "index", "index", Higher),
	figures(`^(Write|Read|Copy) done: (\d+) in \d`, "%1: done", "256 B", ""),
	figures(`^(Write|Read|Copy) done: \d+ in (\d+\.\d+), `, "%1: time", "s", Lower),
	figures(`^(Write|Read|Copy) done: \d+ in \d+\.\d+, score (\d+)\r?$`, "%1: score", "KiB/s", Higher),
}, func(r *Report) error {
	for _, test := range []string{"Write", "Read", "Copy"} {
		done, seconds, score := r.Value(test+": done"), r.Value(test+": time"), r.Value(test+": score")
		if math.Abs(done/4-score*seconds) > (0.01*score+1)*seconds {
			return Contradiction("fstime: rate × time is not the size: %.0f units of 256 bytes in %g s are not %.0f KiB/s",
				done, seconds, score)
		}
	}
	return nil
}}

var (
	lmbenchLines = lines(lineTool{lines: []figureLine{
		figures(`^Pipe bandwidth: ([\d.]+) MB/sec$`, "pipe bandwidth", "MB/s", Higher),
		figures(`^(Pipe latency|Simple [\w/]+|Process [\w+]+|Signal [\w ]+|AF_UNIX sock stream latency): ([\d.]+) microseconds$`, "%1", "us", Lower),
		figures(`^((?:u?int(?:eger|64)|float|double) \w+): ([\d.]+) nanoseconds$`, "%1", "ns", Lower),
	}})
	lmbenchPair = regexp.MustCompile(`(?m)^([\d.]+) ([\d.]+)$`)
	lmbenchCtx  = regexp.MustCompile(`(?m)^"size=`)
	lmbenchLat  = regexp.MustCompile(`(?m)^"stride=`)
)

// readLmbench also reads lines of two numbers. Their meaning depends on the header line above them,
// which bw_mem and bw_file_rd do not print.
func readLmbench(text string, r *Report) error {
	ctx, lat := lmbenchCtx.MatchString(text), lmbenchLat.MatchString(text)
	for _, m := range lmbenchPair.FindAllStringSubmatch(text, -1) {
		f, err := Numbers(m[1:]...)
		if err != nil {
			continue
		}
		switch {
		case ctx:
			r.add("context switch of "+m[1]+" processes", f[1], "us", Lower)
			r.add("processes", f[0], "1", "")
		case lat:
			r.add("load of "+m[1]+" MB", f[1], "ns", Lower)
		default:
			r.add("size", f[0], "MB", "")
			r.add("bandwidth", f[1], "MB/s", Higher)
		}
	}
	return lmbenchLines(text, r)
}
