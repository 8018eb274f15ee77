package main

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// aaTables returns the tables of the A/A part for the quiet or the loaded machine.
func aaTables(records []Record, load bool) (string, error) {
	records = pick(records, func(r Record) bool { return r.Part == "aa" && r.Load == load })
	if len(records) == 0 {
		return "", nil
	}
	precision, err := aaPrecision(records)
	if err != nil {
		return "", err
	}
	return aaClaims(records) + "\n" + precision, nil
}

// aaClaims returns the table of false claims about identical arms.
func aaClaims(records []Record) string {
	t := table{head: []string{"identical arms", "metric", "pairs", "claimed to differ", "interval excludes 0",
		"runs with any claim"}}
	for _, metric := range []struct {
		name   string
		chosen func(analyze.Comparison) bool
	}{
		{"time", func(c analyze.Comparison) bool { return counts(c) && c.Primary }},
		{"CPU time", isCPUTime},
		{"CPU time at once", isAtOnce},
	} {
		var all sample
		row := func(name string, s sample) {
			if n := len(s.effects); n > 0 {
				t.add(name, metric.name, fmt.Sprint(n), shareIn(s.claims, n), shareIn(s.excludes, n), share(s.wrong, s.runs))
			}
		}
		for _, shape := range []string{duel, crowd} {
			for _, system := range aaSystems {
				var s sample
				for _, r := range records {
					if strings.HasPrefix(r.What, shape+" "+system) {
						s.addRun(r, metric.chosen)
						all.addRun(r, metric.chosen)
					}
				}
				row(map[string]string{duel: "two of ", crowd: "several of "}[shape]+system, s)
			}
		}
		row("**all**", all)
	}
	return t.String()
}

// aaPrecision compares tare with hyperfine for the same command and the same time.
func aaPrecision(records []Record) (string, error) {
	t := table{head: []string{"command", "measured by", "pairs", "s each", "claimed to differ", "error, rms", "p95",
		"hyperfine's rms", "its p95", "pinned hyperfine's rms", "its p95"}}
	for _, w := range duelWorkloads(records) {
		usual, err := pairsOf(records, hyperfineUsual+" "+w)
		if err != nil {
			return "", err
		}
		pinned, err := pairsOf(records, hyperfinePinned+" "+w)
		if err != nil {
			return "", err
		}
		row := func(name string, s sample) {
			if n := len(s.effects); n > 0 {
				t.add(w, name, fmt.Sprint(n), fmt.Sprintf("%.1f", s.seconds/float64(s.runs)), share(s.claims, n),
					fmt.Sprintf("%.2f %%", s.rms()), fmt.Sprintf("%.2f %%", s.p95()),
					against(usual, s, (*sample).rms), against(usual, s, (*sample).p95),
					against(pinned, s, (*sample).rms), against(pinned, s, (*sample).p95))
			}
		}
		var both, atOnce sample
		for _, system := range aaSystems {
			var s sample
			for _, r := range records {
				if r.What == duelOf(system, w) {
					chosen := func(c analyze.Comparison) bool { return counts(c) && c.Primary }
					s.addRun(r, chosen)
					both.addRun(r, chosen)
					atOnce.addRun(r, isAtOnce)
				}
			}
			row("tare, "+system, s)
		}
		row("**tare, both**", both)
		row("tare, both, CPU time at once", atOnce)
		row("hyperfine", usual)
		row("hyperfine, pinned", pinned)
	}
	return t.String(), nil
}

// against returns the ratio of another sample's statistic to that of s.
func against(other, s sample, of func(*sample) float64) string {
	if len(other.effects) == 0 {
		return "–"
	}
	return times(of(&other), of(&s))
}

// duelWorkloads returns the workloads of the duels, in order of appearance.
func duelWorkloads(records []Record) []string {
	var names []string
	seen := map[string]bool{}
	for _, r := range records {
		if name, ok := strings.CutPrefix(r.What, duelOf("native", "")); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

func pairsOf(records []Record, what string) (sample, error) {
	var s sample
	for _, r := range records {
		if r.What == what {
			if err := s.addPair(r); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}
