package tool

import (
	"encoding/csv"
	"regexp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

var (
	redisFailed = regexp.MustCompile(`(?m)^(?:Could not connect .*|Error.*|.*\berror\b.*|-?ERR .*|.*Invalid .*)$`)
	redisTest   = regexp.MustCompile(`^====== (.+) ====== *$`)
	redisQuiet  = row(`^(.+): ([\d.]+) requests per second, p50=([\d.]+) msec *$`, label,
		column{"%1: rate", "1/s", Higher}, column{"%1: p50", "ms", Lower})
	// redisRate are the lines of -q of version 6.0 and before.
	redisRate   = figures(`^ *(\S.*?): ([\d.]+) requests per second *$`, "%1: rate", "1/s", Higher)
	redisMeans  = []string{"mean", "min", "p50", "p95", "p99", "max"}
	redisOldCSV = regexp.MustCompile(`(?m)^"([^"]+)","([\d.]+)"$`)
	redisHead   = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms",` +
		`"max_latency_ms"`
	// redisTable are the lines below a test's name; its name stands before theirs.
	redisTable = []figureLine{
		row(`^  (\d+) requests completed in ([\d.]+) seconds$`, column{"requests", "1", ""}, column{"time", "s", Lower}),
		figures(`^  (\d+) parallel clients$`, "clients", "1", ""),
		figures(`^  (\d+) bytes payload$`, "payload", "B", ""),
		figures(`^  threads: (\d+)$`, "threads", "1", ""),
		row(`^([\d.]+)% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)$`, label, column{"%1%", "ms", Lower},
			column{"requests within %2 ms", "1", ""}),
		// Of version 6.0 and before.
		row(`^([\d.]+)% <= ([\d.]+) milliseconds$`, column{"requests within %2 ms", "%", Higher}, label),
		figures(`^([\d.]+) requests per second$`, "rate", "1/s", Higher),
		figures(`^  keep alive: (\d+)$`, "keep alive", "1", ""),
		figures(`^  throughput summary: ([\d.]+) requests per second$`, "rate", "1/s", Higher),
		row(`^ +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$`, redisColumns()...),
	}
)

// redisColumns are the columns of the latencies.
func redisColumns() (all []column) {
	for _, name := range redisMeans {
		all = append(all, column{name, "ms", Lower})
	}
	return all
}

// readRedis reads the report of redis-benchmark, that of --csv, or that of -q.
func readRedis(text string, r *Report) error {
	if line := redisFailed.FindString(text); line != "" {
		if err := r.doubt(fault.Guestf("redis-benchmark failed: %s", Quote(line))); err != nil {
			return err
		}
	}
	if err := r.doubt(timedFailure(text)); err != nil {
		return err
	}
	if _, table, ok := strings.Cut(text, redisHead+"\n"); ok {
		return redisCSV(table, r)
	}
	if old := redisOldCSV.FindAllStringSubmatch(text, -1); old != nil {
		for _, m := range old {
			r.add(quoteless(m[1])+": rate", r.number(m[2]), "1/s", Higher)
		}
		r.Version = "6.0 or before"
		return nil
	}
	if err := addFigures(r, text, []figureLine{redisQuiet}); err != nil {
		return err
	}
	if redisRate.line.MatchString(text) && !strings.Contains(text, "\n  throughput summary: ") {
		r.Version = "6.0 or before"
		return addFigures(r, text, []figureLine{redisRate})
	}
	for i, section := range redisSections(text) {
		if i == 0 {
			continue
		}
		name, rest, _ := strings.Cut(section, "\n")
		part := r.part()
		if err := addFigures(part, rest, redisTable); err != nil {
			return err
		}
		test := redisTest.FindStringSubmatch(name)[1]
		all := []string{"requests", "clients", "100.000%", "rate", "max"}
		if part.Version = "6.2 or later"; !strings.Contains(rest, "cumulative") && !strings.Contains(rest, "summary:") {
			part.Version, all = "6.0 or before", []string{"requests", "clients", "rate"}
		}
		for _, wanted := range all {
			if len(part.All(wanted)) == 0 {
				if err := r.doubt(redisCut(test)); err != nil {
					return err
				}
				break
			}
		}
		r.include(quoteless(test)+": ", part)
	}
	return nil
}

// redisSections returns the text before the first test's name, and the texts that begin with a test's name.
func redisSections(text string) []string {
	sections := []string{""}
	for line := range strings.Lines(text) {
		if redisTest.MatchString(strings.TrimRight(line, "\n")) {
			sections = append(sections, "")
		}
		sections[len(sections)-1] += line
	}
	return sections
}

// redisCSV reads the lines below the heading.
func redisCSV(table string, r *Report) error {
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, `"`) {
			continue
		}
		cells, err := csv.NewReader(strings.NewReader(line)).Read()
		if err != nil || len(cells) != 8 || !strings.HasSuffix(line, "\"\n") {
			return redisCut(line)
		}
		if slices.Equal(cells[:2], []string{"test", "rps"}) {
			continue
		}
		f := r.numbers(cells[1:]...)
		name := quoteless(cells[0]) + ": "
		r.add(name+"rate", f[0], "1/s", Higher)
		for i, of := range redisMeans {
			r.add(name+of, f[i+1], "ms", Lower)
		}
	}
	return nil
}

func redisCut(where string) error {
	return fault.Guestf("this is not the complete output of one run of redis-benchmark: %s", Quote(where))
}
