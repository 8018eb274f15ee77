package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// combine returns the mean, the sum or another combination of the values of rows, in the
// unit of the first. Its resolution covers the case that all values were rounded the
// same way. nil: the units do not convert.
func (a *Article) combine(take string, rows []*Row) *side {
	numbers := make([]Number, len(rows))
	for i, r := range rows {
		scale, ok := a.scale(r, rows[0])
		if !ok {
			return nil
		}
		n, _ := r.value()
		numbers[i] = n.times(scale)
	}
	slices.SortFunc(numbers, func(a, b Number) int { return cmp.Compare(a.Value, b.Value) })
	n := float64(len(numbers))
	var sum Number
	logs, relative := 0., 0.
	for _, v := range numbers {
		sum.Value += v.Value
		sum.Resolution += v.Resolution
		logs += math.Log(v.Value)
		relative += v.Resolution / v.Value
	}
	s := &side{rows: rows}
	switch take {
	case "sum":
		s.number = sum
	case "mean":
		s.number = Number{sum.Value / n, sum.Resolution / n}
	case "geomean":
		s.number.Value = math.Exp(logs / n)
		s.number.Resolution = s.number.Value * relative / n
	case "median":
		low, high := numbers[(len(numbers)-1)/2], numbers[len(numbers)/2]
		s.number = Number{(low.Value + high.Value) / 2, (low.Resolution + high.Resolution) / 2}
	case "min":
		s.number = numbers[0]
	case "max":
		s.number = numbers[len(numbers)-1]
	case "range":
		least, most := numbers[0], numbers[len(numbers)-1]
		s.number = Number{most.Value - least.Value, least.Resolution + most.Resolution}
	}
	return s
}

// derived checks a value that combines others: the mean of a column, a sum.
func (u *audit) derived(r *Row) {
	if r.From == nil {
		return
	}
	own, _ := r.value()
	right := u.side(r, r.From)
	if right == nil {
		u.unchecked(r.Line, u.label(r), u.missing(r, r.From))
		return
	}
	right = u.like(right, &side{row: r})
	if n := right.number; !finite(n.Value, n.Resolution) {
		u.unchecked(r.Line, u.label(r), "the "+r.From.Take+" of these figures is not a finite number")
		return
	}
	var list []string
	for _, row := range right.rows {
		n, _ := row.value()
		if row.Unit != r.Unit {
			list = append(list, n.number()+" "+row.unit())
		} else {
			list = append(list, n.number())
		}
	}
	u.add(r, &Figure{Number: own, Text: own.number()}, right.number.interval(),
		func() slips { return u.combineSlips(r, right.rows) }, Finding{
			Unit: r.unit(), Check: r.From.Take, How: fmt.Sprintf("%s of %s", r.From.Take, strings.Join(list, ", ")),
			uses: lines(right),
		})
}

// combineSlips are the possible explanations of a wrong mean or sum.
func (u *audit) combineSlips(own *Row, rows []*Row) (list slips) {
	take := own.From.Take
	combine := func(take string, rows []*Row) *side { return u.like(u.combine(take, rows), &side{row: own}) }
	for _, other := range []string{"mean", "median", "geomean", "sum"} {
		if v := combine(other, rows).number.interval(); other != take && finite(v.lo, v.mid, v.hi) {
			list = append(list, slip{v, "it is the " + other + ", not the " + take})
		}
	}
	n := float64(len(rows))
	sum := combine("sum", rows).number.interval()
	for _, wrong := range []float64{n - 1, n + 1} {
		if wrong > 0 && take == "mean" {
			list.add(fmt.Sprintf("the sum is divided by %g, not by %g", wrong, n), sum,
				func(s float64) float64 { return s / wrong })
		}
	}
	for i, r := range rows {
		rest := slices.Delete(slices.Clone(rows), i, i+1)
		if len(rest) > 0 {
			list = append(list, slip{combine(take, rest).number.interval(),
				fmt.Sprintf("%s (line %d) is left out", r.System, r.Line)})
		}
	}
	return list
}

// claimed returns what a claim speaks of: a number, rows, or one combination of them.
// Rows that the claim compares the others with are left out.
func (a *Article) claimed(c *Claim) []*side {
	if c.Of.Const != nil || c.Of.Take != "" {
		if s := a.side(nil, c.Of); s != nil {
			return []*side{s}
		}
		return nil
	}
	list := sides(a.rows(nil, c.Of))
	return slices.DeleteFunc(list, func(s *side) bool {
		return c.To != nil && c.To.Const == nil && len(list) > 1 && slices.Contains(a.rows(nil, c.To), s.row) &&
			len(a.against(s.row, c.To)) == 0
	})
}

// against returns the rows with which a claim compares r. They have its unit, if there
// are several.
func (a *Article) against(r *Row, to *Operand) []*Row {
	found := a.rows(r, to)
	if r != nil && len(found) > 1 && to.Unit == "" {
		found = slices.DeleteFunc(found, func(b *Row) bool { return b.Unit != r.Unit })
	}
	return found
}

// base is the number with which a claim compares s; nil: there is none.
func (u *audit) base(s *side, to *Operand) *side {
	if to.Const != nil {
		return &side{number: *to.Const}
	}
	found := u.against(s.row, to)
	if to.Take != "" && len(found) > 0 {
		return u.combine(to.Take, found)
	}
	return one(found)
}

// checked is one number of a claim beside what the claim says about it.
type checked struct {
	right   interval
	slips   func() slips
	finding Finding
}

// claim checks a sentence of the article for each row that it refers to.
func (u *audit) claim(c *Claim) {
	f := cmp.Or(c.Value, c.Delta, c.Ratio)
	switch {
	case len(c.Ranking) > 0:
		u.ranking(c)
		return
	case f == nil:
		return // in words only
	case c.Of == nil || c.Value == nil && c.To == nil:
		u.unchecked(c.Line, "claim: "+c.Text,
			"the claim does not say which figures it is about: it needs the key of, and for a change or a ratio also to")
		return
	}
	var list []checked
	for _, s := range u.claimed(c) {
		if one, why := u.check(c, s); why == "" {
			list = append(list, one)
		} else {
			u.unchecked(c.Line, "claim: "+c.Text, why)
		}
	}
	if c.Holds != nil {
		u.share(c, f, list)
		return
	}
	for _, one := range list {
		u.add(nil, f, one.right, one.slips, one.finding)
	}
}

// check recomputes a claim for one of its numbers; why: it cannot.
func (u *audit) check(c *Claim, s *side) (one checked, why string) {
	name := s.number.number()
	of := ""
	if s.row != nil {
		of = ", of " + u.label(s.row)
	}
	if s.rows != nil {
		of = fmt.Sprintf(", the %s of %d rows", c.Of.Take, len(s.rows))
	}
	one.finding = Finding{Row: "claim: " + c.Text, Line: c.Line, uses: append(lines(s), c.Line)}
	if c.Value != nil {
		return u.checkValue(c, s, one, of)
	}
	to := u.like(u.base(s, c.To), s)
	if to == nil {
		return one, u.missing(s.row, c.To)
	}
	one.finding.uses = append(one.finding.uses, lines(to)...)
	q, ok := quotient(s.number, to.number)
	if !ok {
		return one, fmt.Sprintf("%s / %s is not a ratio of two positive numbers", name, to.number.number())
	}
	if c.Delta != nil {
		one.right, ok = q.under(percent)
		one.slips = func() slips { return formulas(c.Delta, q, s.number, to.number) }
		one.finding.Unit, one.finding.Check = "%", "change"
		one.finding.How = fmt.Sprintf("100 × (%s / %s − 1)%s", name, to.number.number(), of)
	} else {
		one.right = q
		if c.Ratio.Inverse {
			one.right, ok = q.under(func(q float64) float64 { return 1 / q })
		}
		one.finding.Unit, one.finding.Check = "1", "ratio"
		one.finding.How = fmt.Sprintf("%s / %s%s", name, to.number.number(), of)
	}
	if !ok {
		return one, fmt.Sprintf("%s / %s is not a finite number", name, to.number.number())
	}
	return one, ""
}

// checkValue converts a number to the unit of the claim.
func (u *audit) checkValue(c *Claim, s *side, one checked, of string) (checked, string) {
	one.finding.Unit, one.finding.Check = c.Unit, "value"
	if s.row == nil && s.rows == nil {
		one.right = s.number.interval()
		return one, ""
	}
	r := s.row
	if r == nil {
		r = s.rows[0]
	}
	have, _ := u.measure(r.Unit)
	want, _ := u.measure(c.Unit)
	if have.dimension != want.dimension {
		return one, fmt.Sprintf("%s does not convert to %s: line %d", r.Unit, c.Unit, r.Line)
	}
	one.finding.How = fmt.Sprintf("%s %s%s", s.number.number(), r.Unit, of)
	for _, x := range have.factors {
		for _, y := range want.factors {
			right, ok := s.number.interval().under(func(v float64) float64 { return v * x / y })
			if ok && (one.right == interval{} || c.Value.allows(right, 0)) {
				one.right = right // with several meanings, the one that fits
			}
		}
	}
	return one, ""
}

// share checks for how many rows a claim holds.
func (u *audit) share(c *Claim, f *Figure, list []checked) {
	holds := 0
	for _, one := range list {
		if f.allows(one.right, 0) {
			holds++
		}
	}
	claimed, text := c.Holds.Count, fmt.Sprintf("%d of %d", c.Holds.Count, c.Holds.Of)
	right := holds == c.Holds.Count && len(list) == c.Holds.Of
	if c.Holds.Most {
		claimed, text = len(list)/2+1, "most"
		right = holds >= claimed
	}
	if right {
		u.report.Agree++
		return
	}
	finding := Finding{
		Unit: "rows", Check: "share", How: "the rows for which it holds",
		PrintedText: text, RecomputedText: fmt.Sprintf("%d of %d", holds, len(list)),
	}
	for _, one := range list {
		finding.uses = append(finding.uses, one.finding.uses...)
	}
	u.falsely(c, claimed, holds, finding)
}

// falsely reports a claim that counts wrongly: of rows, or of pairs in the right order.
func (u *audit) falsely(c *Claim, claimed, right int, f Finding) {
	f.Article, f.Row, f.Line, f.Kind = u.Document.Name, "claim: "+c.Text, c.Line, Inconsistent
	f.Printed, f.Recomputed, f.Low, f.High = float64(claimed), float64(right), float64(right), float64(right)
	f.uses = append(f.uses, c.Line)
	u.report.Findings = append(u.report.Findings, f)
}

// ranked is a system's figure in a line of a table.
type ranked struct {
	system string
	cost   interval // less is better
	row    *Row
}

// ranking checks the order of systems in every line of a table that the claim refers to.
// Systems that rounding does not tell apart may be in either order.
func (u *audit) ranking(c *Claim) {
	checked := 0
	for _, group := range grouped(u.matching(nil, c.Of, ""), u.sameLine) {
		if list := u.rank(c.Ranking, group); len(list) > 1 {
			checked++
			u.order(c, list)
		}
	}
	if checked == 0 {
		u.unchecked(c.Line, "claim: "+c.Text,
			"no line of a table has figures of two of the ranked systems, and says whether higher or lower is better")
	}
}

// rank returns the figures of the ranked systems in the claimed order.
func (u *audit) rank(systems []string, group []*Row) []ranked {
	var list []ranked
	for _, system := range systems {
		for _, r := range group {
			i, ok := r.magnitude()
			if !within(r.System, system) || !ok || r.Better != "lower" && r.Better != "higher" {
				continue
			}
			if scale, ok := u.scale(r, group[0]); ok && len(r.Values) == 1 {
				i = interval{scale * i.lo, scale * i.mid, scale * i.hi}
			}
			if r.Better == "higher" {
				i = interval{-i.hi, -i.mid, -i.lo}
			}
			list = append(list, ranked{system, i, r})
		}
	}
	return list
}

// magnitude returns a row's value or, if the article prints none, its change.
func (r *Row) magnitude() (interval, bool) {
	if n, ok := r.value(); ok {
		return n.interval(), true
	}
	if r.Delta == nil || r.Delta.Bound != "" {
		return interval{}, false
	}
	return r.Delta.around(), true
}

func (u *audit) order(c *Claim, list []ranked) {
	pairs, right := 0, 0
	for i, x := range list {
		for _, y := range list[i+1:] {
			if x.system == y.system {
				continue
			}
			if pairs++; x.cost.lo <= y.cost.hi {
				right++
			}
		}
	}
	if pairs == right {
		u.report.Agree++
		return
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y ranked) int { return cmp.Compare(x.cost.mid, y.cost.mid) })
	finding := Finding{Unit: "pairs", Check: "ranking"}
	names := func(list []ranked) string {
		var names []string
		for _, x := range list {
			names = append(names, x.row.System)
		}
		return strings.Join(names, ", ")
	}
	finding.PrintedText, finding.RecomputedText = names(list), names(sorted)
	var figures []string
	for _, x := range sorted {
		finding.uses = append(finding.uses, x.row.Line)
		figures = append(figures, x.row.Printed)
	}
	r := list[0].row
	finding.How = fmt.Sprintf("the order of %s, %s, %s, %s", strings.Join(figures, "; "), r.Table, r.Scenario, r.Statistic)
	u.falsely(c, pairs, right, finding)
}
