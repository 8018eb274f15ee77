package paper

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Answer is what the author of a file says about a column that looks derived.
type Answer int

const (
	Accepted Answer = iota
	Swapped         // the other way round: of is to, and to is of
	IsSystem        // its figures are measured, not derived
)

// Derived is a column of a table whose figures the article calculated from two others.
type Derived struct {
	Where   string // file:line:column of its heading
	Heading string
	Of, To  string // the systems that it compares
	Formula string // with their names
	// Agree is for how many of its Figures the formula gives the printed number.
	Agree, Figures int

	column, of, to int
	kind           derivedKind
	negative       bool // the printed number is the formula with the other sign
	perCell        bool // a cost: a positive number is worse, in times as in rates
	direct         int  // for how many figures the formula agrees as it is, not the other way round
}

// derivedKind is what a derived figure says.
type derivedKind int

const (
	notDerived      derivedKind = iota
	plainFigure                 // a number alone: the heading or the other columns tell
	derivedChange               // in percent
	derivedRatio                // 1.02x
	derivedShare                // 97 % of native
	derivedDistance             // a difference, in the unit of the two others; of percentages, in percentage points
)

var (
	derivedHead = regexp.MustCompile(`(?i)\b(diff|difference|delta|change|overhead|slow-?down|speed-?up|ratio|relative|` +
		`penalty|degradation|improvement|gain|loss|vs|versus|factor|slower|faster|share|efficiency|normali[sz]ed)\b|[Δ∆]|` +
		`^\s*(%|x|×|\+/-|±)\s*$|(%|\bpercent(age)?) of\b`)
	// shareHead names the share of another system's figure: its numbers may be percentages without a sign.
	shareHead = regexp.MustCompile(`(?i)\b(relative|share|efficiency|normali[sz]ed)\b|(%|\bpercent(age)?) of\b`)
	slowWords = regexp.MustCompile(`(?i)\b(slower|worse|behind)\b`)
	// speedWords say which system is better, so that the direction of a figure depends on what is better.
	speedWords = regexp.MustCompile(`(?i)\b(slower|faster|worse|better|less|more|lower|higher|behind|ahead)\b`)
	// costHead names costs or gains: the sign and the direction of a figure depend on what is better.
	costHead = regexp.MustCompile(`(?i)\b(overhead|slow-?down|speed-?up|penalty|degradation|improvement|gain|loss)\b`)
	// derivedFigure is a bound, a factor's sign, a number's sign, the number and what it is.
	derivedFigure = regexp.MustCompile(`(?i)([<>~≈]?)\s*(\bx ?|× ?)?([+\-−–]?)\s*([0-9](?:[0-9.,]*[0-9])?)\s*` +
		`(%-?\s?points?\b|percentage points?\b|p\.p\.|pts?\b|pp\b|points?\b|%|percent\b|×|x\b|times\b)?`)
)

// derivedCell is a figure of a derived column.
type derivedCell struct {
	kind   derivedKind
	figure *Figure
	signed bool
	rest   string // its words besides the number
}

// derivedCell reads a cell such as "+10.09 %", "1.00x", "-2 pts" or "Container +8 %".
func (w *importer) derivedCell(text string) derivedCell {
	m := derivedFigure.FindStringSubmatchIndex(text)
	if m == nil {
		return derivedCell{}
	}
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[m[2*i]:m[2*i+1]]
	}
	c := derivedCell{kind: plainFigure, rest: strings.TrimSpace(text[:m[0]] + " " + text[m[1]:])}
	right := plainNumber
	if w.DecimalComma {
		right = commaNumber
	}
	if !right.MatchString(group(4)) {
		return derivedCell{}
	}
	number := w.number(group(4))
	if sign := group(3); sign != "" {
		c.signed = true
		if sign != "+" {
			number = "-" + number
		}
	}
	var ok bool
	c.figure, ok = parseFigure(strings.ReplaceAll(group(1), "≈", "~") + number)
	if !ok {
		return derivedCell{}
	}
	switch what := strings.ToLower(group(5)); {
	case what == "%" || what == "percent":
		c.kind = derivedChange
	case what == "x" || what == "×" || what == "times" || group(2) != "":
		c.kind = derivedRatio
	case what != "":
		c.kind = derivedDistance
	}
	return c
}

// maxDerivedColumns limits the pairs of columns that are tried.
const maxDerivedColumns = 16

// derived finds the derived columns of a table by their headings and figures.
func (w *importer) derived(s Sheet) map[int]*Derived {
	found := map[int]*Derived{}
	if w.NoDerived || len(s.Rows[0]) < 4 || len(s.Rows[0]) > maxDerivedColumns {
		return found
	}
	kinds := map[int]derivedKind{}
	for column := 1; column < len(s.Rows[0]); column++ {
		if kind := w.columnKind(s, column); kind != notDerived {
			kinds[column] = kind
		}
	}
	var systems []int
	for column := 1; column < len(s.Rows[0]); column++ {
		if name := s.Rows[0][column]; kinds[column] == notDerived && strings.TrimSpace(name) != "" &&
			!strings.Contains(name, ",") && w.hasValues(s, column) {
			systems = append(systems, column)
		}
	}
	for column := range s.Rows[0] {
		kind := kinds[column]
		if kind == notDerived && column == len(s.Rows[0])-1 && len(systems) > 2 && slices.Contains(systems, column) {
			kind = w.unnamed(s, column, systems)
		}
		if kind == notDerived || len(systems) < 2 {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(systems), func(of int) bool { return of == column })
		d := w.bestDerivation(s, column, kind, others)
		certain := derivedHead.MatchString(s.Rows[0][column]) && kind != plainFigure
		if d.Figures == 0 || !certain && (d.Agree < 2 || 2*d.Agree <= d.Figures) {
			continue
		}
		answer := Accepted
		if w.Ask != nil {
			answer = w.Ask(*d)
		}
		switch answer {
		case IsSystem:
			continue
		case Swapped:
			d.of, d.to, d.negative = d.to, d.of, false
			w.score(s, d)
		}
		w.notes = append(w.notes, Note{d.Where, d.Heading, fmt.Sprintf("is read as %s: %d of %d figures agree",
			d.Formula, d.Agree, d.Figures)})
		found[column] = d
	}
	return found
}

// unnamed is what the last column is if its heading says nothing and its numbers are plain: a ratio, if one fits all of
// at least three figures.
func (w *importer) unnamed(s Sheet, column int, systems []int) derivedKind {
	figures := 0
	for _, row := range s.Rows[1:] {
		if c := w.derivedCell(row[column]); c.figure != nil {
			if figures++; c.kind != plainFigure || c.signed || significant(c.figure) < 2 {
				return notDerived
			}
		}
	}
	others := slices.DeleteFunc(slices.Clone(systems), func(of int) bool { return of == column })
	d := w.bestDerivation(s, column, derivedRatio, others)
	if figures < 3 || d == nil || d.Agree < figures {
		return notDerived
	}
	return derivedRatio
}

// columnKind is what most figures of a column say, if the column may be derived. Without
// a heading that says it, all must be of one kind, and not all of them plain percentages.
func (w *importer) columnKind(s Sheet, column int) derivedKind {
	head := s.Rows[0][column]
	byHead := derivedHead.MatchString(head)
	count := map[derivedKind]int{}
	figures, signed := 0, 0
	for _, row := range s.Rows[1:] {
		if c := w.derivedCell(row[column]); c.figure != nil {
			if c.kind == plainFigure && c.signed {
				c.kind = derivedDistance
			}
			if c.signed || c.kind == derivedRatio || speedWords.MatchString(c.rest) {
				signed++
			}
			count[c.kind]++
			figures++
		}
	}
	for kind := plainFigure; kind <= derivedDistance; kind++ {
		if 2*count[kind] <= figures {
			continue
		}
		switch {
		case kind == plainFigure && byHead && strings.Contains(head, "%"):
			return derivedChange
		case kind == plainFigure && !byHead:
			return notDerived
		case byHead || count[kind] == figures && signed > 0:
			return kind
		}
	}
	if figures > 1 && signed == figures && count[plainFigure] == 0 { // of several kinds: each cell says its own
		return derivedChange
	}
	return notDerived
}

// hasValues reports whether a column has a figure of a system.
func (w *importer) hasValues(s Sheet, column int) bool {
	return slices.ContainsFunc(s.Rows[1:], func(row []string) bool {
		value, _, _, why := w.figure(strings.TrimSpace(row[column]))
		return value != "" && why == ""
	})
}

// bestDerivation is the formula and the two columns that give most of a column's figures.
// Of several, it is the one of the columns that the heading names, or of the nearest
// column against the first.
func (w *importer) bestDerivation(s Sheet, column int, kind derivedKind, systems []int) *Derived {
	kinds := []derivedKind{kind}
	switch kind {
	case plainFigure:
		kinds = []derivedKind{derivedRatio, derivedChange, derivedShare, derivedDistance}
	case derivedChange: // of two percentages, it may be in percentage points
		kinds = append(kinds, derivedShare, derivedDistance)
		if shareHead.MatchString(s.Rows[0][column]) {
			kinds = []derivedKind{derivedShare, derivedChange, derivedDistance}
		}
	}
	var best *Derived
	for _, kind := range kinds {
		for _, pair := range pairs(s.Rows[0], column, systems) {
			for _, negative := range []bool{false, true} {
				if negative && (kind == derivedRatio || kind == derivedShare) {
					continue
				}
				d := &Derived{Where: s.where(0, column), Heading: s.Rows[0][column], column: column, of: pair[0], to: pair[1],
					kind: kind, negative: negative, perCell: costHead.MatchString(s.Rows[0][column])}
				w.score(s, d)
				if best == nil || d.Agree > best.Agree || d.Agree == best.Agree && d.direct > best.direct {
					best = d
				}
			}
		}
	}
	return best
}

// pairs are the pairs of columns that a derived one may compare, the most likely first.
func pairs(heading []string, column int, systems []int) [][2]int {
	near := slices.Clone(systems)
	slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(before(a, column), before(b, column)) })
	var list [][2]int
	for _, of := range near {
		for _, to := range systems {
			if of != to {
				list = append(list, [2]int{of, to})
			}
		}
	}
	named := func(p [2]int) int {
		of, to := strings.Index(heading[column], heading[p[0]]), strings.Index(heading[column], heading[p[1]])
		switch {
		case of >= 0 && to > of:
			return 0
		case to >= 0 && of < 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b [2]int) int { return cmp.Compare(named(a), named(b)) })
	return list
}

// before is how far a column is to the left of another; those to the right come last.
func before(a, column int) int {
	if a > column {
		return a + column
	}
	return column - a
}

// score counts the figures that a derivation gives, and writes its formula.
func (w *importer) score(s Sheet, d *Derived) {
	d.Of, d.To = systemName(s.Rows[0][d.of]), systemName(s.Rows[0][d.to])
	d.Agree, d.Figures, d.direct = 0, 0, 0
	switch d.kind {
	case derivedRatio:
		d.Formula = fmt.Sprintf("%s / %s", d.Of, d.To)
	case derivedShare:
		d.Formula = fmt.Sprintf("100 × %s / %s", d.Of, d.To)
	case derivedDistance:
		d.Formula = fmt.Sprintf("%s − %s", d.Of, d.To)
	default:
		d.Formula = fmt.Sprintf("100 × (%s / %s − 1)", d.Of, d.To)
	}
	if d.negative {
		d.Formula = "−(" + d.Formula + ")"
	}
	for i := 1; i < len(s.Rows); i++ {
		if c, ok := w.compared(s, i, d); ok {
			d.Figures++
			if c.agrees {
				d.Agree++
			}
			if c.agrees && c.direct {
				d.direct++
			}
		}
	}
}

// comparison is a figure of a derived column with the columns that it compares.
type comparison struct {
	figure   *Figure     // with the sign of its formula
	kind     derivedKind // of the cell, which may be another than that of most
	of, to   int
	negative bool
	agrees   bool
	direct   bool
}

// compared reads a figure of a derived column. A cell that names a system compares that
// one with the other. A cost is worse if it is positive, so its direction may differ from
// line to line; false: the cell or those that it compares have no figure.
func (w *importer) compared(s Sheet, row int, d *Derived) (comparison, bool) {
	c := w.derivedCell(s.Rows[row][d.column])
	if c.figure == nil {
		return comparison{}, false
	}
	kind := d.kind
	switch {
	case c.kind == derivedRatio, c.kind == derivedDistance && kind == derivedChange,
		c.kind == derivedChange && kind == derivedRatio:
		kind = c.kind
	}
	direction := d.negative && kind == d.kind
	perCell := d.perCell || speedWords.MatchString(c.rest)
	list := []comparison{{kind: kind, of: d.of, to: d.to, negative: direction, direct: true}}
	names := func(column int) bool { return strings.Contains(c.rest, systemName(s.Rows[0][column])) }
	switch {
	case names(d.of) != names(d.to):
		list[0].negative = false
		if names(d.to) {
			list[0].of, list[0].to = d.to, d.of
		}
		// A system that is 9 % faster takes less time.
		if better := w.betterOf(s, row, d.of); speedWords.MatchString(c.rest) && better != "-" &&
			(better == "lower") != slowWords.MatchString(c.rest) {
			list[0].of, list[0].to = list[0].to, list[0].of
		}
	case perCell && (kind == derivedRatio || kind == derivedShare):
		list = append(list, comparison{kind: kind, of: d.to, to: d.of})
	case perCell:
		list = append(list, comparison{kind: kind, of: d.of, to: d.to, negative: !direction})
	}
	for i := range list {
		l := &list[i]
		l.figure = c.figure.signed(l.negative)
		of, to, ok := w.valuesOf(s.Rows[row], l.of, l.to)
		if !ok {
			return comparison{}, false
		}
		if kind == derivedDistance {
			a, b := of.around(), to.around()
			l.agrees = l.figure.allows(interval{a.lo - b.hi, a.mid - b.mid, a.hi - b.lo}, 0)
		} else if q, ok := quotient(of, to); ok {
			switch kind {
			case derivedChange:
				q, _ = q.under(percent)
			case derivedShare:
				q, _ = q.under(func(q float64) float64 { return 100 * q })
			}
			l.agrees = l.figure.allows(q, 0)
		}
		if l.agrees {
			return *l, true
		}
	}
	return list[0], true
}

// betterOf is whether lower or higher figures of a line are better.
func (w *importer) betterOf(s Sheet, row, column int) string {
	_, unit, _, _ := w.figure(strings.TrimSpace(s.Rows[row][column]))
	if unit == "" {
		_, unit = withoutUnit(s.Rows[0][column])
	}
	if unit == "" {
		unit = w.unitOf(s.Rows[row][0], s.Rows[0][column])
	}
	return w.better(unit)
}

// signed is a figure, or the same with the other sign.
func (f *Figure) signed(negative bool) *Figure {
	if !negative {
		return f
	}
	other := *f
	other.Value = -f.Value
	switch f.Bound {
	case "<":
		other.Bound = ">"
	case ">":
		other.Bound = "<"
	}
	number := Number{other.Value, f.Resolution}
	other.Text = other.Bound + number.number()
	return &other
}

// valuesOf returns the figures of two cells, in the unit of the first if both have one.
func (w *importer) valuesOf(row []string, of, to int) (a, b Number, ok bool) {
	value, unit, _, _ := w.figure(strings.TrimSpace(row[of]))
	other, otherUnit, _, _ := w.figure(strings.TrimSpace(row[to]))
	a, ok = parseNumber(value)
	b, ok2 := parseNumber(other)
	mine, known := measureOf(unit)
	if theirs, known2 := measureOf(otherUnit); known && known2 && mine.dimension == theirs.dimension {
		b = b.times(theirs.factors[0] / mine.factors[0])
	}
	return a, b, ok && ok2
}

// systemName is a system's name: that of its column.
func systemName(heading string) string {
	name, _ := withoutUnit(heading)
	return name
}

// withoutUnit separates the unit in brackets from the name of a column.
func withoutUnit(heading string) (name, unit string) {
	heading = strings.TrimSpace(heading)
	if m := inBrackets.FindStringSubmatchIndex(heading); m != nil && m[0] > 0 {
		if unit, ok := knownUnit(heading[m[2]:m[3]]); ok {
			return strings.TrimSpace(heading[:m[0]]), unit
		}
	}
	return heading, ""
}
