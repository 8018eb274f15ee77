package analyze

import (
	"fmt"
	"math"

	"github.com/tare-bench/tare/internal/stats"
)

// manyIncarnations is from how many guest incarnations on the interval is
// always over their means.
const manyIncarnations = 5

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
	incarnations int     // the interval is over so many means; 0: over blocks
	groups       int     // incarnations seen
	differP      float64 // p-value of "the incarnations share one mean"; 1 if untested
}

// differAlpha is the level of the test that moves 2–4 incarnations to their means.
const differAlpha = 0.05

// estimatePairs chooses what the independent units are, and estimates over them.
//
// Blocks of one guest incarnation share whatever that boot drew (memory layout,
// page colours, placement), so incarnations are the units where there are
// enough: from 5 on, always. A test first ("do they differ?") would miss
// many real differences and leave intervals too narrow. With 2 to 4 the means
// alone give next to no degrees of freedom, so blocks are the units unless
// the F test says at 5 % that incarnations differ; then the wide interval over
// the means is the honest one. With one incarnation nothing is known about
// others, and the estimate is of this one. TestSimIncarnations measures it.
//
// n0 > 0 asks for Stein's interval with the standard deviation of the units
// within the first n0 blocks; if they are incarnations, 5 of them must be.
// Otherwise the interval is Student's over all of them.
func estimatePairs(pairs []pair, n0 int, alpha float64) (estimate, error) {
	d := ratios(pairs)
	groups := incarnations(pairs)
	e := estimate{groups: len(groups), differP: 1}
	first := firstStage(pairs, n0)
	stein := n0 > 0 && len(first) >= 2

	units := d
	nFirst := len(first)
	if len(groups) > 1 && len(groups) < len(d) {
		p, err := stats.GroupsDiffer(groups)
		if err != nil {
			return e, err
		}
		e.differP = p
		if len(groups) >= manyIncarnations || p < differAlpha {
			e.incarnations = len(groups)
			units = groupMeans(groups)
			nFirst = wholeGroups(pairs, first)
			stein = stein && nFirst >= manyIncarnations
		}
	}
	var err error
	if stein {
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

// wholeGroups counts the incarnations of first that have no later pairs.
func wholeGroups(pairs, first []pair) int {
	groups := len(incarnations(first))
	if len(first) < len(pairs) && len(first) > 0 {
		last, next := first[len(first)-1], pairs[len(first)]
		if last.base == next.base && last.epoch == next.epoch {
			groups--
		}
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
	if groups := incarnations(first); len(groups) >= manyIncarnations && len(groups) < len(units) {
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
	// Failures and incarnations: a unit took n0/len(units) blocks so far.
	return int(math.Ceil(float64(n) * float64(n0) / float64(len(units)))), true, nil
}

func percent(ln float64) float64 { return 100 * math.Expm1(ln) }

func errorf(format string, args ...any) error { return fmt.Errorf("analyze: "+format, args...) }
