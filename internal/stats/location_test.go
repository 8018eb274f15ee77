package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// chem is 24 determinations of copper in flour. With k = 1.5, R's MASS gives
// huber(chem) = 3.206724 [Venables & Ripley, Modern Applied Statistics with S,
// 4th ed., p. 124].
var chem = []float64{2.9, 3.1, 3.4, 3.4, 3.7, 3.7, 2.8, 2.5, 2.4, 2.4, 2.7, 2.2,
	5.28, 3.37, 3.03, 3.03, 28.95, 3.77, 3.4, 2.2, 3.5, 3.6, 3.7, 3.7}

func TestGoldenHuber(t *testing.T) {
	near(t, "huber(chem)", huber(chem, median(chem), 1.5*0.5263238), 3.206724, 1e-6)
}

// The mean over all pseudo-values of a group is its Huber estimate.
func TestHuberizeMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 50))
	groups := make([][]float64, 5)
	for i := range groups {
		for range 6 + 2*i {
			groups[i] = append(groups[i], float64(i)+0.1*r.NormFloat64())
		}
	}
	groups[4][3] += 50
	for i, g := range Huberize(groups) {
		m, _ := meanVar(g)
		if len(g) >= huberOwn {
			// Groups that differ keep their locations, and the outlier moves that of
			// its group by at most the bend over the number of values.
			if math.Abs(m-float64(i)) > 0.15 {
				t.Errorf("group %d: mean %v", i, m)
			}
		}
		if len(g) != len(groups[i]) {
			t.Errorf("group %d has %d values of %d", i, len(g), len(groups[i]))
		}
	}
}

// In groups below huberOwn, an outlier is pulled towards the common centre.
func TestHuberizeSmallGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 50))
	groups := make([][]float64, 10)
	for i := range groups {
		groups[i] = []float64{1 + 0.01*r.NormFloat64(), 1 + 0.01*r.NormFloat64()}
	}
	groups[6][1] = 3
	h := Huberize(groups)
	if m, _ := meanVar(h[6]); m > 1.03 {
		t.Errorf("the odd group: %v", m)
	}
	all, _ := meanVar(slices.Concat(h...))
	if math.Abs(all-1) > 0.01 {
		t.Errorf("mean of all %v", all)
	}
}

// Without outliers, nothing changes. Shifting or scaling the values shifts or
// scales the result.
func TestHuberizeEquivariant(t *testing.T) {
	steady := [][]float64{{1, 1.1, 0.9, 1.05, 0.95, 1, 1.02, 0.98}, {1.1, 0.9, 1, 1, 1.05, 0.95, 1.01, 0.99}}
	for i, g := range Huberize(steady) {
		before, _ := meanVar(steady[i])
		after, _ := meanVar(g)
		if math.Abs(before-after) > 0.01 {
			t.Errorf("group %d: %v became %v", i, before, after)
		}
	}
	odd := [][]float64{slices.Clone(chem[:12]), slices.Clone(chem[12:])}
	want := Huberize(odd)
	for _, g := range odd {
		for i := range g {
			g[i] = 5 - 2*g[i]
		}
	}
	for i, g := range Huberize(odd) {
		for j, v := range g {
			if math.Abs(v-(5-2*want[i][j])) > 1e-7 {
				t.Errorf("%v turned into %v, want %v", odd[i][j], v, 5-2*want[i][j])
			}
		}
	}
}

func TestHuberizeDegenerate(t *testing.T) {
	for _, groups := range [][][]float64{nil, {}, {{}}, {{3}}, {{3, 3}, {3}},
		{{1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2, 2, 2}}} {
		for i, g := range Huberize(groups) {
			if !slices.Equal(g, groups[i]) {
				t.Errorf("%v became %v", groups[i], g)
			}
		}
	}
	// Most values are equal: the scale is not 0, and the outlier does not dominate.
	h := Huberize([][]float64{{1, 1, 1, 1, 1, 1, 1, 1, 1, 5}})
	if m, _ := meanVar(h[0]); m > 1.2 {
		t.Errorf("nine of ten equal: mean %v", m)
	}
}
