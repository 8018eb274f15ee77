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

// Machine is what the repetition of an article must know of where it is made.
type Machine struct {
	CPUs   int
	Memory int64 // bytes, 0: not known
	// Usable says why a system cannot be used here, in one line; "": it can.
	Usable func(system string) string
	// Wired reports whether a system's guests can be on one network.
	Wired func(system string) bool
	// Sizes returns the bounds of a series' sizes, false where there is no such
	// workload or it has no such parameters.
	Sizes func(series string) (least, most int64, ok bool)
}

// RepeatOptions change how an article is repeated.
type RepeatOptions struct {
	// Scale is the share of the article's work that a trial does, where the
	// article says how much that was; 0: as much as takes repeatTrial.
	Scale float64
	// Systems are those to compare with the native one, instead of what would
	// be chosen; nil: what is usable and nearest to the article's.
	Systems []string
	// Tables are those to repeat, by the beginnings of their names; nil: all.
	Tables []string
}

// Guest is what repeats one system of the article.
type Guest struct {
	System string // of the article
	As     string // of tare; "": nothing can
	Part   string // the flavor that it is in a mix of several; "": the usual one
	Why    string // why it is As and not the system itself, or why it is nothing
}

// Repeat is an article made ready to be measured again on one machine.
type Repeat struct {
	Article  *Article
	Baseline string   // the article's system that the others are compared with
	Base     string   // what they are compared with here: native, or Xen's dom0
	Guests   []Guest  // one for each of the article's systems
	Also     []string // systems of tare that repeat none of the article's
	Stages   []Stage  // in the order to measure them
	Notes    []string // what is not as in the article

	of      *repetition
	options RepeatOptions
	machine Machine
	lacking map[string]string // series that are not run, and why
}

// Stage is one campaign of a repetition: workloads, and the scenarios that all
// of them run under.
type Stage struct {
	Name   string  // "solo"
	Weight float64 // its share of the time
	stage  stage
}

const (
	wholeFlavor   = "whole"
	quarterFlavor = "quarter"
	// repeatTrial is how long a native trial takes where no scale is given.
	repeatTrial = "300ms"
	// leastTimeout is what a step of a trial may take however small the budget is.
	leastTimeout = 90 * time.Second
	repeatDisk   = "2GiB"
)

// NewRepeat plans how an article that comes with tare is measured again. The
// error is of the kind fault.Campaign: the article is not one of those, an
// option is wrong, or nothing of it can be measured here.
func NewRepeat(a *Article, m Machine, o RepeatOptions) (*Repeat, error) {
	rep := repetitionOf(a.Document.Name)
	if rep == nil {
		return nil, fault.WithRemedy(fault.Campaignf("tare does not know how to repeat %s", a.Document.Name),
			"write a campaign of your own with the workloads that tare workloads lists")
	}
	if o.Scale < 0 || math.IsNaN(o.Scale) || o.Scale > 1 {
		return nil, fault.Campaignf("a scale of %v: want more than 0 and at most 1, the article's own size", o.Scale)
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
		return nil, fault.WithRemedy(fault.Campaignf("no system of %s can be used here, and nothing like them", a.Document.Name),
			"see tare systems; name one that can with --system")
	}
	for _, s := range rep.stages {
		if s = r.narrow(s); len(s.series) > 0 && len(r.arms(s)) > 1 {
			r.Stages = append(r.Stages, Stage{s.name, s.weight(), s})
		}
	}
	r.note()
	return r, nil
}

// baseHere is the system with nothing between it and the machine but, on a host
// that was booted as Xen's dom0, Xen.
func baseHere(m Machine) string {
	if m.Usable(nativeSystem) != "" && m.Usable(dom0System) == "" {
		return dom0System
	}
	return nativeSystem
}

// checkTables reports a wanted table that the article does not have.
func (r *Repeat) checkTables() error {
	all := distinct(r.Article.figures(), func(row *Row) string { return row.Table })
	for _, wanted := range r.options.Tables {
		if !slices.ContainsFunc(all, func(table string) bool { return strings.HasPrefix(table, wanted) }) {
			err := fault.Campaignf("%s has no table %q; there are %s", r.Article.Document.Name, wanted, strings.Join(all, ", "))
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

// narrow leaves out of a stage what this tare does not have and what the
// wanted tables do not need.
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

// choose finds what repeats a system on that machine; only, if not nil, are
// the systems that may.
func (rel relative) choose(m Machine, only []string) Guest {
	g := Guest{System: rel.system, Part: rel.part}
	may := func(system string) bool {
		return only == nil || system == baseHere(m) || slices.Contains(only, system)
	}
	if !slices.ContainsFunc(rel.as, may) {
		g.Why = "nothing like it is among the systems asked for"
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
			missing = "not asked for"
		}
		why = append(why, "no "+system+": "+missing)
	}
	if rel.why != "" {
		why = append([]string{rel.why}, why...)
	}
	g.Why = strings.Join(why, "; ")
	return g
}

// Systems are all that are measured, the base first.
func (r *Repeat) Systems() []string {
	list := []string{r.Base}
	for _, g := range r.Guests {
		if g.As != "" && !slices.Contains(list, g.As) {
			list = append(list, g.As)
		}
	}
	return append(list, r.Also...)
}

// arms are the systems that a stage is measured with.
func (r *Repeat) arms(s stage) []string {
	return slices.DeleteFunc(r.Systems(), func(system string) bool { return s.wired && !r.machine.Wired(system) })
}

// guests is how many run at once in a scenario of several: the article kept a
// CPU for the host where it had some to spare.
func (m Machine) guests() int { return max(2, m.CPUs-1) }

// pairs is how many of those are made of them.
func (m Machine) pairs() int { return max(1, m.guests()/2) }

// wholes is how many of a mix have a whole CPU: of the article's 7 CPUs, 3. The
// others are shared by quarters.
func (m Machine) wholes() int   { return max(1, m.guests()*3/7) }
func (m Machine) quarters() int { return 4 * (m.guests() - m.wholes()) }

// quarterPairs is how many pairs of quarters there are beside one of whole
// ones: with it they leave a CPU of the guests' free, as the article's 8 on 7.
func (m Machine) quarterPairs() int { return max(1, 2*(m.guests()-3)) }

// company writes a scenario of several guests, scaled to the machine's CPUs.
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

// memory is what each guest has: the most that fits with the largest scenario.
func (m Machine) memory() int64 {
	const least, most = 256 << 20, 512 << 20
	if m.Memory == 0 {
		return least
	}
	fits := m.Memory / 2 / int64(4*m.guests()+2)
	return max(least, min(most, fits>>26<<26))
}

// CampaignName is that of a stage's campaign.
func (r *Repeat) CampaignName(s Stage) string { return r.Article.Document.Name + "-" + s.Name }

// Campaign writes the campaign file of a stage, for the ordinary run.
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
	line("emulated_share: 100%%") // what is emulated here stands for what the article measured
	line("budget: %ds", max(1, int(budget.Seconds())))
	// A step that takes half of it is a result; a crowd that waits for several is not.
	line("timeout: %ds", int(max(leastTimeout, budget/2).Seconds()))
	return []byte(b.String())
}

// size is that of a trial; 0: it is calibrated.
func (r *Repeat) size(s stage, series string) int64 {
	article, ok := s.sizes[series]
	scale := cmp.Or(r.options.Scale, s.scale)
	if !ok || scale == 0 {
		return 0
	}
	least, most, _ := r.machine.Sizes(series)
	return max(least, min(most, int64(math.Round(float64(article)*scale))))
}

// workloads are the names of all that are run, so that all campaigns share an image.
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

// SeriesName is a series without its parameters: "sysbench-oltp-rw".
func SeriesName(series string) string {
	name, _, _ := strings.Cut(series, "[")
	return name
}

// note says what differs from the article on this machine.
func (r *Repeat) note() {
	add := func(format string, args ...any) {
		if n := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, n) {
			r.Notes = append(r.Notes, n)
		}
	}
	told := map[string]bool{}
	for _, g := range r.Guests { // those with the same reason together
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
	add("every guest, native too, has one CPU, %d MiB of memory and an ext4 volume of %s, and runs the same Debian userland", r.machine.memory()>>20, repeatDisk)
	for _, s := range r.Stages {
		for _, c := range s.stage.company {
			n := r.machine.guests()
			switch c {
			case "parallel":
				add("7 in parallel: %d at once on this machine's %d CPUs", n, r.machine.CPUs)
			case "pairs":
				add("3 pairs over the network: %d", r.machine.pairs())
			case "unequal":
				add("1 pair 1/1 and 8 pairs 1/4: one pair of guests of a whole CPU, and %d of a quarter of one", r.machine.quarterPairs())
			case "crowd":
				add("28 in parallel: %d guests of a quarter of a CPU at once", 4*n)
			case "mixed":
				add("16+3: %d guests of a quarter of a CPU, and %d of a whole one", r.machine.quarters(), r.machine.wholes())
			}
		}
	}
	if r.options.Scale == 0 {
		for _, s := range r.Stages {
			if s.stage.scale > 0 {
				add("trials of %s do %g of the article's work", strings.Join(s.stage.series, ", "), s.stage.scale)
			}
		}
		add("trials of other sizes do as much work as takes a native one about %s: rates and costs compare with the printed ones, times do not", repeatTrial)
	} else {
		add("a trial does %.4g of the article's work, where that is known and the workload can", r.options.Scale)
	}
	if len(r.options.Tables) == 0 { // they are about some of them
		for _, note := range r.of.notes {
			add("%s", note)
		}
	}
}
