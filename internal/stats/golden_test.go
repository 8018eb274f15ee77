package stats

import (
	"math"
	"testing"
)

// The wanted numbers are R's; testdata/golden.R is the code that gave them.
var (
	gx    = []float64{12.1, 11.8, 12.5, 13.0, 12.2, 11.9, 12.7, 12.4}
	gy    = []float64{11.0, 11.1, 11.4, 11.9, 10.8, 11.2, 11.3, 11.5}
	sleep = [2][]float64{
		{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
		{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4},
	}
	permeability = [2][]float64{
		{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
		{1.15, 0.88, 0.90, 0.74, 1.21},
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

func TestGoldenMeans(t *testing.T) {
	iv, err := PairedRatio(gx, gy, 0.05)
	nearInterval(t, "paired", iv.Exp(), err, 1.09303338073899, 1.07230530842307, 1.11416213463183, 1.14686200203701e-05)
	iv, err = PairedRatio(gx, gy, 0.01)
	nearInterval(t, "paired 99 %", iv.Exp(), err, 1.09303338073899, 1.06249730070070, 1.12444706506247, 1.14686200203701e-05)
	iv, err = PairedRatio([]float64{2, 3}, []float64{1, 1.4}, 0.05)
	nearInterval(t, "two pairs", iv.Exp(), err, 2.0701966780270626, 1.3355254916137509, 3.2090097213612481, 0.0301585580751346)
	iv, err = Welch(sleep[0], sleep[1], 0.05)
	nearInterval(t, "Welch, Student's sleep data", iv, err, -1.58, -3.3654832307117104, 0.2054832307117102, 0.0793941401873582)
	near(t, "Welch df", iv.DF, 17.7764735161784984, 1e-9)
	iv, err = MeanT(diff(sleep[0], sleep[1]), 0.05)
	nearInterval(t, "paired sleep data", iv, err, -1.58, -2.45988576327698238, -0.70011423672301754, 0.00283289019738427)
	iv, err = Fieller(gx, gy, 0.05)
	nearInterval(t, "Fieller", iv, err, 1.09312638580931, 1.05313031003251, 1.13448843395733, 7.07890458511998e-05)

	groups := [][]float64{{1, 2, 3}, {2, 3, 5, 4}, {6, 7, 6}}
	iv, err = GroupedMeanT(groups, 0.05)
	nearInterval(t, "grouped", iv, err, 3.9444444444444442, -1.5221220429520921, 9.4110109318409787, 0.0899679289731845)
	p, err := GroupsDiffer(groups)
	if err != nil {
		t.Error(err)
	}
	near(t, "ANOVA", p, 0.00408818700097289, 1e-9)
}

func TestGoldenRanks(t *testing.T) {
	d, _ := LogRatios(gx, gy)
	iv, err := HodgesLehmann(d, 0.05)
	nearInterval(t, "8 pairs", iv, err, 0.0896199842878601, 0.0679870295291110, 0.1085999987066808, 1)
	iv, err = HodgesLehmann(d[:5], 0.05)
	nearInterval(t, "5 pairs: the range", iv, err, 0.0918605685741889, 0.0611544231533308, 0.1218898176090368, 1)
	x := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	y := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	iv, err = HodgesLehmann(diff(x, y), 0.05)
	nearInterval(t, "Hollander & Wolfe's depression data", iv, err, 0.460, 0.010, 0.786, 1)

	z := make([]float64, 60)
	for i := range z {
		z[i] = math.Sin(float64(i+1)) + float64(i+1)/37
	}
	iv, err = HodgesLehmann(z, 0.05)
	if err != nil {
		t.Error(err)
	}
	near(t, "60: exact median", iv.Estimate, 0.858439442120472, 1e-12)
	near(t, "60: normal approximation", iv.Low, 0.604563198609119, 2e-3)
	near(t, "60: normal approximation", iv.High, 1.092654506177164, 2e-3)

	iv, err = HodgesLehmannTwo(permeability[0], permeability[1], 0.05)
	nearInterval(t, "Hollander & Wolfe's permeability data", iv, err, 0.305, -0.15, 0.76, 1)
	iv, err = HodgesLehmannTwo(z, permeability[0], 0.05)
	if err != nil {
		t.Error(err)
	}
	near(t, "60+10: exact median", iv.Estimate, -0.4650179417672277, 1e-12)
	near(t, "60+10: low", iv.Low, -0.9869297133579752, 1e-2)
	near(t, "60+10: high", iv.High, 0.0461757879079783, 0.2) // neighbours of an order statistic near 0
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

func TestGoldenSequential(t *testing.T) {
	d, _ := LogRatios(gx, gy)
	n, err := SteinN(0.0216127973398082, 5, 0.01, 0.05)
	if n != 37 || err != nil {
		t.Errorf("Stein: got %d, %v, want 37", n, err)
	}
	iv, err := SteinInterval(d, 5, 0.05)
	nearInterval(t, "Stein", iv, err, 0.0889567492028780, 0.0677411609139886, 0.1101723374917674, iv.P)
	iv, err = AnytimeFrom(0.1, 0.05, 20, 0.5, 0.05)
	nearInterval(t, "anytime", iv, err, 0.1, 0.0658315408241694, 0.1341684591758306, 0.05)
}

func TestGoldenKendall(t *testing.T) {
	s, err := Steady([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Mann-Kendall with ties", s.TrendP, 0.00686379498544903, 1e-9)
}

// The documented example of benchstat (golang.org/x/perf/cmd/benchstat): json
// is 17.20 % faster (p=0.000), gob unchanged (p=0.446); medians in ns.
func TestBenchstatExample(t *testing.T) {
	jsonOld := []float64{1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774}
	jsonNew := []float64{1423, 1416, 1411, 1413, 1412, 1426, 1424, 1425, 1447, 1425}
	gobOld := []float64{3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062}
	gobNew := []float64{3075, 3065, 3059, 3060, 3060, 3081, 3186, 3135, 3087, 3062}
	for _, c := range []struct {
		x    []float64
		want float64
	}{{jsonOld, 1718}, {jsonNew, 1423}, {gobOld, 3066}, {gobNew, 3070}} {
		got, _ := Quantile(c.x, 0.5)
		if math.Abs(got-c.want) > 0.5 {
			t.Errorf("median %v, want %v", got, c.want)
		}
	}
	iv, _ := HodgesLehmannTwo(jsonNew, jsonOld, 0.05)
	if iv.High >= 0 || math.Abs(iv.Estimate/1718+0.172) > 0.002 {
		t.Errorf("json: %+v, want about -17.2 %%", iv)
	}
	if iv, _ = HodgesLehmannTwo(gobNew, gobOld, 0.05); iv.Low > 0 || iv.High < 0 {
		t.Errorf("gob: %+v, want no difference", iv)
	}
}

// The worked examples of Kalibera & Jones and of libkalibera's documentation.
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
