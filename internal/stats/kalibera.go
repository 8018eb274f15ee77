package stats

import (
	"fmt"
	"math"
)

// TrialVariance is the variance between trials of a guest over the variance between
// guests that plans and weights assume: (5 % / 1 %)², as observed with containers.
const TrialVariance = 25

// OptimalReps returns the numbers of repetitions that give the narrowest interval
// for the time spent: r_i = ceil( sqrt( (c_{i+1}/c_i) (T_i²/T_{i+1}²) ) ) for
// every level but the outermost [Kalibera & Jones, ISMM 2013], innermost first.
// costs[i] > 0 is the time of one repetition of level i+1 without the levels
// below, and t2[i] the variance that it adds. A level that adds none (T_i² ≤ 0)
// needs one repetition. If the level above adds none, r_i is unbounded and
// returned as 0: repeat as often as time allows.
func OptimalReps(costs, t2 []float64) ([]int, error) {
	if len(costs) != len(t2) {
		return nil, fmt.Errorf("%w: %d costs for %d levels", ErrLengths, len(costs), len(t2))
	}
	if err := positive(costs, 2); err != nil {
		return nil, err
	}
	if err := finite(t2, 2); err != nil {
		return nil, err
	}
	reps := make([]int, len(t2)-1)
	for i := range reps {
		switch {
		case t2[i] <= 0:
			reps[i] = 1
		case t2[i+1] > 0:
			r := math.Ceil(math.Sqrt(costs[i+1] / costs[i] * t2[i] / t2[i+1]))
			reps[i] = int(min(r, math.MaxInt32))
		}
	}
	return reps, nil
}
