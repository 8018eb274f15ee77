package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
)

// notes writes the notes on a metric below its table, which has these comparisons.
func (t *table) notes(k metricKey, shown []analyze.Comparison) {
	t.rankings(k)
	for _, a := range t.res.Arms {
		if s := a.Metric(k.metric); s != nil && s.Wide && a.Workload == k.workload && inTable(shown, a.Arm) {
			t.note("~ " + a.Arm + ": " + WideText(*s))
		}
	}
	for _, tail := range t.res.Tails {
		if tail.Workload == k.workload && tail.Metric == k.metric && tail.More && inTable(shown, tail.Arm) {
			t.note(StallText(tail))
		}
	}
	for _, text := range NoiseTexts(t.res, k.workload, k.metric, t.scenariosOf(k.workload, shown)) {
		t.note(text)
	}
}

// rankings writes those of a metric: of the first scenario, if they rank more than two arms, or all.
func (t *table) rankings(k metricKey) {
	for _, r := range t.res.Rankings {
		if r.Workload != k.workload || r.Metric != k.metric {
			continue
		}
		arms := 0
		for _, p := range r.Places {
			arms += len(p.Arms)
		}
		alone, text := r.Scenario == "" || r.Scenario == t.firstScenario(), "ranking: "
		if !alone {
			text = "ranking in " + r.Scenario + ": "
		}
		if t.ctx.AllMetrics || alone && arms > 2 {
			t.note(text + RankingText(t.res, r))
		}
	}
}

// scenariosOf are those of the arms in a table.
func (t *table) scenariosOf(workload string, shown []analyze.Comparison) (scenarios []string) {
	for _, a := range t.res.Arms {
		if a.Workload == workload && inTable(shown, a.Arm) && !slices.Contains(scenarios, a.Scenario) {
			scenarios = append(scenarios, a.Scenario)
		}
	}
	return scenarios
}

// inTable reports whether an arm has a row in the table of these comparisons;
// controls have none.
func inTable(shown []analyze.Comparison, arm string) bool {
	return slices.ContainsFunc(shown,
		func(c analyze.Comparison) bool { return c.Baseline == arm || c.Arm == arm && !c.Control })
}

// firstScenario is the one that the run's baseline is in.
func (t *table) firstScenario() string {
	for _, a := range t.res.Arms {
		if a.Arm == t.res.Baseline {
			return a.Scenario
		}
	}
	return ""
}

// device writes how many of the bytes that each arm wrote reached the device, and how many of those that it read the
// device delivered.
func (t *table) device(workload string, shown []analyze.Comparison) {
	t.ofBytes("reached the device, of the bytes written: ", workload, shown, model.ProbeDeviceBytes,
		model.ProbeWorkloadBytes)
	t.ofBytes("came from the device, of the bytes read: ", workload, shown, model.ProbeDeviceRead, model.ProbeWorkloadRead)
}

// ofBytes writes how many bytes a probe counted, of those of another, in each arm that has both.
func (t *table) ofBytes(what, workload string, shown []analyze.Comparison, counted, of string) {
	var parts []string
	for _, a := range t.res.Arms {
		all, some := a.Probe(of), a.Probe(counted)
		if a.Workload != workload || !inTable(shown, a.Arm) || all == nil || some == nil || all.Mean <= 0 {
			continue
		}
		sc := ScaleFor("B", all.Mean)
		parts = append(parts, fmt.Sprintf("%s %s of %s", a.Arm, Digits(some.Mean*sc.Factor, 3),
			InUnit("B", all.Mean, 3)))
	}
	if parts != nil {
		t.note(what + strings.Join(parts, ", "))
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
				parts = append(parts, fmt.Sprintf("%s %s", p.Name, InUnit(p.Unit, p.Mean, 4)))
			}
		}
		if parts != nil {
			t.note(a.Arm + ", mean of a trial: " + strings.Join(parts, ", "))
		}
	}
}

// legend explains the marks, where there are any.
func (t *table) legend() {
	marked := false
	for _, mark := range []struct {
		used bool
		text string
	}{
		{t.emulated, "* emulated: its times say nothing about real hardware"},
		{t.ofThese, "° " + TheseGuests},
		{t.wide, "~ widely spread values: do not quote the mean alone"},
		{t.atOnce, AtOnceLegend},
		{t.doubted, "! a serious finding below concerns this figure"},
		{t.isolated, "isolation: " + IsolationLegend},
		{t.singles, "single latencies: " + LatencyLegend},
		{t.counted, "packets: " + packetLegend},
		{t.adjusted, ManyComparisons},
	} {
		if !mark.used {
			continue
		}
		if !marked {
			t.line("")
			marked = true
		}
		t.wrapped(nil, mark.text, 0)
	}
}
