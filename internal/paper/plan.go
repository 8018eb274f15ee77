package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
)

// RepeatOptions change how an article is repeated.
type RepeatOptions struct {
	// Scale is the share of the article's work that a trial does, if the article says
	// how much that was; 0: a native trial takes repeatTrial.
	Scale float64
	// Systems are the systems to compare with the native one; nil: the usable ones that
	// are nearest to the article's.
	Systems []string
	// Tables are the tables to repeat, by prefixes of their names; nil: all.
	Tables []string
	// Targets are the machines of systems whose guests tare does not create, by system.
	Targets map[string]string
	// Partner is the other machine of network tests, which Uplink leads to; the zero value: this host takes its place.
	Partner campaign.End
	Uplink  campaign.Uplink
}

// Guest is what takes the place of one system of the article.
type Guest struct {
	System string // of the article
	As     string // of tare; "": nothing can
	Arm    string // of the campaigns: As, or System if it has something of its own
	Part   string // its flavor in a mix; "": the usual one
	Why    string // why As takes its place, or why nothing does
	own    own
}

// Repetition is the plan to measure an article again on one machine.
type Repetition struct {
	Article  *Article
	Baseline string   // the article's baseline system
	Base     string   // the baseline here: native, or Xen's dom0
	Guests   []Guest  // one for each of the article's systems
	Also     []string // systems that resemble none of the article's
	Stages   []Stage  // in the order of measurement
	Notes    []string // differences from the article

	options RepeatOptions
	machine Machine
}

// Stage is one campaign of a repetition: workloads, and the scenarios in which all of
// them run.
type Stage struct {
	Name   string  // "solo"
	Weight float64 // its share of the time
	stage  stage
}

// Repeat plans how to measure an article again. An error is of
// the kind fault.Campaign: the file does not say how, an option is wrong, or
// nothing can be measured here.
func Repeat(a *Article, m Machine, o RepeatOptions) (*Repetition, error) {
	rec := &a.recipe
	if len(rec.figures) == 0 {
		return nil, fault.WithRemedy(fault.Campaignf("%s does not say how to repeat it", a.Document.Name),
			"add the key repetition (docs/paper.md), with workloads that tare workloads lists")
	}
	if o.Scale < 0 || math.IsNaN(o.Scale) || o.Scale > 1 {
		return nil, fault.Campaignf("a scale of %v: it must be above 0 and at most 1, the article's own size", o.Scale)
	}
	r := &Repetition{Article: a, Baseline: rec.baseline, Base: baseHere(m), machine: m, options: o}
	if err := r.checkTables(); err != nil {
		return nil, err
	}
	for _, system := range o.Systems {
		if why := m.Usable(system); why != "" {
			return nil, fault.Campaignf("system %s: %s", system, why)
		}
	}
	for _, relative := range rec.relatives {
		g := relative.choose(m, o.Systems)
		r.adapt(&g, relative.own)
		r.Guests = append(r.Guests, g)
	}
	for _, system := range o.Systems {
		if !slices.Contains(r.Systems(), system) {
			r.Also = append(r.Also, system)
		}
	}
	if len(r.Systems()) < 2 {
		return nil, fault.WithRemedy(fault.Campaignf("neither the systems of %s nor similar ones are usable here",
			a.Document.Name),
			"see tare systems; select usable ones with --system")
	}
	for _, s := range rec.stages {
		if s = r.narrow(s); len(s.work) > 0 && len(r.armsOf(s)) > 1 {
			r.Stages = append(r.Stages, Stage{s.name, s.weight(), s})
		}
	}
	r.note()
	return r, nil
}

// baseHere returns the native system or, on a host that was booted as Xen's dom0, that
// dom0.
func baseHere(m Machine) string {
	if m.Usable(campaign.NativeSystem) != "" && m.Usable(dom0System) == "" {
		return dom0System
	}
	return campaign.NativeSystem
}

// checkTables returns an error if a wanted table is not in the article.
func (r *Repetition) checkTables() error {
	all := distinct(r.Article.figures(), func(row *Row) string { return row.Table })
	for _, wanted := range r.options.Tables {
		if !slices.ContainsFunc(all, func(table string) bool { return strings.HasPrefix(table, wanted) }) {
			err := fault.Campaignf("%s has no table %q, only %s", r.Article.Document.Name, wanted, strings.Join(all, ", "))
			if near := nearest.Nearest(wanted, all); near != "" {
				return fault.WithRemedy(err, "did you mean %s?", near)
			}
			return err
		}
	}
	return nil
}

// wanted reports whether a table is to be repeated.
func (r *Repetition) wanted(table string) bool {
	return len(r.options.Tables) == 0 ||
		slices.ContainsFunc(r.options.Tables, func(t string) bool { return strings.HasPrefix(table, t) })
}

// narrow removes from a stage everything that the wanted tables do not need.
func (r *Repetition) narrow(s stage) stage {
	s.work, s.scenarios = slices.Clone(s.work), slices.Clone(s.scenarios)
	if len(r.options.Tables) > 0 {
		series, scenarios := map[string]bool{}, map[string]bool{}
		for _, row := range r.Article.figures() {
			if f := r.Article.recipe.figure(row); r.wanted(row.Table) && f != nil && f.stage == s.name {
				series[f.series], scenarios[f.in] = true, true
			}
		}
		s.work = slices.DeleteFunc(s.work, func(w work) bool { return !series[w.series] })
		s.scenarios = slices.DeleteFunc(s.scenarios, func(name string) bool { return !scenarios[name] })
	}
	return s
}

// choose selects what takes the place of a system on that machine. only, if not nil,
// are the permitted systems.
func (rel relative) choose(m Machine, only []string) Guest {
	g := Guest{System: rel.system, Part: rel.part}
	may := func(system string) bool {
		return only == nil || system == baseHere(m) || slices.Contains(only, system)
	}
	if !slices.ContainsFunc(rel.as, may) {
		g.Why = "none of the selected systems resembles it"
		return g
	}
	var why []string
	for _, system := range rel.as {
		missing := m.Usable(system)
		if missing == "" && may(system) {
			g.As = system
			break
		}
		if missing == "" {
			missing = "not selected"
		}
		why = append(why, "no "+system+": "+missing)
	}
	if rel.why != "" {
		why = append([]string{rel.why}, why...)
	}
	g.Why = strings.Join(why, "; ")
	return g
}

// Systems returns all measured systems, the base first.
func (r *Repetition) Systems() []string {
	var list []string
	for _, a := range r.arms() {
		if !slices.Contains(list, a.system) {
			list = append(list, a.system)
		}
	}
	return list
}

// note lists the differences from the article on this machine.
func (r *Repetition) note() {
	add := func(format string, args ...any) {
		if n := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, n) {
			r.Notes = append(r.Notes, n)
		}
	}
	told := map[string]bool{}
	for _, g := range r.Guests { // systems with the same reason share a note
		if g.Why == "" || told[g.As+g.Why] {
			continue
		}
		told[g.As+g.Why] = true
		var systems []string
		for _, other := range r.Guests {
			if other.As == g.As && other.Why == g.Why {
				systems = append(systems, other.System)
			}
		}
		add("%s: %s here (%s)", strings.Join(systems, ", "), cmp.Or(g.As, "not measured"), g.Why)
	}
	for _, a := range r.arms() {
		if text := r.text(a); text != "" {
			add("%s is %s with %s", a.name, a.system, text)
		}
	}
	add("every other guest has %d MiB of memory, and every guest one CPU unless this list says more, and a volume of %s "+
		"with %s; all run the same Debian userland", r.memoryOf(r.arms()[0])>>20, repeatDisk, r.Article.recipe.fs)
	if r.options.Partner.Elsewhere() {
		add("%s is the other machine of network tests, over this host's %s", r.options.Partner.On, r.options.Uplink.Interface)
	}
	for _, s := range r.Stages {
		for _, name := range s.stage.scenarios {
			if c := scenarioOf(name); c.note != nil {
				add("%s", c.note(r.machine))
			}
		}
	}
	if r.options.Scale == 0 {
		for _, s := range r.Stages {
			if s.stage.scale > 0 {
				add("trials of %s do %g of the article's work", strings.Join(s.stage.series(), ", "), s.stage.scale)
			}
		}
		add("other trials do as much work as native does in about %s: you can compare rates and costs with the printed "+
			"ones, but not times", repeatTrial)
	} else {
		add("a trial does %.4g of the article's work, if the article states it and the workload permits that size",
			r.options.Scale)
	}
	if len(r.options.Tables) == 0 { // these notes concern only some tables
		for _, note := range r.Article.recipe.notes {
			add("%s", note)
		}
	}
}

// RepeatSystems returns the systems that repetitions may choose by default.
func RepeatSystems() []string {
	list := []string{campaign.NativeSystem, dom0System}
	for _, a := range All() {
		for _, r := range a.recipe.relatives {
			for _, system := range r.as {
				if !slices.Contains(list, system) {
					list = append(list, system)
				}
			}
		}
	}
	return list
}
