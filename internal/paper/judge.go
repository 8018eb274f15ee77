package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is the kind of error in a printed number that does not follow from the
// other printed ones.
type Kind string

const (
	// Rounding: one unit off in the last printed place.
	Rounding Kind = "rounding"
	// Arithmetic: the number is the result of a common mistake.
	Arithmetic Kind = "arithmetic"
	// Inconsistent: the number is neither right nor the result of a mistake that
	// tare knows.
	Inconsistent Kind = "inconsistent"
)

// slip is the result of a wrong calculation, and what is wrong with it.
type slip struct {
	value interval
	how   string
}

// slips are possible explanations of a wrong number.
type slips []slip

// add adds the result of a formula for q, if it is finite.
func (s *slips) add(how string, q interval, formula func(q float64) float64) {
	if v, ok := q.under(formula); ok {
		*s = append(*s, slip{v, how})
	}
}

// scaled adds q times a factor.
func (s *slips) scaled(how string, q interval, factor float64) {
	s.add(how, q, func(v float64) float64 { return v * factor })
}

// judgement is the result of comparing a printed number with the right one.
type judgement struct {
	agrees bool
	kind   Kind
	why    string
}

// roughly is how far a number may be from an "about" one, as a share; half a unit of the
// printed number's last place is always allowed.
const roughly = 0.1

// allows reports whether f may be the printed form of a number in r, possibly off
// by units in its last place.
func (f *Figure) allows(r interval, units float64) bool {
	slack := 1e-9 * max(math.Abs(r.lo), math.Abs(r.hi), math.Abs(f.Value))
	low, high := f.Number, f.Number
	half := (0.5+units)*f.Resolution + slack
	switch f.Bound {
	case "<", "<=":
		return r.lo < f.Value+slack
	case ">", ">=":
		return r.hi > f.Value-slack
	case "~":
		half = max(half, roughly*math.Abs(f.Value))
	case "..":
		high = f.High
	}
	return r.lo <= high.Value+half && r.hi >= low.Value-half
}

// near reports whether a slip with the result r explains f. A number explains a bound
// only if it is just within it, and a bound of 0 or 1 not at all: almost anything is
// below 100, and every small number is near 0. It explains an "about" number only as
// exactly as any other.
func (f *Figure) near(r interval) bool {
	switch f.Bound {
	case "":
		return f.allows(r, 0)
	case "~":
		exact := Figure{Number: f.Number}
		return exact.allows(r, 0)
	case "..":
		return false
	}
	return math.Abs(f.Value) > f.Resolution && f.allows(r, 0) && math.Abs(r.mid-f.Value) <= f.Resolution
}

// judge compares a printed number with the right one. It calls explain, unless that is nil, only if the
// number is wrong, and reports the first slip that explains it.
func judge(f *Figure, right interval, explain func() slips) judgement {
	if f.allows(right, 0) {
		return judgement{agrees: true}
	}
	if f.Bound == "" && f.allows(right, 1) {
		return judgement{kind: Rounding, why: rounded(f, right)}
	}
	if explain != nil {
		for _, s := range explain() {
			if f.near(s.value) {
				return judgement{kind: Arithmetic, why: s.how}
			}
		}
	}
	if how := misprint(f, right); how != "" {
		return judgement{kind: Arithmetic, why: how}
	}
	return judgement{kind: Inconsistent}
}

// rounded says how the last place is wrong.
func rounded(f *Figure, right interval) string {
	units := right.mid / f.Resolution
	switch printed := f.Value / f.Resolution; {
	case same(math.Trunc(units), math.Round(printed)):
		return "truncated instead of rounded"
	case same(math.Ceil(math.Abs(units)), math.Round(math.Abs(printed))) && units*printed > 0:
		return "rounded up instead of to the nearest"
	}
	return "one unit off in the last place"
}

// misprint explains f as the right number with a misplaced decimal point or two
// swapped digits; "": no explanation.
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
		return "" // some swap would match by chance
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

// decimals returns the number of printed decimal places.
func (n Number) decimals() int {
	if n.Resolution <= 0 || n.Resolution >= 1 {
		return 0
	}
	return min(int(math.Round(-math.Log10(n.Resolution))), 12)
}

// number formats n as printed, without separators of thousands.
func (n Number) number() string { return strconv.FormatFloat(n.Value, 'f', n.decimals(), 64) }

// significant returns the number of significant digits.
func significant(f *Figure) int {
	return len(strings.TrimLeft(onlyDigits(f.number()), "0"))
}
