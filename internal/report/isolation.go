package report

import (
	"fmt"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// isolation is how other guests slow down the arms of one metric, with notes on how many guests fit and how accurate
// caps are; empty if all of them are alone and without a cap.
func isolation(res *analyze.Result, workload, metric string) *view.Section {
	t := tableFor(
		"isolation",
		"Isolation on "+workload+" by "+metric+", by system and scenario",
		[]string{"guests", "slowdown",
			"interval", "native's", "excess", "p99", "Jain", "unfair", "lost", "start ±"},
		res.Isolation,
		func(i analyze.Isolation) []view.Cell {
			if i.Workload != workload || i.Metric != metric {
				return nil
			}
			return isolationCells(res, i)
		},
	)
	t.Legend = isolationLegend
	s := &view.Section{}
	s.Add(t)
	for _, text := range isolationNotes(res, workload, metric) {
		s.Add(view.Note{Text: text})
	}
	return s
}

// isolationLegend explains the headings.
const isolationLegend = "slowdown: against the same arm alone, in brackets if not resolved; it is not the cost of " +
	"the system; excess: the slowdown over that of the native baseline; p99: slowdown of the 99th percentile of " +
	"single latencies; Jain: fairness index, 1 if all guests got the same for their shares; unfair: largest slowdown " +
	"over smallest; start ±: how far trials began from the agreed start, 99th percentile"

// mostGuests is how many single guests a table has.
const mostGuests = 300

// guests is the table of each guest of several.
func guests(res *analyze.Result, workload, metric string) *view.Table {
	t := &view.Table{Name: "guests", Caption: "Each guest beside others on " + workload, Fold: "Each guest", Detail: true,
		Sortable: true, Columns: view.Heads("", "guest", "flavor", "slowdown", "trials", "did not finish")}
	left := 0
	for _, i := range res.Isolation {
		if i.Workload != workload || i.Metric != metric || len(i.Members) < 2 {
			continue
		}
		for _, m := range i.Members {
			if len(t.Rows) == mostGuests {
				left++
				continue
			}
			t.Add(view.Text(i.Arm), count(m.Member+1), view.Text(m.Flavor), timesCell(m.Slowdown), count(m.N), count(m.Lost))
		}
	}
	if left > 0 {
		t.Notes = []view.Note{{Text: fmt.Sprintf("%d more are in the export", left)}}
	}
	return t
}

// isolationNotes says for a metric how many guests fit, and how accurate caps are.
func isolationNotes(res *analyze.Result, workload, metric string) (notes []string) {
	for _, d := range res.Density {
		if d.Workload == workload && d.Metric == metric {
			notes = append(notes, densityText(d))
		}
	}
	for _, c := range res.CapAccuracy {
		if c.Workload == workload && c.Metric == metric {
			notes = append(notes, capText(c))
		}
	}
	for _, c := range res.RateCaps {
		if c.Workload == workload && c.Metric == metric {
			notes = append(notes, rateCapText(c))
		}
	}
	return notes
}

// rateCapText says in a line how much of a cap of I/O or of the network an arm got.
func rateCapText(c analyze.RateCap) string {
	limit := InUnit(c.Unit, c.Limit, 4)
	text := fmt.Sprintf("%s cap: %s got %s× of %s%s", strings.ReplaceAll(c.Cap, "_", " "), c.Arm, Digits(c.Ratio, 3),
		limit, bracketed(c.Ends()))
	if c.Untested {
		return text + ": not tested, since no arm came near it"
	}
	return text + when(c.Peak > 0, ", and "+Digits(c.Peak, 3)+"× in its fastest second"+bracketed(c.PeakLow, c.PeakHigh))
}

// capText says in a line how accurate a CPU cap is.
func capText(c analyze.CapAccuracy) string {
	text := fmt.Sprintf("cap: flavor %s of %s takes %s× as long as %s", c.Flavor, c.Arm, Digits(c.Ratio, 3), c.Reference)
	return fmt.Sprintf("%s%s%s; ideal for pure computing, with CPUs to spare: %s×", text,
		when(c.Against != c.Arm, " of "+c.Against), bracketed(c.Ends()), Digits(c.Ideal, 3))
}

// densityText says in a line how many guests fit, and which limit broke.
func densityText(d analyze.Density) string {
	tried := make([]string, len(d.Tried))
	for i, n := range d.Tried {
		tried[i] = fmt.Sprint(n)
	}
	memory := func(v float64) string { return InUnit("B", v, 4) }
	var limits []string
	if d.Limit > 0 {
		limits = append(limits, fmt.Sprintf("with a slowdown of at most %s×", Digits(d.Limit, 2)))
	}
	if d.MemoryLimit > 0 {
		limits = append(limits, fmt.Sprintf("with %s of the host's memory left", memory(d.MemoryLimit)))
	}
	text := fmt.Sprintf("density: %d guests of %s fit %s", d.Fits, d.Arm, view.And(limits))
	if d.Fits == 1 {
		text = fmt.Sprintf("density: none of the tried numbers of guests of %s is sure to fit %s", d.Arm, view.And(limits))
	}
	switch {
	case d.Broke == analyze.BrokeMemory && d.MemoryLeft > 0:
		text += fmt.Sprintf("; %d do not: only %s of memory was left", d.Breaks, memory(d.MemoryLeft))
	case d.Broke == analyze.BrokeMemory:
		text += fmt.Sprintf("; %d do not: there was too little memory to create all", d.Breaks)
	case d.Broke == analyze.BrokeLost:
		text += fmt.Sprintf("; %d do not: some did not finish", d.Breaks)
	case d.Broke == analyze.BrokeSlowdown:
		text += fmt.Sprintf("; %d do not: %s×", d.Breaks, Digits(d.Slowdown, 3))
	case d.Fits < d.Tried[len(d.Tried)-1]:
		text += "; more is not resolved"
	default:
		text += "; more were not tried"
	}
	return text + "; tried: " + strings.Join(tried, ", ")
}

// isolationCells are the figures of an arm beside other guests.
func isolationCells(res *analyze.Result, i analyze.Isolation) []view.Cell {
	slowdown := view.Cell{Text: claimedTimes(i.Ratio, i.Verdict), Class: classOf(res, i.Comparison)}
	switch {
	case i.Ratio == 0 && i.Lost == i.Trials:
		slowdown.Text, slowdown.Class = "did not finish", view.Failed
	case i.Ratio == 0:
		slowdown.Text = "not known"
	default:
		slowdown.Figure = view.Ratio(i.Ratio, i.Interval)
	}
	name := view.Text(i.Arm)
	if len(Doubts(res, i.Comparison)) > 0 {
		name.Marks = []view.Mark{markDoubt}
	}
	beside := fmt.Sprint(i.Guests) + when(len(i.Neighbours) > 0, " + "+strings.Join(i.Neighbours, ", "))
	cells := []view.Cell{name, view.Text(beside), slowdown, view.Text(when(i.Interval != nil, span(i.Ends()))),
		timesCell(i.Native), timesCell(i.Excess), timesCell(i.P99), {}, timesCell(i.Unfairness),
		view.Text(when(i.Lost > 0, fmt.Sprintf("%d of %d", i.Lost, i.Trials))), {}}
	cells[6].Text = claimedTimes(i.P99, i.P99Verdict)
	if i.Jain > 0 {
		cells[7] = view.Number(Digits(i.Jain, 3), i.Jain, "")
	}
	if i.SkewP99 > 0 {
		cells[10] = view.Number(Digits(1000*i.SkewP99, 2)+" ms", i.SkewP99, "s")
	}
	return cells
}

// times formats a ratio; "" if it is not known.
func times(ratio float64) string { return when(ratio != 0, Digits(ratio, 3)+"×") }

// bracketed is an interval after its figure; "" if it is not known.
func bracketed(low, high float64) string { return when(low > 0, " ("+span(low, high)+")") }

// claimedTimes formats a ratio, in brackets if it is not resolved.
func claimedTimes(ratio float64, v analyze.Verdict) string {
	if ratio > 0 && v == analyze.NotResolved {
		return "(" + times(ratio) + ")"
	}
	return times(ratio)
}
