package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// failed is the kind that precedes all others: that a trial did not finish is a result.
const failed = "did-not-finish"

// Cause is the findings of one kind and severity, the worst of them first.
type Cause struct {
	Severity analyze.Severity // of these findings; it may differ from the kind's
	Kind     analyze.Kind
	Findings []analyze.Finding
}

// Causes groups findings by cause, the worst first: trials that did not finish, and
// then by severity.
func Causes(all []analyze.Finding) []Cause {
	var out []Cause
	for _, f := range all {
		i := slices.IndexFunc(out, func(c Cause) bool { return c.Kind.ID == f.ID && c.Severity == f.Severity })
		if i < 0 {
			i = len(out)
			out = append(out, Cause{Severity: f.Severity, Kind: analyze.KindOf(f.ID)})
		}
		out[i].Findings = append(out[i].Findings, f)
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return a.rank() - b.rank() })
	return out
}

func (c Cause) rank() int {
	if c.Kind.ID == failed {
		return -1
	}
	return slices.Index([]analyze.Severity{analyze.Serious, analyze.Warning, analyze.Info}, c.Severity)
}

// Text says in one line what it is, where, and how bad the worst is.
func (c Cause) Text() string {
	lead := c.Kind.Headline
	if end := strings.IndexAny(lead, ":."); end > 0 {
		lead = lead[:end]
	}
	text := lead + ": "
	if where := c.Where(); where != "" {
		text += where + ": "
	}
	return view.Clean(text + c.Findings[0].Text)
}

// Where names the arm and workload of the worst, and counts the others; "" if it is
// about the whole run.
func (c Cause) Where() string {
	var arms, workloads, pairs []string
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, f := range c.Findings {
		add(&arms, f.Arm)
		add(&workloads, f.Workload)
		add(&pairs, f.Arm+"\x00"+f.Workload)
	}
	where := arms[0]
	switch {
	case where == "":
		where = workloads[0]
	case workloads[0] != "":
		where += " on " + workloads[0]
	}
	switch more := len(pairs) - 1; {
	case more == 0 || where == "":
		return where
	case len(arms) == 1:
		return fmt.Sprintf("%s and %d more %s", where, more, plural(more, "workload"))
	case len(workloads) == 1:
		return fmt.Sprintf("%s and %d more %s", where, more, plural(more, "arm"))
	default:
		return fmt.Sprintf("%s and %d more", where, more)
	}
}

// Alerts are the findings by their cause. In short, those are shown that are about anything in the table of a primary
// metric.
func Alerts(res *analyze.Result, more string) *view.Alerts {
	shows := func(f analyze.Finding) bool {
		return f.Metric == "" || slices.ContainsFunc(res.Comparisons, func(c analyze.Comparison) bool {
			return c.Primary && c.Workload == f.Workload && c.Metric == f.Metric
		})
	}
	out := &view.Alerts{More: more}
	for _, c := range Causes(res.Findings) {
		a := view.Alert{ID: c.Kind.ID, Severity: string(c.Severity), Headline: c.Kind.Headline, Remedy: c.Kind.Remedy,
			Label: label(c), URL: findings.URL(c.Kind.ID)}
		shown := c
		shown.Findings = slices.DeleteFunc(slices.Clone(c.Findings), func(f analyze.Finding) bool { return !shows(f) })
		if len(shown.Findings) > 0 {
			a.Short, a.Folded = shown.Text(), len(c.Findings)-len(shown.Findings)
		}
		for _, f := range c.Alike() {
			a.Found = append(a.Found, view.Note{About: listed(f.Workload, f.Arm, f.Metric), Text: f.Text})
		}
		a.Count = len(c.Findings)
		out.Causes = append(out.Causes, a)
	}
	return out
}

// label is how the severity of a cause is named in a terminal.
func label(c Cause) string {
	switch {
	case c.Kind.ID == failed:
		return "FAILED"
	case c.Severity == analyze.Info:
		return "NOTE"
	}
	return strings.ToUpper(string(c.Severity))
}
