// Package paper holds published comparisons of virtualization systems as data,
// lays out their tables, and checks their arithmetic: it recomputes what an
// article derived, percentages and ratios, from the figures that it printed.
//
// docs/paper.md describes the files, so that anybody can write one for another
// article. The package reads no files itself.
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

// Article is one published comparison: its figures, and what they describe.
type Article struct {
	Document Document
	Systems  []string // what was compared, in the file's order
	Results  []Row
	Claims   []Claim
	// Absent names the article's figures and tables whose values it does not print.
	Absent []string
	// Tree is the whole file as JSON-ready values, with the facts about the
	// host, its software and the systems, which tare shows and does not interpret.
	Tree map[string]any
}

// Document says where an article comes from.
type Document struct {
	Name      string // short, for the command line
	Title     string
	Author    string
	Publisher string
	Language  string // ISO 639-1
	Date      string // YYYY, YYYY-MM or YYYY-MM-DD; "" where the article has none
	DateNote  string // what is known of the date otherwise
	URL       string
	// PublisherNote is what is known where there is no Publisher.
	PublisherNote string
}

// Year is the year of publication, 0 where the article has none.
func (d Document) Year() int {
	year := 0
	if len(d.Date) >= 4 {
		for _, c := range d.Date[:4] {
			year = year*10 + int(c-'0')
		}
	}
	return year
}

// Source is where the article was published, as far as it is known.
func (d Document) Source() string {
	list := slices.DeleteFunc([]string{cmp.Or(d.Publisher, d.PublisherNote), d.URL}, func(s string) bool { return s == "" })
	return cmp.Or(strings.Join(list, ", "), "not known")
}

// Row is one figure as an article prints it.
type Row struct {
	Table     string
	Workload  string
	Scenario  string
	System    string
	Statistic string // "single", "mean", "min" and others
	// Values is empty where the article prints no absolute figure, and has the
	// two ends where it prints a range. They are in Unit.
	Values  []Number
	Unit    string
	Better  string // "higher", "lower", or what the article wants
	Printed string // word for word
	Note    string
	Repeats int // 0 where the article does not say

	Delta    *Figure // the printed change against Baseline, in percent
	Baseline string  // a system
	Ratio    *Figure // the printed ratio Of/To, multiplied by Times
	Of, To   *Operand
	Times    float64 // 1 unless the file says otherwise

	SizeBytes float64 // moved in the time of this workload; 0: not given
	Depth     float64 // of the queue, in operations; 0: not given

	Line int // of the file, from 1
}

// value is the row's single number, or false.
func (r *Row) value() (Number, bool) {
	if len(r.Values) != 1 {
		return Number{}, false
	}
	return r.Values[0], true
}

// figures are pointers to the article's figures.
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
	// Of the row wanted. An empty field of a result's operand is that result's
	// own, of a claim's operand it is any; Unit is any where it is empty. A
	// system is also the beginning of its name: "xen" is "xen-dom0", too.
	Table, Workload, Scenario, System, Statistic, Unit string
}

// Claim is a sentence of the article about its figures. It is checked when it
// has a figure and operands.
type Claim struct {
	Text  string
	Where string // in the article
	Delta *Figure
	Ratio *Figure
	Of    *Operand // every row that it matches is checked
	To    *Operand
	Line  int
}

//go:embed data/*.yaml
var files embed.FS

// articles reads the embedded files; that they are right is tested.
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

// All returns the articles that come with tare, by name. The caller must not
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
		return -1, fault.Campaignf("%q is ambiguous: it begins the names of the articles %s", word, strings.Join(candidates, ", "))
	}
	err := fault.Campaignf("no article is named %q; the articles are %s", word, strings.Join(names, ", "))
	if near := nearest.Nearest(word, names); near != "" {
		return -1, fault.WithRemedy(err, "did you mean %s?", near)
	}
	return -1, err
}
