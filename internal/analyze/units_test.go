package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// columnOf makes a column of blocks whose guests are given, values by block.
func columnOf(blocks, guests []int32, value func(block int32) float64) column {
	var s series
	for i, b := range blocks {
		s = append(s, point{block: b, guest: guests[i], value: value(b)})
	}
	return column{s, []series{s}}
}

func blocksOf(groups [][]row) (all [][]int32) {
	for _, g := range groups {
		var blocks []int32
		for _, r := range g {
			blocks = append(blocks, r.block)
		}
		all = append(all, blocks)
	}
	return all
}

func same(a, b [][]int32) bool { return slices.EqualFunc(a, b, slices.Equal) }

// Units share no guest, of whichever side.
func TestGroupsShareNoGuest(t *testing.T) {
	zero := func(int32) float64 { return 0 }
	all := []int32{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		name    string
		x, y, c column
		want    [][]int32
	}{
		{"made anew at once", columnOf(all, []int32{1, 1, 1, 1, 2, 2, 2, 2}, zero),
			columnOf(all, []int32{1, 1, 1, 1, 2, 2, 2, 2}, zero), column{},
			[][]int32{{0, 1, 2, 3}, {4, 5, 6, 7}}},
		{"one lives on", columnOf(all, []int32{1, 1, 1, 1, 1, 1, 1, 1}, zero),
			columnOf(all, []int32{1, 1, 2, 2, 3, 3, 4, 4}, zero), column{},
			[][]int32{{0, 1, 2, 3, 4, 5, 6, 7}}},
		{"the control links", columnOf(all, []int32{1, 1, 2, 2, 3, 3, 4, 4}, zero),
			columnOf(all, []int32{1, 1, 2, 2, 3, 3, 4, 4}, zero),
			columnOf(all, []int32{1, 1, 2, 2, 2, 2, 4, 4}, zero), [][]int32{{0, 1}, {2, 3, 4, 5}, {6, 7}}},
		{"one comes back", columnOf(all, []int32{1, 1, 2, 2, 1, 1, 3, 3}, zero),
			columnOf(all, []int32{1, 1, 2, 2, 3, 3, 4, 4}, zero), column{},
			[][]int32{{0, 1, 4, 5}, {2, 3}, {6, 7}}},
		{"every fourth block", columnOf([]int32{0, 4}, []int32{1, 2}, zero), columnOf(all, []int32{1, 1, 1, 1, 2, 2, 2, 2},
			zero), column{},
			[][]int32{{0}, {4}}},
		{"a guest of blocks that do not count", columnOf([]int32{0, 1, 6, 7}, []int32{1, 1, 2, 2}, zero),
			columnOf(all, []int32{1, 1, 1, 2, 2, 3, 3, 3}, zero), column{},
			[][]int32{{0, 1}, {6, 7}}},
	} {
		rows := rowsOf(c.x, c.y, c.c, "lower")
		if got := blocksOf(distinctGuests(rows, c.x, c.y, c.c)); !same(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// Several guests in a block link what any of them was in.
	x := column{logs: columnOf(all[:4], []int32{0, 0, 0, 0}, zero).logs,
		guests: []series{{{block: 0, guest: 1}, {block: 0, guest: 2}, {block: 1, guest: 2}, {block: 1, guest: 3},
			{block: 2, guest: 4}, {block: 3, guest: 5}}}}
	y := columnOf(all[:4], []int32{1, 2, 3, 4}, zero)
	if got := blocksOf(distinctGuests(rowsOf(x, y, column{}, "lower"), x, y)); !same(got, [][]int32{{0, 1}, {2}, {3}}) {
		t.Errorf("several guests: %v", got)
	}
}

// Rows have what there is: the baseline, its control, or both.
func TestRows(t *testing.T) {
	of := func(value float64, blocks ...int32) column {
		return columnOf(blocks, make([]int32, len(blocks)), func(b int32) float64 { return value + float64(b) })
	}
	rows := rowsOf(of(10, 0, 1, 2, 3, 4), of(1, 0, 2, 3), of(3, 0, 1, 3), "higher")
	var d []float64
	for _, r := range rows {
		d = append(d, r.d())
	}
	if want := []float64{-8, -7, -9, -8}; !slices.Equal(d, want) {
		t.Errorf("overheads %v, want %v", d, want)
	}
}

func TestUnits(t *testing.T) {
	groupsOf := func(sizes ...int) (groups [][]row) {
		next := int32(0)
		for _, n := range sizes {
			var g []row
			for range n {
				g = append(g, row{block: next, c: math.NaN()})
				next++
			}
			groups = append(groups, g)
		}
		return groups
	}
	for _, c := range []struct {
		sizes, merged []int
		units         int
		scope         Scope
	}{
		{[]int{5, 5, 5, 5}, []int{5, 5, 5, 5}, 4, ScopeGuests},
		{[]int{5, 5, 5, 5, 2}, []int{5, 5, 5, 7}, 4, ScopeGuests},
		{[]int{2, 5, 5, 5, 5}, []int{7, 5, 5, 5}, 4, ScopeGuests},
		{[]int{5, 2, 5, 5, 3}, []int{7, 5, 5, 3}, 4, ScopeGuests},
		{[]int{1, 1, 1, 1, 1}, []int{1, 1, 1, 1, 1}, 5, ScopeGuests},
		{[]int{10, 10, 10}, []int{10, 10, 10}, 10, ScopeTheseGuests},
		{[]int{10, 10, 10, 2}, []int{10, 10, 12}, 10, ScopeTheseGuests}, // 32 blocks in batches of 3, the rest spread
		{[]int{20}, []int{20}, 10, ScopeTheseGuests},
		{[]int{19}, []int{19}, 19, ScopeTheseGuests},
		{[]int{1}, []int{1}, 1, ScopeTheseGuests},
	} {
		merged := mergeShort(groupsOf(c.sizes...))
		var sizes []int
		for _, g := range merged {
			sizes = append(sizes, len(g))
		}
		units, scope := unitsOf(merged)
		if !slices.Equal(sizes, c.merged) || len(units) != c.units || scope != c.scope {
			t.Errorf("%v: merged %v, %d units, %s; want %v, %d, %s", c.sizes, sizes, len(units), scope, c.merged, c.units,
				c.scope)
		}
		var blocks []int32
		for _, u := range units {
			for _, r := range u {
				blocks = append(blocks, r.block)
			}
		}
		if !slices.IsSorted(blocks) || len(blocks) != len(slices.Concat(merged...)) {
			t.Errorf("%v: blocks %v", c.sizes, blocks)
		}
	}
}

// The value of units is not biased where arms have tails, one of two or all.
func TestTailsDoNotBias(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 60))
	noise := func() float64 {
		v := 0.05 * r.NormFloat64()
		if r.Float64() < 0.05 {
			v += math.Log(3)
		}
		return v
	}
	var sum float64
	const runs = 3000
	for range runs {
		rows := make([]row, 50)
		for i := range rows {
			rows[i] = row{block: int32(i), x: noise(), y: noise(), c: noise()}
		}
		weigh([][]row{rows})
		sum += meanOf(rows)
	}
	if bias := sum / runs; math.Abs(bias) > 0.0012 { // standard error 0.0002
		t.Errorf("bias %+.2f %%", 100*bias)
	}
}

func TestCoarse(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 60))
	unit := func(value func() float64) (u []row) {
		for i := range 30 {
			u = append(u, row{block: int32(i), x: math.Log(value()), y: math.Log(value()), c: math.Log(value())})
		}
		return u
	}
	for name, c := range map[string]struct {
		value func() float64
		want  bool
	}{
		"constant":            {func() float64 { return 2 }, true},
		"rounding":            {func() float64 { return 2 + 1e-14*r.NormFloat64() }, true},
		"now and then a step": {func() float64 { return 1 + math.Round(0.6*r.Float64()-0.05)*0.1 }, true},
		"whole numbers, wide": {func() float64 { return math.Round(100 * math.Exp(0.05*r.NormFloat64())) }, false},
		"continuous":          {func() float64 { return math.Exp(0.0001 * r.NormFloat64()) }, false},
		"continuous with tail": {
			func() float64 { return math.Exp(0.001*r.NormFloat64()) * (1 + math.Floor(1.05*r.Float64())) }, false},
	} {
		if got := coarse([][]row{unit(c.value)}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
