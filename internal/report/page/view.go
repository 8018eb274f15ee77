package page

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

// pageView is what the template shows.
type pageView struct {
	view.Look
	Home, State string

	Campaign, About, File string
	Status                [][2]string
	Warnings              []string
	Summaries             *view.List
	Costs                 *view.Plot // the picture of all costs
	Answers               *view.List
	Single                bool // only one arm takes part: there is nothing to compare
	Rankings              rankings
	Baseline              string
	Level                 string // of the intervals
	TheseGuests           string // explains the mark of claims about these guests
	Delta                 string
	Isolated, Attacked    *view.List
	Matrix                *view.Table
	Overview, Beside      *view.Table   // of what the arms cost alone, and beside other guests
	Curves                *view.Section // over parameters that make several workloads
	Workloads             []workloadView
	Memory                *view.Section
	Findings              *view.Alerts
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

// maxEvents is how many events the page has.
const maxEvents = 200

func newView(r *store.Run, res *analyze.Result, ctx report.Context, d *data, o Options) (*pageView, error) {
	c, err := dataset.CampaignOf(r)
	if err != nil {
		return nil, err
	}
	v := &pageView{
		Home: o.Home, State: o.State,
		Campaign: c.Name, About: c.About, File: filepath.Base(r.Path()), Baseline: res.Baseline,
		Level: fmt.Sprintf("%.4g %%", 100*(1-res.Alpha)), Delta: fmt.Sprintf("±%.3g %%", 100*res.Delta),
		TheseGuests: report.TheseGuests, Summaries: report.SummaryList(res), Costs: report.CostsPlot(res),
		Answers: report.AnswerList(res), Isolated: report.Isolates(res), Attacked: report.Attacked(res),
		Matrix: report.MatrixTable(res), Rankings: rankingsOf(res, d),
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
	v.Overview, v.Beside = report.Overview(res, titles, false), report.Overview(res, titles, true)
	v.Curves = report.SweptCurves(res)
	v.Workloads = workloads(res, ctx, d, titles)
	v.Memory = report.Memory(res, ctx.Merging)
	v.Findings, v.Effects = report.Alerts(res, ""), effects(res)
	for _, f := range res.Findings {
		if f.Severity == analyze.Serious {
			v.Serious++
		}
	}
	v.Events = d.events[:min(len(d.events), maxEvents)]
	v.MoreEvents = len(d.events) - len(v.Events)
	v.Plan = planOf(r, c, ctx, d)
	if v.Env, err = envOf(r, ctx, d.arms, res.Swap); err != nil {
		return nil, err
	}
	if err := v.raw(d, o.Output); err != nil {
		return nil, err
	}
	v.Download, err = downloadOf(r, res, d.trials)
	return v, err
}

func (v *pageView) status(res *analyze.Result, ctx report.Context, d *data) {
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

// effects are those of what precedes a trial, independent of its arm.
func effects(res *analyze.Result) (out [][2]string) {
	for _, p := range res.Positions {
		out = append(out, [2]string{"First trial of a group, " + p.Workload, report.PercentIn(p.Percent, p.Low, p.High) +
			" against later trials"})
	}
	for _, t := range res.Thaws {
		out = append(out, [2]string{"First trial after a thaw, " + t.Arm,
			fmt.Sprintf("%s against one right after it, %d pairs", report.PercentIn(t.Percent, t.Low, t.High), t.N)})
	}
	return out
}
