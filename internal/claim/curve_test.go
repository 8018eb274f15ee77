package claim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/stats"
)

// TestAgree: from where on curves agree, of points with known intervals.
func TestAgree(t *testing.T) {
	r := Rule{Alpha: 0.05, Delta: 0.02}
	at := func(percents ...float64) (points []CurvePoint) {
		for i, p := range percents {
			points = append(points, CurvePoint{At: math.Pow(2, float64(i)),
				Ln: stats.Interval{Estimate: math.Log1p(p / 100), StdErr: 0.005, DF: 9}})
		}
		return points
	}
	for name, c := range map[string]struct {
		points              []CurvePoint
		from, after, latest float64
	}{
		"converge":                     {at(90, 40, 10, 4.2, 1, 0), 8, 4, 16},
		"one further apart at the end": {at(0, 0, 0, 30), 0, 8, 0},
		"agree everywhere":             {at(1, -1, 0, 2), 1, 0, 1},
		"a gain is no agreement":       {at(-40, -20, 0, 1), 4, 2, 4},
		"apart again in the middle":    {at(1, 1, 30, 1, 1), 8, 4, 8},
		"no points":                    {nil, 0, 0, 0},
	} {
		got, err := r.Agree(c.points, 0.05)
		if err != nil || got != (Agreement{0.05, c.from, c.after, c.latest}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// What may not be claimed bounds nothing.
	points := at(90, 40, 0, 0)
	points[1].NoEffect, points[2].NoNone = true, true
	if got, err := r.Agree(points, 0.05); err != nil || got != (Agreement{0.05, 4, 1, 8}) {
		t.Errorf("%+v, %v", got, err)
	}
	points = []CurvePoint{{At: 1, Ln: stats.Interval{Estimate: 0.3}}, {At: 2}}
	if got, err := r.Agree(points, 0.05); err != nil || got != (Agreement{Within: 0.05, From: 2}) {
		t.Errorf("without standard errors: %+v, %v", got, err)
	}
	if _, err := r.Agree(points, 0); err == nil {
		t.Error("within 0 is no error")
	}
}

// TestAgreeCovers: each bound is wrong in alpha/2 of the runs at most, where that is most likely: the point before the
// first that agrees is hardly outside, or all of 20 points are hardly within.
func TestAgreeCovers(t *testing.T) {
	const runs, within = 2000, 0.05
	edge := math.Log1p(within)
	r := rand.New(rand.NewPCG(38, 1))
	wrong := map[string]int{}
	for range runs {
		var falling, level []CurvePoint
		for i := range 20 {
			mu := 0.0
			if i == 9 {
				mu = edge * 1.0001
			} else if i < 9 {
				mu = 0.3
			}
			falling = append(falling, CurvePoint{At: float64(i + 1), Ln: sampled(r, 10, mu, 0.02, t)})
			level = append(level, CurvePoint{At: float64(i + 1), Ln: sampled(r, 10, edge, 0.02, t)})
		}
		a, err := Rule{Alpha: 0.05, Delta: 0.02}.Agree(falling, within)
		if err != nil {
			t.Fatal(err)
		}
		if a.Latest > 0 && a.Latest <= 10 {
			wrong["latest"]++
		}
		if a.After > 10 {
			wrong["after"]++
		}
		if a.After != 9 && a.After != 10 {
			wrong["not found"]++
		}
		if a, err = (Rule{Alpha: 0.05, Delta: 0.02}).Agree(level, within); err != nil {
			t.Fatal(err)
		}
		if a.After > 0 {
			wrong["after of level"]++
		}
	}
	// 2.5 % of 2000 are 50, with a standard deviation of 7.
	for what, n := range wrong {
		if n > 75 {
			t.Errorf("%s: wrong in %d of %d runs", what, n, runs)
		}
	}
	if wrong["latest"] == 0 || wrong["after of level"] == 0 {
		t.Errorf("%v: the simulation is not where the bounds are tight", wrong)
	}
}
