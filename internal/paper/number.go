package paper

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Number is a printed number. It was rounded, so the original number lies within
// half a Resolution on either side.
type Number struct {
	Value      float64
	Resolution float64 // one unit in the last printed place, in the unit of Value
}

// Figure is a printed number that the article derived from others, or what it says
// about one: a bound ("more than 2"), a range ("6 to 8") or a rough number ("about 10").
type Figure struct {
	Number
	// Bound is "<" or ">" (the number is below or above Value), "<=" or ">=", "~" (about
	// Value), ".." (from Value to High), or "".
	Bound string
	High  Number // the upper end of a range
	// Inverse: the ratio was printed as 1:N; Value is N.
	Inverse bool
	Text    string // as in the file
}

// interval is the range of a number that was calculated from rounded ones; mid is
// the number that the rounded ones give.
type interval struct{ lo, mid, hi float64 }

// around returns the range of the original number, which may be negative.
func (n Number) around() interval {
	return interval{n.Value - n.Resolution/2, n.Value, n.Value + n.Resolution/2}
}

// interval is around for quantities. They are not negative, so the range of 0 begins at 0.
func (n Number) interval() interval {
	i := n.around()
	if n.Value >= 0 {
		i.lo = max(i.lo, 0)
	}
	return i
}

// quotient returns a/b, or false if b can be 0 or either is negative.
func quotient(a, b Number) (interval, bool) {
	x, y := a.interval(), b.interval()
	if x.lo < 0 || x.mid < 0 || y.lo <= 0 {
		return interval{}, false
	}
	q := interval{x.lo / y.hi, x.mid / y.mid, x.hi / y.lo}
	return q, finite(q.lo, q.mid, q.hi)
}

// under applies a monotonic function to i; false: the result is not finite.
func (i interval) under(f func(float64) float64) (interval, bool) {
	r := interval{f(i.lo), f(i.mid), f(i.hi)}
	if r.lo > r.hi {
		r.lo, r.hi = r.hi, r.lo
	}
	return r, finite(r.lo, r.mid, r.hi)
}

func finite(list ...float64) bool {
	for _, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// percent converts a ratio to a change in percent.
func percent(q float64) float64 { return 100 * (q - 1) }

// plain is a decimal number in a file. No measurement has more digits.
var plain = regexp.MustCompile(`^[-+]?[0-9]{1,15}(\.[0-9]{1,12})?$`)

// parseNumber reads a decimal number; its resolution is that of its last digit.
func parseNumber(text string) (Number, bool) {
	if !plain.MatchString(text) {
		return Number{}, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Number{}, false
	}
	_, fraction, _ := strings.Cut(text, ".")
	return Number{v, power10(-len(fraction))}, true
}

// power10 returns exactly the value that ParseFloat gives for the same digits.
func power10(n int) float64 {
	v, _ := strconv.ParseFloat(fmt.Sprintf("1e%d", n), 64)
	return v
}

// parseRatio reads a printed ratio: 3.98, 1:5, 5:1, or what parseFigure reads.
func parseRatio(text string) (*Figure, bool) {
	f, number := Figure{Text: text}, text
	if a, b, ok := strings.Cut(text, ":"); ok {
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		switch {
		case a == "1":
			number, f.Inverse = b, true
		case b == "1":
			number = a
		default:
			return nil, false
		}
		n, ok := parseNumber(number)
		f.Number = n
		return &f, ok && n.Value > 0
	}
	g, ok := parseFigure(text)
	return g, ok && g.Value >= 0
}

// bounds are the signs that may precede a number, longer ones first.
var bounds = []string{"<=", ">=", "<", ">", "~"}

// parseFigure reads a printed number: 9.1, -4.7, <7, >-20, >=50, ~10 or 6..8.
func parseFigure(text string) (*Figure, bool) {
	f, number := Figure{Text: text}, text
	if low, high, ok := strings.Cut(text, ".."); ok {
		f.Bound, number = "..", strings.TrimSpace(low)
		if f.High, ok = parseNumber(strings.TrimSpace(high)); !ok {
			return nil, false
		}
	}
	for _, bound := range bounds {
		if rest, ok := strings.CutPrefix(text, bound); ok {
			f.Bound, number = bound, strings.TrimSpace(rest)
			break
		}
	}
	n, ok := parseNumber(number)
	f.Number = n
	return &f, ok && (f.Bound != ".." || n.Value < f.High.Value)
}

var (
	// digits matches a number in running text: 2572,35 or 13 675.59 or 1,234.5.
	digits = regexp.MustCompile(`[0-9]+(?:[.,' \x{a0}\x{202f}][0-9]{3})*(?:[.,][0-9]+)?`)
	// parts matches the same without separators of thousands.
	parts = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)?`)
	share = regexp.MustCompile(`([0-9]+(?:[.,][0-9]+)?)[ \x{a0}\x{202f}]*%`)
)

// inText returns the resolution of value in an article's own words, which keep
// trailing zeros: "3,10" for 3.1, "2 m 42,412 s" for 162.412, "1197ms" for 1197000
// (µs).
func inText(words string, value float64) (float64, bool) {
	value = math.Abs(value)
	var plainly []Number
	for _, s := range parts.FindAllString(words, 64) {
		n, ok := parseNumber(strings.ReplaceAll(s, ",", "."))
		if !ok {
			continue
		}
		if same(n.Value, value) {
			return n.Resolution, true
		}
		plainly = append(plainly, n)
	}
	for _, s := range digits.FindAllString(words, 64) {
		if n, ok := parseThousands(s); ok && same(n.Value, value) {
			return n.Resolution, true
		}
	}
	for i := range plainly { // minutes and seconds; hours, minutes and seconds
		sum := plainly[i].Value
		for _, n := range plainly[i+1 : min(i+3, len(plainly))] {
			if sum = sum*60 + n.Value; n.Value < 60 && same(sum, value) {
				return n.Resolution, true
			}
		}
	}
	for _, scale := range []float64{1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9, 60, 3600} {
		for _, n := range plainly {
			if n.Value != 0 && same(n.Value*scale, value) {
				return n.Resolution * scale, true
			}
		}
	}
	return 0, false
}

// parseThousands reads a number with separators of thousands.
func parseThousands(s string) (Number, bool) {
	whole, fraction := s, ""
	if i := strings.LastIndexAny(s, ".,"); i >= 0 && strings.Count(s, s[i:i+1]) == 1 {
		whole, fraction = s[:i], "."+s[i+1:]
	}
	if n, ok := parseNumber(onlyDigits(whole) + fraction); ok && len(whole) > 3 {
		return n, true
	}
	return parseNumber(onlyDigits(s))
}

// onlyDigits removes all but digits, and characters that are to stay as well.
func onlyDigits(s string, also ...rune) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || slices.Contains(also, r) {
			return r
		}
		return -1
	}, s)
}

// percentInText returns the resolution of a percentage in an article's words.
func percentInText(words string, value float64) (float64, bool) {
	for _, m := range share.FindAllStringSubmatch(words, 16) {
		if n, ok := parseNumber(strings.ReplaceAll(m[1], ",", ".")); ok && same(n.Value, math.Abs(value)) {
			return n.Resolution, true
		}
	}
	return 0, false
}

// same compares two numbers with a tolerance for binary fractions.
func same(a, b float64) bool {
	return math.Abs(a-b) <= 1e-11*max(math.Abs(a), math.Abs(b))
}
