package tool

import (
	"cmp"
	"math"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// unixbenchLines are those of UnixBench's Run, and of its program fstime.
var unixbenchLines = lines(lineTool{regexp.MustCompile(`(?m)^(?:.*\*\*\* (?:Error|No rule).*|Run: .*|.*[Aa]bort(` +
	`?:ing|ed).*)$`), []figureLine{
	figures(`^(\w.*?\S) {2,}([\d.]+) +[\d.]+ +[\d.]+$`, "%1: baseline", "as printed", Higher),
	figures(`^(\w.*?\S) {2,}[\d.]+ +([\d.]+) +[\d.]+$`, "%1", "as printed", Higher),
	figures(`^(\w.*?\S) {2,}[\d.]+ +[\d.]+ +([\d.]+)$`, "%1: index", "index", Higher),
	figures(`^(?:System Benchmarks Index Score.*?|     FINAL SCORE) +([\d.]+)$`, "index", "index", Higher),
	row(`^(\w.*?\S) {2,}([\d.]+) (\w+) +\(([\d.]+) s(?:ecs)?, (\d+) samples?\)$`, label, column{"%1, %3", "as printed", Higher},
		label, column{"%1: time", "s", Lower}, column{"%1: samples", "1", ""}),
	figures(`^(Write|Read|Copy) done: (\d+) in \d`, "%1: done", "256 B", ""),
	figures(`^(Write|Read|Copy) done: \d+ in (\d+\.\d+), `, "%1: time", "s", Lower),
	figures(`^(Write|Read|Copy) done: \d+ in \d+\.\d+, score (\d+)\r?$`, "%1: score", "KiB/s", Higher),
}, func(r *Report) error {
	for _, test := range []string{"Write", "Read", "Copy"} {
		done, seconds, score := r.Value(test+": done"), r.Value(test+": time"), r.Value(test+": score")
		if math.Abs(done/4-score*seconds) > (0.01*score+1)*seconds {
			if err := r.doubt(Contradiction("fstime: rate × time is not the size: %.0f units of 256 bytes in %g s are not %.0f "+
				"KiB/s",
				done, seconds, score)); err != nil {
				return err
			}
		}
	}
	return nil
}})

var (
	unixbenchRun   = regexp.MustCompile(`(?m)^Benchmark Run: .*\n.*; running (\d+) parallel cop(?:y|ies) of tests$`)
	unixbenchFour  = regexp.MustCompile(`BYTE UNIX Benchmarks \(Version (4\.[\d.]+)\)`)
	unixbenchFive  = regexp.MustCompile(`(?m)^ +Version (\d[\d.]*) +Based on the Byte Magazine|BYTE UNIX Benchmarks \(Version ([\d.]+)\)`)
	unixbenchPlan  = regexp.MustCompile(`(?m)^(\d+) x \w.*$`)
	unixbenchDone  = regexp.MustCompile(`(?m)^(?:Write|Read|Copy) done: \d+ in \d+\.\d+, score \d+$`)
	unixbenchScore = regexp.MustCompile(`(?m)^System Benchmarks Index Score.*? \d+\.\d+$`)
)

// readUnixbench reads the output of Run and of fstime. If Run makes several runs, the names of those with
// more than one copy begin with the number of copies.
func readUnixbench(text string, r *Report) error {
	at := unixbenchRun.FindAllStringSubmatchIndex(text, -1)
	if starts := strings.Count(text, "\nBenchmark Run: "); len(at) != starts {
		return fault.Guestf("UnixBench began %d runs, but the output has the number of copies of %d: it is damaged", starts,
			len(at))
	}
	if len(at) == 0 {
		if m := unixbenchFour.FindStringSubmatch(text); m != nil && strings.Contains(text, "samples)") {
			r.Version = m[1]
			if err := unixbenchLines(text, r); err != nil {
				return err
			}
			if len(r.All("index")) == 0 {
				return r.doubt(fault.Guestf("the output of UnixBench has no line \"FINAL SCORE\": it is cut off, or the tests " +
					"have no index"))
			}
			return nil
		}
		if strings.Contains(text, "BYTE UNIX Benchmarks (Version") {
			return fault.Guestf("the output of UnixBench has no results: it is cut off")
		}
		writes, done := strings.Count("\n"+text, "\nCOUNT|"), len(unixbenchDone.FindAllString(text, -1))
		if writes > 0 && writes != done {
			return fault.Guestf("fstime made %d tests, but the output has %d lines with \"done:\": it is cut off", writes, done)
		}
		return unixbenchLines(text, r)
	}
	if m := unixbenchFive.FindStringSubmatch(text); m != nil {
		r.Version = cmp.Or(m[1], m[2])
	}
	copies := map[string]bool{}
	for _, m := range unixbenchPlan.FindAllStringSubmatch(text, -1) {
		copies[m[1]] = true
	}
	if len(copies) > len(at) {
		return fault.Guestf("UnixBench ran with %d numbers of copies, but the output has results of %d: it is cut off",
			len(copies), len(at))
	}
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		section := text[m[0]:end]
		of := r.part()
		if err := unixbenchLines(section, of); err != nil {
			return err
		}
		if !unixbenchScore.MatchString(section) {
			err := fault.Guestf("the output of UnixBench has no line \"System Benchmarks Index Score\": it is cut off, or the " +
				"tests have no index")
			if err := r.doubt(err); err != nil || len(of.Figures) == 0 {
				return err
			}
		}
		prefix := ""
		if copies := text[m[2]:m[3]]; copies != "1" && len(at) > 1 {
			prefix = copies + " copies: "
		}
		r.include(prefix, of)
	}
	return nil
}
