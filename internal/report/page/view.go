package page

import (
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// view is what the template shows.
type view struct {
	look
	Home, State string

	Campaign, About, File string
	Status                [][2]string
	Warnings              []string
	Summary               string // introduces Summaries
	Summaries             []answer
	Costs                 template.HTML // the picture of all costs
	CostsNote             string
	Answers               []answer
	Single                bool // only one arm takes part: there is nothing to compare
	Rankings              rankings
	Baseline              string
	Level                 string // of the intervals
	IsolationLegend       string
	MatrixLegend          string
	TheseGuests           string // explains the mark of claims about these guests
	Delta                 string
	Isolated, Attacked    []answer
	Matrix                *report.Matrix
	Overview              matrix
	Beside                matrix // of what the arms cost beside other guests
	Workloads             []workloadView
	Memory                *memoryView
	Findings              []group
	Effects               [][2]string // of a trial's position, and of the thaw before it
	Serious               int
	Events                []store.Event
	MoreEvents            int
	Plan                  planView
	Env                   envView
	Raw                   []rawTrial
	RawMore               int    // trials that are not on the page
	Packed                string // trials for the script, one a line of JSON, compressed, in base64
	PackedCount           int
	Download              download
}

// column is an arm in the matrix, against its baseline.
type column struct {
	Arm, Baseline string
	Emulated      bool
}

// matrix is workloads by arms.
type matrix struct {
	Beside  bool // the baselines are not the run's
	Columns []column
	Rows    []matrixRow
}

type matrixRow struct {
	Workload, ID, Title, Metric string
	Cells                       []cell
}

// mark is how a comparison is coloured and marked.
type mark struct {
	Class          string
	Doubt, OfThese bool
}

func markOf(res *analyze.Result, c analyze.Comparison) mark {
	return mark{verdictClass(res, c), len(report.Doubts(res, c)) > 0, report.OfTheseGuests(c)}
}

// cell is one comparison in the matrix.
type cell struct {
	mark
	Known                    bool
	Text, Interval, Overhead string
	Sort                     string
}

// armRow is one arm in the table of a metric.
type armRow struct {
	Name, Baseline       string
	IsBaseline, Emulated bool
	Mean, Limits, CPU    string
	MeanSort, CPUSort    string
	CPURatio             float64
	CPUTimes             string
	GuestCPU             string
	Verdict, Interval    string
	mark
	Wide                    string // shown with a mean that must not be quoted alone
	CPUVerdict              string // on the CPU time of the guest's whole group
	CPUMark                 mark
	Comparison              *analyze.Comparison
	N, Failures             int
	P5, P25, Median         string
	P75, P95, Spread, Least string
	Most                    string
}

// metricView is the table of one metric.
type metricView struct {
	report.Scale
	Workload, Name, Better string
	Primary                bool
	Where                  string // " beside other guests", or ""
	Noise                  []string
	OfThese                bool // a row is about these guests only
	CPU                    bool // a row has a verdict on CPU time
	Intervals, GuestCPU    bool // a row has an interval; the CPU time that the guest itself reports
	Rows                   []armRow
	Plot, Dots             template.HTML // of the intervals, and of the single trials
	DotsNote               string
	Tails                  []tailRow
	SlowFactor             string
	Stalls                 bool // an arm stalls more often than its baseline
}

// workloadView is the chapter of one workload.
type workloadView struct {
	ID, Name, Title, Size string
	First                 metricView
	Others                []metricView
	Beside                metricView // First, of the arms beside other guests
	Ranking               string
	Doubts                []doubt
	Isolation             *isolationView
	Latencies             *latencyView
	Grids                 []report.Grid // percentiles and phases, or how many fit, if the workload creates its guests
	Legend                string        // of the grids
}

// doubt is the findings of one kind on one workload, in a line.
type doubt struct {
	Severity     analyze.Severity
	ID, Headline string
	Arms         []string
}

// group is the findings of one cause.
type group struct {
	report.Cause
	URL         string // of the page that explains the kind
	First, Rest []analyze.Finding
	More        int // those that are not on the page
}

// maxItems is how many findings of one cause the page has, and maxFirst how many of
// them are not folded.
const (
	maxItems = 60
	maxFirst = 3
)

// maxEvents is how many events the page has.
const maxEvents = 200

func newView(r *store.Run, res *analyze.Result, ctx report.Context, d *data, o Options) (*view, error) {
	c, err := dataset.CampaignOf(r)
	if err != nil {
		return nil, err
	}
	v := &view{
		Home: o.Home, State: o.State,
		Campaign: c.Name, About: c.About, File: filepath.Base(r.Path()), Baseline: res.Baseline,
		Level: fmt.Sprintf("%.4g %%", 100*(1-res.Alpha)), Delta: fmt.Sprintf("±%.3g %%", 100*res.Delta),
		IsolationLegend: report.IsolationLegend, MatrixLegend: report.MatrixLegend,
		TheseGuests: report.TheseGuests,
		Summary:     report.SummaryLead(res), Summaries: summaries(res),
		Answers: answers(res, d), Isolated: isolated(res), Attacked: attacked(res), Rankings: rankingsOf(res, d),
	}
	compared := 0
	for _, a := range d.arms {
		if a.ControlOf == "" {
			compared++
		}
	}
	v.Single = compared == 1
	v.status(res, ctx, d)
	titles := titlesOf(o.Titles, c.Workloads)
	v.Costs, v.CostsNote = costsPlot("costs", res)
	v.Overview, v.Beside = matrixOf(res, titles, false), matrixOf(res, titles, true)
	for i, w := range d.workloads {
		if wv, any := workload(res, d, w, i, titles[w]); any {
			v.Workloads = append(v.Workloads, wv)
		}
	}
	v.Matrix = report.MatrixOf(res)
	v.Memory = memoryOf(res, ctx)
	v.Findings, v.Effects = groups(res.Findings), effects(res)
	for _, f := range res.Findings {
		if f.Severity == analyze.Serious {
			v.Serious++
		}
	}
	v.Events = d.events[:min(len(d.events), maxEvents)]
	v.MoreEvents = len(d.events) - len(v.Events)
	v.Plan = planOf(r, c, ctx, d)
	if v.Env, err = envOf(r, ctx, d.arms); err != nil {
		return nil, err
	}
	if err := v.raw(d, o.Output); err != nil {
		return nil, err
	}
	v.Download, err = downloadOf(r, res, d.trials)
	return v, err
}

func (v *view) status(res *analyze.Result, ctx report.Context, d *data) {
	ending, complete := report.EndingOf(ctx)
	trials := fmt.Sprintf("%d", d.trials)
	for _, s := range []store.Status{store.Failed, store.Void, store.Interrupted, store.Discarded, store.Repeat,
		store.Duet} {
		if n := d.count[s]; n > 0 {
			trials += fmt.Sprintf(", %d %s", n, s)
		}
	}
	v.Status = [][2]string{{"Measured", report.BlocksText(res)}, {"Trials", trials}, {"Seed", fmt.Sprint(ctx.Seed)},
		{"Host", ctx.Host}}
	if len(d.sessions) > 0 {
		v.Status = append(v.Status, [2]string{"Begun", d.sessions[0].Began.Format("2 January 2006, 15:04 MST")},
			[2]string{"tare", d.sessions[0].Version})
	}
	if complete && ending != "" {
		v.Status[0][1] += ": " + ending
	}
	if !complete {
		v.Warnings = append(v.Warnings, "This run is not finished: "+ending+".")
	}
	if res.Blocks < ctx.MinBlocks {
		v.Warnings = append(v.Warnings, fmt.Sprintf("Too few blocks: the campaign asks for at least %d.", ctx.MinBlocks))
	}
	if len(res.Comparisons) == 0 {
		v.Warnings = append(v.Warnings, "No trial has a result yet.")
	}
}

// titlesOf says what each workload of a campaign does, by its name in results, with its parameters if it has any:
// "sysbench-cpu[threads=4]" has the title of sysbench-cpu.
func titlesOf(titles map[string]string, workloads []campaign.Workload) map[string]string {
	all := map[string]string{}
	for _, w := range workloads {
		what, how, more := strings.Cut(titles[w.Name], ":")
		if what != "" && w.Params != nil {
			what += " (" + model.Series{Params: w.Params}.Settings() + ")"
		}
		if more {
			what += ":" + how
		}
		all[w.Series()] = what
	}
	return all
}

// matrixOf is what arms cost by their primary metrics, without controls: either
// against the run's baseline, or against those of other scenarios.
func matrixOf(res *analyze.Result, titles map[string]string, others bool) (m matrix) {
	m.Beside = others
	for _, c := range res.Comparisons {
		if !c.Primary || c.Control || (c.Baseline != res.Baseline) != others {
			continue
		}
		j := slices.IndexFunc(m.Columns, func(k column) bool { return k.Arm == c.Arm })
		if j < 0 {
			j = len(m.Columns)
			m.Columns = append(m.Columns, column{c.Arm, c.Baseline, armEmulated(res, c.Arm)})
		}
		i := slices.IndexFunc(m.Rows, func(r matrixRow) bool { return r.Workload == c.Workload })
		if i < 0 {
			i = len(m.Rows)
			m.Rows = append(m.Rows, matrixRow{Workload: c.Workload, ID: idOf(res, c.Workload),
				Title: titles[c.Workload], Metric: c.Metric})
		}
		r := &m.Rows[i]
		r.Cells = append(r.Cells, make([]cell, max(0, j+1-len(r.Cells)))...)
		r.Cells[j] = cellOf(res, c)
	}
	for i, r := range m.Rows {
		m.Rows[i].Cells = append(r.Cells, make([]cell, len(m.Columns)-len(r.Cells))...)
	}
	return m
}

// idOf is the anchor of a workload's chapter: a number, because names may contain
// anything.
func idOf(res *analyze.Result, workload string) string {
	var seen []string
	for _, a := range res.Arms {
		if !slices.Contains(seen, a.Workload) {
			seen = append(seen, a.Workload)
		}
	}
	return fmt.Sprintf("w%d", slices.Index(seen, workload))
}

func cellOf(res *analyze.Result, c analyze.Comparison) cell {
	k := cell{mark: markOf(res, c), Known: true, Text: report.Verdict(res, c), Interval: report.Interval(c)}
	if c.Ratio > 0 {
		k.Sort = fmt.Sprintf("%.6g", c.OverheadPercent)
	}
	overhead := report.Percent(c.OverheadPercent) + " %"
	if c.OverheadPercent >= 1000 {
		overhead = report.Digits(c.Ratio, 3) + "×"
	}
	switch { // the figure stands above, so only the word remains
	case c.Verdict == analyze.Costs, c.Verdict == analyze.Gains:
		k.Overhead, k.Text = overhead, string(c.Verdict)
	case c.Verdict == analyze.None:
		k.Overhead, k.Text = overhead, "none"
	case report.Known(c):
		k.Overhead, k.Text = report.AtMost(c), "not resolved"
	}
	return k
}

func armEmulated(res *analyze.Result, arm string) bool {
	return slices.ContainsFunc(res.Arms, func(a analyze.ArmResult) bool { return a.Arm == arm && a.Emulated })
}

// groups groups findings by cause, the worst first.
func groups(all []analyze.Finding) (out []group) {
	for _, c := range report.Causes(all) {
		g := group{Cause: c, URL: findings.URL(c.Kind.ID)}
		all := c.Alike()
		items := all[:min(len(all), maxItems)]
		g.More = len(all) - len(items)
		g.First = items[:min(len(items), maxFirst)]
		g.Rest = items[len(g.First):]
		out = append(out, g)
	}
	return out
}

// effects are those of what precedes a trial, independent of its arm.
func effects(res *analyze.Result) (out [][2]string) {
	for _, p := range res.Positions {
		out = append(out, [2]string{"First trial of a group, " + p.Workload, percentIn(p.Percent, p.Low, p.High) +
			" against later trials"})
	}
	for _, t := range res.Thaws {
		out = append(out, [2]string{"First trial after a thaw, " + t.Arm,
			fmt.Sprintf("%s against one right after it, %d pairs", percentIn(t.Percent, t.Low, t.High), t.N)})
	}
	return out
}

// percentIn is a percentage with its interval.
func percentIn(percent, low, high float64) string {
	return fmt.Sprintf("%s %% (%s … %s %%)", report.Percent(percent), report.Percent(low), report.Percent(high))
}
