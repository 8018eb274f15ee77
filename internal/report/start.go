package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
)

// phaseNames are the headings of the phases of a start.
var phaseNames = map[string]string{
	model.ProbePhaseSetup: "setup", model.ProbePhaseRuntime: "runtime", model.ProbePhaseKernel: "kernel",
	model.ProbePhaseInit: "init", model.ProbePhaseAgent: "agent", model.ProbePhaseProgram: "program",
}

// starts are the percentiles and the phases of a workload that creates its guests.
func starts(res *analyze.Result, workload string) (s Section) {
	all := slices.DeleteFunc(slices.Clone(res.Starts), func(s analyze.Start) bool { return s.Workload != workload })
	if len(all) == 0 {
		return s
	}
	for _, g := range []Grid{{Caption: "Percentiles", Rows: startRows(all)},
		{Caption: "Ends, percentiles", Rows: endRows(all)},
		{Caption: "Phases, means", Rows: meanRows(all)},
		{Caption: "Phases, percentiles", Rows: phaseRows(all), Detail: true},
		{Caption: "Saved guests, medians", Rows: restoreRows(all)}} {
		if g.Rows != nil {
			s.Grids = append(s.Grids, g)
		}
	}
	s.Legend = startLegend(res)
	return s
}

// startRows is the table of the percentiles of starts.
func startRows(all []analyze.Start) [][]string {
	what, whats := "start", "starts"
	if all[0].Restored != nil {
		what, whats = "restoration", "restorations"
	}
	return rowsFor([]string{what, whats, "p50", "p95", "p99", "p50 × baseline", "p99 × baseline",
		"peak memory"}, all, func(s analyze.Start) []string {
		return []string{starred(s.Arm, s.Emulated), fmt.Sprint(s.N), percentileText("s", &s.P50), percentileText("s", s.P95),
			percentileText("s", s.P99), percentileText("", s.P50Ratio), percentileText("", s.P99Ratio),
			ofUnit("B", s.Memory.Mean)}
	})
}

// endRows is the table of the percentiles of stops and removals.
func endRows(all []analyze.Start) [][]string {
	rows := [][]string{{"ends of guests", "until", "p50", "p95", "p99", "p50 × baseline", "p99 × baseline"}}
	for _, s := range all {
		for _, e := range []struct {
			until string
			analyze.Ending
		}{{"stopped", s.Stop}, {"removed", s.Remove}} {
			if e.Value > 0 {
				rows = append(rows, []string{starred(s.Arm, s.Emulated), e.until, percentileText("s", &e.Percentile),
					percentileText("s", e.P95), percentileText("s", e.P99), percentileText("", e.P50Ratio),
					percentileText("", e.P99Ratio)})
			}
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return rows
}

// meanRows is the table of the means of their phases.
func meanRows(all []analyze.Start) [][]string {
	headings := []string{"phases", "mean"}
	for _, name := range model.StartPhases {
		headings = append(headings, phaseNames[name])
	}
	headings = append(headings, "clock ±", "tare's own", "CPU time", "cached", "host read")
	return rowsFor(headings, all, func(s analyze.Start) []string {
		means := map[string]float64{}
		for _, p := range s.Phases {
			means[p.Name] = p.Mean
		}
		row := []string{starred(s.Arm, s.Emulated), ofUnit("s", s.Mean)}
		for _, name := range model.StartPhases {
			row = append(row, ofUnit("s", means[name]))
		}
		return append(row, ofUnit("s", s.Error), ofUnit("s", s.Own), ofUnit("s", s.CPU),
			when(s.Cached.N > 0, Digits(100*s.Cached.Mean, 3)+" %"), ofUnit("B", s.Read))
	})
}

// starred marks the name of an arm that is emulated.
func starred(arm string, emulated bool) string { return arm + when(emulated, "*") }

// phaseRows is the table of the percentiles of phases and of what was tare's own.
func phaseRows(all []analyze.Start) (rows [][]string) {
	add := func(s analyze.Start, phase string, p analyze.StartPercentiles) {
		rows = append(rows, []string{starred(s.Arm, s.Emulated), phase, percentileText("s", &p.P50),
			percentileText("s", p.P95), percentileText("s", p.P99)})
	}
	rows = append(rows, []string{"phases of single starts", "phase", "p50", "p95", "p99"})
	for _, s := range all {
		for _, p := range s.Phases {
			add(s, phaseNames[p.Name], p.StartPercentiles)
		}
		if s.OwnAt != nil {
			add(s, "tare's own", *s.OwnAt)
		}
	}
	return rows
}

// restoreRows is the table of what saving guests took, and the first use of their memory after they were restored;
// nil for guests that were not saved.
func restoreRows(all []analyze.Start) [][]string {
	return rowsFor([]string{"saved", "save", "and flushed", "size", "fresh start", "restoration × fresh",
		"first touch", "second touch", "first × second"}, all, func(s analyze.Start) []string {
		r := s.Restored
		if r == nil {
			return nil
		}
		return []string{starred(s.Arm, s.Emulated), percentileText("s", &r.Save), percentileText("s", &r.Flushed),
			percentileText("B", &r.Size), percentileText("s", &r.Fresh), percentileText("", r.TimesFresh),
			percentileText("s", &r.First), percentileText("s", &r.Second), percentileText("", r.TimesSecond)}
	})
}

// ofUnit is a value with its unit, in three digits; "" for 0.
func ofUnit(unit string, v float64) string { return when(v != 0, InUnit(unit, v, 3)) }

// percentileText is a percentile with its interval, if it has one; a ratio has no unit.
func percentileText(unit string, p *analyze.Percentile) string {
	if p == nil {
		return ""
	}
	if unit == "" {
		return fmt.Sprintf("%s× (%s)", Digits(p.Value, 3), span(p.Low, p.High))
	}
	sc := ScaleFor(unit, p.Value)
	if p.High == 0 {
		return sc.With(p.Value)
	}
	return fmt.Sprintf("%s (%s … %s)", sc.With(p.Value), sc.Figure(p.Low), sc.Figure(p.High))
}

// startLegend explains the tables of starts.
func startLegend(res *analyze.Result) string {
	text := []string{"from the request to the first instruction of the user's program. Intervals of percentiles: order " +
		"statistics of single starts"}
	for _, s := range res.Starts {
		if s.Method == analyze.BlockBootstrap {
			text[0] += "; of guests that start at once, a bootstrap of blocks"
			break
		}
	}
	cached := "the image's files that a start reads"
	if slices.ContainsFunc(res.Starts, func(s analyze.Start) bool { return s.Restored != nil }) {
		cached = "the saved state"
		text = append(text, "restoration: from the request to restore a saved guest to the next program's first instruction",
			"saved: medians; fresh start: of the same guests, before they were saved",
			"first touch, second touch: a program's reads of every page of its memory in the restored guest, by its own clock")
	}
	return strings.Join(append(text,
		"a percentile is left out if there are too few starts for its interval",
		"× baseline: conservative, from both intervals at half the error each",
		"ends of guests: from the request to end a guest until nothing of it runs (stopped), and until nothing is left of "+
			"it (removed)",
		"phases: means, which add up to the mean, as percentiles do not; a blank phase is not there or not visible, and is "+
			"part of the next one",
		"clock ±: error of what the guest's own clock says",
		"tare's own: time to put the process into its control groups, not part of the start",
		"cached: share of "+cached+" in the page cache at the request",
		"host read: what the whole host read from disks meanwhile"), "; ") + "."
}
