package report

import (
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// besideOthers says of tables that the arms were not alone.
const besideOthers = " beside other guests"

// Workload is everything about one workload: what the arms cost by its first metric, alone and beside other guests, how
// guests slow each other down, and the other metrics.
func Workload(res *analyze.Result, ctx Context, workload string) *view.Section {
	s := &view.Section{ID: idOf(res, workload), Title: workload, Prefix: true}
	for _, size := range ctx.Sizes {
		if size.Workload == workload {
			s.Aside = "each trial: " + Size(size)
		}
	}
	metrics := metricsOf(res, workload)
	primary := ""
	for _, m := range metrics {
		if m.primary {
			primary = m.name
		}
	}
	alone := costsOf(res, workload, primary, func(baseline string) bool { return baseline == res.Baseline })
	beside := costsOf(res, workload, primary, func(baseline string) bool { return baseline != res.Baseline })
	charts := &view.Section{Beside: true}
	if alone != nil {
		charts.Add(alone.plot(s.ID+"-i", ""), alone.bars(s.ID+"-b"))
	}
	charts.Add(stripsPlot(ctx, alone, s.ID+"-d", workload, primary, true))
	s.Add(charts)
	if alone != nil {
		s.Add(alone.table(""), alone.tails(""), alone.distribution(""))
	}
	s.Add(curvesWithin(res, s.ID, workload), starts(res, workload), fills(res, workload))
	with := &view.Section{Fold: "What systems cost beside other guests", Detail: alone != nil}
	if beside != nil {
		with.Add(
			beside.plot(s.ID+"-j", besideOthers),
			beside.table(besideOthers),
			beside.tails(besideOthers),
			beside.distribution(besideOthers),
		)
	}
	if strips := stripsPlot(ctx, beside, s.ID+"-c", workload, primary, false); strips != nil {
		strips.Fold = "Every trial beside other guests"
		with.Add(strips)
	}
	latency, latencyBeside := latencies(res, workload)
	s.Add(scalingPlot(res, s.ID+"-n", workload, primary), isolation(res, workload, primary), with,
		guests(res, workload, primary), latencyPlot(res, s.ID+"-l", workload, true), latency,
		latencyPlot(res, s.ID+"-m", workload, false), latencyBeside, packets(res, workload))
	others := &view.Section{Fold: "More metrics of " + workload, Detail: true}
	for _, m := range metrics {
		if !m.primary {
			c := costsOf(res, workload, m.name, func(string) bool { return true })
			others.Add(c.table(""), isolation(res, workload, m.name))
		}
	}
	others.Add(probes(res, workload))
	s.Add(others)
	return s
}

// idOf is the anchor of a workload's chapter: a number, because names may contain
// anything.
func idOf(res *analyze.Result, workload string) string {
	var seen []string
	for _, a := range res.Arms {
		if !slices.Contains(seen, a.Workload) {
			seen = append(seen, a.Workload)
		}
	}
	return fmt.Sprintf("w%d", slices.Index(seen, workload))
}

type metricName struct {
	name    string
	primary bool
}

// metricsOf are the metrics of a workload in the order of the comparisons.
func metricsOf(res *analyze.Result, workload string) (all []metricName) {
	for _, c := range res.Comparisons {
		if m := (metricName{c.Metric, c.Primary}); c.Workload == workload && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// probes is the table of the mean of every probe of every arm.
func probes(res *analyze.Result, workload string) *view.Table {
	t := &view.Table{
		Name:    "mean of a trial",
		Columns: view.Heads(""),
		Caption: "What tare saw during the trials of " + workload,
		Detail:  true,
		Fold:    "What tare saw in a trial, means",
	}
	for _, a := range res.Arms {
		if a.Workload != workload || len(a.Probes) == 0 {
			continue
		}
		cells := make([]view.Cell, len(t.Columns))
		cells[0] = armCell(a.Arm, a.Emulated)
		for _, p := range a.Probes {
			j := slices.IndexFunc(t.Columns, func(c view.Column) bool { return c.Head == p.Name })
			if j < 0 {
				j = len(t.Columns)
				t.Columns = append(t.Columns, view.Column{Head: p.Name})
			}
			for len(cells) <= j {
				cells = append(cells, view.Cell{})
			}
			cells[j] = view.Number(InUnit(p.Unit, p.Mean, 4), p.Mean, p.Unit)
		}
		t.Add(cells...)
	}
	for i, r := range t.Rows {
		t.Rows[i].Cells = append(r.Cells, make([]view.Cell, len(t.Columns)-len(r.Cells))...)
	}
	return t
}
