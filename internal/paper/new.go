package paper

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/strict"
)

// NewOptions say what the cells of imported tables do not.
type NewOptions struct {
	Name     string // the article's short name
	Unit     string // of figures without one of their own
	Better   string // "lower", "higher" or "": by the unit, times and rates
	Baseline string // the system that changes refer to; "": the first one
	// SystemsInRows: each row is a system and each column a workload, not the reverse.
	SystemsInRows bool
	DecimalComma  bool // 47,639 is 47.639, not 47639
	NoDerived     bool // each column is a system, whatever its heading and figures look like
	// Ask confirms or corrects how a derived column is read. nil: it is read as recognized.
	Ask func(Derived) Answer
}

// Note is something about a cell that the author of the file should look at.
type Note struct {
	Where      string // file:line:column
	Cell, Text string
}

// New writes a file for an article, with comments that say what to fill in: the figures
// of sheets, or an example if there are none. Cells without a number are left out and
// noted. An error is of the kind fault.Campaign.
func New(sheets []Sheet, o NewOptions) ([]byte, []Note, error) {
	if len(sheets) == 0 {
		return fmt.Appendf(nil, newHead+newExample+newTail, text(o.Name)), nil, nil
	}
	w := &importer{NewOptions: o, figures: map[string]imported{}, count: map[imported]int{}}
	for _, s := range sheets {
		if err := w.sheet(s); err != nil {
			return nil, w.notes, err
		}
	}
	w.results = slices.DeleteFunc(w.results, w.ambiguous)
	if len(w.results) == 0 {
		return nil, w.notes, fault.WithRemedy(fault.Campaignf("no cell of the tables has a number"),
			"check which file you gave, and whether --systems is rows or columns")
	}
	if o.Baseline != "" && !slices.Contains(w.systems, o.Baseline) {
		return nil, w.notes, fault.Campaignf("the tables have no system %q; they have %s", o.Baseline,
			strings.Join(w.systems, ", "))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, newHead, text(o.Name))
	if len(w.units) > 0 {
		fmt.Fprintf(&b, "# Units that tare does not know. If one is a misprint of a known unit, correct it.\nunits:\n")
		for _, u := range w.units {
			fmt.Fprintf(&b, "- %s\n", text(u))
		}
	}
	fmt.Fprintf(&b, "systems: # what was compared; below each, any facts\n")
	for _, s := range w.systems {
		fmt.Fprintf(&b, "  %s: {kind: guest}\n", text(s))
	}
	b.WriteString("results:\n")
	for _, r := range w.results {
		b.WriteString(r.text)
	}
	b.WriteString(newTail)
	return b.Bytes(), w.notes, nil
}

// text quotes a word as YAML.
func text(s string) string { return string(strict.Encode(s)) } // JSON strings are YAML strings

// importer turns cells into results.
type importer struct {
	NewOptions
	systems, units []string
	results        []result
	notes          []Note
	figures        map[string]imported // by place
	count          map[imported]int
	spreads        []string // columns with errors of figures: one note is enough
	unitless       string   // the last line of a file with figures without a unit: one note is enough
}

// result is a result of the file, and the two others that it refers to.
type result struct {
	text string
	cell cell
	of   []imported
}

// ambiguous notes a result that refers to figures of which the tables have several.
func (w *importer) ambiguous(r result) bool {
	for _, of := range r.of {
		if n := w.count[of]; n != 1 {
			w.note(r.cell, "is left out: the tables have %d figures of %s in the line %q", n, of.system, of.workload)
			return true
		}
	}
	return false
}

// sheet turns the cells of a table into results. An error is a cell whose row or column
// has no name.
func (w *importer) sheet(s Sheet) error {
	s = w.joined(s)
	rowWord, columnWord := "row", "column"
	if w.SystemsInRows {
		s, rowWord, columnWord = s.transposed(), columnWord, rowWord
	}
	s = w.measured(s)
	derived := w.derived(s)
	for i, row := range s.Rows {
		for column := 1; i > 0 && column < len(row); column++ {
			if derived[column] != nil {
				continue
			}
			name, heading := strings.TrimSpace(row[0]), strings.TrimSpace(s.Rows[0][column])
			c := cell{table: s.Name, where: s.where(i, column), text: strings.TrimSpace(row[column]), workload: name,
				system: systemName(heading)}
			if _, c.unit = withoutUnit(heading); c.unit != "" && s.sameSystem(column) {
				c.workload = fmt.Sprintf("%s (%s)", name, c.unit)
			}
			switch {
			case c.text == "":
			case name == "":
				return nameless(rowWord, s.where(i, 0), c)
			case heading == "":
				return nameless(columnWord, s.where(0, column), c)
			default:
				w.cell(c)
			}
		}
		for column := 1; i > 0 && column < len(row); column++ {
			if d := derived[column]; d != nil {
				w.derive(cell{table: s.Name, where: s.where(i, column), text: strings.TrimSpace(row[column]),
					workload: strings.TrimSpace(row[0])}, s, i, d)
			}
		}
	}
	return nil
}

// label is a cell of a column that names rows: it begins with a word, and does not say that a figure is missing.
var (
	label   = regexp.MustCompile(`^\p{L}`)
	missing = regexp.MustCompile(`(?i)^(n/?a|nan|none|no|yes|ok|not|fail\w*|error|unknown|tbd|same|baseline)\b`)
)

// transposed is a sheet with its rows as columns.
func (s Sheet) transposed() Sheet {
	rows, at := make([][]string, len(s.Rows[0])), make([][]place, len(s.Rows[0]))
	for i, row := range s.Rows {
		for column, text := range row {
			rows[column], at[column] = append(rows[column], text), append(at[column], s.at[i][column])
		}
	}
	s.Rows, s.at = rows, at
	return s
}

// sameSystem reports whether another column of a table has the same name but for its unit.
func (s *Sheet) sameSystem(column int) bool {
	for other, heading := range s.Rows[0] {
		if other > 0 && other != column && systemName(heading) == systemName(s.Rows[0][column]) {
			return true
		}
	}
	return false
}

// measured is a sheet without the columns of words, such as those of remarks, each of which gets one note.
func (w *importer) measured(s Sheet) Sheet {
	for column := len(s.Rows[0]) - 1; column > 0; column-- {
		first := ""
		if slices.ContainsFunc(s.Rows[1:], func(row []string) bool {
			cell := strings.TrimSpace(row[column])
			if first == "" && strings.Trim(cell, " -–—") != "" {
				first = cell
			}
			return strings.ContainsAny(cell, "0123456789")
		}) || first == "" {
			continue
		}
		w.note(cell{where: s.where(0, column), text: s.Rows[0][column]}, "is left out: no cell of it has a number")
		rows, at := make([][]string, len(s.Rows)), make([][]place, len(s.Rows))
		for i := range s.Rows {
			rows[i] = slices.Delete(slices.Clone(s.Rows[i]), column, column+1)
			at[i] = slices.Delete(slices.Clone(s.at[i]), column, column+1)
		}
		s.Rows, s.at = rows, at
	}
	return s
}

// joined is a sheet whose first columns, if several of them name the rows, are one.
func (w *importer) joined(s Sheet) Sheet {
	for len(s.Rows[0]) > 2 && !slices.ContainsFunc(s.Rows[1:], func(row []string) bool {
		cell := strings.TrimSpace(row[1])
		return !label.MatchString(cell) || missing.MatchString(cell)
	}) {
		rows, at := make([][]string, len(s.Rows)), make([][]place, len(s.Rows))
		for i, row := range s.Rows {
			names := slices.DeleteFunc([]string{strings.TrimSpace(row[0]), strings.TrimSpace(row[1])},
				func(name string) bool { return name == "" })
			rows[i] = append([]string{strings.Join(names, ", ")}, row[2:]...)
			at[i] = append([]place{s.at[i][0]}, s.at[i][2:]...)
		}
		s.Rows, s.at = rows, at
	}
	return s
}

func nameless(what, where string, c cell) error {
	return fault.WithRemedy(fault.Campaignf("%s: this %s has no name, but a cell, %q (%s)", where, what, c.text, c.where),
		"name each row and each column; repeat a heading over several columns in each of them")
}

// cell is a cell of a table.
type cell struct{ table, where, text, workload, system, unit string }

func (w *importer) note(c cell, format string, args ...any) {
	w.notes = append(w.notes, Note{c.where, c.text, fmt.Sprintf(format, args...)})
}

var (
	inBrackets = regexp.MustCompile(`[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*$`)
	anyChange  = regexp.MustCompile(`([+\-−–]?)\s*([0-9]+(?:[.,][0-9]+)?)\s*%`)
	// exponent is a number such as 2.90e6, and its unit.
	exponent   = regexp.MustCompile(`^([0-9]+\.?[0-9]*)[eE]([+-]?[0-9]{1,2})(?:\s*([\p{L}%][\p{L}/%0-9^-]*))?$`)
	minutes    = regexp.MustCompile(`(?:([0-9]+)\s*h\s*)?([0-9]+)\s*m(?:in)?\s*([0-9]+(?:[.,][0-9]+)?)\s*s`)
	figureUnit = regexp.MustCompile(`[<>~≈±−–+-]*\s*[0-9][0-9.,'\x{2019} \x{a0}\x{202f}]*([\p{L}%][\p{L}/%0-9^-]*)?`)
	// plainNumber and commaNumber are numbers with a decimal point and with a decimal comma.
	plainNumber = regexp.MustCompile(`^(?:[0-9]{1,3}(?:[,'\x{2019} \x{a0}\x{202f}][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?$`)
	commaNumber = regexp.MustCompile(`^(?:[0-9]{1,3}(?:[.'\x{2019} \x{a0}\x{202f}][0-9]{3})+|[0-9]+)(?:,[0-9]+)?$`)
	// about precedes a number that is not exact.
	about = regexp.MustCompile(`^(?i:[~≈∼]|about |ca\. ?|approx\. ?)\s*([0-9])`)
	// spread is the error of a number, before or after its unit.
	spread = regexp.MustCompile(`\s*(?:±|\+/-|\+-)\s*[0-9][0-9.,]*\s*%?`)
	// footnotes and brackets say nothing about the number.
	aside = regexp.MustCompile(`\[\^?[0-9A-Za-z]{1,3}\]|\([^()]*\)|<sup>[^<]*</sup>|[*†‡¹²³⁰⁴-⁹]+`)
)

// cell turns one cell into a result.
func (w *importer) cell(c cell) {
	value, unit, change, why := w.figure(c.text)
	if why != "" {
		w.note(c, "is left out: %s", why)
		return
	}
	if value == "" && change == "" {
		if strings.Trim(c.text, " -–—") != "" {
			w.note(c, "is left out: it has no number")
		}
		return
	}
	if known, ok := knownUnit(unit); ok {
		unit = known
	}
	if column := c.table + "\x00" + c.system; spread.MatchString(c.text) && !slices.Contains(w.spreads, column) {
		w.spreads = append(w.spreads, column)
		w.note(c, "is read without its error, as are the other cells of this column")
	}
	if unit == "" {
		unit = cmp.Or(c.unit, w.unitOf(c.workload, c.system))
	}
	if unit == "" {
		unit = "1"
		if line := c.where[:strings.LastIndexByte(c.where, ':')]; line != w.unitless {
			w.unitless = line
			w.note(c, "has no unit, nor does its row or column: the unit is written as 1; give --unit, or edit the file")
		}
	}
	if _, ok := measureOf(unit); !ok && !slices.Contains(w.units, unit) {
		w.units = append(w.units, unit)
	}
	if !slices.Contains(w.systems, c.system) {
		w.systems = append(w.systems, c.system)
	}
	base := cmp.Or(w.Baseline, w.systems[0])
	r := fmt.Sprintf("- table: %s\n  workload: %s\n  scenario: solo\n  system: %s\n  statistic: single\n  value: %s\n"+
		"  unit: %s\n  better: %s\n  printed: %s\n",
		text(c.table), text(c.workload), text(c.system), cmp.Or(value, "null"), text(unit), text(w.better(unit)),
		text(c.text))
	if m := exponent.FindStringSubmatch(strings.TrimSpace(aside.ReplaceAllString(c.text, ""))); m != nil {
		n, _ := parseNumber(m[1])
		power, _ := strconv.Atoi(m[2])
		resolution := strconv.FormatFloat(n.times(power10(power)).Resolution, 'f', -1, 64)
		if read, ok := parseNumber(resolution); ok && read.Value > 0 {
			r += fmt.Sprintf("  resolution: %s\n", resolution)
		}
	}
	if change != "" && c.system != base {
		r += fmt.Sprintf("  printed_delta_pct: %s\n  baseline: %s\n", change, text(base))
	}
	w.results = append(w.results, result{text: r, cell: c})
	if value != "" {
		own := imported{c.table, c.workload, c.system, unit}
		w.figures[c.where] = own
		w.count[own]++
	}
}

// figure reads a cell such as "52,025 s (+9,1 %)" or "2 m 42,412 s". The words that are
// not in it are "". why: the cell says something that the other words do not.
func (w *importer) figure(cell string) (value, unit, change, why string) {
	value, unit, change, why = w.words(cell)
	for _, n := range []string{value, change} {
		if _, ok := parseNumber(n); n != "" && !ok { // such as one with too many digits
			return "", "", "", fmt.Sprintf("%.30q is not a plain number", n)
		}
	}
	return value, unit, change, why
}

// words reads a cell as figure does, and does not check the numbers.
func (w *importer) words(cell string) (value, unit, change, why string) {
	if m := anyChange.FindStringSubmatch(cell); m != nil {
		rest := strings.Replace(cell, m[0], "", 1)
		if strings.ContainsAny(rest, "0123456789") || m[1] != "" {
			change = strings.ReplaceAll(m[2], ",", ".")
			if m[1] != "" && m[1] != "+" {
				change = "-" + change
			}
			cell = rest
		}
	}
	cell = strings.TrimSpace(aside.ReplaceAllString(strings.ReplaceAll(cell, "()", ""), ""))
	cell = about.ReplaceAllString(spread.ReplaceAllString(cell, " "), "$1")
	if m := exponent.FindStringSubmatch(cell); m != nil {
		n, ok := parseNumber(m[1])
		power, _ := strconv.Atoi(m[2])
		n = n.times(power10(power))
		if value = n.number(); !ok || !plain.MatchString(value) {
			return "", "", "", fmt.Sprintf("%q is not a plain number", m[0])
		}
		return value, m[3], change, ""
	}
	if m := minutes.FindStringSubmatch(cell); m != nil {
		h, _ := strconv.ParseFloat("0"+m[1], 64)
		min, _ := strconv.ParseFloat(m[2], 64)
		sec, _ := parseNumber(strings.ReplaceAll(m[3], ",", "."))
		return Number{h*3600 + min*60 + sec.Value, sec.Resolution}.number(), "s", change, ""
	}
	m := figureUnit.FindStringSubmatchIndex(cell)
	if m == nil {
		return "", "", change, ""
	}
	number := cell[m[0]:m[1]]
	if m[2] >= 0 {
		number, unit = cell[m[0]:m[2]], cell[m[2]:m[3]]
	}
	number = strings.Trim(number, " \u00a0\u202f")
	right, wrong, decimal := plainNumber, commaNumber, "a decimal comma: give --decimal-comma"
	if w.DecimalComma {
		right, wrong, decimal = wrong, right, "a decimal point: leave --decimal-comma out"
	}
	switch rest := strings.TrimSpace(cell[:m[0]] + cell[m[1]:]); {
	case right.MatchString(number) && strings.ContainsAny(rest, "0123456789±"):
		return "", "", "", fmt.Sprintf("it says more than %s, namely %q", number, rest)
	case right.MatchString(number):
		return w.number(number), unit, change, ""
	case wrong.MatchString(number):
		return "", "", "", "it has " + decimal
	}
	return "", "", "", fmt.Sprintf("%q is not a plain number", number)
}

// number returns a printed number as a plain one.
func (w *importer) number(s string) string {
	if w.DecimalComma {
		return strings.ReplaceAll(onlyDigits(s, ','), ",", ".")
	}
	return onlyDigits(s, '.')
}

// better is whether lower or higher figures of a unit are better.
func (w *importer) better(unit string) string {
	m, _ := measureOf(unit)
	switch {
	case w.Better != "":
		return w.Better
	case m.dimension == "s":
		return "lower"
	case strings.HasSuffix(unit, "/s") || unit == "IOPS" || strings.HasSuffix(unit, "FLOPS"):
		return "higher"
	}
	return "-" // not known
}

const (
	newHead = `# The figures of a published comparison, as printed. docs/paper.md describes the format.
#   tare paper audit FILE    recomputes what the article derived from its figures
#   tare paper show FILE     prints its tables
document:
  short_name: %s
  title: TITLE             # as printed
  author: null             # null: not printed
  publisher: null
  language: en
  date: null               # YYYY, YYYY-MM or YYYY-MM-DD
  url: null
# host: {cpu: any facts, in any form}
# software: {kernel: '6.1'}
`
	newExample = `systems: # what was compared; below each, any facts
  native: {kind: native}
  kvm: {kind: guest}
results:
- table: Table 1
  workload: dd if=/dev/zero of=f bs=1M count=1024
  scenario: solo
  system: native           # a key of systems
  statistic: mean          # single, mean, min, max, or any words
  value: 10.0
  unit: s
  better: lower
  printed: 10.00 s         # the article's own words
- table: Table 1
  workload: dd if=/dev/zero of=f bs=1M count=1024
  scenario: solo
  system: kvm
  statistic: mean
  value: 12.5
  unit: s
  better: lower
  printed: 12.50 s (+25 %%)
  printed_delta_pct: 25    # checked against the baseline's row
  baseline: native
# - table: Table 1
#   workload: all
#   scenario: solo
#   system: kvm
#   statistic: mean of all workloads
#   value: 11.2
#   unit: s
#   printed: '11.2'
#   from: {take: mean, statistic: mean, over: [workload]}   # checked: the mean of a column
`
	newTail = `# Sentences of the article about its figures. Those with a figure or a ranking are checked.
claims:
# - claim: the guest needs about a quarter more time
#   where: conclusion
#   printed_delta_pct: '~25'     # or '<20', '>=0', '6..8'
#   of: {table: Table 1, system: kvm}
#   to: {system: native}         # keys that it leaves out are those of the row of of
# - claim: at least 50 MB/s
#   printed_value: '>=50'
#   unit: MB/s
#   of: {table: Table 2, take: min}
# - claim: native is the fastest
#   ranking: [native, kvm]       # the best first
#   of: {table: Table 1}
`
)
