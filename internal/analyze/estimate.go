package analyze

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/stats"
)

// From how many guest incarnations on the interval is over their means, and
// how many a first stage must hold to estimate their variance for Stein's rule.
const (
	minIncarnations   = 3
	steinIncarnations = 5
)

// pair is the ln ratio of one block, turned so that positive costs more, and
// the two incarnations that gave it.
type pair struct {
	block       int32
	base, epoch int32
	d           float64
}

// pairUp pairs two series by block. Both must be positive.
func pairUp(base, arm series, better string) (pairs []pair, dropped int) {
	b, a := base.logMeans(), arm.logMeans()
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].block < b[0].block:
			dropped++
			a = a[1:]
		case a[0].block > b[0].block:
			dropped++
			b = b[1:]
		default:
			d := a[0].value - b[0].value
			if better == "higher" {
				d = -d
			}
			pairs = append(pairs, pair{a[0].block, b[0].epoch, a[0].epoch, d})
			a, b = a[1:], b[1:]
		}
	}
	return pairs, dropped + len(a) + len(b)
}

// ratios returns the ln ratios of pairs.
func ratios(pairs []pair) []float64 {
	d := make([]float64, len(pairs))
	for i, p := range pairs {
		d[i] = p.d
	}
	return d
}

// incarnations splits pairs by the two guest incarnations behind them, in
// order of their first block.
func incarnations(pairs []pair) [][]float64 {
	index := map[[2]int32]int{}
	var groups [][]float64
	for _, p := range pairs {
		key := [2]int32{p.base, p.epoch}
		i, ok := index[key]
		if !ok {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], p.d)
	}
	return groups
}

// estimate is a comparison on the logarithmic scale.
type estimate struct {
	stats.Interval
	hl           stats.Interval
	incarnations int     // how many were seen
	overMeans    bool    // the interval is over their means, not over blocks
	differP      float64 // p-value of "the incarnations share one mean"; 1 if untested
}

// estimatePairs chooses what the independent units are, and estimates over them.
//
// Blocks of one guest incarnation share whatever that boot drew (memory layout,
// page colours, placement). From 3 incarnations on, their means are always the
// units: that covers what incarnations cost on average, at the price of a wider
// interval (against blocks 1.6 times at 3 incarnations, 1.3 times at 4, hardly
// any from 8 on). It is not left to a test first ("do they differ?"): that was
// tried, misses many real differences, and covered in as little as 85 %
// (4 incarnations) or 75 % (2) of simulated runs. With 1 or 2 incarnations
// there is no useful interval for incarnations in general; blocks are the
// units then, and the estimate is of these guests. findIncarnations says so
// where the two differ. TestSimIncarnations measures all of this.
//
// n0 > 0 asks for Stein's interval with the standard deviation of the units of
// the first n0 blocks. Where the units are incarnations and less than 5 are in
// the first stage, the interval is Student's over all of them.
func estimatePairs(pairs []pair, n0 int, alpha float64) (estimate, error) {
	units := ratios(pairs)
	groups := incarnations(pairs)
	e := estimate{incarnations: len(groups), differP: 1}
	first := firstStage(pairs, n0)
	nFirst, minFirst := len(first), 2
	if len(groups) > 1 && len(groups) < len(units) {
		p, err := stats.GroupsDiffer(groups)
		if err != nil {
			return e, err
		}
		e.differP = p
		if len(groups) >= minIncarnations {
			e.overMeans = true
			units = groupMeans(groups)
			nFirst, minFirst = len(wholeGroups(first)), steinIncarnations
		}
	}
	var err error
	if n0 > 0 && nFirst >= minFirst {
		e.Interval, err = stats.SteinInterval(units, nFirst, alpha)
	} else {
		e.Interval, err = stats.MeanT(units, alpha)
	}
	if err != nil {
		return e, err
	}
	e.hl, err = stats.HodgesLehmann(units, alpha)
	return e, err
}

// firstStage returns the leading pairs whose blocks are among the first n0.
func firstStage(pairs []pair, n0 int) []pair {
	for i, p := range pairs {
		if int(p.block) >= n0 {
			return pairs[:i]
		}
	}
	return pairs
}

// wholeGroups returns the incarnations of a first stage; not the last one
// where it is shorter than the one before, as it may go on in the next stage.
func wholeGroups(first []pair) [][]float64 {
	groups := incarnations(first)
	if n := len(groups); n > 1 && len(groups[n-1]) < len(groups[n-2]) {
		groups = groups[:n-1]
	}
	return groups
}

func groupMeans(groups [][]float64) []float64 {
	means := make([]float64, len(groups))
	for i, g := range groups {
		for _, v := range g {
			means[i] += v / float64(len(g))
		}
	}
	return means
}

// steinBlocks returns how many blocks in all one comparison needs for a
// half-width h, after a first stage of n0 of the blocks run. ok is false while
// the first stage lacks two units.
func steinBlocks(pairs []pair, n0 int, h, alpha float64) (blocks int, ok bool, err error) {
	first := firstStage(pairs, n0)
	units := ratios(first)
	if groups := wholeGroups(first); len(groups) >= steinIncarnations && len(groups) < len(units) {
		var covered int
		for _, g := range groups {
			covered += len(g)
		}
		n0 = n0 * covered / len(units)
		units = groupMeans(groups)
	}
	if len(units) < 2 {
		return 0, false, nil
	}
	iv, err := stats.MeanT(units, alpha)
	if err != nil {
		return 0, false, err
	}
	sd := iv.StdErr * math.Sqrt(float64(len(units)))
	n, err := stats.SteinN(sd, len(units), h, alpha)
	if err != nil {
		return 0, false, err
	}
	// With failures and incarnations a unit took n0/len(units) blocks so far.
	return int(math.Ceil(float64(n) * float64(n0) / float64(len(units)))), true, nil
}

// percent turns a ln ratio into an overhead in percent; it is never infinite.
func percent(ln float64) float64 {
	return min(100*math.Expm1(ln), math.MaxFloat64)
}

func errorf(format string, args ...any) error { return fmt.Errorf("analyze: "+format, args...) }
