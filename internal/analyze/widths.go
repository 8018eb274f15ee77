package analyze

import (
	"math"

	"github.com/tare-bench/tare/internal/dataset"
)

// What a run must have for its precision to count as reached: an estimate of
// the standard deviation that is not too small by chance.
const (
	minReachedBlocks = 15
	minReachedUnits  = 8
)

// Width is how close one workload is to the requested precision.
type Width struct {
	Workload string
	// Half is the largest half-width, on the logarithmic scale, over the primary
	// metrics of all arms that are neither emulated nor controls; 0: not known.
	Half float64
	// SD is the standard deviation of the units that Half comes from, from which the
	// number of remaining blocks can be predicted.
	SD     float64
	Blocks int // blocks of the workload that have run
	Units  int // independent units behind Half
	// Reached: the precision is reached, and no more blocks are needed.
	Reached bool
}

// Widths returns how close each workload is to in.Precision, in the order of the metrics.
// It is called every few blocks, and a workload ends when it has reached the precision: a
// sequential interval of fixed width [Chow & Robbins, Ann. Math. Stat. 1965], which looks
// at widths alone and never at effects. Comparisons whose metric is coarser than its
// noise, and those of arms without any pair, are left out: more blocks would not help.
func Widths(in dataset.Set) ([]Width, error) {
	a, err := read(&in)
	if err != nil {
		return nil, err
	}
	if err := a.estimateAll(a.comparisons); err != nil {
		return nil, err
	}
	var out []Width
	for _, workload := range a.workloads() {
		out = append(out, a.width(workload))
	}
	return out, nil
}

func (a *analysis) width(workload string) Width {
	w := Width{Workload: workload, Reached: true, Blocks: a.blocks(workload)}
	known := false
	for _, c := range a.comparisons {
		if c.Workload != workload || !c.Primary || c.Control || c.Family == FamilyEmulated || c.N == 0 ||
			c.tested && c.Coarse {
			continue
		}
		known = true
		half := c.est.half()
		enough := w.Blocks >= minReachedBlocks && (c.Units >= minReachedUnits || c.Scope == ScopeTheseGuests)
		w.Reached = w.Reached && c.tested && enough && half <= math.Log1p(a.in.Precision)
		if c.tested && half > w.Half {
			w.Half, w.Units = half, c.Units
			w.SD = c.est.StdErr * math.Sqrt(float64(c.Units))
		}
	}
	if !known {
		w.Reached = w.Blocks >= minReachedBlocks
	}
	return w
}

// blocks is how many of a workload have run.
func (a *analysis) blocks(workload string) (n int) {
	for mi, m := range a.in.Metrics[:a.cpuTime] {
		for ai := range a.in.Arms {
			if s := a.metrics.at(mi, ai); m.Workload == workload && len(s) > 0 {
				n = max(n, int(s[len(s)-1].block)+1)
			}
		}
	}
	return n
}
