package main

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// metrics are those that identical arms and known costs are compared by. medians is the name of the metric or probe
// whose medians give the true cost of planted work.
var metrics = []struct {
	name    string
	chosen  func(analyze.Comparison) bool
	medians string
}{
	{"time", isTime, "time"},
	{"CPU time", isCPUTime, "guest_cgroup_cpu"},
	{"CPU time at once", isAtOnce, analyze.CPUTimeAtOnce},
}

// aaTables returns the tables of a part about identical arms, for the quiet or the loaded machine.
func aaTables(records []Record, part string, load bool) (string, error) {
	records = pick(records, func(r Record) bool { return r.Part == part && r.Load == load })
	if len(records) == 0 {
		return "", nil
	}
	main := isTime
	if part == duets {
		main = isAtOnce
	}
	precision, err := aaPrecision(records, main)
	if err != nil {
		return "", err
	}
	return aaClaims(records) + "\n" + precision, nil
}

// aaClaims returns the table of false claims about identical arms.
func aaClaims(records []Record) string {
	t := table{head: []string{"identical arms", "metric", "pairs", "claimed to differ", "interval excludes 0",
		"runs with any claim"}}
	for _, metric := range metrics {
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

// aaPrecision compares tare with hyperfine for the same command and the same time. The main metrics have rows for each
// system.
func aaPrecision(records []Record, main func(analyze.Comparison) bool) (string, error) {
	t := table{head: []string{"command", "measured by", "pairs", "s each", "claimed to differ", "error, rms", "p95",
		"hyperfine's rms", "of its user + system", "pinned hyperfine's rms", "of its user + system"}}
	for _, w := range duelWorkloads(records) {
		usual, usualCPU, err := pairsOf(records, hyperfineUsual+" "+w)
		if err != nil {
			return "", err
		}
		pinned, pinnedCPU, err := pairsOf(records, hyperfinePinned+" "+w)
		if err != nil {
			return "", err
		}
		row := func(name, claims string, s sample) {
			if n := len(s.effects); n > 0 {
				t.add(w, name, fmt.Sprint(n), fmt.Sprintf("%.1f", s.seconds/float64(s.runs)), claims,
					fmt.Sprintf("%.2f %%", s.rms()), fmt.Sprintf("%.2f %%", s.p95()), against(usual, s),
					against(usualCPU, s), against(pinned, s), against(pinnedCPU, s))
			}
		}
		for _, metric := range metrics {
			var both sample
			for _, system := range aaSystems {
				var s sample
				for _, r := range records {
					if r.What == duelOf(system, w) {
						s.addRun(r, func(c analyze.Comparison) bool { return metric.chosen(c) && main(c) })
						both.addRun(r, metric.chosen)
					}
				}
				row("tare, "+system+", "+metric.name, share(s.claims, len(s.effects)), s)
			}
			row("**tare, both, "+metric.name+"**", share(both.claims, len(both.effects)), both)
		}
		row("hyperfine", share(usual.claims, len(usual.effects)), usual)
		row("hyperfine, user + system", "–", usualCPU)
		row("hyperfine, pinned", share(pinned.claims, len(pinned.effects)), pinned)
		row("hyperfine, pinned, user + system", "–", pinnedCPU)
	}
	return t.String(), nil
}

// against returns the ratio of another sample's rms to that of s.
func against(other, s sample) string {
	if len(other.effects) == 0 {
		return "–"
	}
	return times(other.rms(), s.rms())
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

// pairsOf returns what hyperfine measured, by its wall time and by its user and system time.
func pairsOf(records []Record, what string) (wall, cpu sample, err error) {
	for _, r := range records {
		if r.What == what {
			if err := wall.addPair(r); err != nil {
				return wall, cpu, err
			}
			cpu.addCPU(r)
		}
	}
	return wall, cpu, nil
}
