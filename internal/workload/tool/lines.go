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

// column is a figure in a line. %1, %2 and so on in its name and unit stand for the groups of the expression. A
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
			if err := r.refused(text); err != nil {
				return err
			}
		} else if line := t.failed.FindString(text); line != "" {
			if err := r.doubt(fault.Guestf("%s failed: %s", r.Tool, Quote(line))); err != nil {
				return err
			}
		} else if err := r.doubt(timedFailure(text)); err != nil {
			return err
		}
		if err := addFigures(r, text, t.lines); err != nil {
			return err
		}
		if line := decimalComma.FindString(text); line != "" && len(r.Figures) > 0 {
			return foreignLocale(text, line)
		}
		if t.check != nil {
			return r.doubt(t.check(r))
		}
		return nil
	}
}

// versioned returns a reader that also finds the version, the group of the expression.
func versioned(expr string, read func(text string, r *Report) error) func(text string, r *Report) error {
	is := regexp.MustCompile("(?m)" + expr)
	return func(text string, r *Report) error {
		if m := is.FindStringSubmatch(text); m != nil {
			r.Version = m[1]
		}
		return read(text, r)
	}
}

// decimalComma is a line with a number that was written with a decimal comma.
var decimalComma = regexp.MustCompile(`(?m)^.*\b\d+,\d+ (?:[KMGkm]?B|[KMG]?B/s|[Mm]bps|s|ms|us|sec|%).*$|^.*[a-z` +
	`]=\d+,\d.*$|^.*[Mm]bps: *\d+,\d.*$`)

// addFigures finds all figures in all kinds of line.
func addFigures(r *Report, text string, kinds []figureLine) error {
	for _, kind := range kinds {
		for _, c := range kind.columns {
			r.expect(c.name, kind.words)
		}
		for _, m := range kind.line.FindAllStringSubmatch(text, -1) {
			for i, c := range kind.columns {
				if c == label || m[i+1] == "" || strings.Trim(m[i+1], "-+") == "nan" || strings.Trim(m[i+1], "-+") == "inf" {
					continue // a rate of no time is none
				}
				r.add(groups(c.name, m), r.number(m[i+1]), groups(c.unit, m), c.better)
			}
		}
	}
	return r.err
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
		figures(`^Broken pipe errors: +(\d+)`, "broken pipes", "1", Lower),
		figures(`^Non-2xx responses: +(\d+)`, "non-2xx", "1", Lower),
		figures(`^Requests per second: +([\d.]+)`, "requests", "1/s", Higher),
		figures(`^Time per request: +([\d.]+) \[ms\] \(mean\)`, "time per request", "ms", Lower),
		figures(`^Time per request: +([\d.]+) \[ms\] \(mean, across all`, "time per request, all clients", "ms", Lower),
		figures(`^Keep-Alive requests: +(\d+)`, "keep-alive", "1", ""),
		figures(`^Total (?:POSTed|body sent|PUT): +(\d+)`, "sent", "B", ""),
		figures(`^ +([\d.]+) kb/s sent`, "sent rate", "KB/s", Higher),
		figures(`^ +([\d.]+) kb/s total`, "total rate", "KB/s", Higher),
		row(`^(Connect|Processing|Waiting|Total): +(\d+) +(\d+) +(\d+\.\d+) +(\d+) +(\d+)$`, label,
			column{"%1: min", "ms", Lower}, column{"%1: mean", "ms", Lower}, column{"%1: standard deviation", "ms", Lower},
			column{"%1: median", "ms", Lower}, column{"%1: max", "ms", Lower}),
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
		if err := abComplete(r); err != nil {
			return err
		}
		complete, seconds, rate := r.Value("complete"), r.Value("time"), r.Value("requests")
		if did := rate * seconds; math.Abs(did-complete) > 0.01*complete+1 && math.Abs(did-complete) > 0.0006*rate {
			if err := r.doubt(Contradiction("rate × time is not the number of requests: %v/s, %v s, %.0f requests", rate,
				seconds, complete)); err != nil {
				return err
			}
		}
		latency, clients := r.Value("time per request")/1e3, r.Value("concurrency")
		if math.Abs(latency*rate-clients) > 0.01*clients+1e-6*rate {
			if err := r.doubt(Contradiction("latency × rate is not the number of clients: %v s, %v/s, %v clients", latency,
				rate, clients)); err != nil {
				return err
			}
		}
		return nil
	}}

// abComplete returns an error if lines are missing. ab prints percentiles for two requests or more.
func abComplete(r *Report) error {
	wanted := []string{"complete", "concurrency", "time", "failed", "transferred", "transferred pages", "requests",
		"time per request", "time per request, all clients"}
	if r.Value("complete") > 1 {
		wanted = append(wanted, "Connect: min", "Processing: min", "Waiting: min", "Total: min", "percentile 50",
			"percentile 99", "percentile 100")
	}
	for _, name := range wanted {
		if _, err := r.One(name); err != nil && len(r.Figures) > 0 {
			return fault.WithRemedy(fault.Guestf("this is not the complete output of one run of ab: %w", err),
				"run ab without -d, -q and -S")
		}
	}
	return nil
}

var dbenchLines = lineTool{failed: regexp.MustCompile(`(?m)^.*(?:Can't open|Failed to|No such file|No space left` +
	`|clients failed).*$`),
	lines: []figureLine{
		// Of version 3.
		row(`^Throughput ([\d.]+) MB/sec(?: \(sync \w+\))* (\d+) procs$`, column{"throughput", "MB/s", Higher},
			column{"processes", "1", ""}),
		row(`^ +(\d+) +(\d+) +(\d+\.\d+) MB/sec  (execute|warmup|cleanup) +(\d+) sec *$`, column{"%4 at %5 s: clients", "1", ""},
			column{"%4 at %5 s: operations", "1", ""}, column{"%4 at %5 s: throughput", "MB/s", Higher}, label, label),
		row(`^Throughput ([\d.]+) MB/sec(?:  \(sync \w+\))?  (\d+) clients  (\d+) procs  max_latency=([\d.]+) ms$`,
			column{"throughput", "MB/s", Higher}, column{"clients", "1", ""}, column{"processes", "1", ""},
			column{"max latency", "ms", Lower}),
		row(`^ (\w+) +(\d+) +(\d+\.\d+) +(\d+\.\d+)$`, label, column{"%1", "1", ""}, column{"%1: mean latency", "ms", Lower},
			column{"%1: max latency", "ms", Lower}),
		row(`^ +(\d+) +(\d+) +(\d+\.\d+) MB/sec  (execute|warmup) +(\d+) sec  latency (\d+\.\d+) ms$`,
			column{"%4 at %5 s: clients", "1", ""},
			column{"%4 at %5 s: operations", "1", ""}, column{"%4 at %5 s: throughput", "MB/s", Higher}, label, label,
			column{"%4 at %5 s: latency", "ms", Lower}),
	}, check: func(r *Report) error {
		if _, err := r.One("throughput"); err != nil && len(r.Figures) > 0 {
			return fault.Guestf("this is not the complete output of one run of dbench: %w", err)
		}
		return nil
	}}

// nbenchTests are the tests of nbench, each with its rate and two indexes.
const nbenchTests = "NUMERIC SORT|STRING SORT|BITFIELD|FP EMULATION|FOURIER|ASSIGNMENT|IDEA|HUFFMAN|NEURAL NET|LU " +
	"DECOMPOSITION"

var nbenchLines = lineTool{lines: []figureLine{
	row(`^(`+nbenchTests+`) *: +([\d.e+]+) +: +([\d.]+) +: +([\d.]+)$`, label, column{"%1", "1/s", Higher},
		column{"%1: old index", "index", Higher}, column{"%1: new index", "index", Higher}),
	figures(`^(MEMORY|INTEGER|FLOATING-POINT) INDEX *: ([\d.]+)$`, "%1 INDEX", "index", Higher),
}, check: func(r *Report) error {
	// The tests of one run come in a fixed order, and the indexes last: two of the original and three of Linux.
	tests := 0
	for _, name := range strings.Split(nbenchTests, "|") {
		tests += len(r.All(name))
	}
	if memory := len(r.All("MEMORY INDEX")); tests != 10*memory || len(r.All("INTEGER INDEX")) != 2*memory ||
		len(r.All("FLOATING-POINT INDEX")) != 2*memory {
		return fault.Guestf("the output of nbench has %d of 10 tests, %d of 2 integer and %d of 2 floating-point "+
			"indexes, and %d of 1 memory index: it is cut off or damaged", tests, len(r.All("INTEGER INDEX")),
			len(r.All("FLOATING-POINT INDEX")), memory)
	}
	return nil
}}
