package stats

import (
	"fmt"
	"math"
)

// Variances holds the variance of a nested experiment level by level; index 0
// is level 1, the innermost (iterations).
type Variances struct {
	S2 []float64 // S_i²: variance of the means of level i-1 within level i, biased for i > 1
	T2 []float64 // T_i²: unbiased variance that level i adds; may be negative by chance
}

// VarianceComponents splits the variance of a balanced nested experiment:
//
//	T_1² = S_1²,  T_i² = S_i² - S_{i-1}²/r_{i-1}
//
// [Kalibera & Jones, ISMM 2013, as revised: the first printing subtracted
// T_{i-1}²]. reps is the number of repetitions of each level, from the outermost
// to the innermost, each ≥ 2. The outermost may be 1; its S² and T² are then 0.
// data is the values, with the innermost level varying fastest. The results are
// in the square of the data's unit.
func VarianceComponents(data []float64, reps []int) (Variances, error) {
	size := 1
	for i, r := range reps {
		if r < 1 || (r < 2 && i > 0) {
			return Variances{}, fmt.Errorf("%w: %d repetitions at level %d", ErrTooFew, r, len(reps)-i)
		}
		size *= r
	}
	if len(reps) == 0 || size != len(data) {
		return Variances{}, fmt.Errorf("%w: %d values for repetitions %v", ErrLengths, len(data), reps)
	}
	if err := finite(data, 1); err != nil {
		return Variances{}, err
	}
	out := Variances{S2: make([]float64, len(reps)), T2: make([]float64, len(reps))}
	for level := range reps {
		r := reps[len(reps)-1-level]
		means := make([]float64, len(data)/r)
		var sum float64
		for g := range means {
			m, v := meanVar(data[g*r : (g+1)*r])
			means[g] = m
			sum += v
		}
		out.S2[level] = sum / float64(len(means))
		out.T2[level] = out.S2[level]
		if level > 0 {
			below := reps[len(reps)-level]
			out.T2[level] -= out.S2[level-1] / float64(below)
		}
		if r == 1 {
			out.T2[level] = 0
		}
		data = means
	}
	return out, nil
}

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
