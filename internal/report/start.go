package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/view"
)

// phaseNames are the headings of the phases of a start.
var phaseNames = map[string]string{
	model.ProbePhaseSetup: "setup", model.ProbePhaseRuntime: "runtime", model.ProbePhaseKernel: "kernel",
	model.ProbePhaseInit: "init", model.ProbePhaseAgent: "agent", model.ProbePhaseProgram: "program",
}

// starts are the tables of the percentiles and the phases of a workload that creates its guests.
func starts(res *analyze.Result, workload string) *view.Section {
	all := slices.DeleteFunc(slices.Clone(res.Starts), func(s analyze.Start) bool { return s.Workload != workload })
	s := &view.Section{}
	if len(all) == 0 {
		return s
	}
	s.Add(startTable(all), endTable(all), meanTable(all), phaseTable(all), restoreTable(all))
	s.Add(view.Note{Text: startLegend(res)})
	return s
}

// tableFor is a table with a row for each of a list, except for those without cells.
func tableFor[T any](name, caption string, heads []string, all []T, cells func(T) []view.Cell) *view.Table {
	t := &view.Table{Name: name, Caption: caption, Columns: view.Heads(append([]string{""}, heads...)...)}
	for _, v := range all {
		if c := cells(v); c != nil {
			t.Add(c...)
		}
	}
	return t
}

// armCell names an arm.
func armCell(arm string, emulated bool) view.Cell {
	return view.Cell{Text: arm, Marks: emulatedMark(emulated)}
}

// startTable is the table of the percentiles of starts.
func startTable(all []analyze.Start) *view.Table {
	what, whats := "start", "starts"
	if all[0].Restored != nil {
		what, whats = "restoration", "restorations"
	}
	return tableFor(what, "Percentiles", []string{whats, "p50", "p95", "p99", "p50 × baseline", "p99 × baseline",
		"peak memory"}, all, func(s analyze.Start) []view.Cell {
		return []view.Cell{armCell(s.Arm, s.Emulated), count(s.N), percentile("s", &s.P50), percentile("s", s.P95),
			percentile("s", s.P99), percentile("", s.P50Ratio), percentile("", s.P99Ratio), ofUnit("B", s.Memory.Mean)}
	})
}

// count is a number of things.
func count(n int) view.Cell { return view.Number(fmt.Sprint(n), float64(n), "") }

// endTable is the table of the percentiles of stops and removals.
func endTable(all []analyze.Start) *view.Table {
	t := tableFor[analyze.Start]("ends of guests", "Ends, percentiles", []string{"until", "p50", "p95", "p99",
		"p50 × baseline", "p99 × baseline"}, nil, nil)
	for _, s := range all {
		for _, e := range []struct {
			until string
			analyze.Ending
		}{{"stopped", s.Stop}, {"removed", s.Remove}} {
			if e.Value > 0 {
				t.Add(armCell(s.Arm, s.Emulated), view.Text(e.until), percentile("s", &e.Percentile), percentile("s", e.P95),
					percentile("s", e.P99), percentile("", e.P50Ratio), percentile("", e.P99Ratio))
			}
		}
	}
	return t
}

// meanTable is the table of the means of their phases.
func meanTable(all []analyze.Start) *view.Table {
	heads := []string{"mean"}
	for _, name := range model.StartPhases {
		heads = append(heads, phaseNames[name])
	}
	heads = append(heads, "clock ±", "tare's own", "CPU time", "cached", "host read")
	return tableFor("phases", "Phases, means", heads, all, func(s analyze.Start) []view.Cell {
		means := map[string]float64{}
		for _, p := range s.Phases {
			means[p.Name] = p.Mean
		}
		row := []view.Cell{armCell(s.Arm, s.Emulated), ofUnit("s", s.Mean)}
		for _, name := range model.StartPhases {
			row = append(row, ofUnit("s", means[name]))
		}
		var cached view.Cell
		if s.Cached.N > 0 {
			cached = view.Number(Digits(100*s.Cached.Mean, 3)+" %", 100*s.Cached.Mean, "%")
		}
		return append(row, ofUnit("s", s.Error), ofUnit("s", s.Own), ofUnit("s", s.CPU), cached, ofUnit("B", s.Read))
	})
}

// phaseTable is the table of the percentiles of phases and of what was tare's own.
func phaseTable(all []analyze.Start) *view.Table {
	t := tableFor[analyze.Start]("phases of single starts", "Phases, percentiles", []string{"phase", "p50", "p95", "p99"},
		nil, nil)
	t.Detail = true
	for _, s := range all {
		add := func(phase string, p analyze.StartPercentiles) {
			t.Add(armCell(s.Arm, s.Emulated), view.Text(phase), percentile("s", &p.P50), percentile("s", p.P95),
				percentile("s", p.P99))
		}
		for _, p := range s.Phases {
			add(phaseNames[p.Name], p.StartPercentiles)
		}
		if s.OwnAt != nil {
			add("tare's own", *s.OwnAt)
		}
	}
	return t
}

// restoreTable is the table of what saving guests took, and the first use of their memory after they were restored;
// empty for guests that were not saved.
func restoreTable(all []analyze.Start) *view.Table {
	return tableFor("saved", "Saved guests, medians", []string{"save", "and flushed", "size", "fresh start",
		"restoration × fresh", "first touch", "second touch", "first × second"}, all, func(s analyze.Start) []view.Cell {
		r := s.Restored
		if r == nil {
			return nil
		}
		return []view.Cell{armCell(s.Arm, s.Emulated), percentile("s", &r.Save), percentile("s", &r.Flushed),
			percentile("B", &r.Size), percentile("s", &r.Fresh), percentile("", r.TimesFresh), percentile("s", &r.First),
			percentile("s", &r.Second), percentile("", r.TimesSecond)}
	})
}

// ofUnit is a value with its unit, in three digits; empty for 0.
func ofUnit(unit string, v float64) view.Cell {
	if v == 0 {
		return view.Cell{}
	}
	return view.Number(InUnit(unit, v, 3), v, unit)
}

// percentile is a percentile with its interval, if it has one; a ratio has no unit.
func percentile(unit string, p *analyze.Percentile) view.Cell {
	if p == nil {
		return view.Cell{}
	}
	if unit != "" {
		return scaledPercentile(ScaleFor(unit, p.Value), p, unit)
	}
	return view.Cell{Text: fmt.Sprintf("%s× (%s)", Digits(p.Value, 3), span(p.Low, p.High)),
		Figure: &view.Figure{Value: p.Value, Low: p.Low, High: p.High}}
}

// scaledPercentile is a percentile in a unit, with its interval if it has one.
func scaledPercentile(sc Scale, p *analyze.Percentile, unit string) view.Cell {
	if p == nil {
		return view.Cell{}
	}
	c := view.Cell{Text: sc.With(p.Value), Figure: &view.Figure{Value: p.Value, Low: p.Low, High: p.High, Unit: unit}}
	if p.High != 0 {
		c.Text += fmt.Sprintf(" (%s … %s)", sc.Figure(p.Low), sc.Figure(p.High))
	}
	return c
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
		"host read: what the whole host read from disks meanwhile"), "; ")
}
