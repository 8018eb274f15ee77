package analyze

import (
	"errors"
	"slices"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// fillContent is the share of all fills that fit at least Fill.Least guests.
const fillContent = 0.9

// fillAlone is the metric of the probe's time alone, by package workload's name.
const fillAlone = "probe-time"

// Fill is how many guests of an arm fit on the host at once, as a distribution over repeated fills, and what
// broke first.
type Fill struct {
	Workload string `json:"workload"`
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"` // "": the arm is the baseline
	Control  bool   `json:"control,omitempty"`
	Emulated bool   `json:"emulated,omitempty"`

	N      int `json:"n"`                // fills
	Failed int `json:"failed,omitempty"` // in which not even one guest kept the level
	// Fits is the median over fills, with an interval by order statistics; its ends are 0 with too few.
	Fits Percentile `json:"fits"`
	// Least is a lower tolerance limit: with 95 % confidence, 90 % of fills fit so many. Absent with too few.
	Least *float64 `json:"least,omitempty"`
	// Fewest and Greatest are the extremes of the fills.
	Fewest   float64 `json:"fewest"`
	Greatest float64 `json:"greatest"`
	// Ended is how many fills reached the campaign's most without breaking the level: their result is only a
	// lower bound. If there are any, Greatest is that most.
	Ended int `json:"ended,omitempty"`
	// Ratio is Fits over the baseline's, with an interval that follows from those of both at half of alpha
	// each. Absent where one is, or where fills of either ended.
	Ratio *Percentile `json:"ratio,omitempty"`
	// Broke is how often each limit broke first, in the order of model.FillLimits. One fill may break several.
	Broke []FillBroke `json:"broke"`

	// Of the guests that broke the level, or of the most.
	Start    Range `json:"start,omitzero"`       // longest start, in seconds
	Slowdown Range `json:"slowdown,omitzero"`    // of the probe's time; absent where it was no longer measured
	P99      Range `json:"p99,omitzero"`         // of the 99th percentile of its single latencies
	Serving  Range `json:"serving_p99,omitzero"` // 99th percentile of requests to the guests that serve, in seconds
	Left     Range `json:"memory_left,omitzero"` // least memory that the host had available, in bytes
	// Alone is the probe's time before there were other guests, in seconds.
	Alone Range `json:"alone,omitzero"`
	// Share is the host's memory that a guest took, and Own the most that tare itself held, in
	// bytes.
	Share Range `json:"guest_share,omitzero"`
	Own   Range `json:"own_memory,omitzero"`
}

// FillBroke is how many fills broke a limit first.
type FillBroke struct {
	Limit string `json:"limit"`
	Fills int    `json:"fills"`
}

// AtLeast reports whether a number of guests is only a lower bound, because fills ended at it.
func (f Fill) AtLeast(guests float64) bool { return f.Ended > 0 && guests >= f.Greatest }

// fills describes every arm of every workload that fills the host.
func (a *analysis) fills() (all []Fill, err error) {
	err = a.creating(model.ProbeBroke(model.LimitLost), func(metric, arm int) error {
		f, err := a.fillOf(metric, arm)
		all = append(all, f)
		return err
	})
	return all, err
}

func (a *analysis) fillOf(metric, arm int) (Fill, error) {
	who, workload, guests := a.in.Arms[arm], a.in.Metrics[metric].Workload, a.metrics.at(metric, arm)
	base, control := a.in.BaselineOf(who)
	sorted := slices.Sorted(slices.Values(guests.values()))
	in := func(probe string) Range { return rangeOf(a.probe(workload, probe, arm).values()) }
	f := Fill{
		Workload: workload, Arm: who.Name, Baseline: base, Control: control, Emulated: who.Emulated,
		N: len(guests), Failed: a.failures[[2]string{workload, who.Name}],
		Fewest: sorted[0], Greatest: sorted[len(sorted)-1], Ended: a.ended(workload, arm), Broke: []FillBroke{},
		Start: in(model.ProbeFillStart), Slowdown: in(model.ProbeFillSlowdown), P99: in(model.ProbeFillP99),
		Serving: in(model.ProbeServingP99),
		Alone:   rangeOf(a.named(workload, fillAlone, arm).values()), Left: in(model.ProbeMemoryLeft),
		Share: in(model.ProbeGuestShare), Own: in(model.ProbeOwnMemory),
	}
	for _, limit := range model.FillLimits {
		if n := int(a.probe(workload, model.ProbeBroke(limit), arm).sum()); n > 0 {
			f.Broke = append(f.Broke, FillBroke{limit, n})
		}
	}
	var err error
	if f.Fits, err = median(guests, a.in.Alpha); err != nil {
		return f, err
	}
	switch least, err := stats.ToleranceLow(sorted, fillContent, a.in.Alpha); {
	case err == nil:
		f.Least = &least
	case !errors.Is(err, stats.ErrTooFew):
		return f, err
	}
	if base != "" && f.Ended == 0 && a.ended(workload, a.arms[base]) == 0 {
		f.Ratio, err = quantileRatio(guests, a.metrics.at(metric, a.arms[base]), 0.5, a.in.Alpha)
	}
	return f, err
}

// ended counts the fills of an arm that broke no limit.
func (a *analysis) ended(workload string, arm int) int {
	broke := map[int32]bool{}
	for _, limit := range model.FillLimits {
		for _, p := range a.probe(workload, model.ProbeBroke(limit), arm) {
			broke[p.block] = broke[p.block] || p.value > 0
		}
	}
	n := 0
	for _, b := range broke {
		if !b {
			n++
		}
	}
	return n
}
