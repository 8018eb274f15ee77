package paper

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// key is one of the words by which an operand selects rows.
type key struct {
	name string
	want func(o *Operand) *string
	have func(r *Row) string
}

var keys = []key{
	{"table", func(o *Operand) *string { return &o.Table }, func(r *Row) string { return r.Table }},
	{"workload", func(o *Operand) *string { return &o.Workload }, func(r *Row) string { return r.Workload }},
	{"scenario", func(o *Operand) *string { return &o.Scenario }, func(r *Row) string { return r.Scenario }},
	{"system", func(o *Operand) *string { return &o.System }, func(r *Row) string { return r.System }},
	{"statistic", func(o *Operand) *string { return &o.Statistic }, func(r *Row) string { return r.Statistic }},
	{"unit", func(o *Operand) *string { return &o.Unit }, func(r *Row) string { return r.Unit }},
}

// fits reports whether r has the word that o asks for. Several systems are separated
// by commas.
func (k key) fits(o *Operand, r *Row) bool {
	want, have := *k.want(o), k.have(r)
	if k.name != "system" || want == "" {
		return want == "" || want == have
	}
	for name := range strings.SplitSeq(want, ",") {
		if within(have, strings.TrimSpace(name)) {
			return true
		}
	}
	return false
}

// alike reports whether two rows have the same words, except those of some keys.
func (r *Row) alike(o *Row, but ...string) bool {
	return !slices.ContainsFunc(keys, func(k key) bool { return k.have(r) != k.have(o) && !slices.Contains(but, k.name) })
}

// filled returns o with the words of its own row for those that it leaves out, except
// the unit and what it ranges over.
func (o *Operand) filled(own *Row) Operand {
	want := *o
	if own == nil {
		return want
	}
	for _, k := range keys {
		if word := k.want(&want); *word == "" && k.name != "unit" && !slices.Contains(o.Over, k.name) {
			*word = k.have(own)
		}
	}
	return want
}

// rows returns the rows with a single value that an operand selects. own is the
// result that contains the operand, or to which a claim compares others; nil: none.
func (a *Article) rows(own *Row, o *Operand) []*Row {
	var found []*Row
	for _, r := range a.matching(own, o, "") {
		if _, ok := r.value(); ok {
			found = append(found, r)
		}
	}
	if exact := slices.DeleteFunc(slices.Clone(found),
		func(r *Row) bool { return r.System != o.filled(own).System }); len(exact) > 0 {
		return exact
	}
	return found
}

// matching returns the rows that an operand selects, with or without values. It ignores
// the key named but, if there is one.
func (a *Article) matching(own *Row, o *Operand, but string) []*Row {
	want := o.filled(own)
	var found []*Row
	for _, r := range a.figures() {
		if r != own && !slices.ContainsFunc(keys, func(k key) bool { return k.name != but && !k.fits(&want, r) }) {
			found = append(found, r)
		}
	}
	return found
}

// missing says which row an operand looks for in vain, and which key keeps it from one.
func (a *Article) missing(own *Row, o *Operand) string {
	want := o.filled(own)
	if rows := a.rows(own, o); o.Take != "" && len(rows) > 0 && a.combine(o.Take, rows) == nil {
		return fmt.Sprintf("the %s of figures in units that do not convert, such as %q (line %d) and those of line %d",
			o.Take,
			rows[0].Unit, rows[0].Line, rows[len(rows)-1].Line)
	}
	var words []string
	for _, k := range keys {
		if word := *k.want(&want); word != "" {
			words = append(words, fmt.Sprintf("%s %q", k.name, word))
		}
	}
	text := "no row with a value has " + strings.Join(words, ", ")
	for _, k := range keys {
		near := slices.DeleteFunc(a.matching(own, o, k.name), func(r *Row) bool { return len(r.Values) != 1 })
		if len(near) > 0 && *k.want(&want) != "" {
			text += fmt.Sprintf("; with another %s: %q (line %d)", k.name, k.have(near[0]), near[0].Line)
			break
		}
	}
	return text
}

// baseline returns the row that r's printed change refers to: that of the baseline in
// the same table, scenario and unit. If there is only one such row, its workload may
// be worded differently, and its statistic may be a single run.
func (a *Article) baseline(r *Row) *Row {
	if r.To != nil || r.Baseline == "" {
		return nil
	}
	for _, alike := range []func(b *Row) bool{
		func(b *Row) bool { return b.Workload == r.Workload && b.Statistic == r.Statistic },
		func(b *Row) bool { return b.Statistic == r.Statistic },
		func(b *Row) bool { return b.Workload == r.Workload && b.Statistic == single },
		func(b *Row) bool { return b.Statistic == single },
	} {
		var same, converts []*Row // in the unit of r, in another
		for _, b := range a.figures() {
			if _, ok := b.value(); !ok || b == r || b.System != r.Baseline || b.Table != r.Table ||
				b.Scenario != r.Scenario || !alike(b) {
				continue
			}
			if b.Unit == r.Unit {
				same = append(same, b)
			} else if a.alternative(b, r) {
				converts = append(converts, b)
			}
		}
		switch {
		case len(same) == 1:
			return same[0]
		case len(same) == 0 && len(converts) == 1:
			return converts[0]
		case len(same)+len(converts) > 0:
			return nil
		}
	}
	return nil
}

// single is the statistic of a figure from one run.
const single = "single"

var (
	// "ratio mean(1/4)/mean(1/1)": of rows with a statistic that begins with mean.
	ratioOfStatistics = regexp.MustCompile(`^ratio (\w+)\((.+?)\)\s*/\s*(\w+)\((.+?)\)$`)
	// "ratio of data volume 1/4 : 1/1": of the means of rows.
	ratioOfMeans = regexp.MustCompile(`^ratio .*?(\S+) : (\S+)$`)
	indexBase    = regexp.MustCompile(`\bbaseline ([0-9.]+[0-9])`)
)

// quotientOf returns the two sides of a printed ratio and its factor, from its of and
// to or else from the words of its statistic. The sides are nil if neither tells.
func (a *Article) quotientOf(r *Row) (of, to *side, times float64) {
	if r.Of != nil && r.To != nil {
		of = a.side(r, r.Of)
		return of, a.like(a.side(r, r.To), of), r.Times
	}
	if r.Of != nil || r.To != nil {
		return nil, nil, 0
	}
	if m := ratioOfStatistics.FindStringSubmatch(r.Statistic); m != nil {
		return a.worded(r, m[1], m[2]), a.worded(r, m[3], m[4]), 1
	}
	if m := ratioOfMeans.FindStringSubmatch(r.Statistic); m != nil {
		return a.worded(r, "mean", m[1]), a.worded(r, "mean", m[2]), 1
	}
	return nil, nil, 0
}

// index returns the two sides of a benchmark's index, which is 10 × the result / the
// result of a reference machine. The row's note contains the latter.
func (a *Article) index(r *Row) (of, to *side) {
	m := indexBase.FindStringSubmatch(r.Note)
	if m == nil || !strings.HasPrefix(r.Statistic, "index") {
		return nil, nil
	}
	n, ok := parseNumber(m[1])
	if !ok || n.Value <= 0 {
		return nil, nil
	}
	n.Resolution = 0
	return a.side(r, &Operand{Statistic: single}), &side{number: n}
}

// side is a number and its row, or the rows that it combines; a constant has neither.
type side struct {
	number Number
	row    *Row
	rows   []*Row
}

func (a *Article) side(own *Row, o *Operand) *side {
	if o.Const != nil {
		return &side{number: *o.Const}
	}
	found := a.rows(own, o)
	if o.Take != "" && len(found) > 0 {
		return a.combine(o.Take, found)
	}
	return one(found)
}

func one(rows []*Row) *side {
	if len(rows) != 1 {
		return nil
	}
	n, _ := rows[0].value()
	return &side{number: n, row: rows[0]}
}

// worded finds the row that a ratio names by the words statistic and of. of must occur
// in the row's statistic or end its system's name: "mean" and "1/4" select "mean,
// 1/4 tasks" of "kvm-1/4".
func (a *Article) worded(own *Row, statistic, of string) *side {
	var found []*Row
	for _, r := range a.figures() {
		if _, ok := r.value(); !ok || r == own || r.Table != own.Table || r.Workload != own.Workload ||
			r.Scenario != own.Scenario ||
			!within(r.System, own.System) || !strings.HasPrefix(r.Statistic, statistic) {
			continue
		}
		if strings.HasSuffix(r.System, "-"+of) || strings.Contains(r.Statistic, of) {
			found = append(found, r)
		}
	}
	return one(found)
}

// maxNeighbours limits the rows that are tried as those read by mistake.
const maxNeighbours = 12

func distance(a, b *Row) int { return max(a.Line-b.Line, b.Line-a.Line) }

// neighbours returns the rows that a reader of the table could mistake for r: rows
// with the same table and unit that differ in exactly one of workload, scenario,
// system and statistic.
func (a *Article) neighbours(r *Row) []*Row {
	if r == nil {
		return nil
	}
	var list []*Row
	for _, n := range a.figures() {
		differ := 0
		for _, k := range keys {
			if k.have(n) != k.have(r) {
				differ++
			}
		}
		if _, ok := n.value(); ok && differ == 1 && n.Table == r.Table && n.Unit == r.Unit {
			list = append(list, n)
		}
	}
	// In a long table, try only the nearest lines: some line would match any number.
	slices.SortStableFunc(list, func(m, n *Row) int { return cmp.Compare(distance(m, r), distance(n, r)) })
	return list[:min(len(list), maxNeighbours)]
}
