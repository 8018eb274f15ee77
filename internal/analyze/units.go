package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/stats"
)

const (
	// minGuests is from how many guests on an interval speaks of
	// guests of this kind. With 3, comparisons of one thing with itself were
	// called different in 11–20 % of simulated runs, with 2 in 35 %.
	minGuests = 4
	// batches is how many units the blocks of fewer guests make.
	batches = 10
)

// column is one side of a comparison: a logarithm a block, in the order of
// blocks, and the series whose guests gave them.
type column struct {
	logs   series
	guests []series
}

// minus is the difference of two columns, in the blocks that both have.
func (c column) minus(other column) column {
	var out series
	a, b := c.logs, other.logs
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0].block, b[0].block) {
		case -1:
			a = a[1:]
		case 1:
			b = b[1:]
		default:
			out = append(out, point{block: a[0].block, value: a[0].value - b[0].value})
			a, b = a[1:], b[1:]
		}
	}
	return column{out, slices.Concat(c.guests, other.guests)}
}

// row is what one block says of a comparison: logarithms of the arm, of its
// baseline and of the baseline's control, turned so that more costs more. One
// of the last two may be NaN: there is none.
type row struct {
	block   int32
	x, y, c float64
	v       float64 // the overhead with what lies far out drawn in; see weigh
}

// rowsOf joins columns by block: every block that has the arm, and its baseline
// or the control.
func rowsOf(x, y, c column, better string) []row {
	turn := 1.0
	if better == "higher" {
		turn = -1
	}
	at := func(s *series, block int32) float64 {
		for len(*s) > 0 && (*s)[0].block < block {
			*s = (*s)[1:]
		}
		if len(*s) == 0 || (*s)[0].block > block {
			return math.NaN()
		}
		return turn * (*s)[0].value
	}
	rows := make([]row, 0, len(x.logs))
	for _, p := range x.logs {
		r := row{block: p.block, x: turn * p.value, y: at(&y.logs, p.block), c: at(&c.logs, p.block)}
		if !math.IsNaN(r.y) || !math.IsNaN(r.c) {
			rows = append(rows, r)
		}
	}
	return rows
}

// d is the overhead that the row shows: against the mean of the baseline and
// its control, or against the one that there is.
func (r row) d() float64 {
	switch {
	case math.IsNaN(r.c):
		return r.x - r.y
	case math.IsNaN(r.y):
		return r.x - r.c
	}
	return r.x - (r.y+r.c)/2
}

// overheads returns d of all rows.
func overheads(rows []row) []float64 {
	d := make([]float64, len(rows))
	for i, r := range rows {
		d[i] = r.d()
	}
	return d
}

// distinctGuests splits rows into groups that have no guest in common: blocks
// that share one, of whichever side, share what its start drew (memory layout,
// page colours, placement). The groups are in the order of their first blocks.
func distinctGuests(rows []row, columns ...column) [][]row {
	parent := make([]int, len(rows))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, col := range columns {
		for _, s := range col.guests {
			first := map[int32]int{} // row that a guest was in first
			i, guest, at := 0, int32(0), -1
			for _, p := range s {
				for i < len(rows) && rows[i].block < p.block {
					i++
				}
				if i == len(rows) {
					break
				}
				if rows[i].block != p.block {
					continue
				}
				if at < 0 || guest != p.guest {
					row, ok := first[p.guest]
					if !ok {
						row, first[p.guest] = i, i
					}
					at, guest = row, p.guest
				}
				if a, b := find(at), find(i); a != b {
					parent[max(a, b)] = min(a, b)
				}
			}
		}
	}
	index := make([]int, len(rows)) // of the group that a row is the first of
	var groups [][]row
	for i, r := range rows {
		first := find(i) // the first row of its group, as the smaller becomes the parent
		if first == i {
			index[i] = len(groups)
			groups = append(groups, nil)
		}
		groups[index[first]] = append(groups[index[first]], r)
	}
	return groups
}

// unitsOf turns groups of distinct guests into the independent units of an interval. Of too
// few of them, batches of consecutive blocks are made.
func unitsOf(groups [][]row) (units [][]row, scope Scope) {
	if len(groups) >= minGuests {
		return groups, ScopeGuests
	}
	rows := slices.Concat(groups...)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.block, b.block) })
	n := len(rows)
	count := n / max(1, n/batches)
	for i := range count {
		units = append(units, rows[i*n/count:(i+1)*n/count])
	}
	return units, ScopeTheseGuests
}

// mergeShort merges groups that an interruption cut short, those of fewer than half of the median group's rows into
// the group before, or after, for the first.
func mergeShort(groups [][]row) [][]row {
	if len(groups) < 2 {
		return groups
	}
	sizes := make([]float64, len(groups))
	for i, g := range groups {
		sizes[i] = float64(len(g))
	}
	median, _ := stats.Quantile(sizes, 0.5) // sizes are finite and not empty
	var out [][]row
	var pending []row // short ones at the beginning
	for _, g := range groups {
		switch short := float64(len(g)) < median/2; {
		case short && len(out) == 0:
			pending = append(pending, g...)
		case short:
			out[len(out)-1] = slices.Concat(out[len(out)-1], g)
		default:
			out = append(out, slices.Concat(pending, g))
			pending = nil
		}
	}
	return out
}

// weigh sets the value v of all rows, so that the mean over those of a unit is
// ½ (H(ln x - ln y) + H(ln x - ln c)), where H is Huber's location of pairs: a
// few slow trials do not move it. The two sets of pairs are taken apart because
// a pair of two like arms is symmetric, whatever its tails; ln x - ½(ln y + ln c)
// is not, and a robust location of it is biased.
func weigh(groups [][]row) {
	first := true
	for _, base := range []func(row) float64{func(r row) float64 { return r.y }, func(r row) float64 { return r.c }} {
		d := make([][]float64, len(groups))
		for i, in := range groups {
			for _, r := range in {
				if v := r.x - base(r); !math.IsNaN(v) {
					d[i] = append(d[i], v)
				}
			}
		}
		d = stats.Huberize(d)
		for i, in := range groups {
			k := 0
			for j := range in {
				r := &in[j]
				if math.IsNaN(base(*r)) {
					continue
				}
				if first || math.IsNaN(r.y) {
					r.v = d[i][k]
				} else {
					r.v = r.v/2 + d[i][k]/2
				}
				k++
			}
		}
		first = false
	}
}

// coarse reports whether the step of a metric is coarser than its noise: the
// standard deviation within units is less than half the smallest step between
// distinct values of one side, or there is no step at all.
func coarse(units [][]row) bool {
	step := math.Inf(1)
	var squares, df float64
	var values []float64
	for _, side := range []func(
		row) float64{func(r row) float64 { return r.x }, func(r row) float64 { return r.y },
		func(r row) float64 { return r.c }} {
		values = values[:0]
		for _, u := range units {
			var n, mean, ss float64 // Welford
			for _, r := range u {
				v := side(r)
				if math.IsNaN(v) {
					continue
				}
				values = append(values, v)
				n++
				delta := v - mean
				mean += delta / n
				ss += delta * (v - mean)
			}
			squares += ss
			df += max(0, n-1)
		}
		slices.Sort(values)
		for i := 1; i < len(values); i++ {
			if gap := values[i] - values[i-1]; gap > rounding {
				step = min(step, gap)
			}
		}
	}
	if math.IsInf(step, 1) {
		return true
	}
	return df > 0 && math.Sqrt(squares/df) < step/2
}

// rounding is how far apart, relative, values may be that a tool printed alike.
const rounding = 1e-12
