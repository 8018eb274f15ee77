package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// agreementTables returns the tables of the agreement part.
func agreementTables(records []Record, load bool) string {
	records = pick(records, func(r Record) bool { return r.Part == "agreement" && r.Load == load })
	if len(records) < 2 {
		return ""
	}
	seconds := 0.0
	for _, r := range records {
		seconds += r.Seconds
	}
	return fmt.Sprintf("%d runs of %.0f s.\n\n", len(records), seconds/float64(len(records))) + overlaps(records) + "\n" +
		halfWidths(records) + "\n" + answered(records)
}

// subject identifies what the intervals of several runs estimate.
type subject struct{ workload, metric, arm string }

// overlaps returns the table of pairs of intervals from two runs for the same subject
// that do not overlap.
func overlaps(records []Record) string {
	kinds := []struct {
		name   string
		chosen func(Record, analyze.Comparison) bool
	}{
		{"time and other primary metrics", func(r Record, c analyze.Comparison) bool { return isTime(c) && !emulated(r, c) }},
		{"CPU time", func(r Record, c analyze.Comparison) bool { return isCPUTime(c) && !emulated(r, c) }},
		{"CPU time at once", func(_ Record, c analyze.Comparison) bool { return isAtOnce(c) }},
		{"emulated systems", func(r Record, c analyze.Comparison) bool { return counts(c) && emulated(r, c) }},
	}
	t := table{head: []string{"intervals of", "comparisons", "pairs of intervals", "do not overlap",
		"pairs of unequal trial size"}}
	for _, k := range kinds {
		by := map[subject][]interval{}
		for _, r := range records {
			for _, c := range r.Run.Comparisons {
				if k.chosen(r, c) && has(c) {
					s := subject{c.Workload, c.Metric, c.Arm}
					by[s] = append(by[s], interval{c.CILow, c.CIHigh, sizeOf(r, c.Workload)})
				}
			}
		}
		pairs, apart, unequal := 0, 0, 0
		for _, list := range by {
			for i, a := range list {
				for _, b := range list[:i] {
					pairs++
					if a.high < b.low || b.high < a.low {
						apart++
					}
					if a.size != b.size {
						unequal++
					}
				}
			}
		}
		if pairs > 0 {
			t.add(k.name, fmt.Sprint(len(by)), fmt.Sprint(pairs), share(apart, pairs), fmt.Sprint(unequal))
		}
	}
	return t.String()
}

type interval struct {
	low, high float64
	size      int64
}

func sizeOf(r Record, workload string) int64 {
	for _, s := range r.Run.Sizes {
		if s.Workload == workload {
			return s.Size
		}
	}
	return 0
}

func emulated(r Record, c analyze.Comparison) bool {
	a := r.Run.arm(c.Arm, c.Workload)
	return a != nil && a.Emulated
}

// Goals for half-widths in percent: of the cost in CPU time, which is that of duets where there are any, of time, and
// of the bandwidth of fio.
const (
	cpuGoal  = 0.7
	timeGoal = 5.0
	fioGoal  = 10.0
)

// halfWidths returns a table of the intervals' half-widths, with a row for each workload and metric and a column for
// each arm.
func halfWidths(records []Record) string {
	by := map[subject][]float64{}
	workloads, arms := []string{}, map[string]bool{}
	for _, r := range records {
		for _, c := range r.Run.Comparisons {
			if !counts(c) || !has(c) || !alone(r, c) {
				continue
			}
			s := subject{c.Workload, c.Metric, c.Arm}
			by[s] = append(by[s], halfPercent(c))
			arms[c.Arm] = true
			if !slices.Contains(workloads, c.Workload) {
				workloads = append(workloads, c.Workload)
			}
		}
	}
	names := slices.Sorted(maps.Keys(arms))
	t := table{head: append([]string{"half-width, median (worst)", "metric", "goal"}, names...)}
	for _, w := range workloads {
		list := metricsOf(by, w)
		for _, metric := range list {
			row := []string{w, metric, goalOf(w, metric, list)}
			for _, arm := range names {
				h := by[subject{w, metric, arm}]
				if len(h) == 0 {
					row = append(row, "–")
					continue
				}
				row = append(row, fmt.Sprintf("±%s %% (%s)", twoDigits(quantile(h, 0.5)), twoDigits(slices.Max(h))))
			}
			t.add(row...)
		}
	}
	return t.String()
}

// twoDigits formats a percentage with two digits, or more before the point.
func twoDigits(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// goalOf is the goal for the half-widths of a workload's metric, one of those in list.
func goalOf(workload, metric string, list []string) string {
	goal := timeGoal
	switch {
	case metric == analyze.CPUTime && slices.Contains(list, analyze.CPUTimeAtOnce):
		return "–"
	case metric == analyze.CPUTime, metric == analyze.CPUTimeAtOnce:
		goal = cpuGoal
	case strings.HasPrefix(workload, "fio"):
		goal = fioGoal
	}
	return fmt.Sprintf("±%g %%", goal)
}

// alone reports whether c is of guests that run alone, not emulated: in other scenarios, an arm has another name.
func alone(r Record, c analyze.Comparison) bool { return !emulated(r, c) && c.Family != "beside" }

// answered returns a table of how many workloads of each system have an answer in each run: a cost or a gain, or none,
// by CPU time or the metric of the workload.
func answered(records []Record) string {
	type pair struct{ arm, workload string }
	var of []map[pair]bool // answered, by run
	arms := map[string]bool{}
	for _, r := range records {
		known := map[pair]bool{}
		for _, c := range r.Run.Comparisons {
			if counts(c) && alone(r, c) {
				arms[c.Arm] = true
				p := pair{c.Arm, c.Workload}
				known[p] = known[p] || claimed(c) || c.Verdict == analyze.None
			}
		}
		of = append(of, known)
	}
	names := slices.Sorted(maps.Keys(arms))
	t := table{head: append([]string{"workloads with an answer, run"}, names...)}
	for i, known := range of {
		row := []string{fmt.Sprint(i + 1)}
		for _, arm := range names {
			n, all := 0, 0
			for p, yes := range known {
				if p.arm == arm {
					all++
					if yes {
						n++
					}
				}
			}
			row = append(row, fmt.Sprintf("%d of %d", n, all))
		}
		t.add(row...)
	}
	return t.String()
}

func metricsOf(by map[subject][]float64, workload string) []string {
	seen := map[string]bool{}
	for s := range by {
		if s.workload == workload {
			seen[s.metric] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
