package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The numbers in doc.go are from the simulations in this file:
// go test -v -run Sim ./internal/stats

const campaigns = 2000

// noise returns the noise of one trial, a factor around 1.
type noise func(*rand.Rand) float64

const cv = 0.05

func gaussian(r *rand.Rand) float64  { return max(0.01, 1+cv*r.NormFloat64()) }
func lognormal(r *rand.Rand) float64 { return math.Exp(cv * r.NormFloat64()) }

// pareto has the shape 2.1: its variance is barely finite.
func pareto(r *rand.Rand) float64 {
	return math.Pow(1-r.Float64(), -1/2.1)
}

// campaign simulates n blocks of two arms whose true ratio is given, in random
// order within a block, on a machine that drifts: by 20 % linearly over the run,
// plus a random walk with steps of 0.2 % after a trial and 2 % after a block.
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

// share simulates the campaigns and returns the share for which ok is true.
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

func TestSimAnytime(t *testing.T) {
	rho := AnytimeRho(AnytimeTarget, 0.05)
	for i, f := range []noise{gaussian, lognormal} {
		got := share(uint64(30+i), func(r *rand.Rand) bool {
			d := logRatios(campaign(r, 200, 1.08, f))
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

// Anytime prevents the false claims that come from looking at every interval of
// MeanT.
func TestSimNaiveLooking(t *testing.T) {
	got := share(40, func(r *rand.Rand) bool {
		d := logRatios(campaign(r, 50, 1, lognormal))
		for n := 10; n <= 50; n += 10 {
			if iv, _ := MeanT(d[:n], 0.05); iv.P < 0.05 {
				return true
			}
		}
		return false
	})
	within(t, "false alarms of 5 naive looks", got, 0.10, 0.20)
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
	// Autocorrelated noise: the nominal rate is 1 %, and the simulation error of
	// 2,000 runs is 0.4 % (2 sd).
	for i, n := range []int{10, 15, 30, 50, 100, 200} {
		for k, rho := range []float64{0.2, 0.4} {
			got := share(uint64(90+10*k+i), func(r *rand.Rand) bool {
				x := make([]float64, n)
				e := r.NormFloat64()
				for j := range x {
					x[j] = e
					e = rho*e + math.Sqrt(1-rho*rho)*r.NormFloat64()
				}
				s, err := Steady(x)
				return err != nil || s.P < 0.01
			})
			within(t, fmt.Sprintf("unsteady, AR(1) of %v, n = %d", rho, n), got, 0, 0.019)
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
