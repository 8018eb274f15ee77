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
	// Check is "change", "ratio", "rate × time = size" or "latency × IOPS = depth".
	Check       string `json:"check"`
	How         string `json:"how"`         // the calculation, with its numbers
	Explanation string `json:"explanation"` // what may have happened
	PrintedText string `json:"printed_text"`
	Workload    string `json:"workload,omitempty"`
	Line        int    `json:"line"` // of the data file

	decimals int
}

// Report is the result of an audit of one article.
type Report struct {
	Article  string
	Findings []Finding // in the file's order
	Agree    int       // number of checks that agree
	// Unchecked are the lines of printed changes and ratios without raw numbers in the
	// file.
	Unchecked []int
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
		if r.Delta != nil {
			u.change(r)
		}
		switch {
		case r.Ratio != nil:
			u.ratio(r)
		case strings.HasPrefix(r.Statistic, "index"):
			u.indexed(r)
		}
		u.rate(r)
		u.little(r)
	}
	for i := range a.Claims {
		u.claim(&a.Claims[i])
	}
	u.report.Unchecked = slices.DeleteFunc(u.report.Unchecked, func(line int) bool { return u.used[line] })
	slices.SortStableFunc(u.report.Findings, func(f, g Finding) int { return cmp.Compare(f.Line, g.Line) })
	return u.report
}

// add judges a printed number and reports it unless it agrees.
func (u *audit) add(r *Row, f *Figure, right interval, slips func() []slip, finding Finding) {
	j := judge(f, right, slips)
	if j.agrees {
		u.report.Agree++
		return
	}
	finding.Article, finding.Kind = u.Document.Name, j.kind
	finding.Printed, finding.PrintedText = f.Value, f.Text
	finding.Recomputed, finding.Low, finding.High = right.mid, right.lo, right.hi
	finding.Explanation = strings.Join(slices.DeleteFunc([]string{j.why, finding.Explanation}, func(s string) bool { return s == "" }), "; ")
	finding.decimals = f.decimals()
	if r != nil {
		finding.Row, finding.Line = u.label(r), r.Line
		finding.Workload = r.Workload
	}
	u.report.Findings = append(u.report.Findings, finding)
}

func (u *audit) unchecked(line int) { u.report.Unchecked = append(u.report.Unchecked, line) }

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

// change checks a printed percentage.
func (u *audit) change(r *Row) {
	own, ok := r.value()
	of := &side{own, r}
	if r.Of != nil && r.Ratio == nil {
		of = u.side(r, r.Of)
	} else if !ok {
		of = nil
	}
	var to *side
	if r.To != nil && r.Ratio == nil {
		to = u.side(r, r.To)
	} else if b := u.baseline(r); b != nil {
		n, _ := b.value()
		to = &side{n, b}
	}
	if of == nil || to == nil {
		u.unchecked(r.Line)
		return
	}
	q, ok := quotient(of.number, to.number)
	right, ok2 := q.under(percent)
	if !ok || !ok2 {
		u.unchecked(r.Line)
		return
	}
	u.add(r, r.Delta, right, func() []slip { return u.changeSlips(r.Delta, of, to, q) }, Finding{
		Unit: "%", Check: "change", How: fmt.Sprintf("100 × (%s / %s − 1)", of.number.number(), to.number.number()),
	})
}

// ratio checks a printed ratio.
func (u *audit) ratio(r *Row) {
	of, to, times := u.quotientOf(r)
	if of == nil || to == nil {
		u.unchecked(r.Line)
		return
	}
	u.quotient(r, r.Ratio, of, to, times)
}

// indexed checks an index, which is the row's own value.
func (u *audit) indexed(r *Row) {
	of, to := u.index(r)
	n, ok := r.value()
	if of == nil || to == nil || !ok {
		u.unchecked(r.Line)
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
		u.unchecked(r.Line)
		return
	}
	how := of.number.number() + " / " + to.number.number()
	if times != 1 {
		how += " × " + strconv.FormatFloat(times, 'f', -1, 64)
	}
	u.add(r, f, right, func() []slip { return u.ratioSlips(f, of, to, q, times) }, Finding{Unit: "1", Check: "ratio", How: how})
}

// claim checks a sentence of the article for each row that it refers to.
func (u *audit) claim(c *Claim) {
	if c.Delta == nil && c.Ratio == nil {
		return
	}
	if c.Of == nil || c.To == nil {
		u.unchecked(c.Line)
		return
	}
	to := u.side(nil, c.To)
	for _, r := range u.rows(nil, c.Of) {
		n, _ := r.value()
		f, name, unit := c.Delta, "change", "%"
		how := fmt.Sprintf("100 × (%s / %s − 1), of %s", n.number(), to.number.number(), u.label(r))
		scale := percent
		if f == nil {
			f, name, unit, how = c.Ratio, "ratio", "1", fmt.Sprintf("%s / %s, of %s", n.number(), to.number.number(), u.label(r))
			scale = func(q float64) float64 { return q }
		}
		q, ok := quotient(n, to.number)
		right, ok2 := q.under(scale)
		if f.Inverse {
			right, ok2 = q.under(func(q float64) float64 { return 1 / q })
		}
		if !ok || !ok2 {
			u.unchecked(c.Line)
			continue
		}
		u.add(nil, f, right, func() []slip {
			if name == "change" {
				return formulas(q, n, to.number)
			}
			return nil
		}, Finding{Row: "claim: " + c.Text, Line: c.Line, Unit: unit, Check: name, How: how})
	}
}

// Values formats the two values of a finding with their unit. The recomputed one has
// one decimal place more than the printed one.
func (f *Finding) Values() (printed, recomputed string) {
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
	if strings.ContainsAny(f.PrintedText, "<>:") {
		printed = f.PrintedText + unit
	}
	return printed, write(f.Recomputed, f.decimals+1)
}
