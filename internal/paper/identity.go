package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// clockSlack is how much longer a command may take by another clock than by its
	// own, as a share: only one of them includes its start and end.
	clockSlack = 0.01
	// meanSlack is how far the mean of rates may exceed the rate of the mean time if
	// the article does not print the minimum and maximum.
	meanSlack = 0.1
	// queueSlack is how much of a queue may be empty on average, as a share.
	queueSlack = 0.05
)

// pair returns the statistic of the time that belongs to a rate, or the reverse: the
// fastest run has the highest rate and the shortest time.
func pair(statistic string) string {
	first, rest, _ := strings.Cut(statistic, " ")
	switch first {
	case "min":
		first = "max"
	case "max":
		first = "min"
	}
	return strings.TrimSpace(first + " " + rest)
}

// rate checks that a rate × the time beside it is the size.
func (u *audit) rate(r *Row) {
	factors, ok := rateUnit(r.Unit)
	rate, known := r.value()
	size := r.size()
	if !ok || !known || size == 0 || rate.Value <= 0 {
		return
	}
	var t *Row
	for _, c := range u.figures() {
		_, isTime := timeUnit(c.Unit)
		if _, ok := c.value(); !ok || !isTime || !c.alike(r, "statistic", "unit") || c.Statistic != pair(r.Statistic) {
			continue
		}
		if t != nil {
			return // ambiguous: several times
		}
		t = c
	}
	if t == nil {
		return
	}
	f := &Figure{Number: rate, Text: rate.number()}
	time, _ := t.value()
	right, ok := u.rateOf(r, t, size, factors[0])
	if !ok {
		return
	}
	for _, factor := range factors[1:] {
		if other, ok := u.rateOf(r, t, size, factor); ok && f.allows(other, 0) {
			right = other // the unit has two meanings, and this one is right
		}
	}
	bare := r.unit()
	sec, _ := timeUnit(t.Unit)
	explanation := fmt.Sprintf("at %s %s it takes %s s, but the time is %s s",
		rate.number(), bare, short(size/(rate.Value*factors[0])), short(time.Value*sec))
	if twoClocks(r, t) {
		explanation += ", by two clocks"
	}
	u.add(r, f, right, func() slips { return u.rateSlips(f, t, size, factors[0]) }, Finding{
		Unit: bare, Check: "rate × time = size", Explanation: explanation,
		How: fmt.Sprintf("%s B / %s s", strconv.FormatFloat(size, 'f', -1, 64), short(time.Value*sec)), uses: []int{t.Line},
	})
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// twoClocks reports whether two rows use different clocks: both units have a remark,
// and the remarks differ ("MB/s (dd)" and "s (time)").
func twoClocks(r, t *Row) bool {
	_, a := splitUnit(r.Unit)
	_, b := splitUnit(t.Unit)
	return a != "" && b != "" && a != b
}

// rateOf returns the rate at which size bytes are moved in the time of t, in units of
// factor bytes per second.
func (u *audit) rateOf(r, t *Row, size, factor float64) (interval, bool) {
	n, _ := t.value()
	sec, _ := timeUnit(t.Unit)
	i := n.interval()
	if i.lo <= 0 {
		return interval{}, false
	}
	v, ok := i.under(func(t float64) float64 { return size / (t * sec * factor) })
	if twoClocks(r, t) {
		v.hi *= 1 + clockSlack
	}
	if strings.HasPrefix(r.Statistic, "mean") {
		v.hi *= u.meanOfRates(t)
	}
	return v, ok
}

// meanOfRates returns the factor by which the mean of the runs' rates can exceed the
// rate of their mean time (Jensen's inequality). It is largest if every run is either
// the shortest or the longest.
func (u *audit) meanOfRates(t *Row) float64 {
	var ends []float64
	for _, c := range u.figures() {
		n, ok := c.value()
		if ok && c.alike(t, "statistic") && (c.Statistic == "min" || c.Statistic == "max") {
			ends = append(ends, n.Value)
		}
	}
	n, _ := t.value()
	if t.Statistic != "mean" || len(ends) != 2 || min(ends[0], ends[1]) <= 0 || n.Value < min(ends[0], ends[1]) ||
		n.Value > max(ends[0], ends[1]) {
		return 1 + meanSlack
	}
	return n.Value * (ends[0] + ends[1] - n.Value) / (ends[0] * ends[1])
}

// rateSlips are the possible explanations of a rate that does not fit its time.
func (u *audit) rateSlips(f *Figure, t *Row, size, factor float64) (list slips) {
	exact, ok := quotient(Number{Value: size / factor}, t.Values[0])
	if !ok {
		return nil
	}
	sec, _ := timeUnit(t.Unit)
	list.scaled("the unit is MiB/s, 2^20 bytes, not 10^6", exact, 1e6/(1<<20)/sec)
	list.scaled("the unit is MB/s, 10^6 bytes, not 2^20", exact, (1<<20)/1e6/sec)
	list.scaled("the unit is GiB/s, 2^30 bytes, not 10^9", exact, 1e9/(1<<30)/sec)
	list.scaled("the unit is GB/s, 10^9 bytes, not 2^30", exact, (1<<30)/1e9/sec)
	list.scaled("bits, not bytes", exact, 8/sec)
	list.scaled("bytes, not bits", exact, 1./8/sec)
	if significant(f) < 2 {
		return list
	}
	for _, n := range u.neighbours(t) {
		if v, ok := quotient(Number{Value: size / factor}, n.Values[0]); ok && n.size() == size {
			list.scaled(fmt.Sprintf("the rate belongs to another time: %s (line %d)", u.label(n), n.Line), v, 1/sec)
		}
	}
	return list
}

// operations reports whether r is a rate of operations.
func (r *Row) operations() bool {
	bare := r.unit()
	if bare == "1/s" {
		return strings.Contains(strings.ToLower(r.Statistic+" "+r.Table), "iops")
	}
	return bare == "IOPS" || strings.HasSuffix(bare, "/s") && slices.Contains(counted, bare)
}

// latency reports whether r is the mean time of one operation.
func (r *Row) latency() bool {
	_, ok := timeUnit(r.Unit)
	return ok && strings.Contains(strings.ToLower(r.Statistic), "latency")
}

// subject returns a statistic without its words for the quantity.
func subject(statistic string) string {
	words := strings.Fields(strings.ToLower(statistic))
	kept := words[:0]
	for _, w := range words {
		switch w {
		case "iops", "latency", "throughput", "bandwidth", "mean", "single", "average":
		default:
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// little checks Little's law on a row of latencies: operations per second × the time
// of each is the number in flight. If the article prints only changes, the two changes
// must cancel out.
func (u *audit) little(r *Row) {
	depth := r.depth()
	if !r.latency() || depth == 0 {
		return
	}
	u.besideOperations(r, depth, func(o *Row, latency, ops Number) { u.fullQueue(r, o, latency, ops, depth) },
		func(o *Row) { u.cancel(r, o, depth) })
}

func (u *audit) fullQueue(r, o *Row, latency, ops Number, depth float64) {
	sec, _ := timeUnit(r.Unit)
	v, ok := quotient(Number{Value: depth / sec}, ops)
	if !ok {
		return
	}
	v.lo *= 1 - queueSlack
	u.add(r, &Figure{Number: latency, Text: latency.number()}, v, nil, Finding{
		Unit: r.unit(), Check: "latency × IOPS = depth", How: fmt.Sprintf("%s / %s per second", short(depth), ops.number()),
		uses:        []int{o.Line},
		Explanation: fmt.Sprintf("%s operations in flight instead of %s", short(latency.Value*sec*ops.Value), short(depth)),
	})
}

func (u *audit) cancel(r, o *Row, depth float64) {
	change := o.Delta.around()
	if change.lo <= -100 {
		return
	}
	right, ok := change.under(func(p float64) float64 { return percent(1 / (1 + p/100)) })
	if !ok {
		return
	}
	u.add(r, r.Delta, right, nil, Finding{
		Unit: "%", Check: "latency × IOPS = depth",
		How:         fmt.Sprintf("100 × (1 / (1 + (%s) / 100) − 1), from the operations per second", o.Delta.number()),
		uses:        []int{o.Line},
		Explanation: fmt.Sprintf("at a queue depth of %s, latency and operations per second change inversely", short(depth)),
	})
}
