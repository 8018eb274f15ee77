package fleet

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/view"
)

// Text writes the result for a terminal. With machines, it lists every machine's cost, too.
func Text(w io.Writer, r *Result, machines bool) error {
	return view.Terminal(w, view.Options{Wide: true, All: machines}, r.Document())
}

// WritePage writes the result as a page: the pooled costs, a map of machines and systems, a forest plot for each cost,
// where the variance comes from, and the odd machines.
func WritePage(w io.Writer, r *Result) error { return view.WritePage(w, "tare · fleet", r.Document()) }

// Document is the result as sections, one for each group.
func (r *Result) Document() *view.Section {
	total := 0
	for _, g := range r.Groups {
		total += len(g.Machines)
	}
	s := &view.Section{Title: cmp.Or(r.Name, "A fleet"), About: "Machines of different groups are not pooled.",
		Lead: fmt.Sprintf("%s in %s", Count(total, "machine"), Count(len(r.Groups), "group"))}
	if r.Name != "" {
		s.Lead = fmt.Sprintf("Fleet %s: %s", r.Name, s.Lead)
	}
	warn(s, r.Warnings)
	for i := range r.Groups {
		s.Add(r.Groups[i].section(r, fmt.Sprintf("g%d", i+1)))
	}
	if len(r.Between) > 0 {
		t := &view.Table{Name: "groups", Columns: view.Heads("workload", "arm", "group", "against", "difference", "interval",
			"verdict")}
		for _, x := range r.Between {
			title := Cost{Workload: x.Workload, Metric: x.Metric, Family: x.Family}.Title()
			t.Add(view.Text(title), view.Text(x.Arm), view.Text(x.Group), view.Text(x.Against), ratioCell(x.Estimate),
				view.Text(report.CostInterval(x.Ends())), view.Text(x.words(r.Delta)))
		}
		between := &view.Section{ID: "between", Title: "Groups against each other"}
		between.Add(view.Para{Text: betweenLegend}, t)
		s.Add(between)
	}
	return s
}

// warn adds warnings.
func warn(s *view.Section, warnings []string) {
	for _, text := range warnings {
		s.Add(view.Warning{Label: "Warning:", Text: text})
	}
}

// ratioCell is an estimate in words, coloured by its verdict.
func ratioCell(e Estimate) view.Cell {
	return view.Cell{Text: report.Cost(e.Ratio), Class: report.CostClass(e.Verdict, e.OverheadPercent),
		Figure: view.Ratio(e.Ratio, e.Interval)}
}

// legend says how to read the table of costs.
func (r *Result) legend() string {
	level := fmt.Sprintf("%.4g %%", 100*(1-r.Alpha))
	return fmt.Sprintf("What an arm costs against the baseline of the same machine, as the mean over all machines of the "+
		"kind, with its %s interval. The cost on the next machine of the kind lies within \"next machine\" with %s "+
		"confidence. The spread is the standard deviation between machines.", level, level)
}

func (g *Group) section(r *Result, id string) *view.Section {
	s := &view.Section{ID: id, Title: g.Name, Lead: g.Name + ": " + Count(len(g.Machines), "machine"),
		About: Count(len(g.Machines), "machine") + "."}
	warn(s, g.Warnings)
	switch len(g.Machines) {
	case 1:
		s.Add(view.Para{Text: "One machine is not enough to predict others of its kind."})
	case 2:
		s.Add(
			view.Para{Text: "Two machines allow no prediction of the next one of their kind, and say little about how much " +
				"machines differ."},
		)
	default:
		answers := &view.List{Lead: g.AnswersLead(r)}
		for _, a := range g.Answers(r) {
			answers.Items = append(answers.Items, view.Item{Name: a.Arm, Class: report.CostClass(a.Class, 0),
				Sentences: []string{a.Text}})
		}
		s.Add(answers)
	}
	if len(g.Machines) > 1 {
		s.Add(view.Para{Text: r.legend()})
	}
	t := &view.Table{
		Name:    "costs",
		Caption: "Pooled costs of " + g.Name,
		Columns: view.Heads("workload", "arm", "machines",
			"cost", "interval", "next machine", "spread", "verdict"),
	}
	for _, c := range g.Costs {
		t.Add(c.cells(r)...)
	}
	s.Add(t, g.shares())
	odd := &view.Section{Title: "Odd machines", About: "These machines have costs outside the range that the other " +
		"machines of the group suggest, by more than chance. How else they differ shows where to look, but " +
		"does not prove the cause."}
	for _, o := range g.Odd {
		odd.Add(&view.Bullets{Lead: fmt.Sprintf("Odd: %s. %s", o.Machine, o.sentence()), Items: o.lines()})
	}
	s.Add(odd)
	if len(g.Machines) > 1 {
		s.Add(g.mapTable(r))
	}
	plots := &view.Section{Title: "Every cost by machine", Beside: true}
	for i, c := range g.Costs {
		if len(c.Machines) > 0 {
			plots.Add(c.machines(r, g, fmt.Sprintf("%s-%d", id, i)))
		}
	}
	s.Add(&view.Bullets{Lead: "Not pooled:", Items: g.leftOut()}, plots, g.machines())
	return s
}

// cells are a cost in words and figures.
func (c Cost) cells(r *Result) []view.Cell {
	n := fmt.Sprint(len(c.Machines))
	if len(c.LeftOut) > 0 {
		n = fmt.Sprintf("%d of %d", len(c.Machines), len(c.Machines)+len(c.LeftOut))
	}
	cells := []view.Cell{view.Text(c.Title()), view.Text(c.Arm), view.Text(n), {}, {}, {}, {}, view.Text("not pooled")}
	p := c.Pooled
	if p == nil {
		if len(c.Machines) == 1 {
			m := c.Machines[0]
			cells[3] = view.Number(report.Cost(m.Ratio), m.Ratio, "")
			cells[4] = view.Text(report.CostInterval(m.CILow, m.CIHigh))
		}
		return cells
	}
	cells[3], cells[4] = ratioCell(p.Estimate), view.Text(report.CostInterval(p.Ends()))
	cells[5] = view.Text("needs 3 machines")
	if p.NextHigh > 0 {
		cells[5].Text = report.CostInterval(p.NextLow, p.NextHigh)
	}
	cells[6], cells[7] = view.Number(Spread(p.Tau), p.Tau, ""), view.Text(p.Words(r.Delta))
	return cells
}

// shares is the table of where the variance comes from.
func (g *Group) shares() *view.Section {
	t := &view.Table{Name: "shares", Columns: view.Heads("workload", "arm", "machine", "boot", "guest", "trial")}
	for _, c := range g.Costs {
		if len(c.Shares) == 0 {
			continue
		}
		cells := []view.Cell{view.Text(c.Title()), view.Text(c.Arm)}
		for _, s := range c.Shares {
			cells = append(cells, view.Cell{Text: s.Text(), Figure: &view.Figure{Value: s.Percent, Low: s.Low, High: s.High,
				Unit: "%"}})
		}
		t.Add(cells...)
	}
	s := &view.Section{}
	if len(t.Rows) > 0 {
		s.Add(view.Para{Text: sharesLegend}, t)
	}
	return s
}

// sharesLegend says how to read the shares of variance.
const sharesLegend = "Where the variance of the cost of a single block comes from, with intervals. A dash: the level " +
	"occurs only once in the level before it, whose share includes it. Too few: no interval, as with two machines."

// manyMachines is how many machines are drawn with their names, in the order of the fleet. More are drawn closely, in
// the order of their figures, and only odd ones have names.
const manyMachines = 40

// mapTable is the cost on each machine by its own run. On a page, the costs are columns.
func (g *Group) mapTable(r *Result) *view.Table {
	t := &view.Table{
		Name:    "map",
		Title:   "Machines and systems",
		Caption: "Costs by machine and system in " + g.Name,
		Across:  2,
		Repeats: true,
		Columns: view.Heads("machine", "cost", "on it", "odd", "interval"),
		Legend: fmt.Sprintf("the cost on each machine by its own run, with its %.4g %% interval; a colour means that the "+
			"interval excludes 0, or lies within what is too small to matter", 100*(1-r.Alpha)),
	}
	if len(g.Machines) > manyMachines {
		t.Fold = fmt.Sprintf("All %d machines", len(g.Machines))
	}
	for _, machine := range g.Machines {
		for _, c := range g.Costs {
			cell, interval, odd := view.Cell{Text: "–", Class: view.Open}, "", ""
			if m := c.On(machine.Name); m != nil {
				cell = view.Cell{Text: report.Cost(m.Ratio), Class: m.class(r.Delta),
					Figure: &view.Figure{Value: m.Ratio, Low: m.CILow, High: m.CIHigh}}
				interval, odd = report.CostInterval(m.CILow, m.CIHigh), oddWord(*m)
			}
			t.Add(view.Text(machine.Name), view.Text(c.Arm+" on "+c.Title()), cell, view.Text(odd), view.Text(interval))
		}
	}
	return t
}

// class is how a machine's cost is coloured: by its interval alone. Without one, CILow is 0.
func (m *MachineCost) class(delta float64) view.Class {
	switch {
	case m.CILow <= 0:
		return view.Open
	case m.CILow > 1:
		return report.CostClass(analyze.Costs, 100*(m.Ratio-1))
	case m.CIHigh < 1:
		return view.Gains
	case m.CIHigh < 1+delta && m.CILow > 1/(1+delta):
		return view.None
	}
	return view.Open
}

// machines is a cost on every machine: drawn, what the others say of it, and where the variance comes from.
func (c Cost) machines(r *Result, g *Group, id string) *view.Section {
	title := c.Arm + " on " + c.Title()
	s := &view.Section{}
	plot := forest(id+"-f", "What "+c.Arm+" costs on "+c.Title()+", by machine", c.Machines, c.Pooled, r.Delta)
	plot.Caption = title + ". " + betweenText(c, r)
	s.Add(plot)
	if slices.ContainsFunc(c.Shares, func(s Share) bool { return s.Percent > 0 }) {
		s.Add(sharesPlot(id+"-s", c))
	}
	t := &view.Table{Name: "machines", Title: title, Caption: title + " on each machine of " + g.Name, Detail: true,
		Fold:    "Each machine, and without it",
		Columns: view.Heads("machine", "cost", "interval", "on the others", "which suggests", "residual", "odd")}
	for _, m := range c.Machines {
		cells := []view.Cell{view.Text(m.Machine), {Text: report.Cost(m.Ratio), Class: m.class(r.Delta),
			Figure: &view.Figure{Value: m.Ratio, Low: m.CILow, High: m.CIHigh}},
			view.Text(report.CostInterval(m.CILow, m.CIHigh)), {}, {}, {}, view.Text(oddWord(m))}
		if w := m.Without; w != nil {
			cells[3] = view.Number(report.Cost(w.Ratio), w.Ratio, "")
			cells[4] = view.Cell{Text: report.CostInterval(w.NextLow, w.NextHigh)}
			cells[5] = view.Number(report.Digits(w.Residual, 2), w.Residual, "")
		}
		t.Add(cells...)
	}
	s.Add(t)
	return s
}

func oddWord(m MachineCost) string {
	if m.Odd {
		return "odd"
	}
	return ""
}

// betweenText says how much machines differ.
func betweenText(c Cost, r *Result) string {
	p := c.Pooled
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("The spread between machines is %s (%s … %s).", Spread(p.Tau), Spread(p.TauLow), Spread(p.TauHigh))
	if p.DifferP < r.Alpha {
		return text + " The machines differ by more than their own intervals explain."
	}
	return text + " Chance alone could explain the differences between the machines."
}

// machines is the table of what the machines are.
func (g *Group) machines() *view.Table {
	t := &view.Table{Name: "types", Caption: "Machines of " + g.Name, Fold: "The machines", Detail: true,
		Columns: view.Heads("machine", "type", "boots", "runs")}
	t.Columns[3].Words = true
	for _, m := range g.Machines {
		t.Add(view.Text(m.Name), view.Text(m.Type), view.Number(fmt.Sprint(m.Boots), float64(m.Boots), ""),
			view.Text(strings.Join(m.Runs, ", ")))
	}
	return t
}

// forest draws each machine as a point with its interval, the pooled figure as a diamond, and where the next machine
// lies as a bar below.
func forest(id, title string, machines []MachineCost, pooled *Pooled, delta float64) *view.Plot {
	f := &view.Forest{Band: delta, Widest: 5}
	many := len(machines) > manyMachines
	if many {
		machines = slices.Clone(machines)
		slices.SortStableFunc(machines, func(x, y MachineCost) int { return cmp.Compare(x.Ratio, y.Ratio) })
	}
	for _, m := range machines {
		dot := view.Dot{Ratio: m.Ratio, Class: m.class(delta), Odd: m.Odd, Words: report.Cost(m.Ratio)}
		if m.CILow > 0 {
			dot.Low, dot.High = m.CILow, m.CIHigh
			dot.Words += ", " + report.CostInterval(m.CILow, m.CIHigh)
		}
		f.Rows = append(f.Rows, view.ForestRow{Label: m.Machine, Small: many, Points: []view.Dot{dot}})
	}
	if p := pooled; p != nil {
		next := view.ForestRow{Label: "next machine", None: "no prediction"}
		if p.NextHigh > 0 {
			next.Points = []view.Dot{{Ratio: p.Ratio, Low: p.NextLow, High: p.NextHigh, Shape: view.Span,
				Words: report.CostInterval(p.NextLow, p.NextHigh)}}
		}
		low, high := p.Ends()
		f.Rows = append(f.Rows, view.ForestRow{Label: "pooled", Rule: true, Points: []view.Dot{{Ratio: p.Ratio, Low: low,
			High: high, Shape: view.Pooled, Class: report.CostClass(p.Verdict, p.OverheadPercent),
			Words: report.Cost(p.Ratio) + ", " + report.CostInterval(p.Ends())}}}, next)
	}
	desc := fmt.Sprintf("A point with its interval for each machine; below them, the pooled figure as a diamond and the "+
		"range for the next machine. The tables have the same figures. The band is ±%.3g %%.", 100*delta)
	if many {
		desc += " Machines are in the order of their figures."
	}
	return &view.Plot{ID: id, Title: title, Desc: desc, Drawing: f}
}

// sharesPlot draws the shares of variance as parts of one bar.
func sharesPlot(id string, c Cost) *view.Plot {
	d := &view.Shares{}
	var words []string
	for i, share := range c.Shares {
		if !share.Known {
			continue
		}
		name := share.Level
		if i+1 < len(c.Shares) && !c.Shares[i+1].Known {
			name += " and " + c.Shares[i+1].Level
		}
		d.Parts = append(d.Parts, view.Share{Name: name, Percent: share.Percent, Words: share.Text()})
		words = append(words, name+" "+share.Text())
	}
	return &view.Plot{ID: id, Title: "Where the variance of a block comes from", Desc: strings.Join(words, ", ") + ".",
		Drawing: d}
}
