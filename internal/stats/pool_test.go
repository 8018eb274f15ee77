package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bcg is the data set dat.bcg of the R package metafor: 13 trials of a vaccine, as cases and
// non-cases with and without it. The result is the ln of the relative risk and its standard error, as
// escalc(measure="RR") returns them.
func bcg() (of []Interval) {
	for _, t := range [][4]float64{
		{4, 119, 11, 128}, {6, 300, 29, 274}, {3, 228, 11, 209}, {62, 13536, 248, 12619}, {33, 5036, 47, 5761},
		{180, 1361, 372, 1079}, {8, 2537, 10, 619}, {505, 87886, 499, 87892}, {29, 7470, 45, 7232},
		{17, 1699, 65, 1600}, {186, 50448, 141, 27197}, {5, 2493, 3, 2338}, {27, 16886, 29, 17825},
	} {
		n, m := t[0]+t[1], t[2]+t[3]
		of = append(of, Interval{Estimate: math.Log(t[0]/n) - math.Log(t[2]/m),
			StdErr: math.Sqrt(1/t[0] - 1/n + 1/t[2] - 1/m)})
	}
	return of
}

// The expected numbers are those of metafor's own tests and manual, where method="REML": of
// influence() and leave1out() for dat.bcg with all digits, of confint() for its Q profiles.
func TestGoldenPool(t *testing.T) {
	of := bcg()
	p, err := Pool(of, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "τ²", p.Tau2, 0.313243325980895, 1e-6) // metafor iterates to 1e-5
	near(t, "Q", p.Q, 152.233008082373, 1e-12)
	near(t, "μ", p.Mean.Estimate, -0.7145, 1e-4)
	near(t, "I²", p.I2, 0.9222, 1e-4)
	near(t, "τ² from", p.Tau2Low, 0.1197, 1e-3)
	near(t, "τ² to", p.Tau2High, 1.1115, 1e-4)
	if p.QP > 1e-20 || p.Mean.DF != 12 || p.Next.DF != 11 {
		t.Errorf("%+v", p)
	}
	near(t, "half of the prediction interval", p.Next.High-p.Next.Estimate,
		2.200985160082949*math.Sqrt(p.Tau2+p.Mean.StdErr*p.Mean.StdErr), 1e-9) // t_11 of R: qt(.975, 11)
	out, err := LeaveOneOut(of, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	first := out[0]
	near(t, "τ² without the first", first.Tau2, 0.336156745300306, 1e-6)
	near(t, "Q without the first", first.Q, 151.582572747109, 1e-12)
	near(t, "μ without the first", first.Mean.Estimate, -0.707083788031436, 1e-6)
	near(t, "I² without the first", first.I2, 0.932259349111223, 1e-6)
	// rstudent() takes the standard error of the model.
	near(t, "residual of the first", first.Residual, -0.218142474344442, 0.01)
}

// TestGoldenHartungKnapp: dat.raudenbush1985 of metafor, 19 experiments, and what its test of the
// example "raudenbush2009" expects of rma(yi, vi, method="REML", test="knha").
func TestGoldenHartungKnapp(t *testing.T) {
	y := []float64{.03, .12, -.14, 1.18, .26, -.06, -.02, -.32, .27, .80, .54, .18, -.02, .23, -.18, -.06, .30, .07, -.07}
	v := []float64{.0156, .0216, .0279, .1391, .1362, .0106, .0106, .0484, .0269, .0630, .0912, .0497, .0835, .0841,
		.0253, .0279, .0193, .0088, .0303}
	var of []Interval
	for i := range v {
		of = append(of, Interval{Estimate: y[i], StdErr: math.Sqrt(v[i])})
	}
	p, err := Pool(of, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"τ²", p.Tau2, 0.0188}, {"μ", p.Mean.Estimate, 0.0837}, {"SE", p.Mean.StdErr, 0.0616}, {"Q", p.Q, 35.8295},
		{"t", p.Mean.Estimate / p.Mean.StdErr, 1.3593}, {"from", p.Mean.Low, -0.0457}, {"to", p.Mean.High, 0.2131},
	} {
		if math.Abs(c.got-c.want) > 0.6e-4 {
			t.Errorf("%s: %.6g, want %.4f", c.name, c.got, c.want)
		}
	}
}

// alike are estimates with the same standard error.
func alike(stdErr float64, values ...float64) (of []Interval) {
	for _, v := range values {
		of = append(of, Interval{Estimate: v, StdErr: stdErr})
	}
	return of
}

// TestPoolEqual: with equal standard errors, the pooled interval is Student's, and τ² the variance of
// the estimates without that of their errors.
func TestPoolEqual(t *testing.T) {
	y := []float64{0.1, 0.35, -0.2, 0.4, 0.15}
	want, err := MeanT(y, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Pool(alike(0.1, y...), 0.05)
	nearInterval(t, "equal errors", p.Mean, err, want.Estimate, want.Low, want.High, want.P)
	_, variance := meanVar(y)
	near(t, "τ²", p.Tau2, variance-0.01, 1e-9)
	// Machines that differ less than their errors explain.
	p, err = Pool(alike(0.1, 0.1, 0.11, 0.12), 0.05)
	if err != nil || p.Tau2 != 0 || p.I2 != 0 || p.Tau2Low != 0 || p.QP < 0.9 {
		t.Errorf("alike: %+v, %v", p, err)
	}
	// Three together are more precise than one, but not as much as their values seem to say.
	near(t, "standard error of values that are alike by chance", p.Mean.StdErr, 0.1/math.Sqrt(3), 1e-12)
}

// TestPoolScales: the unit of the values does not matter.
func TestPoolScales(t *testing.T) {
	one, err := Pool(bcg(), 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []float64{1e-60, 1e-3, 1e6, 1e60} {
		of := bcg()
		for i := range of {
			of[i].Estimate *= f
			of[i].StdErr *= f
		}
		p, err := Pool(of, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprint("τ of values times ", f), math.Sqrt(p.Tau2)/f, math.Sqrt(one.Tau2), 1e-9)
		near(t, fmt.Sprint("next of values times ", f), p.Next.High/f, one.Next.High, 1e-9)
	}
}

func TestPoolRefuses(t *testing.T) {
	for _, c := range []struct {
		of   []Interval
		want error
	}{
		{alike(1, 1), ErrTooFew}, {alike(0, 1, 2), ErrDomain}, {alike(1, 1, math.NaN()), ErrDomain},
		{[]Interval{{Estimate: 1, StdErr: 1}, {Estimate: 1, StdErr: 1, DF: math.Inf(1)}}, ErrDomain},
	} {
		if _, err := Pool(c.of, 0.05); !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c.of, err)
		}
	}
	if _, err := LeaveOneOut(alike(1, 1, 2, 3), 0.05); !errors.Is(err, ErrTooFew) {
		t.Errorf("of three machines: %v", err)
	}
	p, err := Pool(alike(1, 1, 2), 0.05)
	if err != nil || p.Next.N != 0 || p.Mean.DF != 1 {
		t.Errorf("two machines: %+v, %v", p, err)
	}
}

func FuzzPool(f *testing.F) {
	f.Add(0.1, 0.2, 0.3, 0.4, 0.1, 0.1, 0.2, 1.0)
	f.Add(1e300, -1e300, 1e-300, 0.0, 1e-300, 1e300, 1.0, 1e-8)
	f.Fuzz(func(t *testing.T, a, b, c, d, s, u, v, w float64) {
		of := []Interval{{Estimate: a, StdErr: s, DF: 3}, {Estimate: b, StdErr: u}, {Estimate: c, StdErr: v, DF: 7},
			{Estimate: d, StdErr: w, DF: 1}}
		p, err := Pool(of, 0.05)
		if err != nil {
			return
		}
		for _, x := range []float64{p.Mean.Estimate, p.Mean.Low, p.Mean.High, p.Mean.P, p.Tau2, p.Tau2Low, p.Tau2High,
			p.Next.Low, p.Next.High, p.Q, p.QP, p.I2} {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("%v: %+v", of, p)
			}
		}
		if p.Tau2 < 0 || p.Mean.Low > p.Mean.High || p.I2 < 0 || p.I2 > 1 {
			t.Errorf("%v: %+v", of, p)
		}
		out, err := LeaveOneOut(of, 0.05)
		if err != nil {
			t.Fatalf("%v: %v", of, err)
		}
		for _, d := range out {
			if math.IsNaN(d.Residual) || math.IsNaN(d.P) || d.P < 0 || d.P > 1 {
				t.Errorf("%v: %+v", of, d)
			}
		}
	})
}

// A nature draws machines: their true values, in units of tau, and the standard deviation of a guest's
// value.
type nature struct {
	name  string
	theta func(r *rand.Rand) float64
	sd    func(r *rand.Rand) float64
}

var natures = []nature{
	{"normal", (*rand.Rand).NormFloat64, unequal(0.3)},
	{"unequal precision", (*rand.Rand).NormFloat64, unequal(1)}, // the middle half differs by a factor of 4
	{"heavy tails", func(r *rand.Rand) float64 { // Student's t with 3 degrees of freedom, with variance 1
		var chi2 float64
		for range 3 {
			chi2 += math.Pow(r.NormFloat64(), 2)
		}
		return r.NormFloat64() / math.Sqrt(chi2)
	}, unequal(0.3)},
	{"two kinds", func(r *rand.Rand) float64 { // one machine in five is of another kind
		if r.Float64() < 0.2 {
			return 2
		}
		return -0.5
	}, unequal(0.3)},
}

func unequal(sd float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return math.Exp(sd * r.NormFloat64()) }
}

// fleetOf simulates the estimates of k machines with a spread of tau, whose standard errors are
// around 1 and are themselves estimated, each from 8 guests.
func (n nature) fleetOf(r *rand.Rand, k int, tau float64) (of []Interval) {
	const guests = 8
	for range k {
		sd := n.sd(r) * math.Sqrt(guests)
		theta := tau * n.theta(r)
		var values []float64
		for range guests {
			values = append(values, theta+sd*r.NormFloat64())
		}
		m, v := meanVar(values)
		of = append(of, Interval{Estimate: m, StdErr: math.Sqrt(v / guests), DF: guests - 1})
	}
	return of
}

// TestSimPool measures the coverage. The tables of docs/fleet.md have more fleets in each row.
func TestSimPool(t *testing.T) {
	t.Parallel()
	const fleets = 60
	for _, n := range natures {
		for _, k := range []int{3, 5, 10, 30} {
			for _, tau := range []float64{0, 0.5, 1, 3} {
				if n.name != "normal" && tau < 1 && !(n.name == "unequal precision" && tau == 0) {
					continue // as with normal values, nearly
				}
				mean, next, spread, odd := n.coverage(t, fleets, k, tau)
				t.Logf("%-17s %2d machines, τ %.1f: mean %.3f, next %.3f, τ² %.3f, an odd machine %.3f",
					n.name, k, tau, mean, next, spread, odd)
				if n.name == "normal" && (mean < 0.8 || next < 0.75 || odd > 0.14) {
					t.Errorf("%d machines, τ %v: out of bounds", k, tau)
				}
			}
		}
	}
}

func (n nature) coverage(t *testing.T, fleets, k int, tau float64) (mean, next, spread, odd float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(k), uint64(10*tau)))
	share := 1 / float64(fleets)
	for range fleets {
		of := n.fleetOf(r, k, tau)
		p, err := Pool(of, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if p.Mean.Low <= 0 && 0 <= p.Mean.High {
			mean += share
		}
		if theta := tau * n.theta(r); p.Next.Low <= theta && theta <= p.Next.High {
			next += share
		}
		if p.Tau2Low <= tau*tau && tau*tau <= p.Tau2High {
			spread += share
		}
		if k < 4 {
			continue
		}
		if isOdd(t, of) {
			odd += share
		}
	}
	return mean, next, spread, odd
}

// isOdd reports whether any machine is called odd, of all costs that are tested together.
func isOdd(t *testing.T, costs ...[]Interval) bool {
	t.Helper()
	var ps []float64
	for _, of := range costs {
		out, err := LeaveOneOut(of, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range out {
			ps = append(ps, d.P)
		}
	}
	adjusted, err := Holm(ps)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Min(adjusted) < 0.05
}

// TestSimOdd measures how often any of 30 machines is falsely called odd by any of 10 costs, and how
// often one that is off by so many standard deviations of the others' estimates is found.
func TestSimOdd(t *testing.T) {
	t.Parallel()
	const fleets, k, costs, tau = 20, 30, 10, 1
	for _, off := range []float64{0, 5, 8, 12} {
		r := rand.New(rand.NewPCG(30, 10))
		found := 0
		for range fleets {
			var all [][]Interval
			for i := range costs {
				of := natures[0].fleetOf(r, k, tau)
				if i == 0 {
					of[0].Estimate += off * math.Sqrt(1+tau*tau)
				}
				all = append(all, of)
			}
			if isOdd(t, all...) {
				found++
			}
		}
		t.Logf("off by %v: odd in %.3f", off, float64(found)/fleets)
		if off == 0 && found > 4 || off == 12 && found < 15 {
			t.Errorf("off by %v: odd in %d of %d", off, found, fleets)
		}
	}
}
