package paper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A slip that is planted into a copy of an article. Slips are planted only where the
// article prints something that contradicts them: nobody can find a wrong number that
// nothing else depends on. Raw numbers change by at least 1 %, since smaller slips hide
// in the rounding of the changes beside them.
type planted struct {
	what  string // for messages
	lines []int  // of the rows or the claim that are wrong
}

// kinds of slips, each of which plants one in a. ok is false if it found no place.
var plantings = []struct {
	name  string
	plant func(rng *rand.Rand, a *Article) (planted, bool)
}{
	{"digit swap", plantDigits},
	{"unit swap", plantUnit},
	{"wrong ratio", plantRatio},
	{"wrong average", plantAverage},
	{"wrong ranking", plantRanking},
}

// TestPlantedSlips plants 100 slips, one at a time, in copies of the five articles. The
// seeds are fixed. A finding is false if the slip's row has no part in it and the
// article as published does not have it.
func TestPlantedSlips(t *testing.T) {
	const slips = 100
	before := map[string]map[string]bool{} // findings in the article as published
	for _, a := range All() {
		known := map[string]bool{}
		for _, f := range Audit(a).Findings {
			known[findingKey(f)] = true
		}
		before[a.Document.Name] = known
	}
	found, wrong := map[string]int{}, 0
	for seed := range uint64(slips) {
		rng := rand.New(rand.NewPCG(seed, 20))
		kind := plantings[seed%uint64(len(plantings))]
		a, p := plantSomewhere(t, rng, kind.plant)
		hit, findings := false, Audit(a).Findings
		if _, err := json.Marshal(findings); err != nil {
			t.Error(err)
		}
		for _, f := range findings {
			switch {
			case before[a.Document.Name][findingKey(f)]:
			case slices.ContainsFunc(p.lines, func(line int) bool { return f.Line == line || slices.Contains(f.uses, line) }):
				hit = true
			default:
				wrong++
				t.Logf("seed %d, %s in %s: %s: false: %+v", seed, kind.name, a.Document.Name, p.what, f)
			}
		}
		if hit {
			found[kind.name]++
		} else {
			t.Logf("seed %d, %s in %s:%d: %s: missed", seed, kind.name, a.Document.Name, p.lines[0], p.what)
		}
	}
	total := 0
	for _, n := range found {
		total += n
	}
	if t.Logf("%d of %d found: %v; %d false", total, slips, found, wrong); total < 95 || wrong > 1 {
		t.Errorf("%d of %d slips found, %d false findings; want at least 95 and at most 1", total, slips, wrong)
	}
}

func findingKey(f Finding) string {
	return fmt.Sprint(f.Line, f.Check, f.Row, f.PrintedText, f.Recomputed)
}

// plantSomewhere plants a slip in a copy of one of the articles.
func plantSomewhere(
	t *testing.T, rng *rand.Rand, plant func(*rand.Rand, *Article) (planted, bool),
) (*Article, planted) {
	t.Helper()
	for range 1000 {
		a := copyOf(All()[rng.IntN(len(All()))])
		if p, ok := plant(rng, a); ok {
			return a, p
		}
	}
	t.Fatal("no place for the slip")
	return nil, planted{}
}

// copyOf returns a copy of an article whose figures and claims can be changed.
func copyOf(a *Article) *Article {
	c := *a
	c.Results, c.Claims = slices.Clone(a.Results), slices.Clone(a.Claims)
	own := func(f **Figure) {
		if *f != nil {
			copied := **f
			*f = &copied
		}
	}
	for i := range c.Results {
		r := &c.Results[i]
		r.Values = slices.Clone(r.Values)
		own(&r.Delta)
		own(&r.Ratio)
	}
	return &c
}

// constrained returns the rows whose single value the article compares with another
// that it prints: those of printed changes and their baselines, and those of a time and
// a rate of one file. Rows that have a finding as published are left out.
func constrained(a *Article) []*Row {
	wrong := wrongAsPublished()[a.Document.Name]
	var list []*Row
	for _, r := range a.figures() {
		if _, ok := r.value(); !ok || wrong[r.Line] {
			continue
		}
		if slices.ContainsFunc(a.figures(), func(o *Row) bool {
			alike := o.Table == r.Table && o.Scenario == r.Scenario && len(o.Values) == 1
			changed := o.Delta != nil && o.Unit == r.Unit && o.Statistic == r.Statistic && (o == r || o.Baseline == r.System)
			parts := o.Ratio != nil && strings.HasPrefix(o.Statistic, "ratio") && strings.HasPrefix(r.Statistic, "mean")
			return alike && (changed || parts)
		}) || r.Ratio != nil {
			list = append(list, r)
		}
	}
	return list
}

// wrongAsPublished are the lines of the rows that have a finding before anything is
// planted, by article. Wrong labels do not count: their figures are right.
var wrongAsPublished = sync.OnceValue(func() map[string]map[int]bool {
	all := map[string]map[int]bool{}
	for _, a := range All() {
		wrong := map[int]bool{}
		for _, f := range Audit(a).Findings {
			for _, line := range append(f.uses, f.Line) {
				wrong[line] = wrong[line] || f.Check != "label"
			}
		}
		all[a.Document.Name] = wrong
	}
	return all
})

// reprint changes a row's value, in the article's words as well.
func reprint(r *Row, old, now Number) {
	text := strings.NewReplacer(old.number(), now.number(), strings.ReplaceAll(old.number(), ".", ","),
		now.number()).Replace(r.Printed)
	if text == r.Printed { // minutes and seconds
		bare, _ := splitUnit(r.Unit)
		text = now.number() + " " + bare
	}
	r.Printed, r.Values = text, []Number{now}
	if r.Ratio != nil {
		r.Ratio.Number, r.Ratio.Text = now, now.number()
	}
}

// reprintChange changes a row's printed change, in the article's words as well.
func reprintChange(r *Row, now *Figure) {
	r.Printed = share.ReplaceAllString(r.Printed, strings.TrimLeft(now.Text, "+-")+" %")
	r.Delta = now
}

// plantDigits swaps two neighbouring digits of a raw or a derived number.
func plantDigits(rng *rand.Rand, a *Article) (planted, bool) {
	rows := constrained(a)
	if len(rows) == 0 {
		return planted{}, false
	}
	r := rows[rng.IntN(len(rows))]
	number, least := r.Values[0], 0.01*math.Abs(r.Values[0].Value)
	change := r.Delta != nil && rng.IntN(2) == 0
	if change {
		number, least = r.Delta.Number, 1.5*r.Delta.Resolution
	}
	text := []byte(number.number())
	i := rng.IntN(len(text))
	j := i + 1
	if j < len(text) && text[j] == '.' {
		j++
	}
	if j >= len(text) || !digit(text[i]) || !digit(text[j]) || text[i] == text[j] {
		return planted{}, false
	}
	text[i], text[j] = text[j], text[i]
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.Abs(v-number.Value) < least {
		return planted{}, false
	}
	p := planted{fmt.Sprintf("%s for %s", text, number.number()), []int{r.Line}}
	if change {
		reprintChange(r, &Figure{Number: Number{v, number.Resolution}, Text: string(text)})
	} else {
		reprint(r, number, Number{v, number.Resolution})
	}
	return p, true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// units that are taken for each other.
var confused = map[string][]string{
	"s": {"ms"}, "us": {"ms", "ns"}, "MB/s": {"kB/s", "Mbit/s"}, "MiB/s": {"KiB/s", "GiB/s"}, "KB/s": {"MB/s"},
	"K/s":    {"MB/s"},
	"Mbit/s": {"kbit/s", "MB/s"}, "10^6 bit/s": {"kbit/s"},
}

// plantUnit gives a figure another unit: the article labels it so, or prints it so.
func plantUnit(rng *rand.Rand, a *Article) (planted, bool) {
	r := &a.Results[rng.IntN(len(a.Results))]
	bare, remark := splitUnit(r.Unit)
	others := confused[bare]
	// Another system in the same line shows the right unit.
	beside := slices.ContainsFunc(a.figures(), func(o *Row) bool {
		return o != r && sameGroup(o, r) && o.System != r.System && len(o.Values) == 1
	})
	if len(r.Values) != 1 || len(others) == 0 || !beside {
		return planted{}, false
	}
	other := others[rng.IntN(len(others))]
	p := planted{fmt.Sprintf("%s labelled %s", r.Unit, other), []int{r.Line}}
	printed := strings.Contains(r.Printed, r.Values[0].number()+bare) ||
		strings.Contains(strings.ReplaceAll(r.Printed, ",", "."), r.Values[0].number()+" "+bare)
	if printed && rng.IntN(2) == 0 {
		r.Printed = r.Values[0].number() + " " + other
		return p, true
	}
	r.Printed = r.Values[0].number()
	if r.Unit = other; remark != "" {
		r.Unit += " (" + remark + ")"
	}
	return p, true
}

// plantRatio replaces a printed change or ratio by the result of a wrong calculation.
func plantRatio(rng *rand.Rand, a *Article) (planted, bool) {
	var rows []*Row
	for _, r := range constrained(a) {
		if r.Delta != nil && r.Delta.Bound == "" || r.Ratio != nil && r.Ratio.Bound == "" {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return planted{}, false
	}
	r := rows[rng.IntN(len(rows))]
	if r.Delta == nil {
		wrong := []float64{1 / r.Ratio.Value, 2 * r.Ratio.Value, r.Ratio.Value - 1}[rng.IntN(3)]
		now := rounded2(wrong, r.Ratio.Resolution)
		p := planted{fmt.Sprintf("ratio %s for %s", now.number(), r.Ratio.Text), []int{r.Line}}
		reprint(r, r.Values[0], now)
		return p, true
	}
	q := 1 + r.Delta.Value/100
	wrong := []float64{percent(1 / q), -percent(1 / q), -r.Delta.Value, 100 * q, 10 * r.Delta.Value}[rng.IntN(5)]
	now := rounded2(wrong, r.Delta.Resolution)
	if math.Abs(now.Value-r.Delta.Value) < 1.5*r.Delta.Resolution {
		return planted{}, false
	}
	p := planted{fmt.Sprintf("change %s for %s", now.number(), r.Delta.Text), []int{r.Line}}
	reprintChange(r, &Figure{Number: now, Text: now.number()})
	return p, true
}

func rounded2(v, resolution float64) Number {
	return Number{math.Round(v/resolution) * resolution, resolution}
}

// plantAverage replaces a mean by one that was calculated wrongly, where a minimum and a
// maximum or a change depend on it.
func plantAverage(rng *rand.Rand, a *Article) (planted, bool) {
	r := &a.Results[rng.IntN(len(a.Results))]
	find := func(statistic string) *Row {
		for _, o := range a.figures() {
			if o.Table == r.Table && o.Workload == r.Workload && o.Scenario == r.Scenario && o.System == r.System &&
				o.Unit == r.Unit &&
				o.Statistic == statistic && len(o.Values) == 1 {
				return o
			}
		}
		return nil
	}
	least, most := find("min"), find("max")
	if r.Statistic != "mean" || len(r.Values) != 1 || least == nil || most == nil {
		return planted{}, false
	}
	old := r.Values[0]
	n := cmp.Or(float64(r.Repeats), 7)
	wrong := []float64{
		old.Value * n / (n - 1), old.Value * n / (n + 1), old.Value * n, // divided by the wrong number, or not at all
		(least.Values[0].Value + most.Values[0].Value) / 2, // the middle, not the mean
		math.Sqrt(least.Values[0].Value * old.Value),
	}[rng.IntN(5)]
	now := rounded2(wrong, old.Resolution)
	if math.Abs(now.Value-old.Value) < 0.01*old.Value {
		return planted{}, false
	}
	p := planted{fmt.Sprintf("mean %s for %s", now.number(), old.number()), []int{r.Line}}
	reprint(r, old, now)
	return p, true
}

// plantRanking exchanges the figures of two systems whose changes the article prints, or
// states the ranking of a line with two systems exchanged.
func plantRanking(rng *rand.Rand, a *Article) (planted, bool) {
	r := &a.Results[rng.IntN(len(a.Results))]
	var line []*Row
	for _, o := range a.figures() {
		if _, ok := o.value(); ok && sameGroup(o, r) && (o.Better == "lower" || o.Better == "higher") &&
			!slices.ContainsFunc(line,
				func(l *Row) bool { return math.Abs(l.Values[0].Value-o.Values[0].Value) < 0.01*o.Values[0].Value }) {
			line = append(line, o)
		}
	}
	if len(line) < 2 {
		return planted{}, false
	}
	i := rng.IntN(len(line) - 1)
	x, y := line[i], line[i+1]
	wrong := planted{fmt.Sprintf("%s %s and %s exchanged", r.Table, x.System, y.System), []int{x.Line, y.Line}}
	if y.Delta != nil && rng.IntN(2) == 0 {
		was, is := x.Values[0], y.Values[0]
		reprint(x, was, is)
		reprint(y, is, was)
		return wrong, true
	}
	return plantClaim(a, line, i)
}

// plantClaim states the ranking of a line of a table with two neighbours exchanged.
func plantClaim(a *Article, line []*Row, i int) (planted, bool) {
	r := line[0]
	slices.SortFunc(line, func(x, y *Row) int {
		if r.Better == "higher" {
			x, y = y, x
		}
		return cmp.Compare(x.Values[0].Value, y.Values[0].Value)
	})
	line[i], line[i+1] = line[i+1], line[i]
	c := Claim{Text: "planted", Line: 1_000_000, Of: &Operand{
		Table: r.Table, Workload: r.Workload, Scenario: r.Scenario, Statistic: r.Statistic, Unit: r.Unit,
	}}
	for _, l := range line {
		c.Ranking = append(c.Ranking, l.System)
	}
	a.Claims = append(a.Claims, c)
	return planted{fmt.Sprintf("%s: ranking %v", r.Table, c.Ranking), []int{c.Line}}, true
}
