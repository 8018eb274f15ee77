package page

import (
	"fmt"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/report"
)

// workload makes the chapter of a workload; any is false if nothing is known.
func workload(res *analyze.Result, d *data, name string, index int, title string) (v workloadView, any bool) {
	v = workloadView{ID: fmt.Sprintf("w%d", index), Name: name, Title: title}
	if s, ok := d.sizes[name]; ok {
		v.Size = report.Size(s)
	}
	v.addMetrics(res, d)
	for _, r := range res.Rankings {
		if r.Workload == name && r.Metric == v.First.Name && (r.Scenario == "" || r.Scenario == d.arms[0].Scenario) {
			v.Ranking = report.RankingText(res, r)
		}
	}
	v.Doubts = doubts(res, name)
	if dots := v.plot(res, d); !dots && v.First.Name == "" && v.Beside.Name == "" {
		return v, false
	}
	for _, s := range report.Sections(res, name) {
		v.Grids = append(v.Grids, s.Grids...)
		v.Legend = s.Legend
	}
	v.Latencies = latencies(res, v.ID, name, d.arms[0].Scenario)
	v.Isolation = isolation(res, v.ID, name, max(v.First.Name, v.Beside.Name))
	return v, true
}

// addMetrics makes the tables of all metrics; that of the first one twice, alone and beside other guests.
func (v *workloadView) addMetrics(res *analyze.Result, d *data) {
	for _, m := range d.metrics {
		if m.Workload != v.Name || m.Probe {
			continue
		}
		switch mv, ok := metric(res, v.Name, m.Name, func(string) bool { return true }); {
		case !ok:
		case mv.Primary:
			v.First, _ = metric(res, v.Name, m.Name, func(baseline string) bool { return baseline == res.Baseline })
			v.Beside, _ = metric(res, v.Name, m.Name, func(baseline string) bool { return baseline != res.Baseline })
			v.Beside.Where = " beside other guests"
		default:
			v.Others = append(v.Others, mv)
		}
	}
	for _, measured := range []string{analyze.CPUTime, analyze.CPUTimeAtOnce, analyze.Energy} {
		if m, ok := metric(res, v.Name, measured, func(string) bool { return true }); ok {
			v.Others = append(v.Others, m)
		}
	}
}

// plot draws the intervals and the single trials of the first metric; dots is false if there are no trials.
func (v *workloadView) plot(res *analyze.Result, d *data) (dots bool) {
	for _, part := range []struct {
		*metricView
		alone          bool
		plotID, dotsID string
	}{{&v.First, true, "-i", "-d"}, {&v.Beside, false, "-j", "-c"}} {
		m := part.metricView
		if m.Intervals {
			m.Plot = intervalPlot(v.ID+part.plotID, m.compared(), *m, res.Delta)
		}
		var strips []*strip
		for _, a := range d.arms {
			if s := d.strips[key{v.Name, a.Name}]; s != nil && (a.Scenario == d.arms[0].Scenario) == part.alone {
				strips = append(strips, s)
			}
		}
		if strips != nil {
			m.Dots, m.DotsNote = dotPlot(v.ID+part.dotsID, strips, *m, perStrip(len(d.strips)))
			dots = true
		}
	}
	return dots
}

// doubts are the findings on a workload except for those of severity info, a line
// for each kind.
func doubts(res *analyze.Result, workload string) []doubt {
	var out []doubt
	for _, f := range res.Findings {
		if f.Workload != workload || f.Severity == analyze.Info {
			continue
		}
		i := slices.IndexFunc(out, func(d doubt) bool { return d.ID == f.ID })
		if i < 0 {
			i = len(out)
			out = append(out, doubt{Severity: f.Severity, ID: f.ID, Headline: analyze.KindOf(f.ID).Headline})
		}
		if f.Arm != "" && !slices.Contains(out[i].Arms, f.Arm) {
			out[i].Arms = append(out[i].Arms, f.Arm)
		}
	}
	return out
}

// compared are the rows that are compared with a baseline.
func (m metricView) compared() (of []armRow) {
	for _, r := range m.Rows {
		if r.Comparison != nil {
			of = append(of, r)
		}
	}
	return of
}

// metric makes the table of one metric: the selected baselines, their arms, the
// controls.
func metric(res *analyze.Result, workload, name string, baseline func(string) bool) (m metricView, ok bool) {
	var of []analyze.Comparison
	for _, c := range res.Comparisons {
		if c.Workload == workload && c.Metric == name && baseline(c.Baseline) {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return m, false
	}
	slices.SortStableFunc(of, func(a, b analyze.Comparison) int { // controls last
		return map[bool]int{true: 1}[a.Control] - map[bool]int{true: 1}[b.Control]
	})
	first := of[0]
	m = metricView{Scale: report.Scale{Factor: 1, Unit: first.Unit}, Workload: workload, Name: name,
		Better: first.Better, Primary: first.Primary}
	if s := res.Arm(first.Baseline, workload).Metric(name); s != nil {
		m.Scale = report.ScaleFor(first.Unit, s.Median)
	}
	scenarios := scenariosOf(res, of)
	for _, text := range report.NoiseTexts(res, workload, name, scenarios) {
		m.Noise = append(m.Noise, capital(text)+".")
	}
	if name == analyze.Energy {
		m.Noise = append(m.Noise, capital(report.EnergyText(res, workload, func(string) bool { return true }))+".")
	}
	m.tails(res, scenarios)
	var shown []string
	for i := range of {
		c := &of[i]
		if !slices.Contains(shown, c.Baseline) {
			shown = append(shown, c.Baseline)
			r := m.row(res, c.Baseline, c.Baseline)
			r.IsBaseline, r.Verdict = true, "baseline"
			if s := res.Arm(c.Baseline, workload).Metric(analyze.CPUTime); s != nil {
				r.CPUVerdict = report.InUnit(s.Unit, s.Mean, 4)
			}
			m.Rows = append(m.Rows, r)
		}
		r := m.row(res, c.Arm, c.Baseline)
		r.Comparison, r.Verdict, r.Interval = c, report.Verdict(res, *c), report.Interval(*c)
		r.mark = markOf(res, *c)
		if c.Control {
			r.Verdict, r.Class = "control: identical to "+c.Baseline, "open"
		} else if cpu := report.CPUTimeOf(res, *c); cpu != nil {
			r.CPUVerdict, r.CPUMark = report.CPUVerdict(*cpu), markOf(res, *cpu)
			m.CPU = true
		}
		m.OfThese = m.OfThese || r.OfThese
		m.Rows = append(m.Rows, r)
	}
	m.Intervals = slices.ContainsFunc(m.Rows, func(r armRow) bool { return r.Interval != "" })
	m.GuestCPU = slices.ContainsFunc(m.Rows, func(r armRow) bool { return r.GuestCPU != "" })
	return m, true
}

// scenariosOf are those of comparisons.
func scenariosOf(res *analyze.Result, of []analyze.Comparison) (list []string) {
	for _, c := range of {
		if a := res.Arm(c.Baseline, c.Workload); a != nil && !slices.Contains(list, a.Scenario) {
			list = append(list, a.Scenario)
		}
	}
	return list
}

// row describes one arm; its CPU is set against the baseline's.
func (m metricView) row(res *analyze.Result, arm, baseline string) armRow {
	r := armRow{Name: arm, Baseline: baseline}
	a := res.Arm(arm, m.Workload)
	if a == nil {
		return r
	}
	r.Emulated, r.Failures = a.Emulated, a.Failures
	if s := a.Metric(m.Name); s != nil {
		r.Mean, r.MeanSort = m.With(s.Mean), fmt.Sprintf("%.6g", s.Mean)
		if s.Wide {
			r.Wide = report.WideText(*s)
		}
		r.Limits = m.Figure(s.Min) + " … " + m.Figure(s.Max)
		r.N, r.Least, r.Most = s.N, m.Figure(s.Min), m.Figure(s.Max)
		r.P5, r.P25, r.Median, r.P75, r.P95 = m.Figure(s.P5), m.Figure(s.P25), m.Figure(s.Median), m.Figure(s.P75),
			m.Figure(s.P95)
		if s.Spread > 0 {
			r.Spread = report.Digits(s.Spread, 3) + "×"
		}
	}
	cpu, name := hostCPU(a)
	if cpu != nil {
		r.CPU, r.CPUSort = report.Digits(cpu.Mean, 3)+" s", fmt.Sprintf("%.6g", cpu.Mean)
		if base := res.Arm(baseline, m.Workload).Probe(name); base != nil && base.Mean > 0 && cpu.Mean > 0 &&
			arm != baseline {
			r.CPURatio = cpu.Mean / base.Mean
			r.CPUTimes = report.Digits(r.CPURatio, 3) + "×"
		}
	}
	if g := a.Probe(model.ProbeGuestCPU); g != nil {
		r.GuestCPU = report.Digits(g.Mean, 3) + " s"
	}
	return r
}

// hostCPU is the host's total CPU time in a trial or, if that is unknown, that of
// the guest's control group.
func hostCPU(a *analyze.ArmResult) (*analyze.SeriesSummary, string) {
	for _, name := range []string{model.ProbeHostCPU, model.ProbeGuestGroupCPU} {
		if s := a.Probe(name); s != nil {
			return s, name
		}
	}
	return nil, ""
}
