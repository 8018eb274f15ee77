package paper

import (
	"fmt"
	"strconv"
	"strings"
)

// clearlyLonger is how much longer a time must be, as a factor, to say that a system is the slower one: total times and
// means of rates do not weigh the parts of the work alike.
const clearlyLonger = 1.1

// contrary checks that the run times of two systems and their rates of the same work do not say the opposite of each
// other. Where the amount of the work is known, rate checks more.
func (u *audit) contrary(t *Row) {
	time, rate, to := u.timed(t)
	if rate == nil {
		return
	}
	for _, o := range u.figures() {
		if o.Line <= t.Line || !o.alike(t, "system", "unit") {
			continue
		}
		other, otherRate, otherTo := u.timed(o)
		if otherRate == nil || to != otherTo || otherRate.unit() != rate.unit() {
			continue
		}
		a, b := speed(rate), speed(otherRate)
		longer := interval{time.lo / other.hi, time.mid / other.mid, time.hi / other.lo}
		faster := interval{a.lo / b.hi, a.mid / b.mid, a.hi / b.lo}
		contrary := faster.lo > 1 && longer.lo > clearlyLonger || faster.hi < 1 && longer.hi < 1/clearlyLonger
		if !contrary || !finite(faster.lo, faster.mid, faster.hi, longer.lo, longer.mid, longer.hi) {
			continue
		}
		text := strconv.FormatFloat(1/longer.mid, 'f', 3, 64)
		n, ok := parseNumber(text)
		if !ok {
			continue
		}
		f := &Figure{Number: n, Text: short(n.Value) + " times as fast"}
		u.add(o, f, faster, func() slips { return nil }, Finding{
			Unit: "1", RecomputedText: short(faster.mid) + " times", Check: "rates and times of the same work",
			How: fmt.Sprintf("the rates of %s and %s (lines %d and %d)", rate.System, otherRate.System, rate.Line,
				otherRate.Line),
			Explanation: fmt.Sprintf("by its rate, %s is %s times as fast as %s; by its time, %s times", rate.System,
				short(faster.mid), otherRate.System, short(n.Value)),
			uses: []int{t.Line, rate.Line, otherRate.Line},
		})
	}
}

// timed returns the time of a row, in seconds, the only rate of the same work beside it, and what the rate is relative
// to: "" or a baseline. nil: it is no such row.
func (u *audit) timed(t *Row) (time interval, rate *Row, to string) {
	second, ok := timeUnit(t.Unit)
	n, known := t.value()
	if !ok || !known || n.interval().lo <= 0 || t.size() != 0 {
		return time, nil, ""
	}
	time, _ = n.interval().under(func(v float64) float64 { return v * second })
	for _, r := range u.figures() {
		_, isRate := rateUnit(r.Unit)
		if !isRate || !r.alike(t, "statistic", "unit") || speed(r).lo <= 0 ||
			r.Statistic != pair(t.Statistic) && !strings.Contains(t.Statistic, "time") {
			continue
		}
		if rate != nil {
			return time, nil, ""
		}
		rate = r
	}
	if rate == nil {
		return time, nil, ""
	}
	if _, known := rate.value(); !known {
		to = rate.Baseline
	}
	return time, rate, to
}

// speed is a row's rate or, if the article prints none, its ratio to the baseline's; 0: it prints neither.
func speed(r *Row) interval {
	if n, ok := r.value(); ok {
		return n.interval()
	}
	if r.Delta == nil || r.Delta.Bound != "" {
		return interval{}
	}
	i := r.Delta.around()
	return interval{1 + i.lo/100, 1 + i.mid/100, 1 + i.hi/100}
}
