package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind says what is wrong with a printed number that does not follow from
// the other printed ones.
type Kind string

const (
	// Rounding: one unit off in the last printed place.
	Rounding Kind = "rounding"
	// Arithmetic: the number is what a common slip gives.
	Arithmetic Kind = "arithmetic"
	// Inconsistent: the number is neither right nor a slip that tare knows.
	Inconsistent Kind = "inconsistent"
)

// slip is what a wrong calculation gives, and how it is wrong.
type slip struct {
	value interval
	how   string
}

// judgement is what came of comparing a printed number with the right one.
type judgement struct {
	agrees bool
	kind   Kind
	why    string
}

// allows reports whether a number in r may be printed as f, or as one that is
// off by so many units in its last place.
func (f *Figure) allows(r interval, units float64) bool {
	slack := 1e-9 * max(math.Abs(r.lo), math.Abs(r.hi), math.Abs(f.Value))
	switch f.Bound {
	case "<":
		return r.lo < f.Value+slack
	case ">":
		return r.hi > f.Value-slack
	}
	half := (0.5+units)*f.Resolution + slack
	return r.lo <= f.Value+half && r.hi >= f.Value-half
}

// near reports whether a slip that gives r explains f. A bound is explained
// only by what is just within it: almost anything is below 100.
func (f *Figure) near(r interval) bool {
	if f.Bound == "" {
		return f.allows(r, 0)
	}
	return f.allows(r, 0) && math.Abs(r.mid-f.Value) <= f.Resolution
}

// judge compares a printed number with the right one. slips are asked for
// only where they are needed, and the first that explains the number is told.
func judge(f *Figure, right interval, slips func() []slip) judgement {
	if f.allows(right, 0) {
		return judgement{agrees: true}
	}
	if f.Bound == "" && f.allows(right, 1) {
		return judgement{kind: Rounding, why: rounded(f, right)}
	}
	for _, s := range slips() {
		if f.near(s.value) {
			return judgement{kind: Arithmetic, why: s.how}
		}
	}
	if how := misprint(f, right); how != "" {
		return judgement{kind: Arithmetic, why: how}
	}
	return judgement{kind: Inconsistent}
}

// rounded says in which way a last place is off.
func rounded(f *Figure, right interval) string {
	units := right.mid / f.Resolution
	switch printed := f.Value / f.Resolution; {
	case same(math.Trunc(units), math.Round(printed)):
		return "cut off instead of rounded"
	case same(math.Ceil(math.Abs(units)), math.Round(math.Abs(printed))) && units*printed > 0:
		return "rounded up instead of to the nearest"
	}
	return "one unit off in the last place"
}

// misprint explains f as the right number with its decimal point or two of
// its digits in the wrong place, or "".
func misprint(f *Figure, right interval) string {
	if f.Bound != "" || significant(f) < 2 {
		return ""
	}
	for _, scale := range []float64{10, 0.1, 100, 0.01} {
		shifted, ok := right.under(func(v float64) float64 { return v * scale })
		if ok && f.allows(shifted, 0) {
			return "the decimal point is in the wrong place"
		}
	}
	if right.hi-right.lo > 2*f.Resolution {
		return "" // some swap or other would be right by chance
	}
	text := []byte(strconv.FormatFloat(math.Abs(f.Value), 'f', f.decimals(), 64))
	for i := range text[:len(text)-1] {
		j := i + 1
		if text[j] == '.' && j+1 < len(text) {
			j++
		}
		if text[i] == '.' || text[i] == text[j] {
			continue
		}
		text[i], text[j] = text[j], text[i]
		v, err := strconv.ParseFloat(string(text), 64)
		swapped := Figure{Number: Number{math.Copysign(v, f.Value), f.Resolution}}
		if err == nil && swapped.allows(right, 0) {
			return fmt.Sprintf("two digits are swapped: %s", swapped.number())
		}
		text[i], text[j] = text[j], text[i]
	}
	return ""
}

// decimals is how many places after the point n is printed with.
func (n Number) decimals() int {
	if n.Resolution <= 0 || n.Resolution >= 1 {
		return 0
	}
	return min(int(math.Round(-math.Log10(n.Resolution))), 12)
}

// number writes n as it was printed, but for separators.
func (n Number) number() string { return strconv.FormatFloat(n.Value, 'f', n.decimals(), 64) }

// significant is how many digits a figure has that say something.
func significant(f *Figure) int {
	return len(strings.TrimLeft(onlyDigits(f.number()), "0"))
}
