package report

import (
	"math"
	"strconv"
	"strings"
)

// Scale turns values of one unit into readable figures, all with the same unit, so
// that the rows of a column compare.
type Scale struct {
	Factor float64 // a value times this is the figure
	Unit   string
}

// steps are the units for values of a unit, from the largest. A value times the factor is in that unit.
var steps = map[string][]Scale{
	"s": {{1, "s"}, {1e3, "ms"}, {1e6, "µs"}, {1e9, "ns"}},
	"J": {{1e-6, "MJ"}, {1e-3, "kJ"}, {1, "J"}, {1e3, "mJ"}, {1e6, "µJ"}, {1e9, "nJ"}},
	"B": {{1.0 / (1 << 40), "TiB"}, {1.0 / (1 << 30), "GiB"}, {1.0 / (1 << 20), "MiB"}, {1.0 / (1 << 10), "KiB"},
		{1, "B"}},
	"B/s":   {{1e-9, "GB/s"}, {1e-6, "MB/s"}, {1e-3, "kB/s"}, {1, "B/s"}},
	"bit/s": {{1e-9, "Gbit/s"}, {1e-6, "Mbit/s"}, {1e-3, "kbit/s"}, {1, "bit/s"}},
	"1/s":   {{1e-6, "M/s"}, {1e-3, "k/s"}, {1, "/s"}},
}

// ScaleFor chooses the unit for values around v.
func ScaleFor(unit string, v float64) Scale {
	in := 1.0
	if unit == "ns" {
		unit, in = "s", 1e-9
	}
	steps := steps[unit]
	if steps == nil {
		return Scale{1, unit}
	}
	v = math.Abs(v) * in
	for i, s := range steps {
		// Rates switch to thousands late: 4321 /s reads better than 4.321 k/s.
		least := 1.0
		if unit == "1/s" && s.Factor < 1 {
			least = 100
		}
		if v*s.Factor >= least || i == len(steps)-1 && v > 0 {
			return Scale{s.Factor * in, s.Unit}
		}
	}
	base := Scale{in, steps[0].Unit} // of zero
	if unit != "s" {
		base.Unit = steps[len(steps)-1].Unit
	}
	return base
}

// Figure formats v with four digits, without its unit.
func (s Scale) Figure(v float64) string { return Digits(v*s.Factor, 4) }

// With formats v with its unit.
func (s Scale) With(v float64) string {
	return strings.TrimRight(s.Figure(v)+" "+s.Unit, " ")
}

// InUnit formats v with n digits in the unit that reads best.
func InUnit(unit string, v float64, n int) string {
	s := ScaleFor(unit, v)
	return strings.TrimRight(Digits(v*s.Factor, n)+" "+s.Unit, " ")
}

// Digits formats v with n significant digits, or with as many as its integer part
// has; beyond 10^9 it uses an exponent.
func Digits(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	a := math.Abs(v)
	if a >= 1e9 || a < 1e-4 {
		return strconv.FormatFloat(v, 'g', n, 64)
	}
	// The exponent of the rounded value: 9.9996 is 10.00 with four digits.
	text := strconv.FormatFloat(a, 'e', n-1, 64)
	exp, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	return strconv.FormatFloat(v, 'f', max(n-1-exp, 0), 64)
}

// span formats an interval.
func span(low, high float64) string { return Digits(low, 3) + " … " + Digits(high, 3) }

// when is a text that is said only in some cases, as when what it says is known; else "".
func when(said bool, text string) string {
	if !said {
		return ""
	}
	return text
}

// Percent formats a signed percentage without the percent sign: +9.1, -0.34, +1460.
func Percent(p float64) string {
	s := Digits(p, 3)
	if math.Abs(p) < 1 {
		s = strconv.FormatFloat(p, 'f', 2, 64)
	} else if math.Abs(p) < 10 {
		s = strconv.FormatFloat(p, 'f', 1, 64)
	}
	if s == "-0.00" || s == "0.00" {
		return "0.00"
	}
	if p > 0 {
		s = "+" + s
	}
	return s
}
