package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/plan"
)

// Names of the probes that the table shows; see package probe.
const (
	probeHostCPU       = "host_cpu"
	probeGuestGroupCPU = analyze.ProbeGuestCgroupCPU
	probeDeviceBytes   = analyze.ProbeDeviceBytes
	probeWorkloadBytes = analyze.ProbeWorkloadBytes
)

// Table writes the result of a run for a terminal.
func Table(w io.Writer, res *analyze.Result, ctx Context) error {
	t := &table{page: newPage(ctx.Width, ctx.Colour), res: res, ctx: ctx}
	t.header()
	for _, m := range t.metrics() {
		t.metric(m)
	}
	if len(t.res.Comparisons) == 0 {
		t.line("")
		t.line("No trial has a result yet.")
	}
	t.memory()
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
}

func (t *table) header() {
	title := "tare · campaign " + t.ctx.Campaign
	if t.ctx.Path != "" {
		title += " · " + t.ctx.Path
	}
	t.line(t.bold(clean(title)))
	blocks := fmt.Sprintf("%d %s", t.res.Blocks, plural(t.res.Blocks, "block"))
	if t.res.Planned > 0 && t.res.Blocks != t.res.Planned {
		blocks = fmt.Sprintf("%d of %d %s", t.res.Blocks, t.res.Planned, plural(t.res.Planned, "block"))
	}
	if why := endings[t.ctx.Ended]; why != "" {
		blocks += ": " + why
	}
	t.field("blocks", fmt.Sprintf("%s; order drawn from seed %d", blocks, t.ctx.Seed))
	if t.ctx.Host != "" {
		t.field("host", t.ctx.Host)
	}
	for i, c := range t.ctx.Company {
		name := plural(len(t.ctx.Company), "scenario")
		if i > 0 {
			name = ""
		}
		t.field(name, c.Scenario+": "+c.Who)
	}
	for i, l := range t.ctx.LeftOut {
		name := "left out"
		if i > 0 {
			name = ""
		}
		t.field(name, l.Arm+": "+l.Why)
	}
	if t.ctx.Ended == plan.ReasonBudget && t.res.Blocks < t.ctx.MinBlocks {
		t.warn("TOO FEW", fmt.Sprintf("the campaign asks for %d blocks at least; the budget was up before", t.ctx.MinBlocks))
	}
	if t.ctx.Incomplete != "" {
		why := "this run is not finished: " + t.ctx.Incomplete
		if t.ctx.Path != "" {
			why += "; go on with: tare resume " + t.ctx.Path
		}
		t.warn("INCOMPLETE", why)
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
	name, mean, limits, result, interval, cpu string
	style                                     func(string) string // of the result
}

// metric writes the table of one metric.
func (t *table) metric(k metricKey) {
	var claims, controls []analyze.Comparison
	for _, c := range t.res.Comparisons {
		switch {
		case c.Workload != k.workload || c.Metric != k.metric:
		case c.Control:
			controls = append(controls, c)
		default:
			claims = append(claims, c)
		}
	}
	first := append(slices.Clone(claims), controls...)[0]
	title := fmt.Sprintf("%s: %s, %s is better", k.workload, k.metric, first.Better)
	for _, s := range t.ctx.Sizes {
		if s.Workload == k.workload {
			title += fmt.Sprintf("; each trial: %d %s", s.Size, s.Unit)
		}
	}
	t.line("")
	t.wrapped(t.bold, clean(title), 0)

	scale := scaleFor(first.Unit, typical(t.res.Arm(first.Baseline, k.workload).Metric(k.metric)))
	rows := []row{{"", "mean", "min … max", "result", fmt.Sprintf("%.4g %% interval", 100*(1-t.res.Alpha)), "host CPU", nil}}
	var shown []string // baselines
	for _, c := range claims {
		if !slices.Contains(shown, c.Baseline) {
			shown = append(shown, c.Baseline)
			rows = append(rows, t.row(c.Baseline, k, scale, "baseline", "", nil))
		}
		result, style := t.result(c)
		name := c.Arm
		if c.Baseline != t.res.Baseline && scenarioOf(c.Baseline) != scenarioOf(c.Arm) {
			name += " against " + c.Baseline
		}
		r := t.row(c.Arm, k, scale, result, interval(c), style)
		r.name = strings.Replace(r.name, c.Arm, name, 1)
		rows = append(rows, r)
	}
	if len(claims) == 0 {
		rows = append(rows, t.row(first.Baseline, k, scale, "baseline", "", nil))
	}
	t.rows(rows)
	t.noise(k, controls)
	t.device(k.workload)
	t.isolation(k)
	if t.ctx.AllMetrics {
		t.probes(k)
	}
}

// row describes one arm.
func (t *table) row(arm string, k metricKey, sc scale, result, interval string, style func(string) string) row {
	r := row{name: clean(arm), result: result, interval: interval, style: style}
	a := t.res.Arm(arm, k.workload)
	if a == nil {
		return r
	}
	if a.Emulated {
		r.name += "*"
		t.emulated = true
	}
	if s := a.Metric(k.metric); s != nil {
		r.mean = sc.with(s.Mean)
		if s.MeanWithheld {
			r.mean = "(median) " + sc.with(s.Median)
		}
		r.limits = sc.figure(s.Min) + " … " + sc.figure(s.Max)
	}
	cpu := a.Probe(probeHostCPU)
	if cpu == nil {
		cpu = a.Probe(probeGuestGroupCPU)
	}
	if cpu != nil {
		r.cpu = digits(cpu.Mean, 3) + " s"
	}
	return r
}

// result words the verdict on a comparison.
func (t *table) result(c analyze.Comparison) (string, func(string) string) {
	text, style := t.verdict(c)
	for _, f := range t.res.Findings {
		if f.Severity == analyze.Serious && slices.Contains(c.Findings, f.ID) && f.ID != "emulated" && bears(f, c) {
			t.doubted = true
			return text + " !", style
		}
	}
	return text, style
}

func (t *table) verdict(c analyze.Comparison) (string, func(string) string) {
	floor := fmt.Sprintf("< %s %%", digits(c.NoiseFloorPercent, 2))
	switch {
	case c.N == 0 && t.failures(c) > 0:
		return "did not finish", t.red
	case c.N == 0:
		return "no values yet", t.dim
	case c.Verdict == analyze.Costs && c.OverheadPercent >= 100:
		return fmt.Sprintf("costs %s %% (%s×)", percent(c.OverheadPercent), digits(c.Ratio, 3)), t.red
	case c.Verdict == analyze.Costs:
		return fmt.Sprintf("costs %s %%", percent(c.OverheadPercent)), t.red
	case c.Verdict == analyze.Gains:
		return fmt.Sprintf("gains %s %%", strings.TrimLeft(percent(c.OverheadPercent), "-")), t.green
	case c.Verdict == analyze.None:
		return fmt.Sprintf("none (within ±%.3g %%)", 100*t.res.Delta), t.green
	case c.MeanWithheld:
		return "values too far apart", t.yellow
	case c.N == 1:
		return "one pair says nothing", t.yellow
	case !c.HasNoiseFloor:
		return "noise unknown", t.yellow
	case math.Abs(math.Log(c.Ratio)) <= math.Log1p(c.NoiseFloorPercent/100):
		return "not resolved (" + floor + ")", t.yellow
	}
	return "not resolved", t.yellow
}

// interval formats the interval of the overhead, in percent.
func interval(c analyze.Comparison) string {
	if c.N < 2 || c.CILow == 0 || c.MeanWithheld {
		return ""
	}
	high := 100 * (c.CIHigh - 1)
	if high > 99_999 {
		return percent(100*(c.CILow-1)) + " … more than +99999 %"
	}
	return percent(100*(c.CILow-1)) + " … " + percent(high) + " %"
}

// rows writes the rows of one table, aligned; the first is the heading.
func (t *table) rows(rows []row) {
	cells := func(r row) [6]string { return [6]string{r.name, r.mean, r.limits, r.result, r.interval, r.cpu} }
	var widths [6]int
	for _, r := range rows {
		for i, c := range cells(r) {
			widths[i] = max(widths[i], width(c))
		}
	}
	if !slices.ContainsFunc(rows[1:], func(r row) bool { return r.cpu != "" }) {
		widths[5] = 0
	}
	for _, least := range []int{2, 5} { // what is left out where the terminal is too narrow
		total := 0
		for _, n := range widths {
			if n > 0 {
				total += n + 2
			}
		}
		if total > t.columns {
			widths[least] = 0
		}
	}
	for i, r := range rows {
		line := " "
		for j, c := range cells(r) {
			if widths[j] == 0 {
				continue
			}
			if j == 1 || j == 5 {
				c = pad(c, -widths[j])
			} else {
				c = pad(c, widths[j])
			}
			if j == 3 && r.style != nil {
				c = r.style(c)
			}
			line += " " + c + " "
		}
		line = strings.TrimRight(line, " ")
		if i == 0 {
			line = t.dim(line)
		}
		t.line(line)
	}
}

// scenarioOf is the scenario in the name of an arm; "" for solo.
func scenarioOf(arm string) string {
	_, scenario, _ := strings.Cut(arm, "@")
	return scenario
}

// noise writes the noise floors, which the controls of each scenario gave.
func (t *table) noise(k metricKey, controls []analyze.Comparison) {
	known := false
	for _, f := range t.res.NoiseFloors {
		if f.Workload != k.workload || f.Metric != k.metric {
			continue
		}
		var names []string
		for _, c := range controls {
			if in := scenarioOf(c.Arm); in == f.Scenario || in == "" && (f.Scenario == "solo" || f.Scenario == "") {
				names = append(names, c.Arm+" and "+c.Baseline)
			}
		}
		t.note(fmt.Sprintf("noise floor %s %% (%d %s of %s, which are the same thing)",
			digits(f.Percent, 2), f.Pairs, plural(f.Pairs, "pair"), strings.Join(names, "; ")))
		known = true
	}
	if known {
		return
	}
	t.note("noise floor unknown: no two of the same kind were measured, so nothing is claimed")
}

// device writes how much of what each arm wrote reached the device.
func (t *table) device(workload string) {
	var parts []string
	for _, a := range t.res.Arms {
		wrote, reached := a.Probe(probeWorkloadBytes), a.Probe(probeDeviceBytes)
		if a.Workload != workload || t.isControl(a.Arm) || wrote == nil || reached == nil || wrote.Mean <= 0 {
			continue
		}
		sc := scaleFor("B", wrote.Mean)
		parts = append(parts, fmt.Sprintf("%s %s of %s", a.Arm, digits(reached.Mean*sc.factor, 3), digits(wrote.Mean*sc.factor, 3)+" "+sc.unit))
	}
	if parts != nil {
		t.note("reached the device, of what was written: " + strings.Join(parts, ", "))
	}
}

// probes writes the mean of every probe of every arm of a workload, once.
func (t *table) probes(k metricKey) {
	last := metricKey{}
	for _, m := range t.metrics() {
		if m.workload == k.workload {
			last = m
		}
	}
	if k != last {
		return
	}
	for _, a := range t.res.Arms {
		var parts []string
		for _, p := range a.Probes {
			if a.Workload == k.workload {
				parts = append(parts, fmt.Sprintf("%s %s", p.Name, scaleFor(p.Unit, p.Mean).with(p.Mean)))
			}
		}
		if parts != nil {
			t.note(a.Arm + ", mean of a trial: " + strings.Join(parts, ", "))
		}
	}
}

func (t *table) isControl(arm string) bool {
	return slices.ContainsFunc(t.res.Comparisons, func(c analyze.Comparison) bool { return c.Control && c.Arm == arm })
}

func (t *table) failures(c analyze.Comparison) int {
	if a := t.res.Arm(c.Arm, c.Workload); a != nil {
		return a.Failures
	}
	return 0
}

func typical(s *analyze.SeriesSummary) float64 {
	if s == nil {
		return 0
	}
	return s.Median
}
