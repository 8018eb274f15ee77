package paper

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/strict"
)

// The keys of an article's file.

var (
	words     = strict.Verbatim("text", nil, nil, anyForm...)
	someWords = strict.Verbatim("text", nil, nonBlank, anyForm...)
	anyForm   = []strict.Form{strict.Text, strict.Block, strict.Integer, strict.Float, strict.Bool}

	positive = strict.Scalar("a number above 0", nil,
		func(s string) (float64, error) {
			n, ok := parseNumber(s)
			return n.Value, wrong(s, ok && n.Value > 0)
		},
		func(v float64) any { return v }, strict.Integer, strict.Float)

	numberKind = strict.Scalar("a plain number", nil,
		func(s string) (Number, error) {
			n, ok := parseNumber(s)
			return n, wrong(s, ok)
		}, nil, strict.Integer, strict.Float, strict.Text)

	// valuesKind is a number, or two for a range.
	valuesKind = strict.Then(strict.Shorthand(strict.List("numbers", 2, numberKind), numberKind,
		func(n Number) []Number { return []Number{n} }),
		func(r *strict.Reader, at strict.Node, v *[]Number) {
			if r.Has(at.Path()+"[0]") && len(*v) != 2 {
				r.FailAt(at, "a value must be a number, two for a range, or null; found a list of %d", len(*v))
			}
		})

	changeKind = figureKind(`a percentage, or a bound such as "<7", "~20" or "6..8"`, parseFigure)
	valueKind  = figureKind(`a number, or a bound such as ">=50", "~20" or "6..8"`, parseFigure)
	ratioKind  = figureKind(`a number, "1:5", "5:1", or a bound such as ">2" or "~10"`, parseRatio)

	shareKind = strict.OrNull(strict.Scalar(`a share of rows, such as "3 of 4", or "most"`, nil, func(s string) (*Share, error) {
		v := Share{Most: s == "most"}
		m := shareForm.FindStringSubmatch(s)
		if m != nil {
			v.Count, _ = strconv.Atoi(m[1])
			v.Of, _ = strconv.Atoi(m[2])
		}
		return &v, wrong(s, v.Most || m != nil && v.Count <= v.Of && v.Of > 0)
	}, nil, strict.Text))
	shareForm = regexp.MustCompile(`^([0-9]{1,4}) of ([0-9]{1,4})$`)
)

func figureKind(want string, parse func(string) (*Figure, bool)) strict.Kind[*Figure] {
	return strict.OrNull(strict.Scalar(want, nil, func(s string) (*Figure, error) {
		f, ok := parse(s)
		return f, wrong(s, ok)
	}, nil, strict.Text, strict.Integer, strict.Float))
}

// wrong is the error of a word that is not what it must be.
func wrong(s string, right bool) error {
	if right {
		return nil
	}
	return fmt.Errorf("%s is not one", strict.Quote(s))
}

func nonBlank(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("it is blank")
	}
	return nil
}

// matching is text of a certain form.
func matching(want string, form *regexp.Regexp) strict.Kind[string] {
	return strict.Verbatim(want, nil, func(s string) error { return wrong(s, form.MatchString(s)) }, strict.Text,
		strict.Integer)
}

// needs is a key with text that is not blank.
func needs[T any](name string, at func(*T) *string) strict.Key[T] {
	return strict.Required(strict.Field(name, "", someWords, at))
}

// may is a key with text that may be missing.
func may[T any](name string, at func(*T) *string) strict.Key[T] {
	return strict.Field(name, "", strict.OrNull(words), at)
}

// fact is a key that tare shows but does not interpret.
func fact[T any](name string) strict.Key[T] {
	return strict.Field(name, "", strict.Any, func(*T) *any { return new(any) })
}

var documentKind = strict.Object("a document", []strict.Key[Document]{
	strict.Required(strict.Field("short_name", "",
		matching("a name of lower-case letters, digits, - and .", regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,63}$`)),
		func(d *Document) *string { return &d.Name })),
	needs("title", func(d *Document) *string { return &d.Title }),
	may("author", func(d *Document) *string { return &d.Author }),
	may("publisher", func(d *Document) *string { return &d.Publisher }),
	may("publisher_note", func(d *Document) *string { return &d.PublisherNote }),
	may("language", func(d *Document) *string { return &d.Language }),
	strict.Field("date", "",
		strict.OrNull(matching("YYYY, YYYY-MM or YYYY-MM-DD", regexp.MustCompile(`^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$`))),
		func(d *Document) *string { return &d.Date }),
	may("date_note", func(d *Document) *string { return &d.DateNote }),
	may("url", func(d *Document) *string { return &d.URL }),
	fact[Document]("url_note"), fact[Document]("original_url"), fact[Document]("page_saved"), fact[Document]("seed"),
})

// operandKind is a number, or words that select rows.
var operandKind = strict.Shorthand(strict.Object("an operand", []strict.Key[Operand]{
	may("table", func(o *Operand) *string { return &o.Table }),
	may("workload", func(o *Operand) *string { return &o.Workload }),
	may("scenario", func(o *Operand) *string { return &o.Scenario }),
	may("system", func(o *Operand) *string { return &o.System }),
	may("statistic", func(o *Operand) *string { return &o.Statistic }),
	may("unit", func(o *Operand) *string { return &o.Unit }),
	strict.Field("take", "", strict.OrNull(strict.OneOf("mean", "median", "geomean", "sum", "min", "max", "range")),
		func(o *Operand) *string { return &o.Take }),
	strict.Field("over", "", strict.OrNull(strict.List("keys", 6,
		strict.OneOf("table", "workload", "scenario", "system", "statistic", "unit"))),
		func(o *Operand) *[]string { return &o.Over }),
}), positive, func(v float64) Operand { return Operand{Const: &Number{Value: v}} })

// operand is a key with one side of a ratio; its absence leaves nil.
func operand[T any](name string, at func(*T) **Operand) strict.Key[T] {
	return strict.Field(name, "",
		strict.OrNull(strict.Kind[*Operand]{Read: func(r *strict.Reader, n strict.Node) (*Operand, bool) {
			o, ok := operandKind.Read(r, n)
			return &o, ok
		}}), at)
}

var rowKind = strict.Then(strict.Object("a result", []strict.Key[Row]{
	needs("table", func(r *Row) *string { return &r.Table }),
	needs("workload", func(r *Row) *string { return &r.Workload }),
	needs("scenario", func(r *Row) *string { return &r.Scenario }),
	needs("system", func(r *Row) *string { return &r.System }),
	needs("statistic", func(r *Row) *string { return &r.Statistic }),
	strict.Required(strict.Field("value", "", strict.OrNull(valuesKind), func(r *Row) *[]Number { return &r.Values })),
	needs("unit", func(r *Row) *string { return &r.Unit }),
	may("better", func(r *Row) *string { return &r.Better }),
	needs("printed", func(r *Row) *string { return &r.Printed }),
	may("note", func(r *Row) *string { return &r.Note }),
	strict.Field("repeats", "", strict.OrNull(strict.Whole[int](1, 1e9)), func(r *Row) *int { return &r.Repeats }),
	strict.Field("printed_delta_pct", "", changeKind, func(r *Row) **Figure { return &r.Delta }),
	may("baseline", func(r *Row) *string { return &r.Baseline }),
	strict.Field("printed_ratio", "", ratioKind, func(r *Row) **Figure { return &r.Ratio }),
	strict.Field("printed_difference", "", valueKind, func(r *Row) **Figure { return &r.Difference }),
	operand("of", func(r *Row) **Operand { return &r.Of }),
	operand("to", func(r *Row) **Operand { return &r.To }),
	operand("from", func(r *Row) **Operand { return &r.From }),
	strict.FieldOr("times", "", positive, func(r *Row) *float64 { return &r.Times }, 1),
	strict.Field("resolution", "", strict.OrNull(positive), func(r *Row) *float64 { return &r.resolution }),
	strict.Field("size_bytes", "", strict.OrNull(positive), func(r *Row) *float64 { return &r.SizeBytes }),
	strict.Field("depth", "", strict.OrNull(positive), func(r *Row) *float64 { return &r.Depth }),
}), func(r *strict.Reader, at strict.Node, row *Row) {
	row.Line = r.Line(at.Path())
	if row.From != nil && (row.From.Take == "" || len(row.Values) != 1) {
		r.Fail(at.Path()+".from",
			`from needs a single value, and the key "take": how that combines the other rows, such as mean or sum`)
	}
	for i := range row.Values {
		v := &row.Values[i]
		if printed, ok := inText(row.Printed, v.Value); ok {
			v.Resolution = printed
		}
		v.Resolution = cmp.Or(row.resolution, v.Resolution)
	}
	resolve(row.Printed, row.Delta, row.Ratio)
	if row.Delta != nil && row.Baseline == "" && row.To == nil {
		r.Fail(at.Path()+".printed_delta_pct", "a printed change needs a baseline: the system that it refers to")
	}
	if row.Difference != nil {
		if row.Of == nil || row.To == nil {
			r.Fail(at.Path()+".printed_difference", "a printed difference needs the keys of and to: the two figures")
		}
		if resolution, ok := inText(row.Printed, row.Difference.Value); ok {
			row.Difference.Resolution = resolution
		}
	}
})

// resolve takes the resolutions of a change and a ratio from the article's own words,
// if they are there: YAML drops trailing zeros.
func resolve(printed string, change, ratio *Figure) {
	if change != nil {
		if resolution, ok := percentInText(printed, change.Value); ok {
			change.Resolution = resolution
		}
	}
	if ratio != nil && !ratio.Inverse {
		if resolution, ok := inText(printed, ratio.Value); ok {
			ratio.Resolution = min(ratio.Resolution, resolution)
		}
	}
}

var claimKind = strict.Then(strict.Object("a claim", []strict.Key[Claim]{
	needs("claim", func(c *Claim) *string { return &c.Text }),
	may("where", func(c *Claim) *string { return &c.Where }),
	fact[Claim]("note"),
	may("printed", func(c *Claim) *string { return &c.printed }),
	strict.Field("printed_delta_pct", "", changeKind, func(c *Claim) **Figure { return &c.Delta }),
	strict.Field("printed_ratio", "", ratioKind, func(c *Claim) **Figure { return &c.Ratio }),
	strict.Field("printed_value", "", valueKind, func(c *Claim) **Figure { return &c.Value }),
	may("unit", func(c *Claim) *string { return &c.Unit }),
	strict.Field("ranking", "", strict.OrNull(strict.List("systems", 100, someWords)),
		func(c *Claim) *[]string { return &c.Ranking }),
	strict.Field("holds_for", "", shareKind, func(c *Claim) **Share { return &c.Holds }),
	operand("of", func(c *Claim) **Operand { return &c.Of }),
	operand("to", func(c *Claim) **Operand { return &c.To }),
}), func(r *strict.Reader, at strict.Node, c *Claim) {
	c.Line = r.Line(at.Path())
	resolve(c.printed, c.Delta, c.Ratio)
	kinds := 0
	for _, has := range []bool{c.Value != nil, c.Delta != nil, c.Ratio != nil, len(c.Ranking) > 0} {
		if has {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		r.FailAt(at,
			"a claim has one of printed_value, printed_delta_pct, printed_ratio and ranking; write another claim for the other")
	case (c.Value != nil) != (c.Unit != ""):
		r.FailAt(at, "printed_value and unit belong together")
	case len(c.Ranking) == 1:
		r.Fail(at.Path()+".ranking", "a ranking needs two systems or more")
	case len(c.Ranking) > 0 && c.Of == nil:
		r.FailAt(at, "a ranking needs the key of: the rows whose systems it ranks")
	}
})

const maxRows = 10_000

var articleKind = strict.Object("an article", []strict.Key[Article]{
	strict.Required(strict.Field("document", "", documentKind, func(a *Article) *Document { return &a.Document })),
	fact[Article]("host"), fact[Article]("software"),
	strict.Required(strict.Field("systems", "", strict.Keys("systems"), func(a *Article) *[]string { return &a.Systems })),
	strict.Required(strict.Field("results", "", strict.List("results", maxRows, rowKind),
		func(a *Article) *[]Row { return &a.Results })),
	strict.Field("claims", "", strict.OrNull(strict.List("claims", maxRows, claimKind)),
		func(a *Article) *[]Claim { return &a.Claims }),
	strict.Field("figures_without_values", "", strict.OrNull(strict.List("figures", maxRows, words)),
		func(a *Article) *[]string { return &a.Absent }),
	strict.Field("story", "", strict.OrNull(strict.List("sentences", 12, someWords)),
		func(a *Article) *[]string { return &a.Story }),
	strict.Field("units", "", strict.OrNull(strict.List("units", maxRows, someWords)),
		func(a *Article) *[]string { return &a.Units }),
	fact[Article]("vcpus_note"), fact[Article]("note"),
	strict.Field("repetition", "", recipeKind, func(a *Article) *recipe { return &a.recipe }),
})

// fileKind is an article with the whole of its file as a tree.
var fileKind = strict.Kind[Article]{
	Schema: articleKind.Schema,
	Read: func(r *strict.Reader, at strict.Node) (Article, bool) {
		a, ok := articleKind.Read(r, at)
		if tree, _ := strict.Any.Read(r, at); ok {
			a.Tree, ok = tree.(map[string]any)
			delete(a.Tree, "repetition") // it is not of the article
		}
		return a, ok
	},
}

// Parse reads an article's data file. name is the file's name for messages. An error
// is of the kind fault.Campaign and wraps strict.Errors.
func Parse(name string, text []byte) (*Article, error) {
	a, r, ok := strict.Read(name, text, fileKind)
	if ok && r.Sound() {
		check(r, &a)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &a, nil
}

func index(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// check checks what refers to other parts of the file.
func check(r *strict.Reader, a *Article) {
	for i := range a.Results {
		row, path := &a.Results[i], index("results", i)
		checkSystem(r, path+".system", row.System, a.Systems, "all", "each")
		a.checkUnit(r, path+".unit", row.Unit)
		if row.Baseline != "" {
			checkSystem(r, path+".baseline", row.Baseline, a.Systems)
		}
	}
	for i, c := range a.Claims {
		path := index("claims", i)
		if c.Unit != "" {
			a.checkUnit(r, path+".unit", c.Unit)
		}
		for _, system := range c.Ranking {
			checkSystem(r, path+".ranking", system, a.Systems)
		}
	}
	if r.Sound() {
		for i := range a.Results {
			row, path := &a.Results[i], index("results", i)
			a.checkOperand(r, path+".of", row, row.Of)
			a.checkOperand(r, path+".to", row, row.To)
			a.checkOperand(r, path+".from", row, row.From)
		}
		for i := range a.Claims {
			a.checkClaim(r, index("claims", i), &a.Claims[i])
		}
	}
	a.checkRecipe(r)
}

// checkUnit checks that a unit is one that tare or the file knows: a figure of an unknown
// unit would escape the audit.
func (a *Article) checkUnit(r *strict.Reader, path, unit string) {
	if _, ok := a.measure(unit); !ok {
		bare, _ := splitUnit(unit)
		r.FailWord(path, bare, knownUnits(), "the unit %s is not known; if it is right, list it below the key units",
			strict.Quote(bare))
	}
}

// checkSystem checks a system's name: a key of systems, a common prefix of several
// ("xen" of "xen-1/1"), or one of some words.
func checkSystem(r *strict.Reader, path, name string, systems []string, or ...string) {
	first, _, _ := strings.Cut(name, " ")
	if !slices.Contains(or, first) && !slices.ContainsFunc(systems, func(s string) bool { return within(s, name) }) {
		r.FailWord(path, name, systems, "systems has no %s", strict.Quote(name))
	}
}

// within reports whether a system has that name or belongs to the family of that name.
func within(system, name string) bool {
	rest, ok := strings.CutPrefix(system, name)
	return ok && (rest == "" || name != "" && strings.ContainsRune("-_/.", rune(rest[0])))
}

// checkOperand checks that the operand of a result selects one row, or rows that it
// combines.
func (a *Article) checkOperand(r *strict.Reader, path string, own *Row, o *Operand) {
	if o == nil || o.Const != nil {
		return
	}
	a.checkFound(r, path, own, o, a.rows(own, o))
}

// checkFound checks that an operand found one row, or rows that it combines.
func (a *Article) checkFound(r *strict.Reader, path string, own *Row, o *Operand, found []*Row) bool {
	key := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case len(found) == 0:
		r.Fail(path, "%s: %s", key, a.missing(own, o))
	case len(found) > 1 && o.Take == "":
		r.Fail(path, "%s: %d rows match, for example in lines %d and %d; add keys that select one", key, len(found),
			found[0].Line, found[1].Line)
	default:
		return true
	}
	return false
}

// checkClaim checks that of selects rows, and to one row for each of them.
func (a *Article) checkClaim(r *strict.Reader, path string, c *Claim) {
	if c.Of == nil {
		return
	}
	if c.Of.Const == nil && len(c.Ranking) == 0 && len(a.rows(nil, c.Of)) == 0 {
		r.Fail(path+".of", "of: %s", a.missing(nil, c.Of))
		return
	}
	if c.To == nil || c.To.Const != nil {
		return
	}
	for _, s := range a.claimed(c) {
		if !a.checkFound(r, path+".to", s.row, c.To, a.against(s.row, c.To)) {
			return
		}
	}
}
