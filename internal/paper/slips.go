package paper

import "fmt"

// formulas are common mistakes in calculating a change from the right two numbers.
// q is of/to. No formula explains a wrong bound below 1 % as a fraction, because any
// small change would fit.
func formulas(f *Figure, q interval, of, to Number) (list slips) {
	a, b := of.number(), to.number()
	list.add("the sign is wrong", q, func(q float64) float64 { return -percent(q) })
	list.add(fmt.Sprintf("percent of the other base: 100 × (%s − %s) / %s", a, b, a), q,
		func(q float64) float64 { return -percent(1 / q) })
	list.add(fmt.Sprintf("base and value are swapped: 100 × (%s / %s − 1)", b, a), q,
		func(q float64) float64 { return percent(1 / q) })
	list.add(fmt.Sprintf("the ratio in percent, not the change: 100 × %s / %s", a, b), q,
		func(q float64) float64 { return 100 * q })
	list.add(fmt.Sprintf("the inverse ratio in percent: 100 × %s / %s", b, a), q,
		func(q float64) float64 { return 100 / q })
	if f.Bound == "" && significant(f) > 1 {
		list.add("the change as a fraction, not in percent", q, func(q float64) float64 { return q - 1 })
	}
	return list
}

// changeSlips are the possible explanations of a wrong change.
func (u *audit) changeSlips(f *Figure, of, to *side, q interval) slips {
	list := formulas(f, q, of.number, to.number)
	if a, b := of.any(), to.any(); a != nil && b != nil && a.unit() == "%" && b.unit() == "%" {
		x, y := of.number.around(), to.number.around()
		list = append(list, slip{interval{x.lo - y.hi, x.mid - y.mid, x.hi - y.lo}, "percentage points, not percent"})
	}
	return append(list, u.wrongRows(f, of, to, percent)...)
}

// ratioSlips are the possible explanations of a wrong ratio.
func (u *audit) ratioSlips(f *Figure, of, to *side, q interval, times float64) (list slips) {
	a, b := of.number.number(), to.number.number()
	list.add(fmt.Sprintf("the ratio is inverted: %s / %s", b, a), q, func(q float64) float64 { return times / q })
	list.add("the change, not the ratio", q, func(q float64) float64 { return q - 1 })
	list.add("the change in percent, not the ratio", q, percent)
	list.add("the ratio in percent", q, func(q float64) float64 { return 100 * q })
	if times != 1 {
		list.add("the ratio is not multiplied", q, func(q float64) float64 { return q })
	}
	return append(list, u.wrongRows(f, of, to, func(q float64) float64 { return times * q })...)
}

// wrongRows are the results with a neighbouring row instead of the right one, on
// one side or on both. A figure of a single digit gets none, because some row of any
// table would match it.
func (u *audit) wrongRows(f *Figure, of, to *side, scale func(q float64) float64) (list slips) {
	if significant(f) < 2 || f.Bound != "" {
		return nil
	}
	try := func(a, b *side, how string) {
		if q, ok := quotient(a.number, b.number); ok {
			list.add(how, q, scale)
		}
	}
	ofs, tos := sides(u.neighbours(of.row)), sides(u.neighbours(to.row))
	for _, b := range tos {
		if b.row != of.row {
			try(of, b, fmt.Sprintf("against the wrong row: %s (line %d)", u.label(b.row), b.row.Line))
		}
	}
	for _, a := range ofs {
		if a.row != to.row {
			try(a, to, fmt.Sprintf("of the wrong row: %s (line %d)", u.label(a.row), a.row.Line))
		}
	}
	for _, a := range ofs {
		for _, b := range tos {
			if a.row.Statistic == b.row.Statistic && a.row.Scenario == b.row.Scenario && a.row.Workload == b.row.Workload &&
				a.row != to.row && b.row != of.row && a.row.System == of.row.System && b.row.System == to.row.System {
				try(a, b, fmt.Sprintf("the number belongs to other rows: %s (line %d)", u.label(a.row), a.row.Line))
			}
		}
	}
	return list
}

func sides(rows []*Row) []*side {
	list := make([]*side, len(rows))
	for i, r := range rows {
		n, _ := r.value()
		list[i] = &side{number: n, row: r}
	}
	return list
}
