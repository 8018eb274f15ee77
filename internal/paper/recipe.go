package paper

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/strict"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

const dom0System = "xen-dom0"

// recipe says how to measure an article again: the section repetition of its file.
type recipe struct {
	baseline  string // the article's system
	fs        string // of data volumes
	relatives []relative
	stages    []stage
	figures   []figure // the first that matches a row applies
	claims    []measuredClaim
	extras    []Extra
	notes     []string // other differences from the article
}

// relative lists the systems that may take the place of one of the article's, best
// first.
type relative struct {
	system string
	as     []string
	part   string // its flavor in a mix
	own    own    // what the article's guest had and others had not
	why    string // the difference, or why there is no such system
}

// stage is a campaign: workloads, and the scenarios in which all of them run.
type stage struct {
	name      string
	scenarios []string
	work      []work
	// systems are those of the article's systems with something of their own that take part; nil: those that a figure or
	// a claim is about.
	systems []string
	// scale is the share of the article's sizes that a trial does if the user asks for no
	// other; 0: tare calibrates sizes.
	scale float64
	heavy float64 // its share of the time; 0: by its number of trials
}

// work is a workload of tare, with the article's size in its unit; 0: not known.
type work struct {
	series   string // "sysbench-oltp-rw[threads=4]"
	size     int64
	of       model.Series       // what series names
	workload *workload.Workload // with those parameters
}

// find sets the workload of w, or returns why tare has none.
func (w *work) find() error {
	w.of = model.ParseSeries(w.series)
	found, err := builtin.Get(w.of.Workload)
	if err == nil {
		w.workload, err = found.With(w.series, model.Values(w.of.Params))
	}
	return err
}

func (s stage) weight() float64 {
	if s.heavy > 0 {
		return s.heavy
	}
	return float64(len(s.work) * len(s.scenarios))
}

// wired reports whether the guests of a stage are on a network.
func (s stage) wired() bool {
	return slices.ContainsFunc(s.scenarios, func(name string) bool { return scenarioOf(name).wired })
}

// mixed reports whether some guests of a stage have a quarter of a CPU.
func (s stage) mixed() bool {
	return slices.ContainsFunc(s.scenarios, func(name string) bool { return scenarioOf(name).mixed })
}

// series returns the names of the workloads, with their parameters.
func (s stage) series() []string {
	names := make([]string, len(s.work))
	for i, w := range s.work {
		names[i] = w.series
	}
	return names
}

// find returns the workload of that name and parameters; ok is false if the stage does not run it.
func (s stage) find(series string) (w work, ok bool) {
	i := slices.IndexFunc(s.work, func(w work) bool { return w.series == series })
	if i < 0 {
		return work{}, false
	}
	return s.work[i], true
}

// What a figure shows, if it is not a value of all guests.
const (
	showsPart   = "part"   // of a mix of flavors: only guests of the row's flavor count
	showsRatio  = "ratio"  // mean of the guests with a quarter of a CPU / mean of those with a whole one
	showsChange = "change" // only the change against the baseline, no value
	showsAdded  = "added"  // the difference to native
)

// figure defines the measurement that repeats some figures of the article. An empty
// word matches any; table and unit match as prefixes, the others as substrings.
type figure struct {
	table, workload, scenario, statistic, unit string

	stage, series, metric, in string // in: a scenario of tare

	per   float64 // one of the article's unit in the metric's unit
	shows string
	why   string // why no measurement repeats them
}

// measuredClaim is a claim in words about a system's cost, and the measurement that
// shows whether it holds.
type measuredClaim struct {
	claim  string // how the claim begins
	system string // of the article
	says   string // one of says

	stage, series, metric, scenario string

	// than is another of the article's systems, and against another workload of the stage, in place of the baseline; "":
	// the baseline. by is how many times better or worse at least, or the percent within which there is no difference.
	than, against string
	beside        string // another metric, in place of another workload
	by            float64
}

// says are what claims say about a system, as a verdict.
var says = map[string]analyze.Verdict{"costs": analyze.Costs, "gains": analyze.Gains, "none": analyze.None}

// compared reports whether a figure's cost against the baseline means anything.
func (f *figure) compared(row *Row) bool {
	return f.shows != showsRatio && !strings.HasPrefix(row.Statistic, halfRange)
}

// halfRange is the beginning of a statistic: half of maximum - minimum.
const halfRange = "half-range"

func (r *recipe) figure(row *Row) *figure {
	for i := range r.figures {
		f := &r.figures[i]
		if strings.HasPrefix(row.Table, f.table) && strings.Contains(row.Workload, f.workload) &&
			strings.Contains(row.Scenario, f.scenario) &&
			strings.Contains(row.Statistic, f.statistic) && strings.HasPrefix(row.Unit, f.unit) {
			return f
		}
	}
	return nil
}

// stage returns the stage of that name, an empty one if there is none.
func (r *recipe) stage(name string) stage {
	for _, s := range r.stages {
		if s.name == name {
			return s
		}
	}
	return stage{}
}

var seriesWord = strict.Verbatim("a workload", nil, nonBlank, strict.Text)

var workKind = strict.Then(strict.Shorthand(strict.Object("a workload", []strict.Key[work]{
	strict.Required(strict.Field("name", "", seriesWord, func(w *work) *string { return &w.series })),
	strict.Field("size", "", strict.Whole[int64](1, 1<<60), func(w *work) *int64 { return &w.size }),
}), seriesWord, func(series string) work { return work{series: series} }),
	func(r *strict.Reader, at strict.Node, w *work) {
		if w.series == "" {
			return // already reported
		}
		if err := w.find(); err != nil {
			r.FailAt(at, "%v", err)
		}
	})

var relativeKind = strict.Object("a system", []strict.Key[relative]{
	needs("system", func(r *relative) *string { return &r.system }),
	strict.Required(strict.Field("as", "", strict.List("systems", 20, strict.Name),
		func(r *relative) *[]string { return &r.as })),
	strict.Field("flavor", "", strict.OneOf(wholeFlavor, quarterFlavor), func(r *relative) *string { return &r.part }),
	strict.Field("guest", "", ownKind, func(r *relative) *own { return &r.own }),
	may("why", func(r *relative) *string { return &r.why }),
})

var stageKind = strict.Object("a campaign", []strict.Key[stage]{
	needs("name", func(s *stage) *string { return &s.name }),
	strict.Required(strict.Field("scenarios", "", strict.List("scenarios", 20, scenarioKind),
		func(s *stage) *[]string { return &s.scenarios })),
	strict.Required(strict.Field("workloads", "", strict.List("workloads", 100, workKind),
		func(s *stage) *[]work { return &s.work })),
	strict.Field("systems", "", strict.List("systems", 20, words), func(s *stage) *[]string { return &s.systems }),
	strict.Field("scale", "", positive, func(s *stage) *float64 { return &s.scale }),
	strict.Field("weight", "", positive, func(s *stage) *float64 { return &s.heavy }),
})

var ruleKind = strict.Object("a figure", []strict.Key[figure]{
	may("table", func(f *figure) *string { return &f.table }),
	may("workload", func(f *figure) *string { return &f.workload }),
	may("scenario", func(f *figure) *string { return &f.scenario }),
	may("statistic", func(f *figure) *string { return &f.statistic }),
	may("unit", func(f *figure) *string { return &f.unit }),
	may("campaign", func(f *figure) *string { return &f.stage }),
	may("by", func(f *figure) *string { return &f.series }),
	may("metric", func(f *figure) *string { return &f.metric }),
	strict.FieldOr("in", "", scenarioKind, func(f *figure) *string { return &f.in }, model.Solo),
	strict.FieldOr("per", "", positive, func(f *figure) *float64 { return &f.per }, 1),
	strict.Field("shows", "", strict.OneOf(showsPart, showsRatio, showsChange, showsAdded),
		func(f *figure) *string { return &f.shows }),
	may("why", func(f *figure) *string { return &f.why }),
})

var measuredClaimKind = strict.Object("a claim", []strict.Key[measuredClaim]{
	needs("claim", func(c *measuredClaim) *string { return &c.claim }),
	needs("system", func(c *measuredClaim) *string { return &c.system }),
	strict.Required(strict.Field("says", "", strict.OneOf("costs", "gains", "none"),
		func(c *measuredClaim) *string { return &c.says })),
	needs("campaign", func(c *measuredClaim) *string { return &c.stage }),
	needs("by", func(c *measuredClaim) *string { return &c.series }),
	needs("metric", func(c *measuredClaim) *string { return &c.metric }),
	strict.FieldOr("in", "", scenarioKind, func(c *measuredClaim) *string { return &c.scenario }, model.Solo),
	may("than", func(c *measuredClaim) *string { return &c.than }),
	may("against", func(c *measuredClaim) *string { return &c.against }),
	may("beside", func(c *measuredClaim) *string { return &c.beside }),
	strict.Field("bound", "", positive, func(c *measuredClaim) *float64 { return &c.by }),
})

var extraKind = strict.Object("an extra", []strict.Key[Extra]{
	needs("campaign", func(e *Extra) *string { return &e.Stage }),
	needs("by", func(e *Extra) *string { return &e.Series }),
	needs("of", func(e *Extra) *string { return &e.Article }),
	strict.FieldOr("in", "", scenarioKind, func(e *Extra) *string { return &e.Scenario }, model.Solo),
})

var recipeKind = strict.Object("a repetition", []strict.Key[recipe]{
	needs("baseline", func(r *recipe) *string { return &r.baseline }),
	strict.FieldOr("fs", "", strict.OneOf("ext4", "ext3", "ext2", "xfs"), func(r *recipe) *string { return &r.fs },
		"ext4"),
	strict.Required(strict.Field("systems", "", strict.List("systems", 100, relativeKind),
		func(r *recipe) *[]relative { return &r.relatives })),
	strict.Required(strict.Field("campaigns", "", strict.List("campaigns", 20, stageKind),
		func(r *recipe) *[]stage { return &r.stages })),
	strict.Required(strict.Field("figures", "", strict.List("figures", 1000, ruleKind),
		func(r *recipe) *[]figure { return &r.figures })),
	strict.Field("claims", "", strict.List("claims", 100, measuredClaimKind),
		func(r *recipe) *[]measuredClaim { return &r.claims }),
	strict.Field("extras", "", strict.List("extras", 100, extraKind), func(r *recipe) *[]Extra { return &r.extras }),
	strict.Field("notes", "", strict.List("notes", 100, words), func(r *recipe) *[]string { return &r.notes }),
})

// checkRecipe checks that a recipe is about the article's systems, and that every
// measurement is one of a campaign.
func (a *Article) checkRecipe(r *strict.Reader) {
	rec, systems := &a.recipe, a.Systems
	if len(rec.figures) > 0 {
		checkSystem(r, "repetition.baseline", rec.baseline, systems)
	}
	for i, s := range rec.stages {
		for _, system := range s.systems {
			checkSystem(r, index("repetition.campaigns", i)+".systems", system, systems)
		}
	}
	for i, relative := range rec.relatives {
		checkSystem(r, index("repetition.systems", i)+".system", relative.system, systems)
	}
	measured := func(path, campaign, series string) *workload.Workload {
		s := rec.stage(campaign)
		w, _ := s.find(series)
		switch {
		case s.name == "":
			r.Fail(path+".campaign", "no campaign is named %s", strict.Quote(campaign))
		case w.workload == nil:
			r.Fail(path+".by", "campaign %s has no workload %s", campaign, strict.Quote(series))
		}
		return w.workload
	}
	measures := func(path, campaign, series, metric, scenario string) {
		w := measured(path, campaign, series)
		if w == nil {
			return
		}
		if !slices.ContainsFunc(w.Metrics, func(m workload.Metric) bool { return m.Name == metric }) {
			r.Fail(path+".metric", "%s has no metric %s", series, strict.Quote(metric))
		}
		if !slices.Contains(rec.stage(campaign).scenarios, scenario) {
			r.Fail(path+".in", "campaign %s has no scenario %s", campaign, scenario)
		}
	}
	for i, f := range rec.figures {
		path := index("repetition.figures", i)
		if f.why != "" {
			continue
		}
		if f.metric == "" {
			r.Fail(path, "a figure needs campaign, by and metric, or why: the reason why nothing repeats it")
			continue
		}
		measures(path, f.stage, f.series, f.metric, f.in)
	}
	for i, c := range rec.claims {
		path := index("repetition.claims", i)
		checkSystem(r, path+".system", c.system, systems)
		if n := len(a.beginning(c.claim)); n != 1 {
			r.Fail(path+".claim", "%d claims begin with %s, not one", n, strict.Quote(c.claim))
		}
		measures(path, c.stage, c.series, c.metric, c.scenario)
		if c.than != "" {
			checkSystem(r, path+".than", c.than, systems)
		}
		if c.against != "" || c.beside != "" {
			measures(path, c.stage, cmp.Or(c.against, c.series), cmp.Or(c.beside, c.metric), c.scenario)
		}
	}
	for i, e := range rec.extras {
		path := index("repetition.extras", i)
		measured(path, e.Stage, e.Series)
		if !slices.Contains(rec.stage(e.Stage).scenarios, e.Scenario) {
			r.Fail(path+".in", "campaign %s has no scenario %s", e.Stage, e.Scenario)
		}
	}
}
