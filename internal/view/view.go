// Package view is what tare shows, as data: sections of tables, lists, notes, findings and plots. Each room that knows
// results turns them into sections once. The renderers here (terminal, HTML, Markdown, CSV, JSON) know no statistics:
// whatever a part says, each of them shows.
//
//	Section ── Table ── Column, Row ── Cell ── Figure (number, interval), Class (colour), Mark (sign)
//	        ├─ List, Facts, Note, Warning, Alerts
//	        ├─ Plot (Forest, Bars, Curves, Strips, Shares)
//	        └─ Section
//
// Texts may contain anything, as they come from guests and files: the renderers make them harmless.
package view

import (
	"encoding/json"
	"reflect"
)

// Part is something that a section shows: *Section, *Table, *List, *Bullets, *Facts, *Alerts, *Plot, Para, Note or
// Warning.
type Part interface {
	// kind names it in JSON.
	kind() string
	// empty reports whether there is nothing to show.
	empty() bool
}

// Section is parts under a title.
type Section struct {
	ID    string `json:"id,omitempty"` // where links on a page lead
	Title string `json:"title,omitempty"`
	// Lead introduces the section in a terminal, which shows no titles but those of tables; "": nothing does.
	Lead  string `json:"lead,omitempty"`
	About string `json:"about,omitempty"` // sentences below the title
	// Aside follows the titles of tables in a terminal, as in "openssl: time, lower is better; each trial: 32 MiB".
	Aside  string `json:"aside,omitempty"`
	Prefix bool   `json:"-"` // in a terminal, its title precedes those of its tables
	Fold   string `json:"-"` // pages fold the section below these words; "": they do not
	Detail bool   `json:"-"` // terminals show it with Options.All only
	Beside bool   `json:"-"` // pages show its parts beside each other, if there is room
	Parts  []Part `json:"parts,omitempty"`
}

// Add appends parts that are not empty.
func (s *Section) Add(parts ...Part) {
	for _, p := range parts {
		if p != nil && !(reflect.ValueOf(p).Kind() == reflect.Pointer && reflect.ValueOf(p).IsNil()) && !p.empty() {
			s.Parts = append(s.Parts, p)
		}
	}
}

// Table is rows of cells. Columns without any text are left out, but for the first one, which names the rows.
type Table struct {
	Name  string `json:"name"` // names the table in exports, and heads the first column in a terminal
	Title string `json:"title,omitempty"`
	// Caption says for screen readers what the table has.
	Caption string   `json:"-"`
	Legend  string   `json:"legend,omitempty"` // explains the headings
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Notes   []Note   `json:"notes,omitempty"`
	// Fold is as that of a section.
	Fold   string `json:"-"`
	Detail bool   `json:"-"` // terminals show it with Options.All only
	// Repeats: its figures are those of other tables, so only pages and Markdown show it.
	Repeats bool `json:"-"`
	// Across is the column, 1 or 2, whose values head columns of their own on a page, with the other columns of a row in
	// one cell; 0: none.
	Across   int  `json:"-"`
	Once     bool `json:"-"` // a name is printed only in the first of successive rows with it
	Sortable bool `json:"-"` // pages can sort it
}

// Column is a column of a table.
type Column struct {
	Head   string `json:"head"`
	Right  bool   `json:"-"` // aligned to the right
	Words  bool   `json:"-"` // its words may wrap
	Detail bool   `json:"-"` // terminals show it with Options.All only
	// Drop says when a narrow terminal leaves the column out: the one with 1 first. Those with 0 follow, from the right.
	Drop int `json:"-"`
}

// Row is a line of a table.
type Row struct {
	Cells  []Cell `json:"cells"`         // one for each column; the first one names the row
	Class  Class  `json:"-"`             // of the whole row
	Detail bool   `json:"-"`             // terminals show it with Options.All only
	Also   bool   `json:"also,omitzero"` // it says more about the row before it
	Rest   bool   `json:"-"`             // Markdown folds such rows if the table has others, too
}

// Cell is a text with what is behind it.
type Cell struct {
	Text     string   `json:"text"`
	Verbatim string   `json:"-"` // for terminals and Markdown, instead of a text: a drawing of characters
	Figure   *Figure  `json:"figure,omitempty"`
	Class    Class    `json:"class,omitempty"`
	Marks    []Mark   `json:"marks,omitempty"`
	More     []string `json:"more,omitempty"` // pages show these lines below the text; terminals, below the table
	Link     string   `json:"-"`              // the ID of the section that the text leads to on a page
}

// Figure is the number that a text says, in the unit in which it was measured, with its interval if it has one.
type Figure struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low,omitzero"`
	High  float64 `json:"high,omitzero"`
	Unit  string  `json:"unit,omitempty"`
}

// Mark is a sign at a text, and what it means. One without a sign only explains words of the text.
type Mark struct {
	Sign string `json:"sign,omitempty"`
	Text string `json:"text"`
}

// Class is how something is coloured.
type Class string

// The classes: only what is resolved has a colour.
const (
	Costs    Class = "costs"
	Much     Class = "costs much"
	Gains    Class = "gains"
	None     Class = "none" // neither costs nor gains
	Open     Class = "open"
	Failed   Class = "failed"
	Baseline Class = "baseline" // of a row
)

// Text is a cell that only has a text.
func Text(s string) Cell { return Cell{Text: s} }

// Texts are cells that only have texts.
func Texts(all ...string) []Cell {
	cells := make([]Cell, len(all))
	for i, s := range all {
		cells[i].Text = s
	}
	return cells
}

// Number is a cell with a figure.
func Number(text string, value float64, unit string) Cell {
	return Cell{Text: text, Figure: &Figure{Value: value, Unit: unit}}
}

// Ratio is the figure of a ratio with its interval, which has no ends if there is none.
func Ratio(value float64, interval interface{ Ends() (low, high float64) }) *Figure {
	low, high := interval.Ends()
	return &Figure{Value: value, Low: low, High: high}
}

// Heads are columns with these headings.
func Heads(heads ...string) []Column {
	columns := make([]Column, len(heads))
	for i, h := range heads {
		columns[i].Head = h
	}
	return columns
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// Note is a remark, without its full stop.
type Note struct {
	About  string `json:"about,omitempty"` // whom it is about
	Text   string `json:"text"`
	Detail bool   `json:"-"` // terminals show it with Options.All only
}

// line is the note with whom it is about.
func (n Note) line() string {
	if n.About == "" {
		return n.Text
	}
	return n.About + ": " + n.Text
}

// Warning must not be missed.
type Warning struct {
	Label string `json:"label"` // in capital letters, for terminals
	Text  string `json:"text"`  // without its full stop
}

// Para is sentences.
type Para struct {
	Text string `json:"text"`
}

// Bullets is lines that belong together.
type Bullets struct {
	Lead  string   `json:"lead,omitempty"` // introduces them
	Items []string `json:"items"`
}

// List is what is said about each of several things.
type List struct {
	Lead  string `json:"lead,omitempty"`
	Items []Item `json:"items"`
}

// Item is one of a list.
type Item struct {
	Name  string `json:"name"`
	Marks []Mark `json:"marks,omitempty"`
	Class Class  `json:"class,omitempty"`
	// Sentences have no full stop.
	Sentences []string `json:"sentences"`
}

// Facts are texts with names.
type Facts struct {
	Items [][2]string `json:"items"`
}

// Alerts are findings by their cause, the worst first.
type Alerts struct {
	Causes []Alert `json:"causes"`
	More   string  `json:"-"` // the command that shows all of them in a terminal
}

// Alert is findings of one cause.
type Alert struct {
	ID       string `json:"id"`
	Label    string `json:"label"` // in capital letters: FAILED, SERIOUS, WARNING, NOTE
	Severity string `json:"severity"`
	Headline string `json:"headline"` // what it means
	// Short says in a line where it is and how bad the worst is, for terminals; "": only Options.All shows it.
	Short  string `json:"-"`
	Folded int    `json:"-"`     // how many findings the short line leaves out
	Count  int    `json:"count"` // of all findings; several that say the same are told as one
	Found  []Note `json:"found"`
	Remedy string `json:"remedy,omitempty"` // what to do
	URL    string `json:"-"`                // of the page that explains it
}

func (*Section) kind() string { return "section" }
func (*Table) kind() string   { return "table" }
func (Note) kind() string     { return "note" }
func (Warning) kind() string  { return "warning" }
func (Para) kind() string     { return "paragraph" }
func (*Bullets) kind() string { return "bullets" }
func (*List) kind() string    { return "list" }
func (*Facts) kind() string   { return "facts" }
func (*Alerts) kind() string  { return "findings" }

func (s *Section) empty() bool { return len(s.Parts) == 0 }
func (t *Table) empty() bool   { return len(t.Rows) == 0 }
func (n Note) empty() bool     { return n.Text == "" }
func (w Warning) empty() bool  { return w.Text == "" }
func (p Para) empty() bool     { return p.Text == "" }
func (b *Bullets) empty() bool { return len(b.Items) == 0 }
func (l *List) empty() bool    { return len(l.Items) == 0 }
func (f *Facts) empty() bool   { return len(f.Items) == 0 }
func (a *Alerts) empty() bool  { return len(a.Causes) == 0 }

// MarshalJSON names the kind of each part.
func (s *Section) MarshalJSON() ([]byte, error) {
	type plain Section
	parts := make([]map[string]Part, len(s.Parts))
	for i, p := range s.Parts {
		parts[i] = map[string]Part{p.kind(): p}
	}
	return json.Marshal(struct {
		*plain
		Parts []map[string]Part `json:"parts,omitempty"`
	}{(*plain)(s), parts})
}

// filled are the columns with a text below their heading, and the first one; detail says whether those that only
// Options.All shows are among them.
func (t *Table) filled(detail bool) (columns []int) {
	for j, c := range t.Columns {
		if j == 0 {
			columns = append(columns, j)
			continue
		}
		for _, r := range t.Rows {
			if j < len(r.Cells) && r.Cells[j].Line() != "" && (detail || !r.Detail && !c.Detail) {
				columns = append(columns, j)
				break
			}
		}
	}
	return columns
}

// Line is the text of a cell with its marks, in one line.
func (c Cell) Line() string {
	if c.Verbatim != "" {
		return c.Verbatim
	}
	text := Clean(c.Text)
	for _, m := range c.Marks {
		switch m.Sign {
		case "":
		case "~":
			text = "~ " + text
		case "*":
			text += "*"
		default:
			text += " " + m.Sign
		}
	}
	return text
}

// marks are those of the cells of a table, each once.
func (t *Table) marks() (all []Mark) {
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			all = addMarks(all, c.Marks)
		}
	}
	return all
}
