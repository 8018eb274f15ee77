package paper

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/analyze"
)

// Holds is whether what an article says about a system also holds on this machine.
type Holds string

const (
	HoldsHere    Holds = "holds here"
	HoldsNot     Holds = "does not hold here"
	CannotBeTold Holds = "cannot be told"
)

// Verdict is whether something holds here, and why that can be said, or why not.
type Verdict struct {
	Holds Holds
	Why   string
	By    string // the system of tare that shows it; "": none, or nothing is shown
}

func (v Verdict) String() string {
	text := string(v.Holds)
	if v.By != "" {
		text += " (by " + v.By + ")"
	}
	if v.Why == "" {
		return text
	}
	return text + ": " + v.Why
}

// reason is why something cannot be told, without what differs in each line.
func (v Verdict) reason() string {
	why, _, _ := strings.Cut(v.Why, ", at most")
	return why
}

// PageTable is a table of an article's page.
type PageTable struct {
	Name    string
	Heading []string
	Lines   []PageLine
	// Findings are what the runs found about the measured figures of the table.
	Findings []analyze.Finding
}

// PageLine is one figure: as printed, recomputed, and of this machine.
type PageLine struct {
	Labels     []string // the same number in every line of a table
	Cell       Cell     // Here and Now are nil without a run
	Recomputed string   // the change or ratio that the printed figures give; "": none is printed
	Wrong      bool     // a finding is about this figure
	Verdict    Verdict  // its Holds is "" if the figure has no cost, such as one of the baseline
}

// Page returns an article's tables for its page. runs may be nil: then nothing has been
// measured here.
func Page(a *Article, runs *Results) []PageTable {
	wrong := map[int]bool{}
	for _, f := range Audit(a).Findings {
		for _, r := range a.figures() {
			wrong[r.Line] = wrong[r.Line] || f.Line == r.Line
		}
	}
	u, p := &audit{Article: a}, page{a, runs}
	var tables []PageTable
	for name, rows := range a.byTable() {
		if runs != nil && !runs.Repetition.wanted(name) {
			continue
		}
		t := PageTable{Name: name}
		var labels []func(*Row) string
		t.Heading, labels = headings(rows)
		for _, group := range grouped(rows, sameGroup) {
			words := labelsOf(group[0], labels)
			for _, r := range group {
				c := p.cell(r)
				t.doubt(p.doubt(&c))
				t.Lines = append(t.Lines, PageLine{Labels: words, Recomputed: u.recomputed(r), Wrong: wrong[r.Line], Cell: c,
					Verdict: c.verdict()})
			}
			for _, c := range p.also(group[0]) {
				t.Lines = append(t.Lines, PageLine{Labels: words, Cell: c})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// page is an article and its runs, or nil.
type page struct {
	article *Article
	runs    *Results
}

// cell returns a figure beside this machine's.
func (p page) cell(r *Row) Cell {
	if p.runs != nil {
		return p.runs.Repetition.cell(r, p.runs.Repetition.guest(r.System), p.runs.measured)
	}
	printed := &Repetition{Article: p.article, Baseline: cmp.Or(p.article.recipe.baseline, r.Baseline)}
	return Cell{System: r.System, Printed: r.Printed, Unit: r.Unit, Then: printed.then(r)}
}

// doubt marks a cell as Results.doubt does.
func (p page) doubt(c *Cell) []analyze.Finding {
	if p.runs == nil {
		return nil
	}
	return p.runs.doubt(c)
}

// doubt adds findings about figures of the table.
func (t *PageTable) doubt(about []analyze.Finding) {
	for _, f := range about {
		if !slices.Contains(t.Findings, f) {
			t.Findings = append(t.Findings, f)
		}
	}
}

// also returns what the systems that only this machine has did in the line of r.
func (p page) also(r *Row) []Cell {
	if p.runs == nil {
		return nil
	}
	var cells []Cell
	for _, system := range p.runs.Repetition.Also {
		c := p.runs.Repetition.cell(r.only(), Guest{As: system}, p.runs.measured)
		if c.Here != nil || c.Now != nil {
			cells = append(cells, c)
		}
	}
	return cells
}

// only returns a row for a system that the article does not have.
func (r *Row) only() *Row {
	own := *r
	own.System, own.Printed, own.Values, own.Delta = "", "", nil, nil
	return &own
}

// recomputed returns the change or the ratio that a row's printed figures give.
func (u *audit) recomputed(r *Row) string {
	if r.Delta != nil {
		of, to := u.sidesOfChange(r)
		if of == nil || to == nil {
			return ""
		}
		if q, ok := quotient(of.number, to.number); ok {
			return signed(percent(q.mid), r.Delta.decimals()) + " %"
		}
		return ""
	}
	of, to, times := (*side)(nil), (*side)(nil), 1.
	resolution := r.resolution
	switch n, ok := r.value(); {
	case r.Ratio != nil:
		of, to, times = u.quotientOf(r)
		resolution = r.Ratio.Resolution
		if r.Ratio.Inverse {
			of, to = to, of
		}
	case ok && r.From != nil:
		if s := u.side(r, r.From); s != nil {
			return s.number.number()
		}
	case ok:
		of, to = u.index(r)
		times, resolution = 10, n.Resolution
	}
	if of == nil || to == nil {
		return ""
	}
	q, ok := quotient(of.number, to.number)
	if !ok {
		return ""
	}
	return strconv.FormatFloat(times*q.mid, 'f', Number{Resolution: resolution}.decimals(), 64)
}

func signed(v float64, places int) string {
	s := strconv.FormatFloat(v, 'f', places, 64)
	if v > 0 {
		s = "+" + s
	}
	return s
}

// smallest is the smallest cost that matters, in percent; it is that of campaigns, too.
const smallest = 2

// class is what a cost says: the verdict of an analysis or, for a printed one, its size.
func (c *Cost) class() analyze.Verdict {
	switch {
	case c.claim != "":
		return c.claim
	case c.Percent > smallest:
		return analyze.Costs
	case c.Percent < -smallest:
		return analyze.Gains
	}
	return analyze.None
}

// verdict compares what a system cost in the article with what it costs here. Only an
// interval of this machine's own tells, and only of a system that is not emulated.
func (c *Cell) verdict() Verdict {
	now := c.Now
	switch {
	case c.Then == nil:
		return Verdict{}
	case c.Emulated:
		return Verdict{Holds: CannotBeTold, Why: "it needs hardware virtualization, and " + c.As + " emulates the CPU"}
	case c.Here == nil && now == nil:
		why, _, _ := strings.Cut(cmp.Or(c.Why, "not measured here"), ": ")
		why, _, _ = strings.Cut(why, "; ")
		return Verdict{Holds: CannotBeTold, Why: why}
	case now == nil:
		return Verdict{Holds: CannotBeTold, Why: "nothing to compare it with"}
	case now.claim == "":
		return Verdict{Holds: CannotBeTold, Why: "single figures have no interval"}
	case now.claim == analyze.NotResolved:
		return Verdict{Holds: CannotBeTold, Why: now.Verdict}
	case now.claim != c.Then.class():
		return Verdict{HoldsNot, classWords[now.claim], c.As}
	}
	return Verdict{HoldsHere, now.beside(c.Then), c.As}
}

// classWords say what a system does here.
var classWords = map[analyze.Verdict]string{
	analyze.Costs: "it costs something here", analyze.Gains: "it gains something here",
	analyze.None: "it neither costs nor gains anything here",
}

// beside compares the size of a cost here with that of a printed one of the same class.
func (c *Cost) beside(printed *Cost) string {
	switch {
	case c.claim == analyze.None || printed.claim != "":
		return classWords[c.claim]
	case c.low <= printed.Percent && printed.Percent <= c.high:
		return "about as much"
	case (c.low > printed.Percent) == (c.claim == analyze.Costs):
		return "but more"
	}
	return "but less"
}

// PageClaim is what the article says in words about a system's cost, beside the cost here.
type PageClaim struct {
	Text, Where string
	Says        string // "slower", "faster than vmware", "no difference"
	Cell        Cell
	Verdict     Verdict
}

// PageClaims returns the article's claims that a repetition measures. runs may be nil.
func PageClaims(a *Article, runs *Results) []PageClaim {
	var list []PageClaim
	for _, m := range a.recipe.claims {
		c := PageClaim{Text: m.claim, Says: m.text(), Cell: Cell{
			System: m.system, Series: m.series, Metric: m.metric, Then: &Cost{claim: says[m.says]},
		}}
		if found := a.beginning(m.claim); len(found) > 0 {
			c.Text, c.Where = found[0].Text, found[0].Where
		}
		if runs != nil {
			c.Cell = runs.claimed(m, c.Cell)
		}
		c.Verdict = c.Cell.verdict()
		if runs != nil && m.direct() {
			runs.compare(m, &c)
		}
		list = append(list, c)
	}
	return list
}

// claimed adds to the cell of a claim what its measurement found.
func (p *Results) claimed(m measuredClaim, c Cell) Cell {
	g := p.Repetition.guest(m.system)
	if g.As == "" {
		c.Why = g.Why
		return c
	}
	st := p.measured(Key{Stage: m.stage, Series: m.series, Metric: m.metric, System: g.arm(), Scenario: m.scenario})
	c.As, c.Emulated, c.N, c.Now = g.As, st.Emulated, st.N, st.Cost
	if c.Now == nil {
		c.Why = orNothing(st.Why)
	}
	return c
}

// beginning returns the claims that begin with these words: one, as Parse has checked.
func (a *Article) beginning(words string) []Claim {
	return slices.DeleteFunc(slices.Clone(a.Claims), func(c Claim) bool { return !strings.HasPrefix(c.Text, words) })
}

// Tally counts the verdicts of a page, and the reasons of those that cannot be told.
type Tally struct {
	Count map[Holds]int
	// Untold are the reasons why something cannot be told, the most frequent first.
	Untold []Reason
}

// Reason is how often a page gives a reason.
type Reason struct {
	Why   string
	Count int
}

// TallyOf counts the verdicts of tables and claims.
func TallyOf(tables []PageTable, claims []PageClaim) Tally {
	t := Tally{Count: map[Holds]int{}}
	add := func(v Verdict) {
		if v.Holds == "" {
			return
		}
		if t.Count[v.Holds]++; v.Holds != CannotBeTold {
			return
		}
		why := v.reason()
		i := slices.IndexFunc(t.Untold, func(r Reason) bool { return r.Why == why })
		if i < 0 {
			i, t.Untold = len(t.Untold), append(t.Untold, Reason{Why: why})
		}
		t.Untold[i].Count++
	}
	for _, table := range tables {
		for _, l := range table.Lines {
			add(l.Verdict)
		}
	}
	for _, c := range claims {
		add(c.Verdict)
	}
	slices.SortStableFunc(t.Untold, func(a, b Reason) int { return cmp.Compare(b.Count, a.Count) })
	return t
}
