package stats

import (
	"math"
	"testing"
)

// The expected numbers are from R; testdata/golden.R computes them.
var (
	gx    = []float64{12.1, 11.8, 12.5, 13.0, 12.2, 11.9, 12.7, 12.4}
	gy    = []float64{11.0, 11.1, 11.4, 11.9, 10.8, 11.2, 11.3, 11.5}
	sleep = [2][]float64{
		{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
		{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4},
	}
)

func near(t *testing.T, name string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tol*max(1e-300, math.Abs(want)) {
		t.Errorf("%s: got %.15g, want %.15g", name, got, want)
	}
}

func nearInterval(t *testing.T, name string, iv Interval, err error, est, low, high, p float64) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	near(t, name+" estimate", iv.Estimate, est, 1e-9)
	near(t, name+" low", iv.Low, low, 1e-9)
	near(t, name+" high", iv.High, high, 1e-9)
	near(t, name+" p", iv.P, p, 1e-8)
}

func diff(x, y []float64) []float64 {
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	return d
}

func logRatios(x, y []float64) []float64 {
	d := make([]float64, len(x))
	for i := range x {
		d[i] = math.Log(x[i]) - math.Log(y[i])
	}
	return d
}

func TestGoldenMeans(t *testing.T) {
	iv, err := MeanT(logRatios(gx, gy), 0.05)
	nearInterval(t, "paired", iv.Exp(), err, 1.09303338073899, 1.07230530842307, 1.11416213463183, 1.14686200203701e-05)
	iv, err = MeanT(logRatios(gx, gy), 0.01)
	nearInterval(t, "paired 99 %", iv.Exp(), err, 1.09303338073899, 1.06249730070070, 1.12444706506247,
		1.14686200203701e-05)
	iv, err = MeanT(logRatios([]float64{2, 3}, []float64{1, 1.4}), 0.05)
	nearInterval(t, "two pairs", iv.Exp(), err, 2.0701966780270626, 1.3355254916137509, 3.2090097213612481,
		0.0301585580751346)
	iv, err = Welch(sleep[0], sleep[1], 0.05)
	nearInterval(t, "Welch, Student's sleep data", iv, err, -1.58, -3.3654832307117104, 0.2054832307117102,
		0.0793941401873582)
	near(t, "Welch df", iv.DF, 17.7764735161784984, 1e-9)
	iv, err = MeanT(diff(sleep[0], sleep[1]), 0.05)
	nearInterval(t, "paired sleep data", iv, err, -1.58, -2.45988576327698238, -0.70011423672301754, 0.00283289019738427)

	groups := [][]float64{{1, 2, 3}, {2, 3, 5, 4}, {6, 7, 6}}
	p, err := GroupsDiffer(groups)
	if err != nil {
		t.Error(err)
	}
	near(t, "ANOVA", p, 0.00408818700097289, 1e-9)
}

func TestGoldenHolm(t *testing.T) {
	got, err := Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.5, 0.03})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.05, 0.12, 0.12, 0.03, 0.50, 0.12} {
		near(t, "holm", got[i], want, 1e-12)
	}
}

func TestGoldenQuantile(t *testing.T) {
	want := map[float64]float64{0: 11.8, 0.05: 11.835, 0.25: 12.05, 0.5: 12.3, 0.95: 12.895, 1: 13}
	for p, w := range want {
		got, err := Quantile(gx, p)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "quantile", got, w, 1e-12)
	}
}

func TestGoldenAnytime(t *testing.T) {
	iv, err := AnytimeFrom(0.1, 0.05, 20, 0.5, 0.05)
	nearInterval(t, "anytime", iv, err, 0.1, 0.0658315408241694, 0.1341684591758306, 0.05)
}

func TestGoldenKendall(t *testing.T) {
	_, p := trend(ranks([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}))
	near(t, "Mann-Kendall with ties", p, 0.00686379498544903, 1e-9)
}

// Examples from Kalibera & Jones and from the documentation of libkalibera.
func TestKaliberaJones(t *testing.T) {
	paper := []float64{9, 5, 8, 3, 10, 6, 7, 11, 1, 12, 2, 4}
	lib := []float64{3, 4, 3, 1.2, 3.1, 3, 0.2, 1, 1.5, 1, 2, 3}
	for _, c := range []struct {
		name   string
		data   []float64
		reps   []int
		s2, t2 []float64
		tol    float64
	}{
		{"three levels", paper, []int{3, 2, 2}, []float64{16.5, 2.6, 3.6}, []float64{16.5, -5.7, 2.3}, 0.05},
		{"two levels", paper, []int{3, 4}, []float64{12.7, 3.6}, []float64{12.7, 0.4}, 0.05},
		{"libkalibera", lib, []int{2, 2, 3}, nil, []float64{0.7266667, 0.262777778, 0.7747}, 1e-4},
	} {
		got, err := VarianceComponents(c.data, c.reps)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.s2 {
			if math.Abs(got.S2[i]-want) > c.tol {
				t.Errorf("%s: S2[%d] = %v, want %v", c.name, i, got.S2[i], want)
			}
		}
		for i, want := range c.t2 {
			if math.Abs(got.T2[i]-want) > c.tol {
				t.Errorf("%s: T2[%d] = %v, want %v", c.name, i, got.T2[i], want)
			}
		}
	}
	v, _ := VarianceComponents(lib, []int{2, 2, 3})
	reps, err := OptimalReps([]float64{3, 20, 100}, v.T2)
	if err != nil || len(reps) != 2 || reps[0] != 5 || reps[1] != 2 { // 4.2937 and 1.3023
		t.Errorf("optimal repetitions %v, %v, want [5 2]", reps, err)
	}
	reps, err = OptimalReps([]float64{1, 10, 10}, []float64{2, 0, 1})
	if err != nil || reps[0] != 0 || reps[1] != 1 {
		t.Errorf("levels without variance: %v, %v, want [0 1]", reps, err)
	}
}
