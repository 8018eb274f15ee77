package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/view"
)

// The signs at figures.
var (
	markEmulated = view.Mark{Sign: "*", Text: "emulated: its times say nothing about real hardware"}
	markThese    = view.Mark{Sign: "°", Text: TheseGuests}
	markWide     = view.Mark{Sign: "~", Text: "widely spread values: do not quote the mean alone"}
	markDoubt    = view.Mark{Sign: "!", Text: "a serious finding concerns this figure"}
	markAtOnce   = view.Mark{Text: AtOnceLegend}
	markMany     = view.Mark{Text: ManyComparisons}
)

func emulatedMark(emulated bool) []view.Mark {
	if emulated {
		return []view.Mark{markEmulated}
	}
	return nil
}

// isEmulated reports whether an arm was emulated for a workload; "": for any.
func isEmulated(res *analyze.Result, arm, workload string) bool {
	return slices.ContainsFunc(res.Arms, func(a analyze.ArmResult) bool {
		return a.Arm == arm && a.Emulated && (workload == "" || a.Workload == workload)
	})
}

// classOf is how a comparison is coloured: only if it is resolved and has no serious finding, or did not finish.
func classOf(res *analyze.Result, c analyze.Comparison) view.Class {
	switch {
	case c.N == 0 && Failures(res, c) > 0:
		return view.Failed
	case len(Doubts(res, c)) > 0, isEmulated(res, c.Arm, c.Workload), isEmulated(res, c.Baseline, c.Workload):
		return view.Open
	}
	return CostClass(c.Verdict, c.OverheadPercent)
}

// CostClass is how a cost is coloured that nothing speaks against.
func CostClass(v analyze.Verdict, overheadPercent float64) view.Class {
	switch v {
	case analyze.Costs:
		if overheadPercent >= 25 {
			return view.Much
		}
		return view.Costs
	case analyze.Gains:
		return view.Gains
	case analyze.None:
		return view.None
	}
	return view.Open
}

// marksOf are the signs at the verdict on a comparison.
func marksOf(res *analyze.Result, c analyze.Comparison) (marks []view.Mark) {
	if OfTheseGuests(c) {
		marks = append(marks, markThese)
	}
	if len(Doubts(res, c)) > 0 {
		marks = append(marks, markDoubt)
	}
	if manyComparisons(res, c) {
		marks = append(marks, markMany)
	}
	return marks
}

// overhead is the figure of a comparison, in percent; nil: it has none.
func overhead(c analyze.Comparison) *view.Figure {
	if c.Ratio <= 0 {
		return nil
	}
	f := &view.Figure{Value: c.OverheadPercent, Unit: "%"}
	if Interval(c) != "" {
		f.Low, f.High = c.Percents()
	}
	return f
}

// verdictCell is a comparison in these words.
func verdictCell(res *analyze.Result, c analyze.Comparison, words string) view.Cell {
	return view.Cell{Text: words, Figure: overhead(c), Class: classOf(res, c), Marks: marksOf(res, c)}
}

// costRow is an arm of a workload in the table of a metric, with the arm that it is compared with.
type costRow struct {
	res        *analyze.Result
	arm        *analyze.ArmResult // nil: it has no values
	series     *analyze.SeriesSummary
	name       string
	baseline   string
	scale      Scale
	metric     string
	comparison *analyze.Comparison // nil: of a baseline
}

// intervalHead is the heading of the intervals' column, which a table precedes by their confidence.
const intervalHead = "interval"

// costColumns are those of the table of a metric, from left to right. A new one needs a line here.
var costColumns = []struct {
	view.Column
	cell func(costRow) view.Cell
}{
	{view.Column{}, func(r costRow) view.Cell {
		return view.Cell{Text: r.name, Marks: emulatedMark(r.arm != nil && r.arm.Emulated)}
	}},
	{view.Column{Head: "mean", Right: true}, func(r costRow) view.Cell {
		if r.series == nil {
			return view.Cell{}
		}
		c := view.Number(r.scale.With(r.series.Mean), r.series.Mean, r.series.Unit)
		if r.series.Wide {
			c.Marks, c.More = []view.Mark{markWide}, []string{WideText(*r.series)}
		}
		return c
	}},
	{view.Column{Head: "min … max", Drop: 2}, func(r costRow) view.Cell {
		if r.series == nil {
			return view.Cell{}
		}
		return view.Text(r.scale.Figure(r.series.Min) + " … " + r.scale.Figure(r.series.Max))
	}},
	{view.Column{Head: "min, max against baseline", Detail: true, Drop: 1}, costRow.extremes},
	{view.Column{Head: "result", Words: true}, func(r costRow) view.Cell {
		switch c := r.comparison; {
		case c == nil:
			return view.Text("baseline")
		case c.Control:
			return view.Cell{Text: "control: identical to " + c.Baseline, Class: view.Open}
		default:
			return verdictCell(r.res, *c, Verdict(r.res, *c))
		}
	}},
	{view.Column{Head: intervalHead, Drop: 4}, func(r costRow) view.Cell {
		if r.comparison == nil {
			return view.Cell{}
		}
		return view.Text(Interval(*r.comparison))
	}},
	{view.Column{Head: "CPU time", Words: true, Drop: 3}, func(r costRow) view.Cell {
		if r.metric == analyze.CPUTime || r.metric == analyze.CPUTimeAtOnce {
			return view.Cell{}
		}
		if r.comparison == nil {
			return r.measured(analyze.CPUTime)
		}
		cpu := CPUTimeOf(r.res, *r.comparison)
		if cpu == nil || cpu.Control {
			return view.Cell{}
		}
		cell := verdictCell(r.res, *cpu, CPUVerdict(*cpu))
		if cpu.Metric == analyze.CPUTimeAtOnce {
			cell.Marks = append(cell.Marks, markAtOnce)
		}
		return cell
	}},
	{view.Column{Head: "energy", Words: true, Drop: 5}, func(r costRow) view.Cell {
		if r.metric == analyze.Energy {
			return view.Cell{}
		}
		if r.comparison == nil {
			return r.measured(analyze.Energy)
		}
		energy := ByMetric(r.res, *r.comparison, analyze.Energy)
		if energy == nil || energy.Control {
			return view.Cell{}
		}
		return verdictCell(r.res, *energy, ShortVerdict(*energy))
	}},
	{view.Column{Head: "host CPU", Right: true, Drop: 1}, func(r costRow) view.Cell {
		cpu, _ := hostCPU(r.arm)
		if cpu == nil {
			return view.Cell{}
		}
		return view.Number(Digits(cpu.Mean, 3)+" s", cpu.Mean, cpu.Unit)
	}},
	{view.Column{Head: "× baseline", Right: true, Detail: true, Drop: 1}, func(r costRow) view.Cell {
		times := hostCPUTimes(r.res, r.arm, r.baseline)
		if times == 0 {
			return view.Cell{}
		}
		return view.Number(Digits(times, 3)+"×", times, "")
	}},
	{view.Column{Head: "CPU in the guest", Right: true, Detail: true, Drop: 1}, func(r costRow) view.Cell {
		if r.arm == nil || r.arm.Probe(model.ProbeGuestCPU) == nil {
			return view.Cell{}
		}
		g := r.arm.Probe(model.ProbeGuestCPU)
		return view.Number(Digits(g.Mean, 3)+" s", g.Mean, g.Unit)
	}},
}

// extremes are the best and the worst values against those of the baseline, as costs: published tables often have them.
func (r costRow) extremes() view.Cell {
	if r.comparison == nil || r.comparison.Control || r.series == nil {
		return view.Cell{}
	}
	base := r.res.Arm(r.baseline, r.arm.Workload).Metric(r.metric)
	if base == nil || base.Min <= 0 || r.series.Min <= 0 {
		return view.Cell{}
	}
	against := func(v, base float64) string {
		if r.comparison.Better == "higher" {
			v, base = base, v
		}
		return Cost(v / base)
	}
	return view.Text(against(r.series.Min, base.Min) + ", " + against(r.series.Max, base.Max))
}

// measured is the mean of what tare measures of the arm from outside.
func (r costRow) measured(metric string) view.Cell {
	if r.arm == nil || r.arm.Metric(metric) == nil {
		return view.Cell{}
	}
	s := r.arm.Metric(metric)
	return view.Number(InUnit(s.Unit, s.Mean, 4), s.Mean, s.Unit)
}

// hostCPU is the host's total CPU time in a trial or, if that is unknown, that of
// the guest's control group.
func hostCPU(a *analyze.ArmResult) (*analyze.SeriesSummary, string) {
	for _, name := range []string{model.ProbeHostCPU, model.ProbeGuestGroupCPU} {
		if a == nil {
			break
		}
		if s := a.Probe(name); s != nil {
			return s, name
		}
	}
	return nil, ""
}

// hostCPUTimes is how many times the host CPU of its baseline an arm takes; 0: not known.
func hostCPUTimes(res *analyze.Result, arm *analyze.ArmResult, baseline string) float64 {
	cpu, name := hostCPU(arm)
	if cpu == nil || arm.Arm == baseline {
		return 0
	}
	if base := res.Arm(baseline, arm.Workload).Probe(name); base != nil && base.Mean > 0 {
		return cpu.Mean / base.Mean
	}
	return 0
}

// costs are the rows of the table of a metric: these baselines, the arms that are compared with them, and the controls.
type costs struct {
	res              *analyze.Result
	workload, metric string
	all              []analyze.Comparison // controls last
	scale            Scale
	rows             []costRow
}

// costsOf are those against the baselines that are selected; nil: there are none.
func costsOf(res *analyze.Result, workload, metric string, baseline func(string) bool) *costs {
	c := &costs{res: res, workload: workload, metric: metric}
	for _, of := range res.Comparisons {
		if of.Workload == workload && of.Metric == metric && baseline(of.Baseline) {
			c.all = append(c.all, of)
		}
	}
	if c.all == nil {
		return nil
	}
	slices.SortStableFunc(c.all, func(a, b analyze.Comparison) int {
		return map[bool]int{true: 1}[a.Control] - map[bool]int{true: 1}[b.Control]
	})
	first := c.all[0]
	c.scale = ScaleFor(first.Unit, 0)
	if s := res.Arm(first.Baseline, workload).Metric(metric); s != nil {
		c.scale = ScaleFor(first.Unit, s.Median)
	}
	var shown []string
	for i := range c.all {
		of := &c.all[i]
		if !slices.Contains(shown, of.Baseline) {
			shown = append(shown, of.Baseline)
			c.rows = append(c.rows, c.row(of.Baseline, of.Baseline, nil))
		}
		r := c.row(of.Arm, of.Baseline, of)
		if of.Across && of.Baseline != res.Baseline {
			r.name = strings.Replace(r.name, of.Arm, of.Arm+" against "+of.Baseline, 1)
		}
		c.rows = append(c.rows, r)
	}
	return c
}

func (c *costs) row(arm, baseline string, of *analyze.Comparison) costRow {
	r := costRow{res: c.res, arm: c.res.Arm(arm, c.workload), name: arm, baseline: baseline, scale: c.scale,
		metric: c.metric, comparison: of}
	if r.arm != nil {
		r.series = r.arm.Metric(c.metric)
	}
	return r
}

// inTable reports whether an arm has a row in the table; controls do not count.
func (c *costs) inTable(arm string) bool {
	return slices.ContainsFunc(c.all,
		func(of analyze.Comparison) bool { return of.Baseline == arm || of.Arm == arm && !of.Control })
}

// scenarios are those of the baselines.
func (c *costs) scenarios() (list []string) {
	for _, of := range c.all {
		if a := c.res.Arm(of.Baseline, c.workload); a != nil && !slices.Contains(list, a.Scenario) {
			list = append(list, a.Scenario)
		}
	}
	return list
}

// table is the table of the costs, with its notes.
func (c *costs) table(where string) *view.Table {
	first := c.all[0]
	t := &view.Table{Name: "cost", Title: fmt.Sprintf("%s%s, %s is better", c.metric, where, first.Better),
		Caption: fmt.Sprintf("%s of %s, by system%s", c.metric, c.workload, where), Sortable: true}
	for _, column := range costColumns {
		head := column.Column
		if head.Head == intervalHead {
			head.Head = fmt.Sprintf("%.4g %% %s", 100*(1-c.res.Alpha), intervalHead)
		}
		t.Columns = append(t.Columns, head)
	}
	for _, r := range c.rows {
		row := view.Row{}
		for _, column := range costColumns {
			row.Cells = append(row.Cells, column.cell(r))
		}
		if r.comparison == nil {
			row.Class = view.Baseline
		} else {
			row.Detail = r.comparison.Control
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = c.notes()
	return t
}

// notes are the remarks on a metric.
func (c *costs) notes() (notes []view.Note) {
	notes = append(notes, c.rankings()...)
	add := func(text string) { notes = append(notes, view.Note{Text: text}) }
	for _, tail := range c.res.Tails {
		if tail.Workload == c.workload && tail.Metric == c.metric && tail.More && c.inTable(tail.Arm) {
			add(StallText(tail))
		}
	}
	for _, text := range NoiseTexts(c.res, c.workload, c.metric, c.scenarios()) {
		add(text)
	}
	if c.all[0].Primary {
		for _, text := range c.device() {
			if text != "" {
				add(text)
			}
		}
		if text := RequestText(c.res, c.workload, c.inTable); text != "" {
			add(text)
		}
	}
	if c.all[0].Primary || c.metric == analyze.Energy {
		if text := EnergyText(c.res, c.workload, c.inTable); text != "" {
			add(text)
		}
	}
	return notes
}

// rankings are those of the scenarios in the table. Those of the first scenario are shown if they rank more than two
// arms.
func (c *costs) rankings() (notes []view.Note) {
	for _, r := range c.res.Rankings {
		if r.Workload != c.workload || r.Metric != c.metric {
			continue
		}
		arms := 0
		for _, p := range r.Places {
			arms += len(p.Arms)
		}
		alone := r.Scenario == "" || r.Scenario == FirstScenario(c.res)
		if !slices.Contains(c.scenarios(), r.Scenario) && r.Scenario != "" {
			continue
		}
		notes = append(notes, view.Note{Text: "ranking" + when(!alone, " in "+r.Scenario) + ": " + RankingText(c.res, r),
			Detail: !alone || arms <= 2})
	}
	return notes
}

// FirstScenario is the one that the run's baseline is in.
func FirstScenario(res *analyze.Result) string {
	for _, a := range res.Arms {
		if a.Arm == res.Baseline {
			return a.Scenario
		}
	}
	return ""
}

// device says how many of the bytes that each arm wrote reached the device, and how many of those that it read the
// device delivered.
func (c *costs) device() []string {
	return []string{
		c.ofBytes("reached the device, of the bytes written: ", model.ProbeDeviceBytes, model.ProbeWorkloadBytes),
		c.ofBytes("came from the device, of the bytes read: ", model.ProbeDeviceRead, model.ProbeWorkloadRead),
	}
}

// ofBytes says how many bytes a probe counted, of those of another, in each arm that has both; "": none has.
func (c *costs) ofBytes(what, counted, of string) string {
	var parts []string
	for _, a := range c.res.Arms {
		all, some := a.Probe(of), a.Probe(counted)
		if a.Workload != c.workload || !c.inTable(a.Arm) || all == nil || some == nil || all.Mean <= 0 {
			continue
		}
		sc := ScaleFor("B", all.Mean)
		parts = append(parts, fmt.Sprintf("%s %s of %s", a.Arm, Digits(some.Mean*sc.Factor, 3), InUnit("B", all.Mean, 3)))
	}
	return when(parts != nil, what+strings.Join(parts, ", "))
}

// distribution is the table of the quantiles of the trials.
func (c *costs) distribution(where string) *view.Table {
	unit := c.scale.Unit
	t := &view.Table{
		Name:    "distribution" + when(unit != "", " ("+unit+")"),
		Fold:    "Distribution of " + c.metric + where + ", as a table",
		Detail:  true,
		Caption: fmt.Sprintf("Distribution of %s of %s%s%s", c.metric, c.workload, where, when(unit != "", ", in "+unit)),
		Columns: view.Heads("", "trials", "min", "5 %", "25 %", "median", "75 %",
			"95 %", "max", "max/min", "failed"),
	}
	for _, r := range c.rows {
		cells := []view.Cell{{Text: r.name, Marks: emulatedMark(r.arm != nil && r.arm.Emulated)}}
		if s := r.series; s != nil {
			cells = append(cells, view.Number(fmt.Sprint(s.N), float64(s.N), ""))
			for _, v := range []float64{s.Min, s.P5, s.P25, s.Median, s.P75, s.P95, s.Max} {
				cells = append(cells, view.Number(c.scale.Figure(v), v, s.Unit))
			}
			cells = append(cells, timesCell(s.Spread))
		} else {
			cells = append(cells, make([]view.Cell, 9)...)
		}
		failed := 0
		if r.arm != nil {
			failed = r.arm.Failures
		}
		t.Add(append(cells, view.Number(fmt.Sprint(failed), float64(failed), ""))...)
	}
	return t
}

// timesCell is a ratio; empty if it is not known.
func timesCell(ratio float64) view.Cell {
	if ratio == 0 {
		return view.Cell{}
	}
	return view.Number(times(ratio), ratio, "")
}
