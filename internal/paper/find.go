package paper

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// rows are those with a single value that an operand means. own is the result
// that has the operand, or nil where a claim has it.
func (a *Article) rows(own *Row, o *Operand) []*Row {
	want := *o
	if own != nil {
		for _, f := range []struct{ field, own *string }{
			{&want.Table, &own.Table}, {&want.Workload, &own.Workload}, {&want.Scenario, &own.Scenario},
			{&want.System, &own.System}, {&want.Statistic, &own.Statistic},
		} {
			if *f.field == "" {
				*f.field = *f.own
			}
		}
	}
	fits := func(want, have string) bool { return want == "" || want == have }
	var found, exact []*Row
	for i := range a.Results {
		r := &a.Results[i]
		if _, ok := r.value(); !ok || r == own || !fits(want.Table, r.Table) || !fits(want.Workload, r.Workload) ||
			!fits(want.Scenario, r.Scenario) || !fits(want.Statistic, r.Statistic) || !fits(want.Unit, r.Unit) {
			continue
		}
		if r.System == want.System {
			exact = append(exact, r)
		}
		if want.System == "" || within(r.System, want.System) {
			found = append(found, r)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return found
}

// baseline is the row that r's printed change is against: the baseline's in
// the same table, scenario and unit. Its workload may be worded differently,
// and its statistic may be a single run, when there is only one such row.
func (a *Article) baseline(r *Row) *Row {
	if r.To != nil || r.Baseline == "" {
		return nil
	}
	for _, like := range []func(b *Row) bool{
		func(b *Row) bool { return b.Workload == r.Workload && b.Statistic == r.Statistic },
		func(b *Row) bool { return b.Statistic == r.Statistic },
		func(b *Row) bool { return b.Workload == r.Workload && b.Statistic == single },
		func(b *Row) bool { return b.Statistic == single },
	} {
		var found []*Row
		for i := range a.Results {
			b := &a.Results[i]
			if _, ok := b.value(); ok && b != r && b.System == r.Baseline && b.Table == r.Table && b.Scenario == r.Scenario && b.Unit == r.Unit && like(b) {
				found = append(found, b)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 {
			return nil
		}
	}
	return nil
}

// single is the statistic of a figure that summarizes nothing.
const single = "single"

var (
	// "ratio mean(1/4)/mean(1/1)": of rows whose statistic begins with mean.
	ratioOfStatistics = regexp.MustCompile(`^ratio (\w+)\((.+?)\)\s*/\s*(\w+)\((.+?)\)$`)
	// "ratio of data volume 1/4 : 1/1": of their means.
	ratioOfMeans = regexp.MustCompile(`^ratio .*?(\S+) : (\S+)$`)
	indexBase    = regexp.MustCompile(`\bbaseline ([0-9.]+[0-9])`)
)

// quotientOf says of which rows a printed ratio is, and by what it is
// multiplied: what its of and to say, or else what its statistic says in words.
// They are nil where neither does.
func (a *Article) quotientOf(r *Row) (of, to *side, times float64) {
	if r.Of != nil && r.To != nil {
		return a.side(r, r.Of), a.side(r, r.To), r.Times
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

// index is a benchmark's index as a ratio: ten times the result over the
// result of a reference machine, which the row's note has.
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

// side is a number and, where it is not a constant, its row.
type side struct {
	number Number
	row    *Row
}

func (a *Article) side(own *Row, o *Operand) *side {
	if o.Const != nil {
		return &side{number: *o.Const}
	}
	return one(a.rows(own, o))
}

func one(rows []*Row) *side {
	if len(rows) != 1 {
		return nil
	}
	n, _ := rows[0].value()
	return &side{n, rows[0]}
}

// worded finds the row of a statistic whose own name or whose system's ends in
// what the ratio calls it: "mean" and "1/4" for "mean, 1/4 tasks" of "kvm-1/4".
func (a *Article) worded(own *Row, statistic, of string) *side {
	var found []*Row
	for i := range a.Results {
		r := &a.Results[i]
		if _, ok := r.value(); !ok || r == own || r.Table != own.Table || r.Workload != own.Workload || r.Scenario != own.Scenario ||
			!within(r.System, own.System) || !strings.HasPrefix(r.Statistic, statistic) {
			continue
		}
		if strings.HasSuffix(r.System, "-"+of) || strings.Contains(r.Statistic, of) {
			found = append(found, r)
		}
	}
	return one(found)
}

// maxNeighbours is how many rows are tried as the one that somebody read by mistake.
const maxNeighbours = 12

func distance(a, b *Row) int { return max(a.Line-b.Line, b.Line-a.Line) }

// neighbours are the rows that somebody reading a table could mistake for r:
// those in its table and unit of which exactly one of workload, scenario,
// system and statistic is another.
func (a *Article) neighbours(r *Row) []*Row {
	if r == nil {
		return nil
	}
	var list []*Row
	for i := range a.Results {
		n := &a.Results[i]
		if _, ok := n.value(); !ok || n.Table != r.Table || n.Unit != r.Unit {
			continue
		}
		differ := 0
		for _, other := range []bool{n.Workload != r.Workload, n.Scenario != r.Scenario, n.System != r.System, n.Statistic != r.Statistic} {
			if other {
				differ++
			}
		}
		if differ == 1 {
			list = append(list, n)
		}
	}
	// In a long table, the nearest lines: some line or other fits anything.
	slices.SortStableFunc(list, func(m, n *Row) int { return cmp.Compare(distance(m, r), distance(n, r)) })
	return list[:min(len(list), maxNeighbours)]
}
