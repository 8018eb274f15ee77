package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/stats"
)

// Limits of what is said about caps of I/O and of the network.
const (
	// capHolds is how much of a cap, and how much beyond it, a guest may get without a finding: headers,
	// the first burst and the start of a transfer.
	capHolds = 0.1
	// capReached is the share of a cap that an arm must get to show that a workload asks for as much.
	capReached = 0.9
	// capNoise is how far the ends of an interval may be from the share of the cap, relative to it, until the
	// interval hides whether the cap holds.
	capNoise = 0.2
	// capBurst is the share of a cap that may pass in a second without a finding: a tenth of a second's amount after a
	// pause, and a few whole requests.
	capBurst = 1.5
)

// RateCap is how much of a cap of I/O or of the network the guests of an arm got.
type RateCap struct {
	Workload string `json:"workload"`
	// Metric is that of the network's rate of bits; for others, whose rates are probes, the primary metric of the
	// workload.
	Metric   string  `json:"metric"`
	Arm      string  `json:"arm"`
	System   string  `json:"system"`
	Scenario string  `json:"scenario"`
	Flavor   string  `json:"flavor"`
	Cap      string  `json:"cap"`   // read, write, read_ops, write_ops, net or packets
	Limit    float64 `json:"limit"` // in Unit
	Unit     string  `json:"unit"`  // B/s, 1/s or bit/s

	N              int `json:"n"` // blocks
	claim.Estimate     // achieved over stated, a geometric mean; the interval is absent with one unit
	// Peak is what they got of it in the second in which they got most, a geometric mean over trials; 0: not known.
	Peak     float64 `json:"peak,omitzero"`
	PeakLow  float64 `json:"peak_low,omitzero"`
	PeakHigh float64 `json:"peak_high,omitzero"`
	// Untested: no arm came near the cap with this workload, so the ratio is that of the workload, not of the cap.
	Untested bool `json:"untested,omitzero"`
}

// rateCap is one kind of cap: where its rate is measured, and what a flavor sets it to.
type rateCap struct {
	name, unit  string
	probe, peak string // probe "": metrics of this unit
	per         string // the probe of the time in which what probe counts has passed; "": probe is a rate
	paired      bool   // only in pairs: alone, both ends are in the guest
	limit       func(model.Flavor) int64
}

var rateCapKinds = []rateCap{
	{name: "read", unit: "B/s", probe: model.ProbeReadRate, peak: model.ProbeReadPeak,
		limit: func(f model.Flavor) int64 { return f.IO.Read }},
	{name: "write", unit: "B/s", probe: model.ProbeWriteRate, peak: model.ProbeWritePeak,
		limit: func(f model.Flavor) int64 { return f.IO.Write }},
	{name: "read_ops", unit: "1/s", probe: model.ProbeReadOps, peak: model.ProbeReadOpsPeak,
		limit: func(f model.Flavor) int64 { return f.IO.ReadOps }},
	{name: "write_ops", unit: "1/s", probe: model.ProbeWriteOps, peak: model.ProbeWriteOpsPeak,
		limit: func(f model.Flavor) int64 { return f.IO.WriteOps }},
	{name: "net", unit: "bit/s", paired: true, limit: func(f model.Flavor) int64 { return f.Net.Rate }},
	{name: "packets", unit: "1/s", probe: model.ProbePacketsReceived, per: model.ProbePacketsTime, paired: true,
		limit: func(f model.Flavor) int64 { return f.Net.Packets }},
}

// rateCaps compares what the guests of each arm got with the caps of their flavor.
func (a *analysis) rateCaps() (out []RateCap, err error) {
	primary := map[string]string{} // metric, by workload
	for _, m := range a.in.Metrics {
		if m.Primary {
			primary[m.Workload] = m.Name
		}
	}
	for _, kind := range rateCapKinds {
		if kind.probe == "" {
			for mi, m := range a.in.Metrics {
				if m.Unit != kind.unit {
					continue
				}
				got := func(arm int) series { return a.metrics.at(mi, arm) }
				if out, err = a.addRateCaps(out, kind, m.Workload, m.Name, got); err != nil {
					return nil, err
				}
			}
			continue
		}
		for pi, p := range a.in.Probes {
			if p.Name != kind.probe {
				continue
			}
			got := func(arm int) series {
				if kind.per != "" {
					return a.probes.at(pi, arm).rate(a.probe(p.Workload, kind.per, arm))
				}
				return a.probes.at(pi, arm)
			}
			if out, err = a.addRateCaps(out, kind, p.Workload, primary[p.Workload], got); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// rate divides counts by the seconds of the same guests in the same trials; nil if some are missing.
func (s series) rate(seconds series) series {
	if len(s) != len(seconds) {
		return nil
	}
	out := slices.Clone(s)
	for i, t := range seconds {
		if t.value <= 0 {
			return nil
		}
		out[i].value /= t.value
	}
	return out
}

// addRateCaps adds one kind of cap on one workload, for all arms.
func (a *analysis) addRateCaps(out []RateCap, kind rateCap, workload, metric string,
	got func(arm int) series) ([]RateCap, error) {
	tested, first := false, len(out)
	for ai, arm := range a.in.Arms {
		values, limit := got(ai), float64(kind.limit(arm.Size))
		if _, control := a.in.Controls[arm.Name]; control || limit <= 0 || len(values) == 0 || !values.positive() ||
			!arm.Uniform() || kind.paired && !arm.Paired {
			continue
		}
		c := RateCap{Workload: workload, Metric: metric, Arm: arm.Name, System: arm.System, Scenario: arm.Scenario,
			Flavor: arm.Flavor, Cap: kind.name, Limit: limit, Unit: kind.unit}
		if err := c.estimate(values, a.probe(workload, kind.peak, ai), a.in.Alpha); err != nil {
			return nil, errorf("the cap of %s: %w", arm.Name, err)
		}
		tested = tested || c.Ratio >= capReached
		out = append(out, c)
	}
	for i := range out[first:] {
		out[first+i].Untested = !tested
	}
	return out, nil
}

// estimate fills in the ratios of what was got to the cap, with intervals if there are several units. peaks may be
// empty.
func (c *RateCap) estimate(values, peaks series, alpha float64) (err error) {
	if c.N, c.Estimate, err = ratioTo(c.Limit, values, alpha); err != nil || len(peaks) == 0 || !peaks.positive() {
		return err
	}
	_, peak, err := ratioTo(c.Limit, peaks, alpha)
	c.Peak = peak.Ratio
	c.PeakLow, c.PeakHigh = peak.Ends()
	return err
}

// ratioTo is the geometric mean of the values of n blocks over a limit, without an interval with one unit.
func ratioTo(limit float64, values series, alpha float64) (n int, of claim.Estimate, err error) {
	x := column{values.logMeans(), []series{values}}
	rows := make([]row, len(x.logs))
	for i, p := range x.logs {
		rows[i] = row{block: p.block, x: p.value - math.Log(limit), c: math.NaN()}
	}
	est, err := estimateRows(rows, x)
	if err != nil {
		return 0, of, err
	}
	if len(est.values) < 2 {
		return len(rows), claim.Alone(stats.Mean(est.values)), nil
	}
	// There is no placebo for a ratio to a stated number.
	err = est.interval(stats.NewPlacebo(nil), alpha)
	return len(rows), claim.Of(est.Interval), err
}

// capNames are the words for caps in findings.
var capNames = map[string]string{
	"read": "read", "write": "wrote", "read_ops": "made read requests", "write_ops": "made write requests",
	"net": "exchanged data", "packets": "received packets",
}

// leaks, and misses, report that the guest surely got more, or less, than its cap, which the workload tested.
func (c RateCap) leaks() bool  { return !c.Untested && c.Above(1+capHolds) }
func (c RateCap) misses() bool { return !c.Untested && c.Below(capReached) }

func findCapLeaks(a *analysis) (out []Finding) {
	for _, c := range a.result.RateCaps {
		if c.leaks() {
			out = append(out, c.finding("%s at %.3g times the cap of its flavor (%.3g … %.3g): the cap does not hold"))
		}
	}
	return out
}

// findCapBursts finds caps that hold on average, as far as is known, but not in every second.
func findCapBursts(a *analysis) (out []Finding) {
	for _, c := range a.result.RateCaps {
		if c.PeakLow > capBurst && !c.leaks() {
			out = append(out, Finding{Workload: c.Workload, Arm: c.Arm, Text: fmt.Sprintf(
				"%s at %.3g times the cap of its flavor in its fastest second (%.3g … %.3g), and at %.3g times on average",
				capNames[c.Cap], c.Peak, c.PeakLow, c.PeakHigh, c.Ratio)})
		}
	}
	return out
}

func findCapNotReached(a *analysis) (out []Finding) {
	for _, c := range a.result.RateCaps {
		if c.misses() {
			out = append(out, c.finding("%s at only %.3g times the cap of its flavor (%.3g … %.3g), which another arm reached"))
		}
	}
	return out
}

// findCapNoise finds caps for which the run cannot tell whether they hold.
func findCapNoise(a *analysis) (out []Finding) {
	for _, c := range a.result.RateCaps {
		if c.Untested || c.Interval == nil || c.leaks() || c.misses() {
			continue
		}
		if c.CIHigh > (1+capNoise)*c.Ratio || c.CILow < (1-capNoise)*c.Ratio {
			out = append(out, c.finding("%s at %.3g times the cap of its flavor, but the interval is %.3g … %.3g: "+
				"noise hides whether the cap holds"))
		}
	}
	return out
}

// findCapNotTested finds caps that no workload brought an arm near, and names the workload and the arm that came
// nearest. A cap that one workload tests need not be tested by the others: large reads meet the cap of bytes, small
// ones that of operations.
func findCapNotTested(a *analysis) (out []Finding) {
	for _, kind := range rateCapKinds {
		nearest, tested := RateCap{}, false
		for _, c := range a.result.RateCaps {
			if c.Cap == kind.name {
				tested = tested || !c.Untested
				if c.Ratio > nearest.Ratio {
					nearest = c
				}
			}
		}
		if tested || nearest.Cap == "" {
			continue
		}
		out = append(out, Finding{Workload: nearest.Workload, Arm: nearest.Arm, Text: fmt.Sprintf(
			"no workload came near the cap %s of any flavor: this one came nearest, at %.3g times the cap",
			nearest.Cap, nearest.Ratio)})
	}
	return out
}

// finding words a finding; the format takes what was done, the ratio and its interval.
func (c RateCap) finding(format string) Finding {
	text := fmt.Sprintf(format, capNames[c.Cap], c.Ratio, c.CILow, c.CIHigh)
	return Finding{Workload: c.Workload, Arm: c.Arm, Text: text}
}
