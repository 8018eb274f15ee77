package paper

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// statistic returns the row that differs from r only in the first word of its statistic:
// the minimum that belongs to a mean.
func (a *Article) statistic(r *Row, word string) *Row {
	_, rest, _ := strings.Cut(r.Statistic, " ")
	want := strings.TrimSpace(word + " " + rest)
	var found []*Row
	for _, o := range a.figures() {
		if _, ok := o.value(); ok && o.alike(r, "statistic") && o.Statistic == want {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// spread checks that a mean or a median lies between the minimum and the maximum beside
// it. A mean of n runs keeps a distance from both: at least one run was the fastest, and
// one the slowest.
func (u *audit) spread(r *Row) {
	word, _, _ := strings.Cut(r.Statistic, " ")
	own, ok := r.value()
	least, most := u.statistic(r, "min"), u.statistic(r, "max")
	if !ok || least == nil || most == nil || word != "mean" && word != "median" && word != "max" {
		return
	}
	a, _ := least.value()
	b, _ := most.value()
	right := interval{a.interval().lo, own.Value, b.interval().hi}
	how := fmt.Sprintf("between the minimum %s and the maximum %s", a.number(), b.number())
	switch {
	case word == "max":
		right.hi, how = max(own.Value, a.interval().hi), "not below the minimum "+a.number()
	case word == "mean" && r.Repeats > 1 && strings.HasPrefix(r.Scenario, "solo"):
		n := float64(r.Repeats)
		right.lo, right.hi = right.lo+(b.interval().lo-right.lo)/n, right.hi-(right.hi-a.interval().hi)/n
		how = fmt.Sprintf("the mean of %d runs with the minimum %s and the maximum %s", r.Repeats, a.number(), b.number())
	}
	right.mid = min(max(own.Value, right.lo), right.hi)
	u.add(r, &Figure{Number: own, Text: own.number()}, right, nil, Finding{
		Unit: r.unit(), Check: "minimum ≤ mean ≤ maximum", How: how, uses: []int{least.Line, most.Line},
	})
}

// blocks checks that operations per second × the block size is the throughput beside
// them. If the article prints only changes, the two must be equal.
func (u *audit) blocks(r *Row) {
	size := r.blockSize()
	_, isRate := rateUnit(r.Unit)
	if size == 0 || !isRate {
		return
	}
	u.besideOperations(r, 0, func(o *Row, rate, ops Number) { u.blockRate(r, o, rate, ops, size) }, func(o *Row) {
		u.add(r, r.Delta, o.Delta.around(), nil, Finding{
			Unit: "%", Check: "IOPS × block = throughput", How: "the change of the operations per second", uses: []int{o.Line},
			Explanation: "with blocks of one size, throughput and operations per second change alike",
		})
	})
}

// besideOperations calls one of two functions for each row of operations per second with r's labels: values if the
// article prints the values of both, changes if it prints only their changes against the same baseline. depth is the
// queue's; 0: any.
func (u *audit) besideOperations(r *Row, depth float64, values func(o *Row, own, ops Number), changes func(o *Row)) {
	for _, o := range u.figures() {
		if !o.operations() || !o.alike(r, "statistic", "unit") || subject(o.Statistic) != subject(r.Statistic) ||
			depth > 0 && o.depth() != depth {
			continue
		}
		own, ok := r.value()
		ops, known := o.value()
		if ok && known {
			values(o, own, ops)
		} else if r.Delta != nil && o.Delta != nil && r.Delta.Bound == "" && o.Delta.Bound == "" &&
			r.Baseline == o.Baseline && r.To == nil && o.To == nil {
			u.used[r.Line], u.used[o.Line] = true, true
			changes(o)
		}
	}
}

func (u *audit) blockRate(r, o *Row, rate, ops Number, size float64) {
	f := &Figure{Number: rate, Text: rate.number()}
	factors, _ := rateUnit(r.Unit)
	var right interval
	for i, factor := range factors {
		if v, ok := ops.interval().under(func(v float64) float64 { return v * size / factor }); ok &&
			(i == 0 || f.allows(v, 0)) {
			right = v
		}
	}
	// Programs count the two over slightly different times.
	right.lo, right.hi = right.lo*(1-clockSlack), right.hi*(1+clockSlack)
	u.add(r, f, right, func() (list slips) {
		list.scaled("the unit is MiB/s, 2^20 bytes, not 10^6", right, 1e6/(1<<20))
		list.scaled("the unit is MB/s, 10^6 bytes, not 2^20", right, (1<<20)/1e6)
		return list
	}, Finding{
		Unit: r.unit(), Check: "IOPS × block = throughput",
		How:  fmt.Sprintf("%s per second × %s B", ops.number(), short(size)),
		uses: []int{o.Line},
	})
}

// transcribed checks that the article's own words contain the value of a row.
func (u *audit) transcribed(r *Row) {
	if !strings.ContainsAny(r.Printed, "0123456789") {
		return
	}
	for _, v := range r.Values {
		if _, ok := inText(r.Printed, v.Value); ok || r.resolution > 0 {
			continue
		}
		u.contradicts(r, v, Finding{
			Check: "value as printed", PrintedText: v.number(), RecomputedText: strconv.Quote(r.Printed),
			How: "the article's words", Explanation: "the value of the file is not in them",
		})
		return
	}
}

// contradicts reports a figure whose number may be right, but not its words, its unit or
// its place.
func (u *audit) contradicts(r *Row, n Number, f Finding) {
	f.Article, f.Row, f.Line, f.Workload = u.Document.Name, u.label(r), r.Line, r.Workload
	f.Kind, f.Unit = Inconsistent, cmp.Or(f.Unit, r.unit())
	f.Printed, f.Recomputed, f.Low, f.High = n.Value, n.Value, n.Value, n.Value
	u.report.Findings = append(u.report.Findings, f)
}

// misread reports a printed change that is not the percentage in the article's words. It
// returns false if it is, or if they have none.
func (u *audit) misread(r *Row) bool {
	if r.Delta == nil || !share.MatchString(r.Printed) {
		return false
	}
	for _, v := range []float64{r.Delta.Value, r.Delta.High.Value} {
		if _, ok := percentInText(r.Printed, v); ok {
			return false
		}
	}
	u.contradicts(r, r.Delta.Number, Finding{
		Unit: "%", Check: "value as printed", PrintedText: r.Delta.Text + " %", RecomputedText: strconv.Quote(r.Printed),
		How: "the article's words", Explanation: "the change of the file is not in them",
	})
	return true
}

// place checks that no other figure has the place of r: one of the two has the label of
// another row. In different units, the two must be the same quantity.
func (u *audit) place(r *Row) {
	n, ok := r.value()
	for _, o := range u.figures() {
		m, known := o.value()
		if !ok || !known || o.Line >= r.Line || o.System != r.System || !u.sameLine(o, r) {
			continue
		}
		scale, _ := u.scale(o, r)
		as := m.times(scale)
		if half := (as.Resolution + n.Resolution) / 2 * (1 + 1e-9); math.Abs(as.Value-n.Value) <= half {
			continue
		}
		f := Finding{
			Check: "one figure in a place", PrintedText: n.number() + " " + r.unit(), RecomputedText: m.number() + " " +
				o.unit(),
			How: fmt.Sprintf("the figure of line %d, which has the same place", o.Line), uses: []int{o.Line},
			Explanation: "one of the two has the label of another row",
		}
		if o.unit() != r.unit() {
			f.Explanation = "one of the two has the wrong unit, or the label of another row"
		}
		u.contradicts(r, n, f)
	}
}

// unitOfLine checks the unit of a figure against those of the other systems in its line
// of the table. Different units are a slip if the figure is nearer to the others without
// conversion.
func (u *audit) unitOfLine(r *Row) {
	own, ok := r.value()
	mine, known := u.measure(r.Unit)
	if !ok || !known || own.Value <= 0 || mine.dimension != "s" && mine.dimension != "B" && mine.dimension != "B/s" {
		return
	}
	var other *Row
	distance, converted, uses := 0., 0., []int{}
	for _, o := range u.figures() {
		n, ok := o.value()
		m, known := u.measure(o.Unit)
		if o.System == r.System || !o.alike(r, "system", "unit") || !ok || !known || m.dimension != mine.dimension ||
			n.Value <= 0 {
			continue
		}
		if slices.Equal(m.factors, mine.factors) {
			return // this unit is not the odd one
		}
		other = o
		uses = append(uses, o.Line)
		distance += math.Log(own.Value / n.Value)
		converted += math.Log(own.Value * mine.factors[0] / (n.Value * m.factors[0]))
	}
	// Of two systems, either could have the wrong unit: one finding is enough.
	if other == nil || math.Abs(converted) <= math.Abs(distance) || len(uses) == 1 && r.Line < other.Line {
		return
	}
	u.contradicts(r, own, Finding{
		Check: "one unit in a line", PrintedText: own.number() + " " + r.unit(),
		RecomputedText: own.number() + " " + other.unit(), How: "the unit of the other systems in the line", uses: uses,
		Explanation: fmt.Sprintf("in %s, the figure would differ from theirs by a factor of %s", r.unit(),
			short(math.Exp(math.Abs(converted)/float64(len(uses))))),
	})
}

var (
	// labelled matches a number and the unit after it: "59,93 MB/s", "7-8 ms".
	labelled = regexp.MustCompile(`([0-9]+(?:[.,' \x{a0}\x{202f}][0-9]{3})*(?:[.,][0-9]+)?)[ \x{a0}\x{202f}]?([\p{L}/]+)`)
	// clockTime matches minutes, which are no unit of the number after them.
	clockTime = regexp.MustCompile(`[0-9] ?(?:h|m|min)(?:\b|[0-9])`)
)

// labelling is a unit beside figures of a table, and the unit that they have.
type labelling struct{ table, printed, right string }

// labels checks the units in the article's words: a figure may not be "ms" in them if it
// is a figure of microseconds. Figures of one table with the same wrong label are one
// finding.
func (u *audit) labels() {
	found := map[labelling]int{} // the index in Findings
	for _, r := range u.figures() {
		n, printed, wrong := u.mislabelled(r)
		if !wrong {
			continue
		}
		l := labelling{r.Table, printed, r.unit()}
		if i, ok := found[l]; ok {
			u.report.Findings[i].uses = append(u.report.Findings[i].uses, r.Line)
			continue
		}
		found[l] = len(u.report.Findings)
		u.contradicts(r, n, Finding{
			Check: "label", PrintedText: n.number() + " " + printed, RecomputedText: n.number() + " " + r.unit(),
			uses: []int{r.Line},
		})
	}
	for l, i := range found {
		f := &u.report.Findings[i]
		figures := "one figure"
		if len(f.uses) > 1 {
			figures = fmt.Sprintf("%d figures", len(f.uses))
		}
		f.How = fmt.Sprintf("%s of %s", figures, l.table)
		f.Explanation = fmt.Sprintf("labelled %s, which is another unit than %s", l.printed, l.right)
	}
}

// mislabelled returns the number and the unit of a row's words if the unit is another
// one than that of the row, and the two numbers are not the same quantity.
func (u *audit) mislabelled(r *Row) (Number, string, bool) {
	want, ok := u.measure(r.Unit)
	if !ok || len(r.Values) == 0 || clockTime.MatchString(r.Printed) {
		return Number{}, "", false
	}
	var wrong Number
	var label string
	for _, m := range labelled.FindAllStringSubmatch(r.Printed, 16) {
		have, ok := measureOf(m[2])
		n, isNumber := parseThousands(m[1])
		if p, ok := parseNumber(strings.ReplaceAll(m[1], ",", ".")); ok {
			n, isNumber = p, true
		}
		if !ok || !isNumber || have.dimension != want.dimension || slices.Equal(have.factors, want.factors) {
			continue
		}
		for _, v := range r.Values {
			for _, x := range have.factors {
				for _, y := range want.factors {
					if math.Abs(n.Value*x-v.Value*y) <= 1e-9*v.Value*y {
						return Number{}, "", false // this label is right
					}
				}
			}
			if label == "" || same(n.Value, v.Value) {
				wrong, label = n, m[2]
			}
		}
	}
	return wrong, label, label != ""
}
