package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/stats"
)

// Results are what the runs of a repetition measured.
type Results struct {
	Repetition *Repetition
	Paths      []string // of the runs
	analyses   []*analyze.Result
	values     map[Key]Stats
	stages     map[string]bool  // those that have a run
	ended      map[string]error // why a stage ended early
	// done are the keys, without their metric, that have any value.
	done map[Key]bool
	// guests are the mean logarithms of the values of each guest, for claims that compare more than an arm and the
	// baseline.
	guests   map[Key][]float64
	findings map[string][]analyze.Finding // by stage
}

// NewResults returns results without any run.
func NewResults(r *Repetition) *Results {
	return &Results{Repetition: r, values: map[Key]Stats{}, stages: map[string]bool{}, ended: map[string]error{},
		done: map[Key]bool{}, guests: map[Key][]float64{}, findings: map[string][]analyze.Finding{}}
}

// Ended records why the run of a stage is missing or not complete.
func (p *Results) Ended(s Stage, why error) { p.ended[s.Name] = why }

// Add adds the run of a file: its campaign, its data and what the analysis found in
// them. An error is of the kind fault.Campaign: it is no run of this repetition, or a
// second one of a stage.
func (p *Results) Add(path string, c *campaign.Campaign, in dataset.Set, res *analyze.Result) error {
	article := p.Repetition.Article.Document.Name
	stage, ok := strings.CutPrefix(c.Name, article+"-")
	if !ok || !slices.ContainsFunc(p.Repetition.Stages, func(s Stage) bool { return s.Name == stage }) {
		return fault.WithRemedy(fault.Campaignf("%s is a run of %s, which is not a campaign of %s", path, c.Name, article),
			"give run files of tare paper run %s", article)
	}
	if p.stages[stage] {
		return fault.Campaignf("%s is a second run of %s", path, c.Name)
	}
	p.Paths, p.analyses, p.stages[stage] = append(p.Paths, path), append(p.analyses, res), true
	p.take(stage, in, res)
	p.findings[stage] = res.Findings
	return p.takeGuests(stage, in)
}

// take reads the values of each arm, and of the parts of a mix.
func (p *Results) take(stage string, in dataset.Set, res *analyze.Result) {
	higher := map[[2]string]bool{} // by workload and metric
	for _, m := range in.Metrics {
		higher[[2]string{m.Workload, m.Name}] = m.Better == "higher"
	}
	key := func(a *analyze.ArmResult, metric, part string) Key {
		of, _, _ := strings.Cut(cmp.Or(a.Arm, a.System), "@")
		return Key{Stage: stage, Series: a.Workload, Metric: metric, System: of, Scenario: cmp.Or(a.Scenario,
			model.Solo), Part: part}
	}
	costs := map[[3]string]*Cost{} // by arm, workload and metric
	for _, c := range res.Comparisons {
		if c.N > 0 {
			low, high := c.Ends()
			costs[[3]string{c.Arm, c.Workload, c.Metric}] = &Cost{
				Percent: c.OverheadPercent, Verdict: report.Verdict(res, c), Interval: report.Interval(c), claim: c.Verdict,
				low: 100 * (low - 1), high: 100 * (high - 1),
			}
		}
	}
	for _, f := range in.Failures {
		if _, control := in.Controls[f.Arm]; control {
			continue
		}
		if a := res.Arm(f.Arm, f.Workload); a != nil {
			for _, m := range in.Metrics {
				if m.Workload == f.Workload {
					p.values[key(a, m.Name, "")] = Stats{Why: "its trials failed: " + firstLine(f.Text)}
				}
			}
		}
	}
	for i := range res.Arms {
		a := &res.Arms[i]
		if _, control := in.Controls[a.Arm]; control {
			continue
		}
		for _, m := range a.Metrics {
			st := statsOf(m, higher[[2]string{a.Workload, m.Name}], a.Emulated)
			st.Cost = costs[[3]string{a.Arm, a.Workload, m.Name}]
			p.values[key(a, m.Name, "")] = st
			p.done[key(a, "", "")] = true
			for flavor, part := range m.Parts {
				if part.N > 0 {
					p.values[key(a, m.Name, flavor)] = statsOf(part, st.Higher, a.Emulated)
					p.done[key(a, "", flavor)] = true
				}
			}
		}
	}
}

func statsOf(m analyze.SeriesSummary, higher, emulated bool) Stats {
	return Stats{N: m.N, Min: m.Min, Mean: m.Mean, Max: m.Max, Higher: higher, Emulated: emulated, Withheld: m.Wide}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// measured returns what the runs measured for a key.
func (p *Results) measured(k Key) Stats {
	k = p.there(k)
	st := p.values[k]
	if st.N > 0 {
		return st
	}
	k.Metric = ""
	switch err := p.ended[k.Stage]; {
	case p.done[k]:
		st.Why = "the program did not report this figure; if the work was too little, a larger --scale helps"
	case st.Why != "":
	case err != nil:
		st.Why = "its campaign ended early: " + firstLine(err.Error())
	case !p.stages[k.Stage]:
		st.Why = "no run of campaign " + p.Repetition.Article.Document.Name + "-" + k.Stage
	}
	return st
}

// there returns the key under which a run has values of k: runs of older versions had no arms for guests of an
// article that have something of their own.
func (p *Results) there(k Key) Key {
	series := k
	if series.Metric = ""; p.done[series] {
		return k
	}
	for _, g := range p.Repetition.Guests {
		if series.System = g.As; g.Arm == k.System && p.done[series] {
			k.System = g.As
			return k
		}
	}
	return k
}

// takeGuests reads the values of each guest for the claims that compare them.
func (p *Results) takeGuests(stage string, in dataset.Set) error {
	wanted := map[Key]bool{}
	for _, c := range p.Repetition.Article.recipe.claims {
		if c.stage == stage && c.direct() {
			wanted[Key{Stage: stage, Series: c.series, Metric: c.metric, Scenario: c.scenario}] = true
			wanted[Key{Stage: stage, Series: cmp.Or(c.against, c.series), Metric: cmp.Or(c.beside, c.metric),
				Scenario: c.scenario}] = true
		}
	}
	if len(wanted) == 0 || in.Observations == nil {
		return nil
	}
	type guest struct {
		key    Key
		number int32
	}
	var order []guest
	logs := map[guest][]float64{}
	for o, err := range in.Observations {
		if err != nil {
			return err
		}
		m, a := in.Metrics[o.Metric], in.Arms[o.Arm]
		key := Key{Stage: stage, Series: m.Workload, Metric: m.Name, Scenario: cmp.Or(a.Scenario, model.Solo)}
		if _, control := in.Controls[a.Name]; control || o.Repeat || !wanted[key] || o.Value <= 0 {
			continue
		}
		key.System = cmp.Or(a.Of, a.System)
		g := guest{key, o.Guest}
		if logs[g] == nil {
			order = append(order, g)
		}
		logs[g] = append(logs[g], math.Log(o.Value))
	}
	for _, g := range order {
		p.guests[g.key] = append(p.guests[g.key], stats.Mean(logs[g]))
	}
	return nil
}

// cells returns the article's figures with the measured ones beside them.
func (p *Results) cells() []Cell {
	cells := p.Repetition.Cells(p.measured)
	for i := range cells {
		p.doubt(&cells[i])
	}
	return cells
}

// doubt marks a cell with the serious findings about it, and returns these and the warnings about its arm.
func (p *Results) doubt(c *Cell) (about []analyze.Finding) {
	if c.key == (Key{}) || c.N == 0 {
		return nil
	}
	k := p.there(c.key)
	name := model.ArmName{Of: k.System, Scenario: k.Scenario}.String()
	for _, f := range p.findings[k.Stage] {
		if f.Severity == analyze.Info || f.Severity == analyze.Warning && f.Arm == "" {
			continue
		}
		if f.Workload != k.Series || f.Metric != "" && f.Metric != k.Metric ||
			f.Arm != "" && f.Arm != name {
			continue
		}
		about = append(about, f)
		if f.Severity == analyze.Serious && !slices.Contains(c.Findings, f.ID) {
			c.Findings = append(c.Findings, f.ID)
		}
	}
	return about
}

// Extra is a series that repeats a diagram of the article without values, so there
// is no printed figure beside it.
type Extra struct {
	Stage   string
	Series  string
	Article string // the id of the article's workload: "P2-nbench"
	// Scenario is one of the stage's.
	Scenario string
}

// ExtraResult is what a system did in an extra.
type ExtraResult struct {
	Article string   `json:"article_id"`
	Series  string   `json:"series"`
	Metric  string   `json:"metric"`
	Unit    string   `json:"unit"`
	StandIn string   `json:"stand_in,omitempty"`
	System  string   `json:"system"`
	Here    *float64 `json:"here"`
	Why     string   `json:"why,omitempty"`

	Emulated bool  `json:"emulated,omitempty"`
	Now      *Cost `json:"cost_now"`

	Workload string `json:"-"` // of the series, without its parameters
}

// Extras returns the results of the extras that are measured, for each system.
func (p *Results) Extras() []ExtraResult {
	list := []ExtraResult{}
	rep := p.Repetition
	for _, e := range rep.Article.recipe.extras {
		i := slices.IndexFunc(rep.Stages, func(s Stage) bool { return s.Name == e.Stage })
		if i < 0 {
			continue
		}
		w, ok := rep.Stages[i].stage.find(e.Series)
		if !ok {
			continue // it was not run
		}
		metric := w.workload.Metrics[0]
		for _, arm := range rep.armsOf(rep.Stages[i].stage) {
			system := arm.name
			st := p.measured(Key{Stage: e.Stage, Series: e.Series, Metric: metric.Name, System: system, Scenario: e.Scenario})
			x := ExtraResult{Article: e.Article, Series: e.Series, Workload: w.of.Workload, Metric: metric.Name,
				Unit: metric.Unit, StandIn: w.workload.StandIn, System: system, Why: st.Why, Emulated: st.Emulated,
				Now: st.Cost}
			switch {
			case st.Withheld:
				x.Why = fmt.Sprintf("the values are too far apart for a mean: %.4g to %.4g", st.Min, st.Max)
			case st.N > 0:
				x.Here = &st.Mean
			}
			list = append(list, x)
		}
	}
	return list
}

// ResultsJSON is what --json prints for a repetition.
type ResultsJSON struct {
	Article  string        `json:"article"`
	Baseline string        `json:"baseline"` // the article's system
	Notes    []string      `json:"notes"`
	Runs     []string      `json:"runs"`
	Figures  []Cell        `json:"figures"`
	Extras   []ExtraResult `json:"extras"`
}

// JSON returns the results for --json.
func (p *Results) JSON() ResultsJSON {
	return ResultsJSON{p.Repetition.Article.Document.Name, p.Repetition.Baseline, p.Repetition.Notes, p.Paths,
		p.cells(), p.Extras()}
}
