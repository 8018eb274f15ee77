package page

import (
	"encoding/json"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tare-bench/tare/docs/findings"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
)

// view is what the template shows.
type view struct {
	Policy      string
	CSS         template.CSS
	JS          template.JS
	Home, State string

	Campaign, About, File, Host string
	Status                      [][2]string
	Warnings                    []string
	Answers                     []answer
	Company                     bool // some of them are about arms in company
	Rankings                    [][2]string
	Baseline                    string
	Level                       string // of the intervals
	IsolationLegend             string
	Delta                       string
	Isolated                    []answer
	Overview                    matrix
	InCompany                   matrix // of what the arms cost in company
	Workloads                   []workloadView
	Memory                      *memoryView
	Findings                    []group
	Serious                     int
	Events                      []store.Event
	MoreEvents                  int
	Plan                        planView
	Env                         envView
	Raw                         []rawTrial
	RawMore                     int    // trials that are not in the page
	Packed                      string // trials for the script, one a line of JSON, compressed, in base64
	PackedCount                 int
	Download                    download
}

// column is an arm in the matrix, against its baseline.
type column struct {
	Arm, Baseline string
	Emulated      bool
	Other         bool // its baseline is not the run's
}

// matrix is workloads by arms.
type matrix struct {
	InCompany bool
	Columns   []column
	Rows      []matrixRow
}

type matrixRow struct {
	Workload, ID, Title, Metric string
	Cells                       []cell
}

// cell is one comparison in the matrix.
type cell struct {
	Known                    bool
	Class                    string
	Text, Interval, Overhead string
	Doubt                    bool
	Sort                     string
}

// armRow is one arm in the table of a metric.
type armRow struct {
	Name, Baseline          string
	IsBaseline, Emulated    bool
	Mean, Limits, CPU       string
	MeanSort, CPUSort       string
	CPURatio                float64
	CPUTimes                string
	GuestCPU                string
	Verdict, Interval       string
	Class                   string
	Doubt                   bool
	Comparison              *analyze.Comparison
	N, Failures             int
	P5, P25, Median         string
	P75, P95, Spread, Least string
	Most                    string
}

// metricView is the table of one metric.
type metricView struct {
	Workload, Name, Better string
	Primary                bool
	Unit                   string
	Where                  string // " in company", or ""
	factor                 float64
	Floor                  float64
	Noise                  string
	Rows                   []armRow
}

func (m metricView) figure(v float64) string { return report.Digits(v*m.factor, 4) }
func (m metricView) with(v float64) string   { return strings.TrimSpace(m.figure(v) + " " + m.Unit) }

// workloadView is the chapter of one workload.
type workloadView struct {
	ID, Name, Title, Size string
	First                 metricView
	Others                []metricView
	InCompany             metricView // First, of the arms in company
	Intervals, Dots       template.HTML
	CompanyIntervals      template.HTML
	CompanyDots           template.HTML // of the arms in company
	DotsNote              string
	Doubts                []doubt
	Company               *companyView
}

// doubt is the findings of one kind on one workload, in a line.
type doubt struct {
	Severity           analyze.Severity
	ID, Headline, Arms string
	arms               []string
}

// group is the findings of one kind.
type group struct {
	Severity analyze.Severity // of these, which may not be the kind's
	Kind     analyze.Kind
	URL      string // of the page that explains the kind
	Items    []analyze.Finding
	More     int
}

// maxItems is how many findings of one kind the page has.
const maxItems = 60

// maxEvents is how many events the page has.
const maxEvents = 200

func newView(r *store.Run, res *analyze.Result, ctx report.Context, d *data, o Options) (*view, error) {
	c, err := analyze.CampaignOf(r)
	if err != nil {
		return nil, err
	}
	v := &view{
		Home: o.Home, State: o.State,
		Campaign: c.Name, About: c.About, File: filepath.Base(r.Path()), Host: ctx.Host, Baseline: res.Baseline,
		Level: fmt.Sprintf("%.4g %%", 100*(1-res.Alpha)), Delta: fmt.Sprintf("±%.3g %%", 100*res.Delta),
		IsolationLegend: report.IsolationLegend,
		Answers:         answers(res, d, o.Titles), Isolated: isolated(res, d), Rankings: rankings(res, d),
	}
	v.Company = slices.ContainsFunc(v.Answers, func(a answer) bool { return a.InCompany })
	v.status(res, ctx, d)
	v.Overview, v.InCompany = matrixOf(res, o.Titles, false), matrixOf(res, o.Titles, true)
	for i, w := range d.workloads {
		if wv, any := workload(res, d, w, i, titleOf(o.Titles, w)); any {
			v.Workloads = append(v.Workloads, wv)
		}
	}
	v.Memory = memoryOf(res, ctx)
	v.Findings = groups(res.Findings)
	for _, f := range res.Findings {
		if f.Severity == analyze.Serious {
			v.Serious++
		}
	}
	v.Events = d.events[:min(len(d.events), maxEvents)]
	v.MoreEvents = len(d.events) - len(v.Events)
	if v.Plan, err = planOf(r, c, ctx, d); err != nil {
		return nil, err
	}
	if v.Env, err = envOf(r); err != nil {
		return nil, err
	}
	if err := v.raw(r, d, o.Output); err != nil {
		return nil, err
	}
	v.Download, err = downloadOf(r, res, d.trials)
	return v, err
}

func (v *view) status(res *analyze.Result, ctx report.Context, d *data) {
	ending, complete := report.EndingOf(ctx)
	blocks := fmt.Sprint(res.Blocks)
	if res.Planned > 0 {
		blocks = fmt.Sprintf("%d of %d", res.Blocks, res.Planned)
	}
	trials := fmt.Sprintf("%d", d.trials)
	for _, s := range []store.Status{store.Failed, store.Void, store.Interrupted} {
		if n := d.count[s]; n > 0 {
			trials += fmt.Sprintf(", %d %s", n, s)
		}
	}
	v.Status = [][2]string{{"Blocks", blocks}, {"Trials", trials}, {"Seed", fmt.Sprint(ctx.Seed)}, {"Host", ctx.Host}}
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
	if ctx.Ended == "budget" || res.Blocks < ctx.MinBlocks {
		if res.Blocks < ctx.MinBlocks {
			v.Warnings = append(v.Warnings, fmt.Sprintf("Too few blocks: the campaign asks for %d at least.", ctx.MinBlocks))
		}
	}
	if len(res.Comparisons) == 0 {
		v.Warnings = append(v.Warnings, "No trial has a result yet.")
	}
}

// titleOf says what a workload does, with its parameters, where it has some:
// "sysbench-cpu[threads=4]" is titled as sysbench-cpu is.
func titleOf(titles map[string]string, series string) string {
	name, params, some := strings.Cut(strings.TrimSuffix(series, "]"), "[")
	if what, how, more := strings.Cut(titles[name], ":"); some && what != "" {
		what += " (" + params + ")"
		if more {
			what += ":" + how
		}
		return what
	}
	return titles[name]
}

// matrixOf is what arms cost by their primary metrics, controls left out:
// either beside the run's baseline, or beside those of other scenarios.
func matrixOf(res *analyze.Result, titles map[string]string, others bool) (m matrix) {
	m.InCompany = others
	for _, c := range res.Comparisons {
		if !c.Primary || c.Control || (c.Baseline != res.Baseline) != others {
			continue
		}
		j := slices.IndexFunc(m.Columns, func(k column) bool { return k.Arm == c.Arm })
		if j < 0 {
			j = len(m.Columns)
			m.Columns = append(m.Columns, column{Arm: c.Arm, Baseline: c.Baseline, Emulated: armEmulated(res, c.Arm), Other: others})
		}
		i := slices.IndexFunc(m.Rows, func(r matrixRow) bool { return r.Workload == c.Workload })
		if i < 0 {
			i = len(m.Rows)
			m.Rows = append(m.Rows, matrixRow{Workload: c.Workload, ID: idOf(res, c.Workload), Title: titleOf(titles, c.Workload), Metric: c.Metric})
		}
		r := &m.Rows[i]
		for len(r.Cells) <= j {
			r.Cells = append(r.Cells, cell{})
		}
		r.Cells[j] = cellOf(res, c)
	}
	for i := range m.Rows {
		for len(m.Rows[i].Cells) < len(m.Columns) {
			m.Rows[i].Cells = append(m.Rows[i].Cells, cell{})
		}
	}
	return m
}

// idOf is the anchor of a workload's chapter: a number, as names may hold anything.
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
	k := cell{Known: true, Class: verdictClass(res, c), Text: report.Verdict(res, c), Interval: report.Interval(c), Doubt: len(report.Doubts(res, c)) > 0}
	if c.Ratio > 0 && !c.MeanWithheld {
		k.Overhead = report.Percent(c.OverheadPercent) + " %"
		if c.OverheadPercent >= 1000 {
			k.Overhead = report.Digits(c.Ratio, 3) + "×"
		}
		k.Sort = fmt.Sprintf("%.6g", c.OverheadPercent)
	}
	switch c.Verdict { // the figure stands above: the word alone is left
	case analyze.Costs, analyze.Gains:
		k.Text = string(c.Verdict)
	case analyze.None:
		k.Text = "none"
	}
	return k
}

func armEmulated(res *analyze.Result, arm string) bool {
	return slices.ContainsFunc(res.Arms, func(a analyze.ArmResult) bool { return a.Arm == arm && a.Emulated })
}

// groups gathers findings by kind, the serious ones first.
func groups(all []analyze.Finding) []group {
	var out []group
	for _, s := range []analyze.Severity{analyze.Serious, analyze.Warning, analyze.Info} {
		from := len(out)
		for _, f := range all {
			if f.Severity != s {
				continue
			}
			i := slices.IndexFunc(out[from:], func(g group) bool { return g.Kind.ID == f.ID })
			if i < 0 {
				i = len(out) - from
				out = append(out, group{Severity: s, Kind: analyze.KindOf(f.ID), URL: findings.URL(f.ID)})
			}
			if g := &out[from+i]; len(g.Items) < maxItems {
				g.Items = append(g.Items, f)
			} else {
				g.More++
			}
		}
	}
	return out
}

// envView is the machine, and what there spoils a number.
type envView struct {
	Lint  []host.Spoiler
	Facts [][2]string
	JSON  string
}

func envOf(r *store.Run) (envView, error) {
	body, err := r.Document(store.DocEnvironment)
	if err != nil {
		return envView{}, err
	}
	var e host.Environment
	if err := json.Unmarshal(body, &e); err != nil {
		return envView{}, fmt.Errorf("%s: environment: %w", r.Path(), err)
	}
	v := envView{Lint: host.Spoilers(&e, nil, host.Needs{})}
	add := func(name, text string) {
		if text != "" {
			v.Facts = append(v.Facts, [2]string{name, text})
		}
	}
	add("Machine", report.HostLine(&e))
	add("System", e.OS.Pretty)
	add("Kernel", strings.TrimSpace(e.Kernel.Release+" "+e.Kernel.Build))
	add("Command line", e.Kernel.Cmdline)
	add("Clock source", e.Clock.Source)
	add("Microcode", e.CPU.Microcode)
	if e.CPU.SMT != nil {
		add("Hyper-threads", map[bool]string{true: "in use", false: "off"}[*e.CPU.SMT])
	}
	for _, p := range e.CPU.Policies {
		add("Frequency", fmt.Sprintf("CPUs %s: %s, governor %s", p.CPUs, p.Driver, p.Governor))
	}
	add("Control groups", string(e.Cgroup.Layout))
	if s := e.Storage; s != nil {
		add("Storage", strings.TrimSuffix(fmt.Sprintf("%s on %s (%s), %s", s.FSType, s.Source, s.Options, s.Model), ", "))
	}
	var pretty strings.Builder
	enc := json.NewEncoder(&pretty)
	enc.SetIndent("", "  ")
	var all any
	if err := json.Unmarshal(body, &all); err == nil && enc.Encode(all) == nil && pretty.Len() < 100_000 {
		v.JSON = pretty.String()
	}
	return v, nil
}

// planView is what was to be done.
type planView struct {
	YAML    string
	Arms    []planArm
	LeftOut []report.LeftOut
	Rules   [][2]string
}

type planArm struct {
	store.Arm
	Size   string
	Guests int
	Start  string // mean time until the agent answered
}

func planOf(r *store.Run, c *campaign.Campaign, ctx report.Context, d *data) (planView, error) {
	p := planView{LeftOut: ctx.LeftOut}
	yaml, err := r.Document(store.DocCampaignYAML)
	if err == nil {
		p.YAML = string(yaml)
	}
	for _, a := range d.arms {
		pa := planArm{Arm: a, Size: flavorText(a.Flavor)}
		var start float64
		for _, g := range d.guests {
			if g.Arm == a.Name {
				pa.Guests++
				start += float64(g.StartNS) / 1e9
			}
		}
		if pa.Guests > 0 {
			pa.Start = report.Digits(start/float64(pa.Guests), 3) + " s"
		}
		p.Arms = append(p.Arms, pa)
	}
	blocks := fmt.Sprint(c.Blocks.Max)
	if !c.Blocks.Fixed() {
		blocks = fmt.Sprintf("%d to %d", c.Blocks.Min, c.Blocks.Max)
	}
	p.Rules = append(p.Rules, [2]string{"Blocks", blocks + "; each has every arm on every workload once, in an order drawn anew from the seed"})
	if c.Precision > 0 {
		p.Rules = append(p.Rules, [2]string{"Precision", fmt.Sprintf("± %.3g %%, reached in two stages (Stein): never by looking until it is significant", 100*c.Precision.Fraction())})
	}
	if c.Budget > 0 {
		p.Rules = append(p.Rules, [2]string{"Budget", c.Budget.String()})
	}
	for _, s := range ctx.Company {
		p.Rules = append(p.Rules, [2]string{"Scenario " + s.Scenario, s.Who})
	}
	if c.RecreateEvery > 0 {
		p.Rules = append(p.Rules, [2]string{"Guests", fmt.Sprintf("made anew every %d blocks", c.RecreateEvery)})
	}
	return p, nil
}

func flavorText(f store.Flavor) string {
	var parts []string
	if f.VCPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d vCPU", f.VCPUs))
	}
	for _, b := range []struct {
		n    int64
		what string
	}{{f.MemoryBytes, "memory"}, {f.DiskBytes, "disk"}} {
		if b.n > 0 {
			factor, unit := report.ScaleFor("B", float64(b.n))
			parts = append(parts, fmt.Sprintf("%.4g %s %s", float64(b.n)*factor, unit, b.what))
		}
	}
	if f.CPUCap > 0 {
		parts = append(parts, fmt.Sprintf("capped at %.3g CPU", f.CPUCap))
	}
	if f.CPUs != "" {
		parts = append(parts, "on CPU "+f.CPUs)
	}
	if f.Backing != "" && f.Backing != "loop" {
		parts = append(parts, "data on "+f.Backing)
	}
	if f.Network != "" && f.Network != "none" {
		parts = append(parts, "network "+f.Network)
	}
	return strings.Join(parts, ", ")
}
