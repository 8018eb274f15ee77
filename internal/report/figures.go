package report

import (
	"io"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/claim"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
)

// figureRow is one figure that the analysis derived; docs/export.md describes the
// columns. An empty value of an optional column is null.
type figureRow struct {
	Workload      string   `parquet:"workload,dict"`
	Metric        string   `parquet:"metric,dict"`
	Arm           string   `parquet:"arm,dict"`
	System        string   `parquet:"system,dict"`
	Scenario      string   `parquet:"scenario,dict"`
	Flavor        string   `parquet:"flavor,dict,optional"`
	Member        *int32   `parquet:"member,optional"`
	Against       string   `parquet:"against,dict,optional"`
	AgainstFlavor string   `parquet:"against_flavor,dict,optional"`
	Name          string   `parquet:"name,dict"`
	Value         float64  `parquet:"value"`
	CILow         *float64 `parquet:"ci_low,optional"`
	CIHigh        *float64 `parquet:"ci_high,optional"`
	Text          string   `parquet:"text,dict,optional"`
}

// FiguresCSV writes a row for every figure that the analysis derived: costs, slow
// trials, ranks, slowdowns, fairness, the accuracy of caps, how many guests fit.
func FiguresCSV(w io.Writer, r *store.Run, res *analyze.Result) error {
	rows, err := figures(r, res)
	if err != nil {
		return err
	}
	return WriteCSV(w, Each(rows))
}

// FiguresParquet writes the rows and columns of FiguresCSV.
func FiguresParquet(w io.Writer, r *store.Run, res *analyze.Result) error {
	rows, err := figures(r, res)
	if err != nil {
		return err
	}
	return runParquet(w, r, Each(rows))
}

// figures lists what the analysis derived, in the order of its result.
func figures(r *store.Run, res *analyze.Result) ([]figureRow, error) {
	arms, err := r.Arms()
	if err != nil {
		return nil, err
	}
	byName := map[string]store.Arm{}
	for _, a := range arms {
		byName[a.Name] = a
	}
	l := &figureList{}
	of := func(workload, metric, arm string) figureRow {
		a := byName[arm]
		return figureRow{Workload: workload, Metric: metric, Arm: arm, System: a.System, Scenario: a.Scenario,
			Flavor: a.Flavor.Name}
	}
	for _, c := range res.Comparisons {
		row := of(c.Workload, c.Metric, c.Arm)
		row.Against, row.Text = c.Baseline, string(c.Verdict)
		name := "cost"
		if c.Control {
			name, row.Text = "control", ""
		}
		l.known(row, name, c.Ratio, c.Interval)
		row.Text = ""
		if !c.Control {
			l.known(row, "mean-cost", c.MeanRatio, claim.Between(c.MeanRatio, c.MeanLow, c.MeanHigh).Interval)
		}
	}
	for _, t := range res.Tails {
		l.tail(of(t.Workload, t.Metric, t.Arm), t)
	}
	for _, t := range res.Latencies {
		l.latency(of(t.Workload, t.Metric, t.Arm), t)
	}
	for _, c := range res.Curves {
		l.curve(of(c.Workload, c.Name, c.Arm), c)
	}
	for _, p := range res.Packets {
		row := of(p.Workload, "packets", p.Arm)
		l.known(row, "sent-rate", p.Sent, nil)
		l.known(row, "received-rate", p.Received, nil)
		l.add(row, "loss", p.Loss)
		l.known(row, "groups-cpu-per-packet", p.GroupsCPU, nil)
		l.known(row, "host-cpu-per-packet", p.HostCPU, nil)
	}
	for _, s := range res.TrialSpread {
		l.known(figureRow{Workload: s.Workload, Metric: s.Metric, Scenario: s.Scenario}, "trial-spread", s.Percent, nil)
	}
	for _, r := range res.Rankings {
		for _, p := range r.Places {
			for _, arm := range p.Arms {
				l.known(of(r.Workload, r.Metric, arm), "rank", float64(p.Rank), nil)
			}
		}
	}
	for _, i := range res.Isolation {
		l.isolation(of(i.Workload, i.Metric, i.Arm), i)
	}
	for _, c := range res.IsolationMatrix {
		l.worst(c, of)
	}
	for _, c := range res.CapAccuracy {
		row := of(c.Workload, c.Metric, c.Arm)
		row.Flavor, row.Against, row.AgainstFlavor = c.Flavor, c.Against, c.Reference
		l.known(row, "cap-ratio", c.Ratio, c.Interval)
		l.known(row, "cap-ideal", c.Ideal, nil)
	}
	for _, c := range res.RateCaps {
		if c.Untested {
			continue
		}
		row := of(c.Workload, c.Metric, c.Arm)
		row.Text = c.Cap
		l.known(row, "rate-cap", c.Ratio, c.Interval)
		l.known(row, "rate-cap-peak", c.Peak, claim.Between(c.Peak, c.PeakLow, c.PeakHigh).Interval)
		l.known(row, "rate-cap-limit", c.Limit, nil)
	}
	for _, d := range res.Density {
		row := of(d.Workload, d.Metric, d.Arm)
		l.known(row, "fits", float64(d.Fits), nil)
		l.known(row, "slowdown-limit", d.Limit, nil)
		l.known(row, "memory-limit", d.MemoryLimit, nil)
		row.Text = d.Broke
		l.known(row, "breaks", float64(d.Breaks), nil)
	}
	for _, s := range res.Starts {
		l.start(of(s.Workload, "time", s.Arm), s)
	}
	for _, f := range res.Fills {
		l.fill(of(f.Workload, "guests", f.Arm), f)
	}
	return l.rows, nil
}

type figureList struct{ rows []figureRow }

// add adds a figure. 0 is one, too.
func (l *figureList) add(row figureRow, name string, value float64) {
	row.Name, row.Value = name, value
	l.rows = append(l.rows, row)
}

// known adds a figure that is known, with its interval where it has one.
func (l *figureList) known(row figureRow, name string, value float64, iv *claim.Interval) {
	if value == 0 {
		return
	}
	if iv != nil {
		row.CILow, row.CIHigh = &iv.CILow, &iv.CIHigh
	}
	l.add(row, name, value)
}

// tail adds how often the trials of an arm and of its baseline stall, and how long
// the slowest of both take.
func (l *figureList) tail(row figureRow, t analyze.Tail) {
	row.Against = t.Baseline
	l.add(row, "slow-share", t.Share)
	l.add(row, "baseline-slow-share", t.BaselineShare)
	difference := row
	difference.CILow, difference.CIHigh = &t.Low, &t.High
	l.add(difference, "slow-share-difference", t.Difference)
	l.known(row, "slow-size", t.Size, nil)
	l.known(row, "baseline-slow-size", t.BaselineSize, nil)
	l.percentile(row, "p95", t.P95)
	l.percentile(row, "p99", t.P99)
	l.percentile(row, "baseline-p95", t.BaselineP95)
	l.percentile(row, "baseline-p99", t.BaselineP99)
}

// percentile adds a percentile with its interval, unless there is none.
func (l *figureList) percentile(row figureRow, name string, p *analyze.Percentile) {
	if p != nil {
		l.known(row, name, p.Value, claim.Between(p.Value, p.Low, p.High).Interval)
	}
}

func (l *figureList) percentiles(row figureRow, name, suffix string, p50, p95, p99 *analyze.Percentile) {
	l.percentile(row, name+"-p50"+suffix, p50)
	l.percentile(row, name+"-p95"+suffix, p95)
	l.percentile(row, name+"-p99"+suffix, p99)
}

// start adds the percentiles and phases of the starts of an arm.
func (l *figureList) start(row figureRow, s analyze.Start) {
	row.Text = s.Method
	l.percentiles(row, "start", "", &s.P50, s.P95, s.P99)
	for _, phase := range s.Phases {
		l.percentiles(row, "start-"+phase.Name, "", &phase.P50, phase.P95, phase.P99)
	}
	if own := s.OwnAt; own != nil {
		l.percentiles(row, "start-own", "", &own.P50, own.P95, own.P99)
	}
	ends := []struct {
		name string
		analyze.Ending
	}{{"stop", s.Stop}, {"remove", s.Remove}}
	for _, e := range ends {
		l.percentiles(row, e.name, "", &e.Percentile, e.P95, e.P99)
	}
	if r := s.Restored; r != nil {
		l.percentile(row, "save-p50", &r.Save)
		l.percentile(row, "save-flushed-p50", &r.Flushed)
		l.percentile(row, "saved-size-p50", &r.Size)
		l.percentile(row, "fresh-start-p50", &r.Fresh)
		l.percentile(row, "restore-fresh-ratio", r.TimesFresh)
		l.percentile(row, "first-touch-p50", &r.First)
		l.percentile(row, "second-touch-p50", &r.Second)
		l.percentile(row, "first-second-touch-ratio", r.TimesSecond)
	}
	row.Text = ""
	for _, phase := range s.Phases {
		l.known(row, "start-"+phase.Name, phase.Mean, nil)
	}
	row.Against = s.Baseline
	l.percentiles(row, "start", "-ratio", s.P50Ratio, s.P95Ratio, s.P99Ratio)
	for _, e := range ends {
		l.percentiles(row, e.name, "-ratio", e.P50Ratio, e.P95Ratio, e.P99Ratio)
	}
}

// fill adds how many guests of an arm fit, and how often each limit broke first.
func (l *figureList) fill(row figureRow, f analyze.Fill) {
	if f.AtLeast(f.Fits.Value) {
		row.Text = "at least"
	}
	l.percentile(row, "fill-fits", &f.Fits)
	row.Text = ""
	if f.Least != nil {
		l.known(row, "fill-least", *f.Least, nil)
	}
	l.known(row, "fill-ended", float64(f.Ended), nil)
	for _, b := range f.Broke {
		l.known(row, "fill-broke-"+b.Limit, float64(b.Fills), nil)
	}
	l.known(row, "fill-serving-p99", f.Serving.Mean, nil)
	l.known(row, "fill-guest-share", f.Share.Mean, nil)
	l.known(row, "fill-own-memory", f.Own.Max, nil)
	row.Against = f.Baseline
	l.percentile(row, "fill-fits-ratio", f.Ratio)
}

// curve adds the points of a curve that trials measure, and from where on any curve agrees with its baseline's. The
// points of other curves are metrics of workloads.
func (l *figureList) curve(row figureRow, c analyze.Curve) {
	row.Scenario = c.Scenario
	name := row.Metric
	for _, p := range c.Points {
		if !c.Within {
			break
		}
		row.Metric = model.Point{Curve: name, Parameter: c.Parameter, At: p.At, Unit: c.In}.String()
		row.Against, row.Text = "", ""
		l.known(row, "point", p.Value, claim.Between(p.Value, p.Low, p.High).Interval)
		if p.Cost != nil {
			row.Against, row.Text = c.Baseline, string(p.Cost.Verdict)
			l.known(row, "point-cost", p.Cost.Ratio, p.Cost.Interval)
		}
	}
	if a := c.Agreement; a != nil {
		row.Metric, row.Against, row.Text = name, c.Baseline, c.Parameter
		l.known(row, "agrees-from", a.From, nil)
		l.known(row, "agrees-after", a.After, nil)
		l.known(row, "agrees-latest", a.Latest, nil)
	}
}

// latency adds a percentile of single latencies, and its comparison.
func (l *figureList) latency(row figureRow, t analyze.Latency) {
	name := analyze.PercentileName(t.Percentile) + "-latency"
	if t.Family != analyze.FamilyIsolation {
		l.known(row, name, t.Value, nil)
	}
	row.Against = t.Baseline
	switch {
	case t.Control:
		name += "-control"
	case t.Family == analyze.FamilyIsolation:
		name += "-slowdown"
		row.Text = string(t.Verdict)
	default:
		l.known(row, "baseline-"+name, t.BaselineValue, nil)
		name += "-cost"
		row.Text = string(t.Verdict)
	}
	l.known(row, name, t.Ratio, t.Interval)
}

// worst adds the figures of a cell of the isolation matrix.
func (l *figureList) worst(c analyze.IsolationCell, of func(workload, metric, arm string) figureRow) {
	for _, e := range []struct {
		name string
		*analyze.Excess
	}{{"worst-excess", c.Excess}, {"worst-excess-p99", c.P99}} {
		if e.Excess != nil {
			row := of(e.Workload, e.Metric, c.Arm)
			row.Against, row.Text = c.NativeArm, string(e.Verdict)
			l.known(row, e.name, e.Ratio, e.Interval)
		}
	}
}

// isolation adds the figures of an arm beside other guests, and of each of its guests.
func (l *figureList) isolation(row figureRow, i analyze.Isolation) {
	alone, native := row, row
	alone.Against, native.Against = i.Baseline, i.NativeArm
	l.known(alone, "slowdown", i.Ratio, i.Interval)
	l.known(native, "native-slowdown", i.Native, claim.Between(i.Native, i.NativeLow, i.NativeHigh).Interval)
	l.known(native, "excess", i.Excess, claim.Between(i.Excess, i.ExcessLow, i.ExcessHigh).Interval)
	l.known(row, "jain", i.Jain, nil)
	l.known(row, "jain-worst", i.JainWorst, nil)
	l.known(row, "unfairness", i.Unfairness, nil)
	l.known(row, "unfairness-worst", i.UnfairnessWorst, nil)
	l.known(row, "start-skew-median", i.SkewMedian, nil)
	l.known(row, "start-skew-p99", i.SkewP99, nil)
	l.known(row, "start-skew-max", i.SkewMax, nil)
	l.add(row, "lost", float64(i.Lost))
	l.known(row, "results", float64(i.Trials), nil)
	for _, m := range i.Members {
		member := int32(m.Member)
		one := alone
		one.Member, one.Flavor = &member, m.Flavor
		l.known(one, "slowdown", m.Slowdown, nil)
		one.Against = ""
		l.known(one, "lost", float64(m.Lost), nil)
	}
}
