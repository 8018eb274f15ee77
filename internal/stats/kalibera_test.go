package stats

import "fmt"

// Variances holds the variance of a nested experiment level by level; index 0
// is level 1, the innermost (iterations).
type Variances struct {
	S2 []float64 // S_i²: variance of the means of level i-1 within level i, biased for i > 1
	T2 []float64 // T_i²: unbiased variance that level i adds; may be negative by chance
}

// VarianceComponents splits the variance of a balanced nested experiment, as a check of NestedShares:
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
