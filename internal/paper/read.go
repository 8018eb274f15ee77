package paper

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
)

// Keys of the file, by their mapping.
var (
	topKeys = []string{"document", "host", "software", "systems", "results", "claims", "figures_without_values", "vcpus_note", "note"}
	docKeys = []string{"short_name", "title", "author", "publisher", "publisher_note", "language", "date", "date_note",
		"url", "url_note", "original_url", "page_saved", "seed"}
	rowKeys = []string{"table", "workload", "scenario", "system", "statistic", "value", "unit", "better", "printed", "note", "repeats",
		"printed_delta_pct", "baseline", "printed_ratio", "of", "to", "times", "resolution", "size_bytes", "depth"}
	claimKeys   = []string{"claim", "where", "note", "printed", "printed_delta_pct", "printed_ratio", "of", "to"}
	operandKeys = []string{"table", "workload", "scenario", "system", "statistic", "unit"}
)

// Parse reads an article's data file. name is the file's name for messages. An error
// is of the kind fault.Campaign and wraps Errors.
func Parse(name string, text []byte) (*Article, error) {
	r := &reader{file: name}
	a := &Article{}
	if root := r.open(text); root != nil {
		if f, ok := r.fields(root, "the file", topKeys...); ok {
			if tree, ok := r.tree(root, 0).(map[string]any); ok && len(r.problems) == 0 {
				a.Tree = tree
				r.article(f, a)
			}
		}
	}
	if len(r.problems) == 0 {
		return a, nil
	}
	slices.SortStableFunc(r.problems, func(p, q Problem) int { return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col)) })
	problems := slices.Compact(r.problems)
	return nil, &fault.Error{Kind: fault.Campaign, Err: problems[:min(len(problems), maxProblems)]}
}

var (
	nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)
	dateForm = regexp.MustCompile(`^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$`)
)

func (r *reader) article(f *fields, a *Article) {
	for _, key := range []string{"document", "systems", "results"} {
		if !f.has(key) {
			r.fail(f.node, "the file needs a mapping or list named %s", key)
			return
		}
	}
	if d, ok := r.fields(f.values["document"], "a document", docKeys...); ok {
		a.Document = Document{
			Name: d.required("short_name"), Title: d.required("title"), Author: d.text("author"), Publisher: d.text("publisher"),
			Language: d.text("language"), Date: d.text("date"), DateNote: d.text("date_note"), URL: d.text("url"),
			PublisherNote: d.text("publisher_note"),
		}
		if n := a.Document.Name; n != "" && !nameForm.MatchString(n) {
			r.fail(d.values["short_name"], "a short name must consist of lower-case letters, digits, - and ., found %s", quote(n))
		}
		if !dateForm.MatchString(a.Document.Date) && a.Document.Date != "" {
			r.fail(d.values["date"], "a date must be YYYY, YYYY-MM or YYYY-MM-DD, found %s", quote(a.Document.Date))
		}
	}
	if s, ok := r.fields(f.values["systems"], "systems"); ok {
		a.Systems = s.keys
	}
	for _, n := range f.list("results") {
		if row, ok := r.row(n, a.Systems); ok {
			a.Results = append(a.Results, row)
		}
	}
	for _, n := range f.list("claims") {
		if c, ok := r.claim(n); ok {
			a.Claims = append(a.Claims, c)
		}
	}
	for _, n := range f.list("figures_without_values") {
		if s, ok := scalar(n); ok {
			a.Absent = append(a.Absent, s)
		} else {
			r.fail(n, "a figure without values must be text, found %s", describe(n))
		}
	}
	if len(r.problems) == 0 {
		r.operands(f, a)
	}
}

func (r *reader) row(n ast.Node, systems []string) (Row, bool) {
	f, ok := r.fields(n, "a result", rowKeys...)
	if !ok {
		return Row{}, false
	}
	row := Row{
		Table: f.required("table"), Workload: f.required("workload"), Scenario: f.required("scenario"), System: f.required("system"),
		Statistic: f.required("statistic"), Unit: f.required("unit"), Better: f.text("better"), Printed: f.required("printed"),
		Note: f.text("note"), Baseline: f.text("baseline"), Repeats: int(min(f.positive("repeats"), 1e9)),
		SizeBytes: f.positive("size_bytes"), Depth: f.positive("depth"), Times: cmp.Or(f.positive("times"), 1),
	}
	row.Line, _ = place(n)
	if _, ok := f.values["value"]; !ok {
		r.fail(n, "a result needs a value; use null if the article prints none")
	}
	r.values(f, &row)
	row.Delta, row.Ratio = f.figures(row.Printed)
	row.Of, row.To = f.operand("of"), f.operand("to")
	r.system(f, "system", systems, "all", "each")
	if row.Baseline != "" {
		r.system(f, "baseline", systems)
	}
	if row.Delta != nil && row.Baseline == "" && row.To == nil {
		r.fail(f.at["printed_delta_pct"], "a printed change needs a baseline: the system that it refers to")
	}
	return row, true
}

// values reads a number, a range of two, or nothing.
func (r *reader) values(f *fields, row *Row) {
	if !f.has("value") {
		return
	}
	nodes := []ast.Node{f.values["value"]}
	if s, ok := nodes[0].(*ast.SequenceNode); ok {
		if nodes = s.Values; len(nodes) != 2 {
			r.fail(s, "a value must be a number, two for a range, or null; found a list of %d", len(nodes))
			return
		}
	}
	resolution := f.positive("resolution")
	for _, n := range nodes {
		s, _ := scalar(n)
		v, ok := parseNumber(s)
		if !ok {
			r.fail(n, "a value must be a plain number, found %s", describe(n))
			return
		}
		if printed, ok := inText(row.Printed, v.Value); ok {
			v.Resolution = printed
		}
		v.Resolution = cmp.Or(resolution, v.Resolution)
		row.Values = append(row.Values, v)
	}
}

// figures reads the printed change and the printed ratio.
func (f *fields) figures(printed string) (delta, ratio *Figure) {
	if f.has("printed_delta_pct") {
		s, _ := scalar(f.values["printed_delta_pct"])
		var ok bool
		if delta, ok = parseFigure(s); !ok {
			f.r.fail(f.values["printed_delta_pct"], "a printed change must be a percentage, or a bound such as \"<7\", found %s", describe(f.values["printed_delta_pct"]))
			return nil, nil
		}
		if resolution, ok := percentInText(printed, delta.Value); ok {
			delta.Resolution = resolution
		}
	}
	if f.has("printed_ratio") {
		s, _ := scalar(f.values["printed_ratio"])
		var ok bool
		if ratio, ok = parseRatio(s); !ok {
			f.r.fail(f.values["printed_ratio"], "a printed ratio must be a number, \"1:5\", \"5:1\", or a bound such as \">2\", found %s", describe(f.values["printed_ratio"]))
			return nil, nil
		}
		if resolution, ok := inText(printed, ratio.Value); ok && !ratio.Inverse {
			ratio.Resolution = min(ratio.Resolution, resolution) // YAML drops trailing zeros
		}
	}
	return delta, ratio
}

// operand reads one side of a ratio; nil: missing.
func (f *fields) operand(key string) *Operand {
	if !f.has(key) {
		return nil
	}
	n := f.values[key]
	if s, ok := scalar(n); ok {
		c, ok := parseNumber(s)
		if !ok || c.Value <= 0 {
			f.r.fail(n, "%s must be a number above 0, or a mapping that selects a row; found %s", key, describe(n))
		}
		c.Resolution = 0 // a constant, not a measurement
		return &Operand{Const: &c}
	}
	g, ok := f.r.fields(n, key, operandKeys...)
	if !ok {
		return nil
	}
	return &Operand{
		Table: g.text("table"), Workload: g.text("workload"), Scenario: g.text("scenario"),
		System: g.text("system"), Statistic: g.text("statistic"), Unit: g.text("unit"),
	}
}

// system checks a system's name: a key of systems, a common prefix of several ("xen"
// of "xen-1/1"), or one of words.
func (r *reader) system(f *fields, key string, systems []string, words ...string) {
	name := f.text(key)
	first, _, _ := strings.Cut(name, " ")
	if name == "" || slices.Contains(words, first) || slices.ContainsFunc(systems, func(s string) bool { return within(s, name) }) {
		return
	}
	hint := ""
	if near := nearest.Nearest(clip(name), systems); near != "" {
		hint = " (did you mean \"" + near + "\"?)"
	}
	r.fail(f.values[key], "systems has no %s%s", quote(name), hint)
}

// within reports whether a system has that name or belongs to the family of that name.
func within(system, name string) bool {
	rest, ok := strings.CutPrefix(system, name)
	return ok && (rest == "" || name != "" && strings.ContainsRune("-_/.", rune(rest[0])))
}

func (r *reader) claim(n ast.Node) (Claim, bool) {
	f, ok := r.fields(n, "a claim", claimKeys...)
	if !ok {
		return Claim{}, false
	}
	c := Claim{Text: f.required("claim"), Where: f.text("where"), Of: f.operand("of"), To: f.operand("to")}
	c.Delta, c.Ratio = f.figures(f.text("printed"))
	c.Line, _ = place(n)
	return c, true
}

// operands checks that the operands in the file select existing rows.
func (r *reader) operands(f *fields, a *Article) {
	check := func(n ast.Node, own *Row, key string, o *Operand) {
		if o == nil || o.Const != nil {
			return
		}
		switch found := a.rows(own, o); {
		case len(found) == 0:
			r.fail(n, "%s: no row with a value matches", key)
		case len(found) > 1 && (own != nil || key == "to"):
			r.fail(n, "%s: %d rows match, for example in lines %d and %d; add keys that select one", key, len(found), found[0].Line, found[1].Line)
		}
	}
	for i, n := range f.list("results") {
		check(n, &a.Results[i], "of", a.Results[i].Of)
		check(n, &a.Results[i], "to", a.Results[i].To)
	}
	for i, n := range f.list("claims") {
		check(n, nil, "of", a.Claims[i].Of)
		check(n, nil, "to", a.Claims[i].To)
	}
}
