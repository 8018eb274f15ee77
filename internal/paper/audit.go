package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Finding is a printed number that does not follow from the other numbers that
// the article prints.
type Finding struct {
	Article string `json:"article"`
	Row     string `json:"row"` // table, scenario, system and statistic, or a claim's words
	// Printed and Recomputed are in Unit. Recomputed is the result from the printed raw
	// numbers. Because they were rounded, the right result lies between Low and High.
	Printed    float64 `json:"printed"`
	Recomputed float64 `json:"recomputed"`
	Kind       Kind    `json:"kind"`
	Low        float64 `json:"recomputed_low"`
	High       float64 `json:"recomputed_high"`
	Unit       string  `json:"unit"` // "%", "1" for a ratio, or that of the row
	// Check is "change", "ratio", "value", "ranking", "label" or another of docs/paper.md.
	Check       string `json:"check"`
	How         string `json:"how"`         // the calculation, with its numbers
	Explanation string `json:"explanation"` // what may have happened
	PrintedText string `json:"printed_text"`
	// RecomputedText is the right ranking or label, where a number cannot show it.
	RecomputedText string `json:"recomputed_text,omitempty"`
	Workload       string `json:"workload,omitempty"`
	Line           int    `json:"line"` // of the data file

	decimals int
	uses     []int // lines of the rows whose numbers the check compared
}

// Report is the result of an audit of one article.
type Report struct {
	Article  string
	Findings []Finding // in the file's order
	Agree    int       // number of checks that agree
	// Unchecked are printed changes, ratios and claims that nothing in the file confirms or
	// contradicts.
	Unchecked []Unchecked
}

// Unchecked is a derived number that the audit could not check.
type Unchecked struct {
	Line int    // of the data file
	Row  string // as in Finding
	Why  string // what was looked for in vain
}

// Count returns the number of findings of a kind.
func (r *Report) Count(k Kind) int {
	n := 0
	for _, f := range r.Findings {
		if f.Kind == k {
			n++
		}
	}
	return n
}

// audit collects a report.
type audit struct {
	*Article
	report    *Report
	workloads map[string]string // by short label and unit; "": several
	used      map[int]bool      // lines of rows that a check used although they have no raw numbers
}

// Audit recomputes what the article derived from its own figures: every printed change
// and ratio, in results and in claims. If the amount of a workload's work is known, it
// also checks that rate × time is the size, and that latency × operations per second is
// the depth of the queue.
//
// Printed numbers are rounded, so each stands for an interval. A derived number agrees
// if its interval overlaps the one from the raw numbers: then nothing shows that the
// article calculated wrongly.
func Audit(a *Article) *Report {
	u := &audit{Article: a, report: &Report{Article: a.Document.Name, Findings: []Finding{}}, used: map[int]bool{}}
	for i := range a.Results {
		r := &a.Results[i]
		if r.Delta != nil && !u.misread(r) {
			u.change(r)
		}
		switch {
		case r.Ratio != nil:
			u.ratio(r)
		case strings.HasPrefix(r.Statistic, "index"):
			u.indexed(r)
		}
		u.difference(r)
		u.rate(r)
		u.little(r)
		u.blocks(r)
		u.spread(r)
		u.derived(r)
		u.transcribed(r)
		u.place(r)
		u.unitOfLine(r)
		u.contrary(r)
	}
	for i := range a.Claims {
		u.claim(&a.Claims[i])
	}
	u.labels()
	u.report.Unchecked = slices.DeleteFunc(u.report.Unchecked, func(n Unchecked) bool { return u.used[n.Line] })
	slices.SortStableFunc(u.report.Findings, func(f, g Finding) int { return cmp.Compare(f.Line, g.Line) })
	return u.report
}

// lines are the lines of the rows of some sides.
func lines(sides ...*side) []int {
	var list []int
	for _, s := range sides {
		if s == nil {
			continue
		}
		for _, r := range s.rows {
			list = append(list, r.Line)
		}
		if s.row != nil {
			list = append(list, s.row.Line)
		}
	}
	return list
}

// add judges a printed number and reports it unless it agrees.
func (u *audit) add(r *Row, f *Figure, right interval, explain func() slips, finding Finding) {
	j := judge(f, right, explain)
	if j.agrees {
		u.report.Agree++
		return
	}
	finding.Article, finding.Kind = u.Document.Name, j.kind
	finding.Printed, finding.PrintedText = f.Value, f.Text
	finding.Recomputed, finding.Low, finding.High = right.mid, right.lo, right.hi
	finding.Explanation = strings.Join(slices.DeleteFunc([]string{j.why, finding.Explanation},
		func(s string) bool { return s == "" }), "; ")
	finding.decimals = f.decimals()
	if r != nil {
		finding.Row, finding.Line = u.label(r), r.Line
		finding.Workload = r.Workload
		finding.uses = append(finding.uses, r.Line)
	}
	u.report.Findings = append(u.report.Findings, finding)
}

func (u *audit) unchecked(line int, row, why string) {
	u.report.Unchecked = append(u.report.Unchecked, Unchecked{line, row, why})
}

// label names a row by the fields that distinguish it.
func (u *audit) label(r *Row) string {
	short := func(r *Row) string { return strings.Join([]string{r.Table, r.Scenario, r.System, r.Statistic}, " | ") }
	if u.workloads == nil {
		u.workloads = map[string]string{}
		for i := range u.Results {
			o := &u.Results[i]
			key := short(o) + "\x00" + o.Unit
			if w, ok := u.workloads[key]; ok && w != o.Workload {
				u.workloads[key] = "" // several
			} else {
				u.workloads[key] = o.Workload
			}
		}
	}
	if u.workloads[short(r)+"\x00"+r.Unit] == r.Workload {
		return short(r)
	}
	return strings.Join([]string{r.Table, r.Workload, r.Scenario, r.System, r.Statistic}, " | ")
}

// sidesOfChange returns the two sides of a row's printed change; nil: there is none.
func (u *audit) sidesOfChange(r *Row) (of, to *side) {
	if own, ok := r.value(); ok {
		of = &side{number: own, row: r}
	}
	if r.Of != nil && r.Ratio == nil {
		of = u.side(r, r.Of)
	}
	if r.To != nil && r.Ratio == nil {
		to = u.side(r, r.To)
	} else if b := u.baseline(r); b != nil {
		n, _ := b.value()
		to = &side{number: n, row: b}
	}
	return of, u.like(to, of)
}

// change checks a printed percentage.
func (u *audit) change(r *Row) {
	of, to := u.sidesOfChange(r)
	switch {
	case of == nil && r.Of == nil:
		u.unchecked(r.Line, u.label(r), "the file has the change without the figure: neither a value nor the key of")
		return
	case of == nil || to == nil:
		u.unchecked(r.Line, u.label(r), u.missing(r, u.baselineOperand(r)))
		return
	}
	q, ok := quotient(of.number, to.number)
	right, ok2 := q.under(percent)
	if !ok || !ok2 {
		u.unchecked(r.Line, u.label(r), notPositive(of, to))
		return
	}
	u.add(r, r.Delta, right, func() slips { return u.changeSlips(r.Delta, of, to, q) }, Finding{
		Unit: "%", Check: "change", How: fmt.Sprintf("100 × (%s / %s − 1)", of.number.number(), to.number.number()),
		uses: lines(of, to),
	})
}

// difference checks a printed of − to.
func (u *audit) difference(r *Row) {
	if r.Difference == nil {
		return
	}
	of := u.side(r, r.Of)
	to := u.like(u.side(r, r.To), of)
	if of == nil || to == nil {
		o := r.To
		if of == nil {
			o = r.Of
		}
		u.unchecked(r.Line, u.label(r), u.missing(r, o))
		return
	}
	a, b := of.number.around(), to.number.around()
	right := interval{a.lo - b.hi, a.mid - b.mid, a.hi - b.lo}
	unit := r.unit()
	if unit == "%" {
		unit = "percentage points"
	}
	u.add(r, r.Difference, right, func() (list slips) {
		list.scaled("the sign is wrong", right, -1)
		if q, ok := quotient(of.number, to.number); ok {
			list.add("the change in percent, not the difference", q, percent)
		}
		return list
	}, Finding{
		Unit: unit, Check: "difference", How: fmt.Sprintf("%s − %s", of.number.number(), to.number.number()),
		uses: lines(of, to),
	})
}

// baselineOperand selects the row that r's printed change refers to.
func (u *audit) baselineOperand(r *Row) *Operand {
	if r.To != nil {
		return r.To
	}
	return &Operand{System: r.Baseline, Unit: r.Unit}
}

func notPositive(of, to *side) string {
	return fmt.Sprintf("%s / %s is not a ratio of two positive numbers", of.number.number(), to.number.number())
}

// ratio checks a printed ratio.
func (u *audit) ratio(r *Row) {
	of, to, times := u.quotientOf(r)
	if of == nil || to == nil {
		u.unchecked(r.Line, u.label(r),
			"neither the keys of and to nor the statistic name two rows with a value, whose ratio it is")
		return
	}
	u.quotient(r, r.Ratio, of, to, times)
}

// indexed checks an index, which is the row's own value.
func (u *audit) indexed(r *Row) {
	of, to := u.index(r)
	n, ok := r.value()
	if of == nil || to == nil || !ok {
		u.unchecked(r.Line, u.label(r),
			`an index needs a row with the result (statistic single), and its note the baseline: "baseline 3960.0"`)
		return
	}
	u.quotient(r, &Figure{Number: n, Text: n.number()}, of, to, 10)
}

func (u *audit) quotient(r *Row, f *Figure, of, to *side, times float64) {
	if f.Inverse {
		of, to = to, of
	}
	q, ok := quotient(of.number, to.number)
	right, ok2 := q.under(func(q float64) float64 { return times * q })
	if !ok || !ok2 {
		u.unchecked(r.Line, u.label(r), notPositive(of, to))
		return
	}
	how := of.number.number() + " / " + to.number.number()
	if times != 1 {
		how += " × " + strconv.FormatFloat(times, 'f', -1, 64)
	}
	u.add(r, f, right, func() slips { return u.ratioSlips(f, of, to, q, times) },
		Finding{Unit: "1", Check: "ratio", How: how, uses: lines(of, to)})
}

// Values formats the two values of a finding with their unit. The recomputed one has
// one decimal place more than the printed one.
func (f *Finding) Values() (printed, recomputed string) {
	if f.RecomputedText != "" {
		return f.PrintedText, f.RecomputedText
	}
	unit := " " + f.Unit
	if f.Unit == "1" {
		unit = ""
	}
	sign := func(s string, v float64) string {
		if f.Check != "ratio" && f.Unit == "%" && v > 0 {
			return "+" + s
		}
		return s
	}
	write := func(v float64, places int) string {
		return sign(strconv.FormatFloat(v, 'f', places, 64), v) + unit
	}
	printed = write(f.Printed, f.decimals)
	if strings.ContainsAny(f.PrintedText, "<>:~") || strings.Contains(f.PrintedText, "..") {
		printed = f.PrintedText + unit
	}
	return printed, write(f.Recomputed, f.decimals+1)
}
