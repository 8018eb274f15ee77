package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
)

// starts writes the percentiles and the phases of a workload that creates its guests.
func (t *table) starts(k metricKey) {
	times, phases := StartRows(t.res, k.workload)
	if len(times) == 0 || !isPrimary(t.res, k) {
		return
	}
	tables := [][][]string{times, phases, RestoreRows(t.res, k.workload)}
	if t.ctx.AllMetrics {
		tables = slices.Insert(tables, 2, PhaseRows(t.res, k.workload))
	}
	for _, rows := range tables {
		if len(rows) > 0 {
			t.line("")
			t.grid(rows)
		}
	}
	t.note(StartLegend(t.res))
}

// isPrimary reports whether a metric is the primary one of its workload.
func isPrimary(res *analyze.Result, k metricKey) bool {
	for _, c := range res.Comparisons {
		if c.Workload == k.workload && c.Metric == k.metric {
			return c.Primary
		}
	}
	return false
}

// phaseNames are the headings of the phases of a start.
var phaseNames = map[string]string{
	model.ProbePhaseSetup: "setup", model.ProbePhaseRuntime: "runtime", model.ProbePhaseKernel: "kernel",
	model.ProbePhaseInit: "init", model.ProbePhaseAgent: "agent", model.ProbePhaseProgram: "program",
}

// StartRows are the two tables of a workload that creates its guests, with their headings: percentiles, and
// means of phases; none for other workloads.
func StartRows(res *analyze.Result, workload string) (times, phases [][]string) {
	for _, s := range res.Starts {
		if s.Workload != workload {
			continue
		}
		if times == nil {
			what, whats := "start", "starts"
			if s.Restored != nil {
				what, whats = "restoration", "restorations"
			}
			times = [][]string{{what, whats, "p50", "p95", "p99", "p50 × baseline", "p99 × baseline", "stop", "remove",
				"peak memory"}}
			phases = [][]string{{"phases", "mean"}}
			for _, name := range model.StartPhases {
				phases[0] = append(phases[0], phaseNames[name])
			}
			phases[0] = append(phases[0], "clock ±", "tare's own", "CPU time", "cached", "host read")
		}
		name := starred(s.Arm, s.Emulated)
		memory := ""
		if s.Memory.N > 0 {
			memory = ofUnit("B", s.Memory.Mean)
		}
		times = append(times, []string{name, fmt.Sprint(s.N), percentileText("s", &s.P50), percentileText("s", s.P95),
			percentileText("s", s.P99),
			percentileText("", s.P50Ratio), percentileText("", s.P99Ratio), ofUnit("s", s.Stop.Value),
			ofUnit("s", s.Remove.Value), memory})
		row := []string{name, ofUnit("s", s.Mean)}
		for _, phase := range model.StartPhases {
			cell := ""
			for _, p := range s.Phases {
				if p.Name == phase {
					cell = ofUnit("s", p.Mean)
				}
			}
			row = append(row, cell)
		}
		cached := ""
		if s.Cached.N > 0 {
			cached = digits(100*s.Cached.Mean, 3) + " %"
		}
		phases = append(phases, append(row, ofUnit("s", s.Error), ofUnit("s", s.Own), ofUnit("s", s.CPU), cached,
			ofUnit("B", s.Read)))
	}
	return times, phases
}

// starred marks the name of an arm that is emulated.
func starred(arm string, emulated bool) string {
	if emulated {
		return arm + "*"
	}
	return arm
}

// PhaseRows is the table of the percentiles of phases and of what was tare's own, with its headings; none for
// workloads that create no guests.
func PhaseRows(res *analyze.Result, workload string) (rows [][]string) {
	for _, s := range res.Starts {
		if s.Workload != workload {
			continue
		}
		if rows == nil {
			rows = [][]string{{"phases of single starts", "phase", "p50", "p95", "p99"}}
		}
		name := starred(s.Arm, s.Emulated)
		add := func(phase string, p analyze.StartPercentiles) {
			rows = append(rows, []string{name, phase, percentileText("s", &p.P50), percentileText("s", p.P95),
				percentileText("s", p.P99)})
		}
		for _, p := range s.Phases {
			add(phaseNames[p.Name], p.StartPercentiles)
		}
		if s.OwnAt != nil {
			add("tare's own", *s.OwnAt)
		}
	}
	return rows
}

// RestoreRows is the table of what saving guests took, and the first use of their memory after they were restored,
// with its headings; none for other workloads.
func RestoreRows(res *analyze.Result, workload string) (rows [][]string) {
	for _, s := range res.Starts {
		r := s.Restored
		if s.Workload != workload || r == nil {
			continue
		}
		if rows == nil {
			rows = [][]string{{"saved", "save", "and flushed", "size", "fresh start", "restoration × fresh",
				"first touch", "second touch", "first × second"}}
		}
		row := []string{starred(s.Arm, s.Emulated)}
		for _, p := range []struct {
			unit string
			*analyze.Percentile
		}{{"s", &r.Save}, {"s", &r.Flushed}, {"B", &r.Size}, {"s", &r.Fresh}, {"", r.TimesFresh}, {"s", &r.First},
			{"s", &r.Second}, {"", r.TimesSecond}} {
			row = append(row, percentileText(p.unit, p.Percentile))
		}
		rows = append(rows, row)
	}
	return rows
}

// ofUnit is a value with its unit, in three digits; "" for 0.
func ofUnit(unit string, v float64) string {
	if v == 0 {
		return ""
	}
	sc := scaleFor(unit, v)
	return digits(v*sc.factor, 3) + " " + sc.unit
}

// percentileText is a percentile with its interval, if it has one; a ratio has no unit.
func percentileText(unit string, p *analyze.Percentile) string {
	if p == nil {
		return ""
	}
	if unit == "" {
		return fmt.Sprintf("%s× (%s … %s)", digits(p.Value, 3), digits(p.Low, 3), digits(p.High, 3))
	}
	sc := scaleFor(unit, p.Value)
	if p.High == 0 {
		return sc.with(p.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", sc.with(p.Value), sc.figure(p.Low), sc.figure(p.High))
}

// StartLegend explains the tables of StartRows.
func StartLegend(res *analyze.Result) string {
	text := []string{"from the request to the first instruction of the user's program. Intervals of percentiles: order " +
		"statistics of single starts"}
	for _, s := range res.Starts {
		if s.Method == analyze.BlockBootstrap {
			text[0] += "; of guests that start at once, a bootstrap of blocks"
			break
		}
	}
	if slices.ContainsFunc(res.Starts, func(s analyze.Start) bool { return s.Restored != nil }) {
		text = append(text, "restoration: from the request to restore a saved guest to the next program's first instruction",
			"saved: medians; fresh start: of the same guests, before they were saved",
			"first touch, second touch: a program's reads of every page of its memory in the restored guest, by its own clock")
	}
	return strings.Join(append(text,
		"a percentile is left out if there are too few starts for its interval",
		"× baseline: conservative, from both intervals at half the error each",
		"stop: median until nothing of the guest runs; remove: until nothing is left of it",
		"phases: means, which add up to the mean, as percentiles do not; a blank phase is not there or not visible, and is "+
			"part of the next one",
		"clock ±: error of what the guest's own clock says",
		"tare's own: time to put the process into its control groups, not part of the start",
		"cached: share of the image's files that a start reads in the page cache at the request; "+
			"host read: what the whole host read from disks meanwhile"), "; ") + "."
}
