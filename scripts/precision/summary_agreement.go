package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
)

// cpuWorkloads are the workloads of the campaign quick with a goal of ±2 %; the others
// have ±5 %.
var cpuWorkloads = []string{"openssl-enc", "sysbench-cpu"}

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
		halfWidths(records)
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

// halfWidths returns a table of the intervals' half-widths, with a row for each workload
// and a column for each arm.
func halfWidths(records []Record) string {
	by := map[subject][]float64{}
	workloads, arms := []string{}, map[string]bool{}
	for _, r := range records {
		for _, c := range r.Run.Comparisons {
			// Only guests that ran alone: in other scenarios, an arm has another name.
			if !isTime(c) || !has(c) || emulated(r, c) || c.Family == "beside" {
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
		goal := 5
		if slices.Contains(cpuWorkloads, w) {
			goal = 2
		}
		for _, metric := range metricsOf(by, w) {
			row := []string{w, metric, fmt.Sprintf("±%d %%", goal)}
			for _, arm := range names {
				h := by[subject{w, metric, arm}]
				if len(h) == 0 {
					row = append(row, "–")
					continue
				}
				row = append(row, fmt.Sprintf("±%.1f %% (%.1f)", quantile(h, 0.5), slices.Max(h)))
			}
			t.add(row...)
		}
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
