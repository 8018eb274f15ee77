package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// headlines say of each kind of finding what to believe and what not.
var headlines = map[string]string{
	"emulated":             "Emulated: do not use these times. They show that the system works, not what it costs.",
	"unequal-userland":     "Unequal userland: not the same programs. A cost here is not the system's alone.",
	"unequal-size":         "Unequal size: the machine is not what the flavor says. Compare only what does not depend on it.",
	"not-frozen":           "Not frozen: the machine was never stopped while others were measured.",
	"did-not-finish":       "Trials that did not finish. No time stands for them; how often they fail is the result.",
	"dropped-pairs":        "Blocks without a partner were left out. Believe the costs only if what failed was not the slow ones.",
	"no-control":           "No control: how much this host varies by itself is unknown. Do not read small differences.",
	"control-differs":      "The control differs: two of the same kind came out different. Believe only effects far larger.",
	"no-steady-state":      "No steady state: the host changed while it was measured. Ratios hold; absolute figures may not.",
	"spread":               "Values far apart: no mean describes them. Look at the distribution, and do not quote one figure.",
	"not-positive":         "Values of zero or less: no ratio can be formed. Check what the tool printed.",
	"no-variation":         "No variation: the tool's figure is coarser than the noise. The interval is not to be believed.",
	"incarnations-differ":  "Guests of the same kind differ from one start to the next.",
	"faster-than-baseline": "Faster than the baseline: seldom real. Ask first what was cached, and whether both did the same work.",
	"cached-writes":        "Cached writes: what was written had not reached the disk. These are not the disk's times.",
	"guest-clock":          "The guest's clock is off. Believe the host's times, none that a tool in the guest printed.",
	"hidden-cpu":           "Hidden CPU: the guest does not see all that it costs. Plan capacity with the host's figure.",
	"few-cap-periods":      "Few periods of the CPU cap: trials are too short to show what the cap does.",
	"throttled":            "The CPU cap was in force.",
	"steal":                "CPU time was taken away by someone else. Neighbours are part of these figures.",
}

// maxItems is how many findings of one kind are shown without AllMetrics.
const maxItems = 4

// legend explains the marks, where there are any.
func (t *table) legend() {
	if t.emulated || t.doubted {
		t.line("")
	}
	if t.emulated {
		t.line("* emulated: its times say nothing about real hardware")
	}
	if t.doubted {
		t.line("! a serious finding below is about this")
	}
}

// findings writes what did not finish, and then the findings by severity.
func (t *table) findings() {
	var failed []analyze.Finding
	groups := map[analyze.Severity][][]analyze.Finding{}
	hidden := 0
	for _, f := range t.res.Findings {
		switch {
		case f.ID == "did-not-finish":
			failed = append(failed, f)
		case !t.shows(f):
			hidden++
		default:
			of := groups[f.Severity]
			i := slices.IndexFunc(of, func(g []analyze.Finding) bool { return g[0].ID == f.ID })
			if i < 0 {
				groups[f.Severity] = append(of, []analyze.Finding{f})
			} else {
				of[i] = append(of[i], f)
			}
		}
	}
	if failed != nil {
		t.line("")
		t.group(t.red("FAILED"), 6, failed)
	}
	for _, s := range []struct {
		analyze.Severity
		name  string
		style func(string) string
	}{{analyze.Serious, "SERIOUS", t.red}, {analyze.Warning, "WARNING", t.yellow}, {analyze.Info, "NOTE", t.dim}} {
		for _, g := range groups[s.Severity] {
			t.line("")
			t.group(s.style(s.name), len(s.name), g)
		}
	}
	if hidden > 0 {
		t.line("")
		t.line(fmt.Sprintf("%d more %s about metrics that are not shown.", hidden, plural(hidden, "finding")))
	}
}

// group writes the findings of one kind under their headline.
func (t *table) group(label string, n int, findings []analyze.Finding) {
	headline := headlines[findings[0].ID]
	if headline == "" {
		headline = findings[0].ID
	}
	t.hanging(label+"  ", n+2, headline)
	for i, f := range findings {
		if i == maxItems && len(findings) > maxItems+1 && !t.ctx.AllMetrics {
			t.line(fmt.Sprintf("  … and %d more like these", len(findings)-i))
			return
		}
		var about []string
		for _, s := range []string{f.Workload, f.Arm} {
			if s != "" {
				about = append(about, s)
			}
		}
		if t.ctx.AllMetrics && f.Metric != "" {
			about = append(about, f.Metric)
		}
		text := f.Text
		if about != nil {
			text = strings.Join(about, ", ") + ": " + text
		}
		t.hanging("  - ", 4, clean(text))
	}
}

// shows reports whether a finding is about anything that the table has.
func (t *table) shows(f analyze.Finding) bool {
	if t.ctx.AllMetrics || f.Metric == "" {
		return true
	}
	return slices.Contains(t.metrics(), metricKey{f.Workload, f.Metric})
}

// bears reports whether a finding is about a comparison.
func bears(f analyze.Finding, c analyze.Comparison) bool {
	return (f.Workload == "" || f.Workload == c.Workload) && (f.Metric == "" || f.Metric == c.Metric) &&
		(f.Arm == "" || f.Arm == c.Arm || f.Arm == c.Baseline)
}
