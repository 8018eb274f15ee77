package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

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
	kind := analyze.KindOf(findings[0].ID)
	t.hanging(label+"  ", n+2, kind.Headline)
	shown := findings
	if len(findings) > maxItems+1 && !t.ctx.AllMetrics {
		shown = findings[:maxItems]
	}
	for _, f := range shown {
		t.hanging("  - ", 4, clean(t.about(f)+f.Text))
	}
	if n := len(findings) - len(shown); n > 0 {
		t.line(fmt.Sprintf("  … and %d more like these", n))
	}
	if kind.Remedy != "" {
		t.hanging("  > ", 4, fmt.Sprintf("%s (tare explain %s)", kind.Remedy, kind.ID))
	}
}

// about names what a finding is about.
func (t *table) about(f analyze.Finding) string {
	var about []string
	for _, s := range []string{f.Workload, f.Arm} {
		if s != "" {
			about = append(about, s)
		}
	}
	if t.ctx.AllMetrics && f.Metric != "" {
		about = append(about, f.Metric)
	}
	if about == nil {
		return ""
	}
	return strings.Join(about, ", ") + ": "
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
