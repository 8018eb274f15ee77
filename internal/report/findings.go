package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// maxCauses is how many causes are shown without AllMetrics: no more than fit on a
// screen with a table.
const maxCauses = 8

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
	return Clean(text + c.Findings[0].Text)
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

// findings writes what not to believe: a line for each cause or, with AllMetrics,
// every finding and what to do about it.
func (t *table) findings() {
	if t.ctx.AllMetrics {
		for _, c := range Causes(t.res.Findings) {
			t.line("")
			t.cause(c)
		}
		return
	}
	shown := slices.DeleteFunc(slices.Clone(t.res.Findings), func(f analyze.Finding) bool { return !t.shows(f) })
	left := len(t.res.Findings) - len(shown)
	for i, c := range Causes(shown) {
		if i == 0 {
			t.line("")
		}
		if i >= maxCauses {
			left += len(c.Findings)
			continue
		}
		name, style := t.label(c)
		t.line(style(pad(name, 7)) + "  " + cut(c.Text(), t.columns-9))
	}
	if len(t.res.Findings) == 0 {
		return
	}
	text := "Details and remedies: "
	if left > 0 {
		text = fmt.Sprintf("%d more %s not shown. Details and remedies: ", left,
			map[bool]string{true: "finding is", false: "findings are"}[left == 1])
	}
	t.hanging("", 0, text+"tare show --all "+cmp.Or(Clean(t.ctx.Path), "RUN"))
}

// label is how the severity of a cause is shown.
func (t *table) label(c Cause) (string, func(string) string) {
	switch {
	case c.Kind.ID == failed:
		return "FAILED", t.red
	case c.Severity == analyze.Serious:
		return "SERIOUS", t.red
	case c.Severity == analyze.Warning:
		return "WARNING", t.yellow
	}
	return "NOTE", t.dim
}

// cause writes all findings of a cause under their headline.
func (t *table) cause(c Cause) {
	name, style := t.label(c)
	t.hanging(style(name)+"  ", len(name)+2, c.Kind.Headline)
	for _, f := range c.Alike() {
		t.hanging("  - ", 4, Clean(about(f)+f.Text))
	}
	if c.Kind.Remedy != "" {
		t.hanging("  > ", 4, fmt.Sprintf("%s (tare explain %s)", c.Kind.Remedy, c.Kind.ID))
	}
}

// about names what a finding is about.
func about(f analyze.Finding) string {
	about := listed(f.Workload, f.Arm, f.Metric)
	return about + when(about != "", ": ")
}

// shows reports whether a finding is about anything in the table.
func (t *table) shows(f analyze.Finding) bool {
	return f.Metric == "" || slices.Contains(t.metrics(), metricKey{f.Workload, f.Metric})
}
