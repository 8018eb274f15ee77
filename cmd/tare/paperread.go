package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/paper"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

// paperRuns are the runs of a repetition, and their values.
type paperRuns struct {
	rep    *paper.Repeat
	Paths  []string
	values map[paper.Key]paper.Stats
	stages map[string]bool  // those that have a run
	ended  map[string]error // why a stage ended early
	// done are the keys, without their metric, that have any value.
	done map[paper.Key]bool
}

func newPaperRuns(rep *paper.Repeat) *paperRuns {
	return &paperRuns{rep: rep, values: map[paper.Key]paper.Stats{}, stages: map[string]bool{}, ended: map[string]error{}, done: map[paper.Key]bool{}}
}

// measured returns what the runs measured for a key.
func (p *paperRuns) measured(k paper.Key) paper.Stats {
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
		st.Why = "no run of campaign " + p.rep.Article.Document.Name + "-" + k.Stage
	}
	return st
}

// read reads the values of a run: those of each arm, and of the parts of a mix.
func (p *paperRuns) read(path string) error {
	return readRun(path, func(s *store.Run) error {
		c, err := analyze.CampaignOf(s)
		if err != nil {
			return err
		}
		stage, ok := strings.CutPrefix(c.Name, p.rep.Article.Document.Name+"-")
		if !ok || !slices.ContainsFunc(p.rep.Stages, func(s paper.Stage) bool { return s.Name == stage }) {
			return fault.WithRemedy(fault.Campaignf("%s is a run of %s, which is not a campaign of %s", path, c.Name, p.rep.Article.Document.Name),
				"give run files of tare paper run %s", p.rep.Article.Document.Name)
		}
		if p.stages[stage] {
			return fault.Campaignf("%s is a second run of %s", path, c.Name)
		}
		in, err := analyze.FromRun(s)
		if err != nil {
			return err
		}
		res, err := analyze.Analyze(in)
		if err != nil {
			return err
		}
		p.Paths, p.stages[stage] = append(p.Paths, path), true
		return p.take(stage, in, res)
	})
}

// paperKey names the values of an arm.
func paperKey(stage string, arm analyze.Arm, workload, metric string) paper.Key {
	k := paper.Key{Stage: stage, Series: workload, Metric: metric, System: arm.System, Company: arm.Scenario}
	if k.Company == "" {
		k.Company = campaign.Solo
	}
	return k
}

func (p *paperRuns) take(stage string, in analyze.Input, res *analyze.Result) error {
	arms := map[string]analyze.Arm{}
	for _, arm := range in.Arms {
		if _, control := in.Controls[arm.Name]; !control {
			arms[arm.Name] = arm
		}
	}
	for o, err := range in.Observations {
		if err != nil {
			return err
		}
		arm, ok := arms[in.Arms[o.Arm].Name]
		if !ok {
			continue
		}
		k := paperKey(stage, arm, in.Metrics[o.Metric].Workload, in.Metrics[o.Metric].Name)
		p.add(k, o.Value, arm.Emulated)
		if int(o.Member) < len(arm.Crew) {
			k.Part = arm.Crew[o.Member].Flavor
			p.add(k, o.Value, arm.Emulated)
		}
	}
	for _, c := range res.Comparisons {
		arm, ok := arms[c.Arm]
		if !ok || c.N == 0 {
			continue
		}
		k := paperKey(stage, arm, c.Workload, c.Metric)
		st := p.values[k]
		st.Cost = &paper.Cost{Percent: c.OverheadPercent, Verdict: report.Verdict(res, c), Interval: report.Interval(c)}
		p.values[k] = st
	}
	for _, f := range in.Failures {
		arm, ok := arms[f.Arm]
		if !ok {
			continue
		}
		for _, metric := range in.Metrics {
			if k := paperKey(stage, arm, f.Workload, metric.Name); metric.Workload == f.Workload && p.values[k].N == 0 {
				p.values[k] = paper.Stats{Why: "its trials failed: " + firstLine(f.Text)}
			}
		}
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

func (p *paperRuns) add(k paper.Key, v float64, emulated bool) {
	st, ok := p.values[k]
	if !ok {
		st.Min, st.Max, st.Emulated = math.Inf(1), math.Inf(-1), emulated
	}
	st.Mean = (st.Mean*float64(st.N) + v) / float64(st.N+1)
	st.N++
	st.Min, st.Max = min(st.Min, v), max(st.Max, v)
	st.Withheld = st.Max > analyze.DefaultSpreadLimit*st.Min
	p.values[k] = st
	k.Metric = ""
	p.done[k] = true
}

// openPaperRuns reads existing run files.
func openPaperRuns(a *paper.Article, paths []string) (*paperRuns, error) {
	var m paper.Machine
	var systems []string
	for _, path := range paths {
		err := readRun(path, func(s *store.Run) error {
			body, err := s.Document(store.DocEnvironment)
			if err != nil {
				return err
			}
			var env host.Environment
			if err := json.Unmarshal(body, &env); err != nil {
				return fault.Campaignf("%s: %s: %w", path, store.DocEnvironment, err)
			}
			m = machineOf(&env)
			arms, err := s.Arms()
			for _, arm := range arms {
				if !slices.Contains(systems, arm.System) {
					systems = append(systems, arm.System)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	m.Usable = func(name string) string {
		if slices.Contains(systems, name) {
			return ""
		}
		return "not in the run"
	}
	rep, err := paper.NewRepeat(a, m, paper.RepeatOptions{Systems: systems})
	if err != nil {
		return nil, err
	}
	runs := newPaperRuns(rep)
	for _, path := range paths {
		if err := runs.read(path); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// paperExtra repeats a figure of the article that has no printed values.
type paperExtra struct {
	Article string   `json:"article_id"`
	Series  string   `json:"series"`
	Metric  string   `json:"metric"`
	Unit    string   `json:"unit"`
	StandIn string   `json:"stand_in,omitempty"`
	System  string   `json:"system"`
	Here    *float64 `json:"here"`
	Why     string   `json:"why,omitempty"`

	Emulated bool        `json:"emulated,omitempty"`
	Now      *paper.Cost `json:"cost_now"`
}

func (p *paperRuns) extras() []paperExtra {
	list := []paperExtra{}
	for _, e := range p.rep.Extras() {
		name := paper.SeriesName(e.Series)
		w, err := builtin.Get(name)
		if err != nil {
			continue // it cannot have been run
		}
		metric := w.Metrics[0]
		for _, system := range p.rep.Systems() {
			st := p.measured(paper.Key{Stage: e.Stage, Series: e.Series, Metric: metric.Name, System: system, Company: campaign.Solo})
			x := paperExtra{Article: e.Article, Series: e.Series, Metric: metric.Name, Unit: metric.Unit, StandIn: w.StandIn,
				System: system, Why: st.Why, Emulated: st.Emulated, Now: st.Cost}
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

// paperResult is what --json prints for a repetition.
type paperResult struct {
	Article  string       `json:"article"`
	Baseline string       `json:"baseline"` // the article's system
	Notes    []string     `json:"notes"`
	Runs     []string     `json:"runs"`
	Figures  []paper.Cell `json:"figures"`
	Extras   []paperExtra `json:"extras"`
}

func (p *paperRuns) json() paperResult {
	r := paperResult{p.rep.Article.Document.Name, p.rep.Baseline, p.rep.Notes, p.Paths, nil, p.extras()}
	for _, t := range p.rep.Tables(p.measured) {
		for _, l := range t.Lines {
			r.Figures = append(r.Figures, l.Cells...)
		}
	}
	return r
}
