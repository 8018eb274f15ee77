package paper

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// Key identifies one series of values of a repetition.
type Key struct {
	Stage  string // the name of the Stage
	Series string // the workload, with its parameters
	Metric string
	System string // the arm: of tare's system of that name, or of one of the article's that has something of its own
	// Scenario is "solo" if the campaign has none. Part is the flavor of the
	// guests in it, "" for all guests.
	Scenario, Part string
}

// Stats describe the values of a series, in the metric's unit.
type Stats struct {
	N              int
	Min, Mean, Max float64
	Higher         bool // higher values are better
	Emulated       bool
	Why            string // if N is 0: why there are no values
	// Withheld: the values are too far apart for their mean to describe them.
	Withheld bool
	Cost     *Cost // against the native system in the same scenario; nil: not compared
}

// Cost is a system's cost against the baseline, in percent. Positive always means
// worse, whether lower or higher values of the metric are better.
type Cost struct {
	Percent float64 `json:"percent"`
	// Verdict is the verdict in words, and Interval the interval of the true cost; ""
	// for a plain quotient of two figures.
	Verdict  string `json:"verdict,omitempty"`
	Interval string `json:"interval_percent,omitempty"`

	claim     analyze.Verdict // that of Verdict; "": a plain quotient
	low, high float64         // the interval, if claim is not "" and not not-resolved
}

// Cell is one figure of the article beside this machine's result.
type Cell struct {
	Table     string `json:"table"`
	Workload  string `json:"workload"`
	Scenario  string `json:"scenario"`
	Statistic string `json:"statistic"`
	Unit      string `json:"unit"`
	Better    string `json:"better"`
	System    string `json:"system"`           // of the article; "": only this machine has it
	Printed   string `json:"printed"`          // as in the article
	As        string `json:"as"`               // the system that takes its place here
	Series    string `json:"series,omitempty"` // the measured series
	Metric    string `json:"metric,omitempty"`
	// Here is this machine's figure in the article's unit. If it or its cost is
	// missing, Why is the reason.
	Here     *float64 `json:"here"`
	Why      string   `json:"why,omitempty"`
	Emulated bool     `json:"emulated,omitempty"`
	N        int      `json:"n,omitempty"` // number of values behind it
	// Then and Now are the system's cost against the baseline in the article and here.
	// nil: not printed or not measured.
	Then *Cost `json:"cost_then"`
	Now  *Cost `json:"cost_now"`
	// Findings are the serious findings of the run about this figure, by their names.
	Findings []string `json:"findings,omitempty"`

	key Key // of what was measured; zero: nothing
}

// Cells returns every figure of the article with the measured one beside it, in the article's order. Systems that only
// this machine has come last on each line.
func (r *Repetition) Cells(measured func(Key) Stats) (cells []Cell) {
	for name, rows := range r.Article.byTable() {
		if !r.wanted(name) {
			continue
		}
		for _, group := range grouped(rows, sameGroup) {
			for _, row := range group {
				cells = append(cells, r.cell(row, r.guest(row.System), measured))
			}
			for _, system := range r.Also {
				cells = append(cells, r.cell(group[0].only(), Guest{As: system}, measured))
			}
		}
	}
	return cells
}

// sameGroup reports whether two figures are on one line of a table.
func sameGroup(a, b *Row) bool { return a.alike(b, "system") }

// grouped returns the rows in groups of those that are alike, in their order.
func grouped(rows []*Row, alike func(a, b *Row) bool) [][]*Row {
	var groups [][]*Row
	for _, r := range rows {
		i := slices.IndexFunc(groups, func(g []*Row) bool { return alike(g[0], r) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// guest returns what takes the place of a system of the article.
func (r *Repetition) guest(system string) Guest {
	for _, g := range r.Guests {
		if g.System == system {
			return g
		}
	}
	return Guest{System: system, Why: "the article does not name a single system here"}
}

func (r *Repetition) cell(row *Row, g Guest, measured func(Key) Stats) Cell {
	c := Cell{
		Table: row.Table, Workload: row.Workload, Scenario: row.Scenario, Statistic: row.Statistic,
		Unit: row.Unit, Better: row.Better, System: row.System, Printed: row.Printed, As: g.As, Then: r.then(row),
	}
	f := r.Article.recipe.figure(row)
	switch {
	case f == nil:
		c.Why = "tare does not repeat this figure"
	case f.why != "":
		c.Why = f.why
	case g.As == "":
		c.Why = g.Why
	case r.Article.recipe.stage(f.stage).wired() && !r.machine.supports(g.As, r.networkOf(arm{own: g.own})):
		c.Why = g.As + " does not support networks between guests yet"
	case f.shows == showsAdded && g.As == r.Base:
		c.Why = "it is the baseline"
	}
	if c.Why != "" {
		c.As = ""
		return c
	}
	c.Series, c.Metric, c.key = f.series, f.metric, r.key(f, g)
	here := r.value(f, row, g, measured)
	c.Emulated, c.N = here.stats.Emulated, here.stats.N
	if here.why != "" {
		c.Why = here.why
		return c
	}
	if g.As != r.Base && f.compared(row) {
		c.Now = r.now(f, row, g, here, measured)
	}
	if f.shows == showsChange {
		if c.Now == nil {
			c.Why = "no native value to compare with"
		}
		return c
	}
	if f.shows == showsAdded {
		base := r.value(f, row, Guest{As: r.Base}, measured)
		if c.Now = nil; base.why != "" {
			c.Why = base.why
			return c
		}
		here.v -= base.v
	}
	v := here.v / f.per
	c.Here = &v
	return c
}

// now returns a system's cost here: from the analysis of the run if the figure covers
// all values, otherwise the quotient of the two figures.
func (r *Repetition) now(f *figure, row *Row, g Guest, here valued, measured func(Key) Stats) *Cost {
	if here.mean && here.stats.Cost != nil {
		return here.stats.Cost
	}
	base := r.value(f, row, Guest{As: r.Base, Part: g.Part}, measured)
	if base.why != "" || base.v <= 0 || here.v <= 0 {
		return nil
	}
	return cost(here.v, base.v, here.stats.Higher)
}

type valued struct {
	v     float64
	stats Stats
	mean  bool // v is the mean of all values in stats
	why   string
}

// value returns a figure in the metric's own unit.
func (r *Repetition) value(f *figure, row *Row, g Guest, measured func(Key) Stats) valued {
	key := r.key(f, g)
	if f.shows == showsPart {
		key.Part = cmp.Or(g.Part, wholeFlavor)
		if strings.Contains(row.Statistic, "1/4") {
			key.Part = quarterFlavor
		}
	}
	if f.shows == showsRatio {
		key.Part = quarterFlavor
		slow := measured(key)
		key.Part = wholeFlavor
		fast := measured(key)
		if slow.N == 0 || fast.N == 0 || fast.Mean == 0 {
			return valued{stats: slow, why: orNothing(cmp.Or(slow.Why, fast.Why))}
		}
		return valued{v: slow.Mean / fast.Mean, stats: slow}
	}
	s := measured(key)
	if s.N == 0 {
		return valued{stats: s, why: orNothing(s.Why)}
	}
	switch statistic := row.Statistic; {
	case statistic == "min":
		return valued{v: s.Min, stats: s}
	case statistic == "max":
		return valued{v: s.Max, stats: s}
	case strings.HasPrefix(statistic, halfRange):
		return valued{v: (s.Max - s.Min) / 2, stats: s}
	}
	if s.Withheld {
		return valued{stats: s,
			why: "the values are too far apart for a mean: " + short(s.Min/f.per) + " to " + short(s.Max/f.per)}
	}
	return valued{v: s.Mean, stats: s, mean: f.shows != showsPart}
}

// key is what measures a figure in the guest that takes the place of one of the article's.
func (r *Repetition) key(f *figure, g Guest) Key {
	return Key{Stage: f.stage, Series: f.series, Metric: f.metric, System: g.arm(), Scenario: f.in}
}

// arm is the name of the guest's arm.
func (g Guest) arm() string { return cmp.Or(g.Arm, g.As) }

func orNothing(why string) string {
	return cmp.Or(why, "the budget was used up before it, or none of its trials succeeded")
}

// then returns the system's cost in the article, as printed or calculated from its
// figures; nil: unknown.
func (r *Repetition) then(row *Row) *Cost {
	higher := row.Better == "higher"
	if row.Delta != nil && row.Delta.Bound == "" {
		return cost(1+row.Delta.Value/100, 1, higher)
	}
	v, ok := row.value()
	if !ok || row.System == r.Baseline || row.Better != "higher" && row.Better != "lower" {
		return nil
	}
	for _, b := range r.Article.figures() {
		if base, ok := b.value(); ok && b.System == r.Baseline && sameGroup(row, b) && base.Value > 0 && v.Value > 0 {
			return cost(v.Value, base.Value, higher)
		}
	}
	return nil
}

// cost returns how much worse v is than base, in percent of the time that base takes:
// 80 % of the throughput is a cost of 25 %. nil: the result is not a number.
func cost(v, base float64, higher bool) *Cost {
	if higher {
		v, base = base, v
	}
	if base == 0 {
		return nil
	}
	q := 100 * (v/base - 1)
	if !finite(q) {
		return nil
	}
	return &Cost{Percent: q}
}
