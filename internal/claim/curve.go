package claim

import (
	"math"

	"github.com/tare-bench/tare/internal/stats"
)

// Agreement says from which value of a parameter on two curves agree: at this value and at all larger ones, they are
// within ± Within of each other. The value is one of those at which they were measured.
type Agreement struct {
	Within float64 `json:"within"` // as a share: 0.05 is ±5 %
	// From is the estimate: from here on, all ratios are within. 0: the largest is not.
	From float64 `json:"from,omitzero"`
	// After and Latest bound it, with the confidence of the rule. The curves are shown to differ by more at After, so that
	// they agree from a larger value on, if at all; 0: they are not shown to differ anywhere. They are shown to agree from
	// Latest on; 0: not even at the largest value.
	After  float64 `json:"after,omitzero"`
	Latest float64 `json:"latest,omitzero"`
}

// CurvePoint is the ratio of two curves at one value of their parameter.
type CurvePoint struct {
	At float64
	Ln stats.Interval // of the ln ratio; without a standard error, only the estimate counts
	// NoEffect: it may not be used to show that they differ. NoNone: nor that they agree.
	NoEffect, NoNone bool
}

// Agree estimates from where on two curves agree, of points in the order of their values.
//
// Each of the two bounds is wrong with a probability of at most alpha/2, however many points there are. For Latest,
// the points are tested one after the other, from the largest value down to the first that is not shown to agree: a
// fixed sequence needs no adjustment [Maurer, Hothorn and Lehmacher, 1995], and each test is Schuirmann's. For After,
// the tests of all points are adjusted by Holm.
func (r Rule) Agree(points []CurvePoint, within float64) (Agreement, error) {
	a := Agreement{Within: within}
	var beyond []float64
	var of []CurvePoint // that beyond is of
	shown, near := true, true
	for i := len(points) - 1; i >= 0; i-- {
		p := points[i]
		if near = near && math.Abs(p.Ln.Estimate) <= math.Log1p(within); near {
			a.From = p.At
		}
		same, err := stats.EquivalenceP(p.Ln, within)
		if err != nil {
			return a, err
		}
		if shown = shown && !p.NoNone && same < r.Alpha/2; shown {
			a.Latest = p.At
		}
		if p.NoEffect {
			continue
		}
		more, err := stats.BeyondP(p.Ln, within)
		if err != nil {
			return a, err
		}
		beyond, of = append(beyond, more), append(of, p)
	}
	adjusted, err := Adjusted(beyond, func(p float64) float64 { return p })
	for i, p := range adjusted {
		if p < r.Alpha/2 {
			a.After = max(a.After, of[i].At)
		}
	}
	return a, err
}
