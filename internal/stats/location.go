package stats

import (
	"math"
	"slices"
)

const (
	// huberK is where Huber's ψ bends, in standard deviations: the usual 1.345,
	// which costs 5 % of efficiency on Gaussian values.
	huberK = 1.345
	// huberOwn is from how many values on a group has a centre of its own.
	// Fewer cannot tell by themselves which of them is the odd one.
	huberOwn = 8
	// madSD turns a median absolute deviation into a standard deviation.
	madSD = 1.482602218505602
)

// Huberize returns d with what lies far out drawn in, so that the mean over all
// values, or over any part of them, is Huber's M-estimate of location instead
// of the plain mean [Huber, Ann. Math. Stat. 1964]. The values of a group share
// a centre of their own, about which they are drawn in: that one group lies
// apart is no outlier. Groups of fewer than 4 values share one.
// The scale is that of all groups together, so that even a group of 4 has one
// to go by.
//
// Each result is the centre plus the value's influence on it, ψ(d - centre) over
// the share of values within the bend: the infinitesimal jackknife, of which a
// mean and a standard error can be taken as if the values were Gaussian. Values
// must be finite.
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

// influence turns values into pseudo-values.
type influence struct {
	centre, bend float64
	within       float64 // share of the values that lie within the bend
}

func newInfluence(d []float64, centre, bend float64) influence {
	var n float64
	for _, v := range d {
		if math.Abs(v-centre) <= bend {
			n++
		}
	}
	// One value at least stands for the slope at the centre.
	return influence{centre, bend, max(1, n) / float64(len(d))}
}

func (f influence) value(v float64) float64 {
	return f.centre + max(-f.bend, min(f.bend, v-f.centre))/f.within
}

// scale is the standard deviation within groups, by the median of the absolute
// deviations from the medians of groups; each median takes one of them with it.
// Where more than half of those are 0 it is by the mean instead.
func scale(groups [][]float64, all []float64) float64 {
	of := groups
	if slices.ContainsFunc(groups, func(g []float64) bool { return len(g) < huberOwn }) {
		of = [][]float64{all} // includes that groups differ
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

// huber is the location at which Σ ψ(d - location) = 0, the one nearest to
// start where there are several, by iterated weights.
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
