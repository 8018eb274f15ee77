package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// pastes is the data set of Davies & Goldsmith (Statistical Methods in Research and Production, 4th
// ed., 1972, table 6.5), which R's lme4 has as Pastes: 10 deliveries, 3 casks of each, 2 tests.
var pastes = []float64{
	62.8, 62.6, 60.1, 62.3, 62.7, 63.1, 60.0, 61.4, 57.5, 56.9, 61.1, 58.9, 58.7, 57.5, 63.9, 63.1, 65.4, 63.7,
	57.1, 56.4, 56.9, 58.6, 64.7, 64.5, 55.1, 55.1, 54.7, 54.2, 58.8, 57.5, 63.4, 64.9, 59.3, 58.1, 60.5, 60.0,
	62.5, 62.6, 61.0, 58.7, 56.9, 57.7, 59.2, 59.4, 65.2, 66.0, 64.8, 64.1, 54.8, 54.8, 64.0, 64.0, 57.7, 56.8,
	58.3, 59.3, 59.2, 59.2, 58.9, 56.6,
}

// nestedComponents are the components without intervals of their shares.
func nestedComponents(values []float64, path [][]int) ([]Component, error) {
	d, err := newNested(values, path)
	if err != nil {
		return nil, err
	}
	return d.components(), nil
}

// TestGoldenNested: for balanced values, REML's estimates, which lme4's manual prints (cask 8.434,
// batch 1.657, residual 0.678), are those of the analysis of variance.
func TestGoldenNested(t *testing.T) {
	var path [][]int
	for i := range pastes {
		path = append(path, []int{i / 6, i / 2 % 3})
	}
	got, err := nestedComponents(pastes, path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.657, 8.434, 0.678} {
		if math.Abs(got[i].Variance-want) > 0.0006 || !got[i].Known {
			t.Errorf("level %d: %+v, want %v", i, got[i], want)
		}
	}
	if got[0].DF != 9 || got[1].DF != 20 || got[2].DF != 30 {
		t.Errorf("degrees of freedom: %+v", got)
	}
	same, err := VarianceComponents(pastes, []int{10, 3, 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		near(t, "as VarianceComponents", got[i].Variance, same.T2[2-i], 1e-9)
	}
}

// TestNestedUnbalanced: the estimates are right on average however uneven the groups are.
func TestNestedUnbalanced(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	truth := []float64{4, 1, 2, 0.5}
	sums := make([]float64, len(truth))
	const experiments = 3000
	for range experiments {
		var values []float64
		var path [][]int
		for machine := range 6 {
			a := math.Sqrt(truth[0]) * random.NormFloat64()
			for boot := range 1 + machine%3 {
				b := math.Sqrt(truth[1]) * random.NormFloat64()
				for guest := range 2 + (machine+boot)%3 {
					c := math.Sqrt(truth[2]) * random.NormFloat64()
					for range 1 + (machine+guest)%4 {
						values = append(values, 100+a+b+c+math.Sqrt(truth[3])*random.NormFloat64())
						path = append(path, []int{machine, boot, guest})
					}
				}
			}
		}
		got, err := nestedComponents(values, path)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range got {
			sums[i] += c.Variance / experiments
		}
	}
	for i, want := range truth {
		if math.Abs(sums[i]-want) > 0.08*want {
			t.Errorf("level %d: %.3f on average, truth %v", i, sums[i], want)
		}
	}
}

// TestGoldenShares: lme4's data set Dyestuff (Davies 1947), 6 batches of 5 values, for which lme4's
// manual prints the variances 1764 and 2451. The expected interval of the share is the exact one, of
// F = 56357.5/2451.25 · 1/5 with 5 and 24 degrees of freedom [Searle, Casella & McCulloch 1992, p. 66].
func TestGoldenShares(t *testing.T) {
	dyestuff := []float64{
		1545, 1440, 1440, 1520, 1580, 1540, 1555, 1490, 1560, 1495, 1595, 1550, 1605, 1510, 1560, 1445, 1440, 1595, 1465,
		1545, 1595, 1630, 1515, 1635, 1625, 1520, 1455, 1450, 1480, 1445,
	}
	var path [][]int
	for i := range dyestuff {
		path = append(path, []int{i / 5})
	}
	got, err := NestedShares(dyestuff, path, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "batch", got[0].Variance, 1764.05, 1e-4)
	near(t, "residual", got[1].Variance, 2451.25, 1e-6)
	near(t, "share", got[0].Share, 1764.05/(1764.05+2451.25), 1e-4)
	f := (5*got[0].Variance + got[1].Variance) / got[1].Variance
	exact := func(p float64) float64 {
		q := f / distuv.F{D1: 5, D2: 24}.Quantile(p)
		return (q - 1) / (q + 4)
	}
	for _, c := range []struct{ got, want float64 }{
		{got[0].ShareLow, exact(0.975)}, {got[0].ShareHigh, exact(0.025)},
		{got[1].ShareLow, 1 - exact(0.025)}, {got[1].ShareHigh, 1 - exact(0.975)},
	} {
		if math.Abs(c.got-c.want) > 0.015 {
			t.Errorf("an end of the interval is %.4f, want %.4f", c.got, c.want)
		}
	}
}

// TestSimShares measures the coverage of the intervals of shares, for guests of machines that are
// balanced or not. The table of docs/fleet.md is made of 1000 fleets in each row.
func TestSimShares(t *testing.T) {
	t.Parallel()
	const fleets = 100
	for _, c := range []struct {
		machines int
		uneven   bool
		sd       [3]float64 // of machines, guests, trials
	}{
		{3, false, [3]float64{1, 1, 1}}, {6, false, [3]float64{1, 1, 1}}, {30, false, [3]float64{1, 1, 1}},
		{6, true, [3]float64{1, 1, 1}}, {30, true, [3]float64{1, 1, 1}}, {30, true, [3]float64{3, 1, 1}},
		{10, false, [3]float64{0, 1, 2}},
	} {
		r := rand.New(rand.NewPCG(uint64(c.machines), 8))
		total := c.sd[0]*c.sd[0] + c.sd[1]*c.sd[1] + c.sd[2]*c.sd[2]
		var covered [3]float64
		for range fleets {
			var values []float64
			var path [][]int
			for m := range c.machines {
				a := c.sd[0] * r.NormFloat64()
				guests, trials := 8, 4
				if c.uneven { // half of the machines have a fifth of the guests
					guests, trials = 3+7*(m%2), 2+m%4
				}
				for g := range guests {
					b := c.sd[1] * r.NormFloat64()
					for range trials {
						values, path = append(values, a+b+c.sd[2]*r.NormFloat64()), append(path, []int{m, g})
					}
				}
			}
			got, err := NestedShares(values, path, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			for l, p := range got {
				if truth := c.sd[l] * c.sd[l] / total; p.ShareLow <= truth && truth <= p.ShareHigh {
					covered[l] += 1 / float64(fleets)
				}
			}
		}
		t.Logf("%2d machines, uneven %5v, sd %v: %.3f", c.machines, c.uneven, c.sd, covered)
		for _, share := range covered {
			if share < 0.84 {
				t.Errorf("%+v: %v", c, covered)
			}
		}
	}
}

// TestNestedConfounded: one boot of each machine cannot be told from the machine.
func TestNestedConfounded(t *testing.T) {
	got, err := nestedComponents([]float64{1, 2, 5, 6}, [][]int{{0, 0}, {0, 0}, {1, 0}, {1, 0}})
	if err != nil || !got[0].Known || got[1].Known || got[1].Variance != 0 || !got[2].Known {
		t.Fatalf("%+v, %v", got, err)
	}
	near(t, "machine and boot", got[0].Variance, 8-0.25, 1e-12)
	near(t, "trial", got[2].Variance, 0.5, 1e-12)
	if _, err := nestedComponents([]float64{1, 2}, [][]int{{0}, {0, 1}}); !errors.Is(err, ErrLengths) {
		t.Error(err)
	}
	if _, err := nestedComponents([]float64{1}, [][]int{{0}}); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}
