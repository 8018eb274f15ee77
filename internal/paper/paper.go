// Package paper contains published comparisons of virtualization systems as data, makes
// their tables, and checks their arithmetic: it recomputes the percentages and ratios that
// an article derived from its figures. It plans campaigns that measure them again, and
// shows their results beside the printed figures.
//
// docs/paper.md describes the format of the files. The package itself reads only the
// embedded files.
package paper

import (
	"cmp"
	"embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/nearest"
)

// Article is one published comparison.
type Article struct {
	Document Document
	Systems  []string // the compared systems, in the file's order
	Results  []Row
	Claims   []Claim
	// Units are the units of the article that tare does not know.
	Units []string
	// Story tells in a few sentences what the article did and found, and what the audit did.
	Story []string
	// Absent names the article's diagrams and tables without printed values.
	Absent []string
	// Tree is the whole file as JSON-ready values, including the facts about the host,
	// its software and the systems, which tare shows but does not interpret.
	Tree map[string]any

	recipe recipe // no figures: tare does not know how to repeat the article
}

// Document describes where an article comes from.
type Document struct {
	Name      string // short, for the command line
	Title     string
	Author    string
	Publisher string
	Language  string // ISO 639-1
	Date      string // YYYY, YYYY-MM or YYYY-MM-DD; "": the article has none
	DateNote  string // what else is known about the date
	URL       string
	// PublisherNote is what is known if there is no Publisher.
	PublisherNote string
}

// Year returns the year of publication; 0: the article has none.
func (d Document) Year() int {
	year := 0
	if len(d.Date) >= 4 {
		for _, c := range d.Date[:4] {
			year = year*10 + int(c-'0')
		}
	}
	return year
}

// Source returns where the article was published, as far as known.
func (d Document) Source() string {
	list := slices.DeleteFunc([]string{cmp.Or(d.Publisher, d.PublisherNote), d.URL},
		func(s string) bool { return s == "" })
	return cmp.Or(strings.Join(list, ", "), "not known")
}

// When returns when the article was published, as far as known.
func (d Document) When() string {
	switch {
	case d.Date != "":
		return d.Date
	case d.DateNote != "":
		return "undated (" + d.DateNote + ")"
	}
	return "undated"
}

// Row is one figure as an article prints it.
type Row struct {
	Table     string
	Workload  string
	Scenario  string
	System    string
	Statistic string // "single", "mean", "min" and others
	// Values are in Unit: none if the article prints no absolute figure, both ends if it
	// prints a range.
	Values  []Number
	Unit    string
	Better  string // "higher", "lower", or other words
	Printed string // as in the article
	Note    string
	Repeats int // 0: the article does not say

	Delta    *Figure // the printed change against Baseline, in percent
	Baseline string  // a system
	Ratio    *Figure // the printed ratio Of/To, multiplied by Times
	// Difference is the printed Of − To in Unit; of percentages, in percentage points.
	Difference *Figure
	Of, To     *Operand
	Times      float64 // 1 unless the file says otherwise
	// From are the rows that the row's own value combines: their mean, their sum. nil: the
	// value is raw.
	From *Operand

	SizeBytes float64 // data moved in the workload's time; 0: not given
	Depth     float64 // of the queue, in operations; 0: not given

	Line int // of the file, from 1

	resolution float64 // as the file says; 0: it does not
}

// value returns the row's single number, or false.
func (r *Row) value() (Number, bool) {
	if len(r.Values) != 1 {
		return Number{}, false
	}
	return r.Values[0], true
}

// figures returns pointers to the article's figures.
func (a *Article) figures() []*Row {
	rows := make([]*Row, len(a.Results))
	for i := range a.Results {
		rows[i] = &a.Results[i]
	}
	return rows
}

// Operand is one side of a ratio: rows of the article, or a number.
type Operand struct {
	Const *Number
	// Fields that select rows. An empty field has the value of the result that contains
	// the operand; in a claim, it matches any value. An empty Unit always matches any. A
	// system's name may be a prefix: "xen" also selects "xen-dom0".
	Table, Workload, Scenario, System, Statistic, Unit string
	// Take combines all rows that the operand selects: "mean", "median", "geomean", "sum",
	// "min", "max" or "range" (maximum − minimum). "": the operand selects one row.
	Take string
	// Over are the keys that may have any value in the rows that Take combines.
	Over []string
}

// Claim is a sentence of the article about its figures. The audit checks it if it has a
// figure or a ranking, and operands.
type Claim struct {
	Text  string
	Where string // in the article
	Value *Figure
	Unit  string // of Value
	Delta *Figure
	Ratio *Figure
	Of    *Operand // the audit checks every row that it matches
	To    *Operand // a key that it leaves out has the value of the checked row
	// Ranking are systems, the best first, in every line of a table that Of matches.
	Ranking []string
	// Holds is the number of rows for which the claim holds, and of how many it says so;
	// nil: it says so of all rows.
	Holds *Share
	Line  int

	printed string
}

// Share is a number of rows, and of how many: "3 of 4"; or more than half of them.
type Share struct {
	Count, Of int
	Most      bool
}

//go:embed data/*.yaml
var files embed.FS

// articles reads the embedded files. Tests check that they are valid.
var articles = sync.OnceValue(func() []*Article {
	entries, err := files.ReadDir("data")
	if err != nil {
		panic(err)
	}
	var list []*Article
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("data", e.Name()))
		if err != nil {
			panic(err)
		}
		a, err := Parse(e.Name(), text)
		if err != nil {
			panic(err)
		}
		list = append(list, a)
	}
	return list
})

// All returns the articles that come with tare, sorted by name. The caller must not
// change them.
func All() []*Article { return articles() }

// Get returns the article of that name, or the only one whose name begins with it.
// The error is of the kind fault.Campaign and names the candidates.
func Get(name string) (*Article, error) {
	var names []string
	for _, a := range All() {
		names = append(names, a.Document.Name)
	}
	i, err := choose(name, names)
	if err != nil {
		return nil, err
	}
	return All()[i], nil
}

// choose returns the index of the name that is word, or else of the only one that
// begins with word.
func choose(word string, names []string) (int, error) {
	if i := slices.Index(names, word); i >= 0 {
		return i, nil
	}
	found := -1
	var candidates []string
	for i, name := range names {
		if word != "" && strings.HasPrefix(name, word) {
			found, candidates = i, append(candidates, name)
		}
	}
	switch {
	case len(candidates) == 1:
		return found, nil
	case len(candidates) > 1:
		return -1, fault.Campaignf("%q is ambiguous: it begins the names of the articles %s", word,
			strings.Join(candidates, ", "))
	}
	err := fault.Campaignf("no article is named %q; the articles are %s", word, strings.Join(names, ", "))
	if near := nearest.Nearest(word, names); near != "" {
		return -1, fault.WithRemedy(err, "did you mean %s?", near)
	}
	return -1, err
}
