package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The simulations of this file are what doc.go's numbers come from:
// go test -v -run Sim ./internal/stats

const campaigns = 2000

// noise returns one trial's factor around 1.
type noise func(*rand.Rand) float64

const cv = 0.05

func gaussian(r *rand.Rand) float64  { return max(0.01, 1+cv*r.NormFloat64()) }
func lognormal(r *rand.Rand) float64 { return math.Exp(cv * r.NormFloat64()) }

// spiky is gaussian with 5 % of the trials taking three times as long.
func spiky(r *rand.Rand) float64 {
	v := gaussian(r)
	if r.Float64() < 0.05 {
		v *= 3
	}
	return v
}

// pareto has a shape of 2.1: a mean, hardly a variance.
func pareto(r *rand.Rand) float64 {
	return math.Pow(1-r.Float64(), -1/2.1)
}

// campaign simulates n blocks of two arms whose true ratio is given, in random
// order within a block, while the machine drifts: 20 % linearly over the run
// and a random walk of 2 % a trial, which both arms share.
func campaign(r *rand.Rand, n int, ratio float64, f noise) (x, y []float64) {
	x, y = make([]float64, n), make([]float64, n)
	walk := 0.0
	for j := range n {
		order := r.IntN(2)
		for turn := range 2 {
			walk += 0.002 * r.NormFloat64()
			drift := math.Exp(walk) * (1 + 0.2*float64(2*j+turn)/float64(2*n))
			if turn == order {
				x[j] = 10 * ratio * drift * f(r)
			} else {
				y[j] = 10 * drift * f(r)
			}
		}
		walk += 0.02 * r.NormFloat64()
	}
	return x, y
}

// share runs the campaigns and returns for how many of them ok held.
func share(seed uint64, ok func(*rand.Rand) bool) float64 {
	r := rand.New(rand.NewPCG(seed, 20))
	var hits int
	for range campaigns {
		if ok(r) {
			hits++
		}
	}
	return float64(hits) / campaigns
}

func within(t *testing.T, name string, got, low, high float64) {
	t.Helper()
	t.Logf("%-45s %5.1f %%", name, 100*got)
	if got < low || got > high {
		t.Errorf("%s: %.4f is not within %v..%v", name, got, low, high)
	}
}

func covers(iv Interval, err error, truth float64) bool {
	return err == nil && iv.Low <= truth && truth <= iv.High
}

func TestSimCoverage(t *testing.T) {
	for i, c := range []struct {
		name      string
		f         noise
		n         int
		low, high float64
	}{
		{"gaussian, 10 blocks", gaussian, 10, 0.93, 0.97},
		{"gaussian, 20 blocks", gaussian, 20, 0.93, 0.97},
		{"lognormal, 10 blocks", lognormal, 10, 0.93, 0.97},
		{"lognormal, 20 blocks", lognormal, 20, 0.93, 0.97},
		{"5 % of trials x3, 20 blocks", spiky, 20, 0.90, 0.995},
		{"Pareto 2.1, 20 blocks", pareto, 20, 0.90, 0.995},
	} {
		truth := math.Log(1.08)
		got := share(uint64(i), func(r *rand.Rand) bool {
			iv, err := pairedRatio(campaign(r, c.n, 1.08, c.f))
			return covers(iv, err, truth)
		})
		within(t, "coverage, "+c.name, got, c.low, c.high)
		got = share(uint64(100+i), func(r *rand.Rand) bool {
			d, _ := LogRatios(campaign(r, c.n, 1.08, c.f))
			iv, err := HodgesLehmann(d, 0.05)
			return covers(iv, err, truth)
		})
		within(t, "coverage of Hodges-Lehmann, "+c.name, got, 0.93, 0.975)
		got = share(uint64(200+i), func(r *rand.Rand) bool {
			iv, _ := pairedRatio(campaign(r, c.n, 1, c.f))
			return iv.P < 0.05
		})
		within(t, "A/A false alarms, "+c.name, got, 0, 0.06)
	}
}

// pairedRatio takes what campaign returns.
func pairedRatio(x, y []float64) (Interval, error) { return PairedRatio(x, y, 0.05) }

func TestSimStein(t *testing.T) {
	for i, f := range []noise{gaussian, lognormal} {
		truth, h := math.Log(1.08), math.Log1p(0.02)
		var tooWide, blocks int
		got := share(uint64(10+i), func(r *rand.Rand) bool {
			x, y := campaign(r, 400, 1.08, f)
			d, _ := LogRatios(x, y)
			_, v := meanVar(d[:10])
			n, err := SteinN(math.Sqrt(v), 10, h, 0.05)
			if err != nil || n > len(d) {
				return false
			}
			blocks += n
			iv, err := SteinInterval(d[:n], 10, 0.05)
			if iv.High-iv.Low > 2*h*(1+1e-9) {
				tooWide++
			}
			return covers(iv, err, truth)
		})
		within(t, []string{"Stein coverage, gaussian", "Stein coverage, lognormal"}[i], got, 0.93, 0.97)
		t.Logf("blocks on average %d", blocks/campaigns)
		if tooWide > 0 {
			t.Errorf("%d intervals wider than asked for", tooWide)
		}
	}
}

func TestSimAnytime(t *testing.T) {
	rho := AnytimeRho(AnytimeTarget, 0.05)
	for i, f := range []noise{gaussian, lognormal} {
		got := share(uint64(30+i), func(r *rand.Rand) bool {
			d, _ := LogRatios(campaign(r, 200, 1.08, f))
			var mean, sq float64 // Welford
			for j, v := range d {
				n := float64(j + 1)
				step := v - mean
				mean += step / n
				sq += step * (v - mean)
				if j+1 < 10 {
					continue
				}
				iv, err := AnytimeFrom(mean, math.Sqrt(sq/(n-1)), j+1, rho, 0.05)
				if !covers(iv, err, math.Log(1.08)) {
					return false
				}
			}
			return true
		})
		within(t, []string{"anytime, all of 10..200, gaussian", "anytime, all of 10..200, lognormal"}[i], got, 0.95, 1)
	}
}

// Looking at every interval of MeanT is what Anytime is there to prevent.
func TestSimNaiveLooking(t *testing.T) {
	got := share(40, func(r *rand.Rand) bool {
		d, _ := LogRatios(campaign(r, 50, 1, lognormal))
		for n := 10; n <= 50; n += 10 {
			if iv, _ := MeanT(d[:n], 0.05); iv.P < 0.05 {
				return true
			}
		}
		return false
	})
	within(t, "false alarms of 5 naive looks", got, 0.10, 0.20)
}

// Guests that differ by 3 % from boot to boot: 40 blocks in 8 boots.
func TestSimGroups(t *testing.T) {
	simulate := func(r *rand.Rand) [][]float64 {
		groups := make([][]float64, 8)
		for g := range groups {
			boot := 0.03 * r.NormFloat64()
			for range 5 {
				groups[g] = append(groups[g], boot+cv*math.Sqrt2*r.NormFloat64())
			}
		}
		return groups
	}
	got := share(50, func(r *rand.Rand) bool {
		iv, err := GroupedMeanT(simulate(r), 0.05)
		return covers(iv, err, 0)
	})
	within(t, "coverage over boot means", got, 0.93, 0.97)
	got = share(50, func(r *rand.Rand) bool {
		iv, err := MeanT(slices.Concat(simulate(r)...), 0.05)
		return covers(iv, err, 0)
	})
	within(t, "coverage over blocks, boots ignored", got, 0.80, 0.93)
}

func TestSteadyFalseAlarms(t *testing.T) {
	for i, n := range []int{10, 20, 50, 200} {
		for k, f := range []noise{gaussian, pareto} {
			got := share(uint64(60+10*k+i), func(r *rand.Rand) bool {
				x := make([]float64, n)
				for j := range x {
					x[j] = f(r)
				}
				s, err := Steady(x)
				return err != nil || s.P < 0.01
			})
			within(t, []string{"unsteady, gaussian", "unsteady, Pareto"}[k], got, 0, 0.01)
		}
	}
	found := share(80, func(r *rand.Rand) bool {
		x := make([]float64, 30)
		for j := range x {
			x[j] = gaussian(r)
			if j >= 12 {
				x[j] *= 1.1
			}
		}
		s, _ := Steady(x)
		return s.P < 0.01 && s.Change >= 10 && s.Change <= 14 && s.After > s.Before
	})
	within(t, "a 10 % step in 30 trials found near its place", found, 0.5, 1)
	found = share(81, func(r *rand.Rand) bool {
		x := make([]float64, 30)
		for j := range x {
			x[j] = gaussian(r) * (1 - 0.2*float64(j)/30)
		}
		s, _ := Steady(x)
		return s.P < 0.01 && s.Tau < 0
	})
	within(t, "a 20 % trend in 30 trials found", found, 0.8, 1)
}
