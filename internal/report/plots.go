package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

// dotOf is a comparison on an axis of ratios.
func dotOf(res *analyze.Result, c analyze.Comparison) view.Dot {
	d := view.Dot{Ratio: c.Ratio, Class: classOf(res, c), Words: Verdict(res, c) + " " + Interval(c)}
	if !c.Coarse {
		d.Low, d.High = c.Ends()
	}
	return d
}

// plot draws what each arm costs with its interval, and the host CPU that it took; nil without any interval.
func (c *costs) plot(id, where string) *view.Plot {
	f := &view.Forest{Band: c.res.Delta, Above: true, Widest: 20}
	real := slices.ContainsFunc(c.all,
		func(of analyze.Comparison) bool { return !of.Control && !isEmulated(c.res, of.Arm, c.workload) })
	intervals := false
	for _, r := range c.rows {
		if r.comparison == nil {
			continue
		}
		row := view.ForestRow{Label: r.name, Off: real && r.arm != nil && r.arm.Emulated}
		if times := hostCPUTimes(c.res, r.arm, r.baseline); times > 0 {
			row.Points = append(row.Points, view.Dot{Ratio: times, Shape: view.Hollow,
				Words: fmt.Sprintf("host CPU %s times that of %s", Digits(times, 3), r.baseline)})
		}
		if r.comparison.Ratio > 0 {
			dot := dotOf(c.res, *r.comparison)
			if r.comparison.Control {
				dot.Class = view.Open
			}
			if !Known(*r.comparison) {
				dot.Low, dot.High = 0, 0
			}
			row.Points = append(row.Points, dot)
		} else {
			row.None = Verdict(c.res, *r.comparison)
		}
		intervals = intervals || Interval(*r.comparison) != ""
		f.Rows = append(f.Rows, row)
	}
	if !intervals {
		return nil
	}
	band := fmt.Sprintf("the band is ±%.3g %%: too small to matter", 100*c.res.Delta)
	return &view.Plot{
		ID:      id,
		Title:   "Overhead of each system on " + c.workload + where,
		Drawing: f,
		Desc: fmt.Sprintf(
			"For each system a point for its overhead in %s, with its interval, and a hollow diamond for its host "+
				"CPU, on a common scale. The table below has the same figures. %s.",
			c.metric,
			"The "+band[4:],
		),
		Caption: "Overhead with its interval, and host CPU (hollow diamonds); farther right costs more. Grey: not " +
			"resolved; " +
			band,
	}
}

// bars draws what each arm did in the mean, and where its trials lie; nil without values above 0 of two arms.
func (c *costs) bars(id string) *view.Plot {
	b := &view.Bars{Label: c.metric, Say: c.scale.With}
	for _, r := range c.rows {
		if r.series == nil || r.comparison != nil && r.comparison.Control {
			continue
		}
		bar := view.Bar{Name: r.name, Value: r.series.Mean, Low: r.series.P5, High: r.series.P95,
			Words: c.scale.With(r.series.Mean), Off: r.arm.Emulated}
		if r.series.Wide || r.arm.Emulated {
			bar.Class = view.Open
		}
		b.Rows = append(b.Rows, bar)
	}
	var values []float64
	for _, r := range b.Rows {
		if !(r.Value > 0 && r.High < 1e300) { // a bar has a length
			return nil
		}
		if !r.Off {
			values = append(values, r.Value, r.High)
		}
	}
	if len(b.Rows) < 2 {
		return nil
	}
	if values != nil {
		b.Ticks = linearTicks(c.all[0].Unit, slices.Max(values))
	}
	return &view.Plot{ID: id, Title: fmt.Sprintf("%s of %s", c.metric, c.workload), Drawing: b,
		Desc: fmt.Sprintf("A bar for each system: the mean of %s over all trials, %s is better. The table below has the "+
			"same figures.", c.metric, c.all[0].Better),
		Caption: fmt.Sprintf("Mean of %s over all trials, %s is better; the line spans 5 … 95 %% of them. Grey: emulated, "+
			"or values so widely spread that the mean says little", c.metric, c.all[0].Better)}
}

// mostCosts is how many systems, over all workloads, the picture of all costs has.
const mostCosts = 80

// widestCost is the ratio, up or down, beyond which a cost stands at the edge of the picture: one system that takes ten
// times as long must not hide what the others cost.
const widestCost = 1.5

// CostsPlot draws what every system costs on every workload, with intervals on one axis; nil if there is nothing to
// compare. CPU time of duets has a mark of its own. Emulated systems are left out.
func CostsPlot(res *analyze.Result) *view.Plot {
	all := slices.DeleteFunc(slices.Clone(res.Comparisons), func(c analyze.Comparison) bool {
		return !c.Primary || c.Control || c.Baseline != res.Baseline || c.Ratio <= 0 || isEmulated(res, c.Arm, c.Workload)
	})
	if len(all) == 0 {
		return nil
	}
	shown := all[:min(len(all), mostCosts)]
	f := &view.Forest{Band: res.Delta, Edge: widestCost}
	atOnce := false
	for _, c := range shown {
		row := view.ForestRow{Group: c.Workload, Label: c.Arm}
		if cpu := CPUTimeOf(res, c); cpu != nil && cpu.Metric == analyze.CPUTimeAtOnce {
			dot := dotOf(res, *cpu)
			dot.Shape, atOnce = view.Diamond, true
			row.Points = append(row.Points, dot)
		}
		row.Points = append(row.Points, dotOf(res, c))
		f.Rows = append(f.Rows, row)
	}
	note := fmt.Sprintf(
		"Overhead against %s with its interval; farther right costs more. Only what is resolved has a colour. "+
			"The band is ±%.3g %%: too small to matter.",
		res.Baseline,
		100*res.Delta,
	)
	if atOnce {
		note += " Diamonds: CPU time, in duets. Dots: the metric of the workload."
	}
	if more := len(all) - len(shown); more > 0 {
		note += fmt.Sprintf(" %d more are in the overview.", more)
	}
	return &view.Plot{ID: "costs", Title: "What every system costs on every workload", Drawing: f, Caption: note,
		Desc: note + " The overview has the same figures."}
}

// scalingPlot draws the slowdown over the number of guests at once; nil if there are fewer than two numbers besides
// one. It has the scenarios of equal guests without neighbours.
func scalingPlot(res *analyze.Result, id, workload, metric string) *view.Plot {
	say := func(v float64) string { return Digits(v, 3) + "×" }
	c := &view.Curves{
		X: view.Axis{Label: "guests at once", Low: 1, High: 1, Say: func(v float64) string { return fmt.Sprint(v) }},
		Y: view.Axis{Label: "slowdown", Low: 0.95, High: 1.25, Say: say},
	}
	counts := []int{1}
	for _, i := range res.Isolation {
		mixed := slices.ContainsFunc(i.Members, func(m analyze.MemberResult) bool { return m.Flavor != i.Members[0].Flavor })
		if i.Workload != workload || i.Metric != metric || i.Ratio <= 0 || i.Guests < 2 || len(i.Neighbours) > 0 || mixed {
			continue
		}
		at := slices.IndexFunc(c.Lines, func(l view.Line) bool { return l.Name == i.Baseline })
		if at < 0 {
			at = len(c.Lines)
			c.Lines = append(c.Lines, view.Line{Name: i.Baseline, Dots: true, About: "the slowdown by the number of guests",
				Begin: &view.XY{X: 1, Y: 1, Words: "alone"}})
		}
		low, high := i.Ends()
		c.Lines[at].Points = append(c.Lines[at].Points, view.XY{X: float64(i.Guests), Y: i.Ratio, Low: low, High: high,
			Words: fmt.Sprintf("%s× as long as alone with %d guests", Digits(i.Ratio, 3), i.Guests)})
		if !slices.Contains(counts, i.Guests) {
			counts = append(counts, i.Guests)
		}
	}
	if len(counts) < 3 {
		return nil
	}
	slices.Sort(counts)
	for _, n := range counts {
		c.X.Ticks = append(c.X.Ticks, view.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	for _, l := range c.Lines {
		slices.SortStableFunc(l.Points, func(a, b view.XY) int { return int(a.X - b.X) })
	}
	return &view.Plot{
		ID:      id,
		Title:   "Slowdown of " + workload + " by the number of guests",
		Drawing: c,
		Desc: "A line for each system: how many times as long its guests take as one alone, by the number of guests at " +
			"once, " +
			"both on logarithmic scales. The table below has the same figures.",
		Caption: "How many times as long the guests of a system take as one of them alone, by the number of guests at once",
	}
}

// shares are the marks on the axis of shares.
var shares = []view.Tick{{Value: 0.1, Label: "10 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.9, Label: "90 %"},
	{Value: 0.99, Label: "99 %"}, {Value: 0.999, Label: "99.9 %"}, {Value: 0.9999, Label: "99.99 %"},
	{Value: 0.99999, Label: "99.999 %"}}

// leastShare is where the drawing of single latencies begins.
const leastShare = 0.1

// latencyPlot draws the distributions of single latencies: the share of latencies, on a scale of odds that gives as
// much room to 99 … 99.9 % as to 90 … 99 %, and the time that they take at most. alone selects arms that are alone.
func latencyPlot(res *analyze.Result, id, workload string, alone bool) *view.Plot {
	c := &view.Curves{
		X: view.Axis{Label: "share of single latencies", Odds: true, Low: leastShare, High: 0.5, Ticks: shares,
			Say: func(v float64) string { return fmt.Sprintf("%.6g %%", 100*v) }},
		Y: view.Axis{Label: "latency", Room: 0.1, Say: func(v float64) string { return InUnit("s", v, 3) }},
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, curve := range res.LatencyCurves {
		if curve.Workload != workload || curve.Control || (curve.Scenario == FirstScenario(res)) != alone {
			continue
		}
		line := view.Line{Name: curve.Arm, About: fmt.Sprintf("%d latencies", curve.Count)}
		for _, p := range curve.Points {
			if p.Share >= leastShare && p.Share < 1 {
				line.Points = append(line.Points, view.XY{X: p.Share, Y: p.Seconds})
				low, high = min(low, p.Seconds), max(high, p.Seconds)
			}
		}
		if len(line.Points) > 1 {
			c.Lines = append(c.Lines, line)
		}
	}
	if c.Lines == nil {
		return nil
	}
	c.Y.Ticks = roundTicks("s", low, high)
	p := &view.Plot{ID: id, Title: "Single latencies of " + workload, Drawing: c,
		Desc: "A line for each system: the time that a share of its single latencies does not exceed. The table below has " +
			"percentiles.",
		Caption: "The time that a share of the single latencies does not exceed; higher is slower"}
	if !alone {
		p.Title += besideOthers
		p.Fold, p.Caption = p.Title, "Each line has the latencies of all guests that run the workload"
	}
	return p
}

// stripsPlot draws every trial of one workload in the order of the run; nil if the context has none.
func stripsPlot(ctx Context, c *costs, id, workload, metric string, alone bool) *view.Plot {
	if ctx.Trials == nil {
		return nil
	}
	strips, limit := ctx.Trials(workload, alone)
	if strips == nil {
		return nil
	}
	scale := Scale{Factor: 1}
	if c != nil {
		scale = c.scale
	}
	d := &view.Strips{Rows: strips, Limit: limit, Figure: scale.Figure, With: scale.With}
	caption := "Every trial in the order of the run, relative to the system’s own median; all strips span the same range."
	if n := d.Binned(); n > 0 {
		caption += fmt.Sprintf(" Too many trials to draw each: a mark represents up to %d successive trials, its line from "+
			"minimum to maximum, its dot at the median.", n)
	}
	return &view.Plot{
		ID:      id,
		Title:   "Every trial of " + workload + " in the order of the run",
		Drawing: d,
		Caption: caption + " A hollow dot lies beyond its strip; a cross is a trial without a value",
		Desc: fmt.Sprintf(
			"A strip for each system; each trial is a dot, from left to right in the order of the run. Its height "+
				"is the value of %s relative to the system's own median. All strips span ±%s %%. The table of the distribution "+
				"below has the figures.",
			metric,
			Digits(100*math.Expm1(d.Half()), 2),
		),
	}
}
