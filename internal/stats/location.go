package stats

import (
	"math"
	"slices"
)

const (
	// huberK is the tuning constant of Huber's ψ, in standard deviations: the
	// usual 1.345, with an efficiency of 95 % for Gaussian values.
	huberK = 1.345
	// huberOwn is the least number of values with which a group has its own
	// centre. Among fewer, an outlier cannot be recognized reliably.
	huberOwn = 8
	// madSD converts a median absolute deviation into a standard deviation.
	madSD = 1.482602218505602
)

// Huberize returns the groups with outliers pulled in, so that the mean over all
// values, or over a part of them, is Huber's M-estimate of location instead of
// the plain mean [Huber, Ann. Math. Stat. 1964]. Each group has its own centre,
// so that a group which differs from the others is not treated as an outlier.
// Groups of fewer than huberOwn values share one centre. The scale is estimated
// from all groups together, as a small group is too short for it.
//
// Each result is the centre plus the influence of the value on it: ψ(d - centre)
// over the share of values within the linear part of ψ. These are the
// pseudo-values of the infinitesimal jackknife, whose mean and standard error can
// be computed as for Gaussian values. All values must be finite.
func Huberize(groups [][]float64) [][]float64 {
	all := slices.Concat(groups...)
	if len(all) == 0 {
		return groups
	}
	spread := scale(groups, all)
	if spread == 0 { // all values of each group are equal
		return groups
	}
	bend := huberK * spread
	centre := huber(all, median(all), bend)
	var small []float64
	for _, g := range groups {
		if len(g) < huberOwn {
			small = append(small, g...)
		}
	}
	out := make([][]float64, len(groups))
	var common influence
	if len(small) > 0 {
		common = newInfluence(small, huber(small, centre, bend), bend)
	}
	for i, g := range groups {
		of := common
		if len(g) >= huberOwn {
			of = newInfluence(g, huber(g, centre, bend), bend)
		}
		out[i] = make([]float64, len(g))
		for j, v := range g {
			out[i][j] = of.value(v)
		}
	}
	return out
}

// influence converts values into pseudo-values.
type influence struct {
	centre, bend float64
	slope        float64 // mean of ψ', the share of the values within bend of the centre, corrected
}

func newInfluence(d []float64, centre, bend float64) influence {
	var n float64
	for _, v := range d {
		if math.Abs(v-centre) <= bend {
			n++
		}
	}
	// Count at least one value, so that the slope at the centre is not 0. The mean
	// slope of few values is itself an estimate, which Huber's correction
	// 1 + (1-slope)/(n slope) allows for [Huber, Robust Statistics, 1981, sec. 7.6].
	slope := max(1, n) / float64(len(d))
	return influence{centre, bend, slope / (1 + (1-slope)/(slope*float64(len(d))))}
}

func (f influence) value(v float64) float64 {
	return f.centre + max(-f.bend, min(f.bend, v-f.centre))/f.slope
}

// scale estimates the standard deviation within groups from the median of the
// absolute deviations from the groups' medians. It omits one deviation per group,
// as each median uses up one. If that median is 0, it uses the mean instead.
func scale(groups [][]float64, all []float64) float64 {
	of := groups
	if slices.ContainsFunc(groups, func(g []float64) bool { return len(g) < huberOwn }) {
		of = [][]float64{all} // then includes the differences between groups
	}
	var dev []float64
	for _, g := range of {
		m := median(g)
		for _, v := range g {
			dev = append(dev, math.Abs(v-m))
		}
	}
	slices.Sort(dev)
	dev = dev[min(len(of), len(dev)-1):]
	if mad, _ := QuantileSorted(dev, 0.5); mad > 0 { // dev is not empty
		return madSD * mad
	}
	var sum float64
	for _, v := range dev {
		sum += v / float64(len(dev))
	}
	return math.Sqrt(math.Pi/2) * sum
}

// huber returns the location at which Σ ψ(d - location) = 0, by iteratively
// reweighted means from start; of several, one near start.
func huber(d []float64, start, bend float64) float64 {
	at := start
	for range 100 {
		var sum, weights float64
		for _, v := range d {
			w := 1.0
			if far := math.Abs(v - at); far > bend {
				w = bend / far
			}
			sum += w * (v - at)
			weights += w
		}
		step := sum / weights
		if at += step; math.Abs(step) <= 1e-10*bend {
			break
		}
	}
	return at
}

func median(d []float64) float64 {
	m, _ := QuantileSorted(slices.Sorted(slices.Values(d)), 0.5) // d is not empty
	return m
}
