package report

import (
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
)

// The words and figures of the table, for what else shows a result: they must
// not differ between the terminal and a page.

// Verdict words what may be said of a comparison of res.
func Verdict(res *analyze.Result, c analyze.Comparison) string {
	t := &table{page: newPage(0, false), res: res}
	text, _ := t.verdict(c)
	return text
}

// Interval formats the interval of a comparison's overhead in percent; "": it
// has none.
func Interval(c analyze.Comparison) string { return interval(c) }

// Doubts returns the serious findings of res that bear on a comparison, but
// for the emulation of an arm, which has a mark of its own.
func Doubts(res *analyze.Result, c analyze.Comparison) []analyze.Finding {
	var out []analyze.Finding
	for _, f := range res.Findings {
		if f.Severity == analyze.Serious && f.ID != "emulated" && slices.Contains(c.Findings, f.ID) && bears(f, c) {
			out = append(out, f)
		}
	}
	return out
}

// ScaleFor chooses the unit in which values around v are read best: a value
// times factor is in that unit.
func ScaleFor(unit string, v float64) (factor float64, name string) {
	s := scaleFor(unit, v)
	return s.factor, s.unit
}

// Digits formats v with n significant digits, and never fewer than its whole part has.
func Digits(v float64, n int) string { return digits(v, n) }

// Percent formats a signed percentage without its sign: +9.1, -0.34, +1460.
func Percent(p float64) string { return percent(p) }

// EndingOf tells from the sessions of a run why it has no more blocks, in
// words; complete is false where it ended before its time, or goes on.
func EndingOf(ctx Context) (words string, complete bool) {
	if ctx.Incomplete != "" {
		return ctx.Incomplete, false
	}
	return endings[ctx.Ended], true
}
