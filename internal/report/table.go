package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
)

// Table writes the result of a run for a terminal.
func Table(w io.Writer, res *analyze.Result, ctx Context) error {
	t := &table{page: newPage(ctx.Width, ctx.Colour), res: res, ctx: ctx}
	t.header()
	t.answers()
	t.isolates()
	t.matrix()
	for _, m := range t.metrics() {
		t.metric(m)
	}
	if len(t.res.Comparisons) == 0 {
		t.line("")
		t.line("No trial has a result yet.")
	}
	t.section(Memory(t.res, t.ctx.Merging))
	t.legend()
	t.findings()
	_, err := io.WriteString(w, t.String())
	return err
}

// table is a table that is being written.
type table struct {
	*page
	res      *analyze.Result
	ctx      Context
	emulated bool // a row is marked *
	doubted  bool // a row is marked !
	ofThese  bool // a row is marked °
	wide     bool // a row is marked ~
	atOnce   bool // a verdict is on duets
	isolated bool // there is a table of isolation
	singles  bool // … of single latencies
	counted  bool // … of packets
	adjusted bool // a result is not resolved only because there are many comparisons
}

func (t *table) header() {
	title := "tare · campaign " + t.ctx.Campaign
	if t.ctx.Path != "" {
		title += " · " + t.ctx.Path
	}
	t.line(t.bold(Clean(title)))
	if t.ctx.Ended == plan.ReasonBudget && t.res.Blocks < t.ctx.MinBlocks {
		t.warn("TOO FEW", fmt.Sprintf("the campaign asks for at least %d blocks; the budget ran out first", t.ctx.MinBlocks))
	}
	if t.ctx.Incomplete != "" {
		why := "this run is not finished: " + t.ctx.Incomplete
		if t.ctx.Path != "" {
			why += "; to continue: tare resume " + t.ctx.Path
		}
		t.warn("INCOMPLETE", why)
	}
	t.summaries()
	blocks := BlocksText(t.res)
	if why := endings[t.ctx.Ended]; why != "" {
		blocks += ": " + why
	}
	t.field("blocks", fmt.Sprintf("%s; order drawn from seed %d", blocks, t.ctx.Seed))
	if t.ctx.Host != "" {
		t.field("host", t.ctx.Host)
	}
	if t.ctx.Programs != "" {
		t.field("programs", t.ctx.Programs)
	}
	if t.ctx.NoEnergy != "" {
		t.field("energy", "not measured: "+t.ctx.NoEnergy)
	}
	if t.ctx.Polite != "" {
		t.field("polite", t.ctx.Polite)
	}
	if t.ctx.Effects != "" {
		t.field("caches", t.ctx.Effects)
	}
	t.fields(plural(len(t.ctx.Scenarios), "scenario"), t.ctx.Scenarios)
	t.fields("left out", t.ctx.LeftOut)
}

// fields writes a field of several lines.
func (t *table) fields(name string, all []Named) {
	for _, n := range all {
		t.field(name, n.Name+": "+n.Text)
		name = ""
	}
}

// summaries says in one sentence per system all that is known, before anything else.
func (t *table) summaries() {
	var said [][2]string
	for _, s := range Summaries(t.res) {
		said = append(said, [2]string{starred(s.Arm, s.Emulated), s.Text})
		t.emulated = t.emulated || s.Emulated
	}
	t.sentences(SummaryLead(t.res), said)
	if said != nil {
		t.line("")
	}
}

// answers says for each arm in a sentence what it costs, with intervals.
func (t *table) answers() {
	var said [][2]string
	for _, a := range OrderedAnswers(t.res.Answers) {
		said = append(said, [2]string{starred(Clean(a.Arm), a.Emulated), AnswerWords(a)})
		t.emulated = t.emulated || a.Emulated
	}
	t.sentences(fmt.Sprintf("What each costs against %s, with %.4g %% intervals:", Clean(t.res.Baseline),
		100*(1-t.res.Alpha)), said)
}

// isolates says for each system in a sentence how other guests slow its guests down.
func (t *table) isolates() {
	var said [][2]string
	for _, a := range IsolationAnswers(t.res) {
		said = append(said, [2]string{a.Arm, a.Text})
	}
	t.sentences("How each isolates, a guest beside others against one alone:", said)
	said = nil
	for _, a := range AttackAnswers(t.res) {
		said = append(said, [2]string{a.Arm, a.Text})
	}
	t.sentences("Which limits hold when a guest attacks them:", said)
}

// sentences writes names and what is said about each, unless there are none.
func (t *table) sentences(lead string, said [][2]string) {
	if said == nil {
		return
	}
	widest := 0
	for _, s := range said {
		widest = max(widest, width(s[0]))
	}
	t.line("")
	t.wrapped(nil, lead, 0)
	for _, s := range said {
		t.hanging("  "+t.bold(pad(s[0], widest))+"  ", widest+4, s[1])
	}
}

// metricKey names one metric of one workload.
type metricKey struct{ workload, metric string }

// metrics lists what is shown, in the order of the comparisons: without
// AllMetrics, only the primary ones.
func (t *table) metrics() []metricKey {
	var keys []metricKey
	for _, c := range t.res.Comparisons {
		if k := (metricKey{c.Workload, c.Metric}); (c.Primary || t.ctx.AllMetrics) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// row is one arm in the table of one metric.
type row struct {
	name, mean, limits, result, interval, cpu, energy, host string
	// of the result, and of those in CPU time and in energy
	style, cpuStyle, energyStyle func(string) string
}

// metric writes the table of one metric.
func (t *table) metric(k metricKey) {
	all := t.comparisons(k)
	claims := slices.DeleteFunc(slices.Clone(all), func(c analyze.Comparison) bool { return c.Control })
	first := all[0]
	title := fmt.Sprintf("%s: %s, %s is better", k.workload, k.metric, first.Better)
	for _, s := range t.ctx.Sizes {
		if s.Workload == k.workload {
			title += "; each trial: " + Size(s)
		}
	}
	t.line("")
	t.wrapped(t.bold, Clean(title), 0)

	sc := ScaleFor(first.Unit, 0)
	if s := t.res.Arm(first.Baseline, k.workload).Metric(k.metric); s != nil {
		sc = ScaleFor(first.Unit, s.Median)
	}
	rows := []row{{name: "", mean: "mean", limits: "min … max", result: "result",
		interval: fmt.Sprintf("%.4g %% interval", 100*(1-t.res.Alpha)), cpu: "CPU time", energy: "energy", host: "host CPU"}}
	var shown []string // baselines
	for _, c := range claims {
		if !slices.Contains(shown, c.Baseline) {
			shown = append(shown, c.Baseline)
			rows = append(rows, t.baseline(c.Baseline, k, sc))
		}
		r := t.row(c.Arm, k, sc)
		r.result, r.style = t.result(c)
		r.interval = Interval(c)
		t.adjusted = t.adjusted || manyComparisons(t.res, c)
		if cpu := CPUTimeOf(t.res, c); cpu != nil {
			r.cpu, r.cpuStyle = CPUVerdict(*cpu)+t.scope(*cpu), t.style(*cpu)
			t.atOnce = t.atOnce || cpu.Metric == analyze.CPUTimeAtOnce
		}
		if energy := ByMetric(t.res, c, analyze.Energy); energy != nil {
			r.energy, r.energyStyle = ShortVerdict(*energy)+t.scope(*energy), t.style(*energy)
		}
		if c.Across && c.Baseline != t.res.Baseline {
			r.name = strings.Replace(r.name, c.Arm, c.Arm+" against "+c.Baseline, 1)
		}
		rows = append(rows, r)
	}
	if len(claims) == 0 {
		rows = append(rows, t.baseline(first.Baseline, k, sc))
	}
	t.rows(rows)
	t.notes(k, all)
	t.device(k.workload, all)
	if first.Primary {
		if text := EnergyText(t.res, k.workload, func(arm string) bool { return inTable(all, arm) }); text != "" {
			t.note(text)
		}
		t.section(starts(t.res, k.workload))
		t.section(fills(t.res, k.workload))
	}
	t.isolation(k)
	if first.Primary {
		t.latencies(k.workload)
		t.packets(k.workload)
	}
	if t.ctx.AllMetrics {
		t.probes(k)
	}
}

// comparisons are those in the table of a metric. Costs beside other guests are
// shown with AllMetrics only, if the arms were measured alone, too.
func (t *table) comparisons(k metricKey) (all []analyze.Comparison) {
	for _, c := range t.res.Comparisons {
		if c.Workload == k.workload && c.Metric == k.metric {
			all = append(all, c)
		}
	}
	if alone := slices.DeleteFunc(slices.Clone(all),
		func(c analyze.Comparison) bool { return c.Baseline != t.res.Baseline }); len(alone) > 0 && !t.ctx.AllMetrics {
		return alone
	}
	return all
}

// baseline describes the arm that others are compared with.
func (t *table) baseline(arm string, k metricKey, sc Scale) row {
	r := t.row(arm, k, sc)
	r.result = "baseline"
	if s := t.res.Arm(arm, k.workload).Metric(analyze.CPUTime); s != nil && k.metric != analyze.CPUTime &&
		k.metric != analyze.CPUTimeAtOnce {
		r.cpu = InUnit(s.Unit, s.Mean, 4)
	}
	if s := t.res.Arm(arm, k.workload).Metric(analyze.Energy); s != nil && k.metric != analyze.Energy {
		r.energy = InUnit(s.Unit, s.Mean, 4)
	}
	return r
}

// row describes one arm.
func (t *table) row(arm string, k metricKey, sc Scale) row {
	r := row{name: Clean(arm)}
	a := t.res.Arm(arm, k.workload)
	if a == nil {
		return r
	}
	if a.Emulated {
		r.name += "*"
		t.emulated = true
	}
	if s := a.Metric(k.metric); s != nil {
		r.mean = sc.With(s.Mean)
		if s.Wide {
			r.mean = "~ " + r.mean
			t.wide = true
		}
		r.limits = sc.Figure(s.Min) + " … " + sc.Figure(s.Max)
	}
	if cpu := a.Probe(model.ProbeHostCPU); cpu != nil {
		r.host = Digits(cpu.Mean, 3) + " s"
	}
	return r
}

// result words the verdict on a comparison, with its marks.
func (t *table) result(c analyze.Comparison) (string, func(string) string) {
	text := Verdict(t.res, c) + t.scope(c)
	if len(Doubts(t.res, c)) > 0 {
		t.doubted = true
		text += " !"
	}
	return text, t.style(c)
}

// style is how the verdict on a comparison is coloured.
func (t *table) style(c analyze.Comparison) func(string) string {
	switch {
	case c.N == 0 && Failures(t.res, c) > 0, c.Verdict == analyze.Costs:
		return t.red
	case c.N == 0:
		return t.dim
	case c.Verdict == analyze.Gains, c.Verdict == analyze.None:
		return t.green
	}
	return t.yellow
}

// scope is the mark of a claim that holds only for the measured guests.
func (t *table) scope(c analyze.Comparison) string {
	if !OfTheseGuests(c) {
		return ""
	}
	t.ofThese = true
	return " °"
}

// column is a column of the table of a metric.
type column struct {
	text  func(row) string
	right bool                          // aligned to the right
	style func(row) func(string) string // nil: none
	// drop says when the column is left out because the terminal is too narrow: the one
	// with 1 first, 0 never. dropAll is the same with all metrics, where CPU time has a
	// table of its own.
	drop, dropAll int
}

// columns are those of the table of a metric, from left to right. One without any
// value is left out.
var columns = []column{
	{text: func(r row) string { return r.name }},
	{text: func(r row) string { return r.mean }, right: true},
	{text: func(r row) string { return r.limits }, drop: 2, dropAll: 2},
	{text: func(r row) string { return r.result }, style: func(r row) func(string) string { return r.style }},
	{text: func(r row) string { return r.interval }, drop: 4, dropAll: 4},
	{text: func(r row) string { return r.cpu }, style: func(r row) func(string) string { return r.cpuStyle },
		drop: 3, dropAll: 1},
	{text: func(r row) string { return r.energy }, style: func(r row) func(string) string { return r.energyStyle },
		drop: 5, dropAll: 5},
	{text: func(r row) string { return r.host }, right: true, drop: 1, dropAll: 3},
}

// rows writes the rows of one table, aligned; the first is the heading.
func (t *table) rows(rows []row) {
	widths := make([]int, len(columns))
	for j, c := range columns {
		if slices.ContainsFunc(rows[1:], func(r row) bool { return c.text(r) != "" }) {
			for _, r := range rows {
				widths[j] = max(widths[j], width(c.text(r)))
			}
		}
	}
	for next := 1; next < len(columns); next++ {
		total := 0
		for _, n := range widths {
			if n > 0 {
				total += n + 2
			}
		}
		if total <= t.columns {
			break
		}
		for j, c := range columns {
			if t.ctx.AllMetrics && c.dropAll == next || !t.ctx.AllMetrics && c.drop == next {
				widths[j] = 0
			}
		}
	}
	for i, r := range rows {
		line := " "
		for j, c := range columns {
			if widths[j] == 0 {
				continue
			}
			text := pad(c.text(r), widths[j])
			if c.right {
				text = pad(c.text(r), -widths[j])
			}
			if c.style != nil && c.style(r) != nil {
				text = c.style(r)(text)
			}
			line += " " + text + " "
		}
		line = strings.TrimRight(line, " ")
		if i == 0 {
			line = t.dim(line)
		}
		t.line(line)
	}
}
