package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
)

// Machine is what the repetition of an article needs to know about this machine.
type Machine struct {
	CPUs   int
	Memory int64 // bytes, 0: not known
	// Usable returns why a system is not usable here, in one line; "": it is usable.
	Usable func(system string) string
	// Wired reports whether a system's guests can share a network.
	Wired func(system string) bool
	// Sizes returns the bounds of a series' sizes; false: there is no such workload, or
	// it has no such parameters.
	Sizes func(series string) (least, most int64, ok bool)
}

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
}

// Guest is what takes the place of one system of the article.
type Guest struct {
	System string // of the article
	As     string // of tare; "": nothing can
	Part   string // its flavor in a mix; "": the usual one
	Why    string // why As takes its place, or why nothing does
}

// Repeat is the plan to measure an article again on one machine.
type Repeat struct {
	Article  *Article
	Baseline string   // the article's baseline system
	Base     string   // the baseline here: native, or Xen's dom0
	Guests   []Guest  // one for each of the article's systems
	Also     []string // systems that resemble none of the article's
	Stages   []Stage  // in the order of measurement
	Notes    []string // differences from the article

	of      *repetition
	options RepeatOptions
	machine Machine
	lacking map[string]string // series that are not run, and why
}

// Stage is one campaign of a repetition: workloads, and the scenarios in which all of
// them run.
type Stage struct {
	Name   string  // "solo"
	Weight float64 // its share of the time
	stage  stage
}

const (
	wholeFlavor   = "whole"
	quarterFlavor = "quarter"
	// repeatTrial is the duration of a native trial without a scale.
	repeatTrial = "300ms"
	// leastTimeout is the shortest timeout of a step, however small the budget is.
	leastTimeout = 90 * time.Second
	repeatDisk   = "2GiB"
)

// NewRepeat plans how to measure an article that comes with tare again. An error is of
// the kind fault.Campaign: the article is not one of those, an option is wrong, or
// nothing can be measured here.
func NewRepeat(a *Article, m Machine, o RepeatOptions) (*Repeat, error) {
	rep := repetitionOf(a.Document.Name)
	if rep == nil {
		return nil, fault.WithRemedy(fault.Campaignf("tare does not know how to repeat %s", a.Document.Name),
			"write a campaign of your own with the workloads that tare workloads lists")
	}
	if o.Scale < 0 || math.IsNaN(o.Scale) || o.Scale > 1 {
		return nil, fault.Campaignf("a scale of %v: it must be above 0 and at most 1, the article's own size", o.Scale)
	}
	r := &Repeat{Article: a, Baseline: rep.baseline, Base: baseHere(m), of: rep, machine: m, options: o, lacking: map[string]string{}}
	if err := r.checkTables(); err != nil {
		return nil, err
	}
	for _, system := range o.Systems {
		if why := m.Usable(system); why != "" {
			return nil, fault.Campaignf("system %s: %s", system, why)
		}
	}
	for _, relative := range rep.relatives {
		r.Guests = append(r.Guests, relative.choose(m, o.Systems))
	}
	for _, system := range o.Systems {
		if !slices.Contains(r.Systems(), system) {
			r.Also = append(r.Also, system)
		}
	}
	if len(r.Systems()) < 2 {
		return nil, fault.WithRemedy(fault.Campaignf("neither the systems of %s nor similar ones are usable here", a.Document.Name),
			"see tare systems; select usable ones with --system")
	}
	for _, s := range rep.stages {
		if s = r.narrow(s); len(s.series) > 0 && len(r.arms(s)) > 1 {
			r.Stages = append(r.Stages, Stage{s.name, s.weight(), s})
		}
	}
	r.note()
	return r, nil
}

// baseHere returns the native system or, on a host that was booted as Xen's dom0, that
// dom0.
func baseHere(m Machine) string {
	if m.Usable(nativeSystem) != "" && m.Usable(dom0System) == "" {
		return dom0System
	}
	return nativeSystem
}

// checkTables returns an error if a wanted table is not in the article.
func (r *Repeat) checkTables() error {
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
func (r *Repeat) wanted(table string) bool {
	return len(r.options.Tables) == 0 ||
		slices.ContainsFunc(r.options.Tables, func(t string) bool { return strings.HasPrefix(table, t) })
}

// narrow removes from a stage the workloads that this tare does not have and
// everything that the wanted tables do not need.
func (r *Repeat) narrow(s stage) stage {
	s.series, s.company = slices.Clone(s.series), slices.Clone(s.company)
	if len(r.options.Tables) > 0 {
		series, company := map[string]bool{}, map[string]bool{}
		for _, row := range r.Article.figures() {
			if f := r.of.figure(row); r.wanted(row.Table) && f != nil && f.stage == s.name {
				series[f.series], company[f.company] = true, true
			}
		}
		s.series = slices.DeleteFunc(s.series, func(name string) bool { return !series[name] })
		s.company = slices.DeleteFunc(s.company, func(name string) bool { return !company[name] })
	}
	s.series = slices.DeleteFunc(s.series, func(series string) bool {
		_, _, ok := r.machine.Sizes(series)
		if !ok {
			r.lacking[series] = "this tare has no workload " + series
		}
		return !ok
	})
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
func (r *Repeat) Systems() []string {
	list := []string{r.Base}
	for _, g := range r.Guests {
		if g.As != "" && !slices.Contains(list, g.As) {
			list = append(list, g.As)
		}
	}
	return append(list, r.Also...)
}

// arms returns the systems of a stage.
func (r *Repeat) arms(s stage) []string {
	return slices.DeleteFunc(r.Systems(), func(system string) bool { return s.wired && !r.machine.Wired(system) })
}

// guests returns the number of guests of a parallel scenario. Like the article, it
// leaves one CPU to the host if there are enough.
func (m Machine) guests() int { return max(2, m.CPUs-1) }

// pairs returns the number of pairs of a network scenario.
func (m Machine) pairs() int { return max(1, m.guests()/2) }

// wholes returns how many guests of a mix have a whole CPU: in the article, 3 on 7
// CPUs. Guests with a quarter of a CPU share the others.
func (m Machine) wholes() int   { return max(1, m.guests()*3/7) }
func (m Machine) quarters() int { return 4 * (m.guests() - m.wholes()) }

// quarterPairs returns how many pairs with a quarter of a CPU run beside one pair with
// whole CPUs. As in the article (8 pairs on 7 CPUs), one of the guests' CPUs stays free.
func (m Machine) quarterPairs() int { return max(1, 2*(m.guests()-3)) }

// company returns a scenario in YAML, scaled to the machine's CPUs.
func (m Machine) company(name string) string {
	n := m.guests()
	switch name {
	case "out":
		return "{name: out, pairs: 1, server: host}"
	case "in":
		return "{name: in, pairs: 1, client: host}"
	case "unequal":
		return fmt.Sprintf("{name: unequal, mix: [{flavor: %s, pairs: 1}, {flavor: %s, pairs: %d}]}", wholeFlavor, quarterFlavor, m.quarterPairs())
	case "pairs":
		return fmt.Sprintf("{name: pairs, pairs: %d}", m.pairs())
	case "parallel":
		return fmt.Sprintf("{name: parallel, guests: %d}", n)
	case "crowd":
		return fmt.Sprintf("{name: crowd, mix: [{flavor: %s, guests: %d}]}", quarterFlavor, 4*n)
	case "mixed":
		return fmt.Sprintf("{name: mixed, mix: [{flavor: %s, guests: %d}, {flavor: %s, guests: %d}]}",
			quarterFlavor, m.quarters(), wholeFlavor, m.wholes())
	}
	return name
}

// memory returns each guest's memory: as much as the largest scenario permits.
func (m Machine) memory() int64 {
	const least, most = 256 << 20, 512 << 20
	if m.Memory == 0 {
		return least
	}
	fits := m.Memory / 2 / int64(4*m.guests()+2)
	return max(least, min(most, fits>>26<<26))
}

// CampaignName returns the name of a stage's campaign.
func (r *Repeat) CampaignName(s Stage) string { return r.Article.Document.Name + "-" + s.Name }

// Campaign returns the campaign file of a stage.
func (r *Repeat) Campaign(s Stage, budget time.Duration) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("name: %s", r.CampaignName(s))
	line("about: %q", "tare paper run: "+r.Article.Document.Title)
	size := fmt.Sprintf("vcpus: 1, memory: %dMiB, disk: %s, fs: ext4", r.machine.memory()>>20, repeatDisk)
	arms := r.arms(s.stage)
	if s.stage.wired {
		size += ", network: bridged"
	}
	line("flavors:\n  %s: {%s}", wholeFlavor, size)
	if slices.ContainsFunc(s.stage.company, func(c string) bool { return c == "crowd" || c == "mixed" || c == "unequal" }) {
		line("  %s: {%s, cpu_cap: 25%%}", quarterFlavor, size)
		line("allow_unequal: true")
	}
	line("arms: [%s]", strings.Join(arms, ", "))
	line("baseline: %s", r.Base)
	line("workloads:")
	for _, series := range s.stage.series {
		entry := "{name: " + SeriesName(series)
		if _, params, ok := strings.Cut(series, "["); ok {
			entry += ", params: {" + strings.ReplaceAll(strings.TrimSuffix(params, "]"), "=", ": ") + "}"
		}
		if size := r.size(s.stage, series); size > 0 {
			entry += fmt.Sprintf(", size: %d", size)
		}
		line("  - %s}", entry)
	}
	company := make([]string, len(s.stage.company))
	for i, c := range s.stage.company {
		company[i] = r.machine.company(c)
	}
	line("scenarios: [%s]", strings.Join(company, ", "))
	if names := r.workloads(); len(names) > 0 {
		line("image: {also_for: [%s]} # one image for all campaigns of the article", strings.Join(names, ", "))
	}
	line("trial_time: %s", repeatTrial)
	line("blocks: {min: 2, max: 20}")
	line("emulated_share: 100%%") // emulated guests take the place of the article's systems
	line("budget: %ds", max(1, int(budget.Seconds())))
	// A step may take half of the budget. A longer timeout would let a crowded scenario
	// wait for several such steps.
	line("timeout: %ds", int(max(leastTimeout, budget/2).Seconds()))
	return []byte(b.String())
}

// size returns the size of a trial; 0: tare calibrates it.
func (r *Repeat) size(s stage, series string) int64 {
	article, ok := s.sizes[series]
	scale := cmp.Or(r.options.Scale, s.scale)
	if !ok || scale == 0 {
		return 0
	}
	least, most, _ := r.machine.Sizes(series)
	return max(least, min(most, int64(math.Round(float64(article)*scale))))
}

// workloads returns the names of all workloads, so that all campaigns share an image.
func (r *Repeat) workloads() []string {
	var names []string
	for _, s := range r.Stages {
		for _, series := range s.stage.series {
			if name := SeriesName(series); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// SeriesName returns a series without its parameters: "sysbench-oltp-rw".
func SeriesName(series string) string {
	name, _, _ := strings.Cut(series, "[")
	return name
}

// note lists the differences from the article on this machine.
func (r *Repeat) note() {
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
	add("every guest, including native, has one CPU, %d MiB of memory and an ext4 volume of %s, and runs the same Debian userland", r.machine.memory()>>20, repeatDisk)
	for _, s := range r.Stages {
		for _, c := range s.stage.company {
			n := r.machine.guests()
			switch c {
			case "parallel":
				add("7 in parallel: here %d, on this machine's %d CPUs", n, r.machine.CPUs)
			case "pairs":
				add("3 pairs over the network: here %d", r.machine.pairs())
			case "unequal":
				add("1 pair 1/1 and 8 pairs 1/4: here 1 pair of guests with a whole CPU, and %d with a quarter of a CPU", r.machine.quarterPairs())
			case "crowd":
				add("28 in parallel: here %d guests with a quarter of a CPU", 4*n)
			case "mixed":
				add("16+3: here %d guests with a quarter of a CPU, and %d with a whole CPU", r.machine.quarters(), r.machine.wholes())
			}
		}
	}
	if r.options.Scale == 0 {
		for _, s := range r.Stages {
			if s.stage.scale > 0 {
				add("trials of %s do %g of the article's work", strings.Join(s.stage.series, ", "), s.stage.scale)
			}
		}
		add("other trials do as much work as native does in about %s: you can compare rates and costs with the printed ones, but not times", repeatTrial)
	} else {
		add("a trial does %.4g of the article's work, if the article states it and the workload permits that size", r.options.Scale)
	}
	if len(r.options.Tables) == 0 { // these notes concern only some tables
		for _, note := range r.of.notes {
			add("%s", note)
		}
	}
}
