package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// page is text of a certain width, with or without colour.
type page struct {
	strings.Builder
	columns int
	colour  bool
}

func newPage(columns int, colour bool) *page {
	if columns <= 0 {
		columns = 100
	}
	return &page{columns: max(columns, 40), colour: colour}
}

func (p *page) line(s string) { p.WriteString(strings.TrimRight(s, " ") + "\n") }

const fieldWidth = 10 // of the names of fields

// field writes one line of the heading; it wraps.
func (p *page) field(name, text string) {
	p.hanging(p.dim(pad(name, fieldWidth)), fieldWidth, Clean(text))
}

// warn writes a field that must not be missed.
func (p *page) warn(name, text string) {
	p.hanging(p.red(pad(name, fieldWidth+2)), fieldWidth+2, Clean(text))
}

// note writes a remark below a table.
func (p *page) note(text string) { p.wrapped(nil, Clean(text), 2) }

// hanging writes text that begins after lead, indented by n columns.
func (p *page) hanging(lead string, n int, text string) {
	for _, l := range wrap(text, p.columns-n) {
		p.line(lead + l)
		lead = strings.Repeat(" ", n)
	}
}

// wrapped writes text indented by n columns, and by two more from the second line on.
func (p *page) wrapped(style func(string) string, text string, n int) {
	for i, l := range wrap(text, p.columns-n-2) {
		if style != nil {
			l = style(l)
		}
		if i > 0 {
			l = "  " + l
		}
		p.line(strings.Repeat(" ", n) + l)
	}
}

// wrap breaks text at spaces into lines of at most n columns. It does not break a
// longer word, nor a figure with its percent sign.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(strings.ReplaceAll(text, " %", "\u00a0%"), " ") {
		word = strings.ReplaceAll(word, "\u00a0", " ")
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// Wrap breaks text into lines of at most 100 columns for a terminal, those after the first indented.
func Wrap(text, indent string) string {
	return strings.Join(wrap(Clean(text), 100-len(indent)), "\n"+indent)
}

// Hanging is text after lead for a terminal: its further lines, at most 100 columns long, begin below its first word.
func Hanging(lead, text string) string {
	p := newPage(100, false)
	p.hanging(lead, width(lead), Clean(text))
	return p.String()
}

// Columns aligns rows of cells, the first of which has the headings.
func Columns(rows [][]string) string { return strings.Join(columnsOf(rows, nil), "\n") + "\n" }

// FullColumns is Columns without those that are empty below their heading.
func FullColumns(rows [][]string) string { return Columns(fullColumns(rows)) }

// columnsOf are the aligned rows, with the columns that are to be kept; nil: all.
func columnsOf(rows [][]string, keep func(j, width int) bool) []string {
	lines := make([]string, len(rows))
	for j := range rows[0] {
		widest := 0
		for _, r := range rows {
			widest = max(widest, width(r[j]))
		}
		if keep != nil && !keep(j, widest) {
			continue
		}
		for i, r := range rows {
			lines[i] += "  " + pad(r[j], widest)
		}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// cut shortens text to n columns, at a word.
func cut(text string, n int) string {
	if width(text) <= n {
		return text
	}
	line := []rune(wrap(text, n-2)[0])
	return strings.TrimRight(string(line[:min(len(line), n-2)]), ",;:") + " …"
}

// width is the number of columns that s takes: every rune that tare prints takes
// one column.
func width(s string) int { return utf8.RuneCountInString(s) }

// pad fills s up with spaces to n columns, on its left where n is negative.
func pad(s string, n int) string {
	if n < 0 {
		return strings.Repeat(" ", max(-n-width(s), 0)) + s
	}
	return s + strings.Repeat(" ", max(n-width(s), 0))
}

// Clean removes whatever does more than print: text from guests and campaign files
// may contain anything.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "?")
	return strings.Join(strings.FieldsFunc(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s), func(r rune) bool { return r == ' ' }), " ")
}

// The colours are those of the terminal's own scheme.
func (p *page) paint(code, s string) string {
	if !p.colour || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) bold(s string) string   { return p.paint("1", s) }
func (p *page) dim(s string) string    { return p.paint("2", s) }
func (p *page) red(s string) string    { return p.paint("31", s) }
func (p *page) green(s string) string  { return p.paint("32", s) }
func (p *page) yellow(s string) string { return p.paint("33", s) }
