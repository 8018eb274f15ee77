package view

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/tare-bench/tare/internal/strict"
)

// Whatever tare prints may contain text from guests, files and campaigns. These make it harmless to what reads it:
// terminals, programs, spreadsheets.

// Clean removes whatever does more than print: text from guests and campaign files may contain anything.
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

// Visible replaces control characters by their symbols, but for new lines and tabs.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20:
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case Unseen(r):
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// Unseen reports whether r is invisible but changes the direction of the text after
// it, or controls a terminal: text from guests may contain any.
func Unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// PlainJSON escapes what valid JSON may contain and a terminal would obey. The value
// stays the same, except that invalid UTF-8 is replaced.
func PlainJSON(text []byte) []byte {
	unseen := func(r rune) bool { return Unseen(r) && r != '\n' && r != '\t' } // which lay it out
	return strict.Escaped(bytes.ToValidUTF8(text, []byte("�")), unseen)
}

// PrintJSON writes v as JSON, indented, for people and programs.
func PrintJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(PlainJSON(b.Bytes()))
	return err
}

// CSVCell is a text as a cell of CSV. Spreadsheets would calculate one that begins like a
// formula.
func CSVCell(text string) string {
	text = Visible(text)
	if strings.ContainsAny(text[:min(len(text), 1)], "=+-@\t") {
		return "'" + text
	}
	return text
}

// And joins words as in a sentence. Parts that have commas themselves are set apart by semicolons.
func And(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	first, last := list[:len(list)-1], list[len(list)-1]
	if strings.Contains(strings.Join(list, ""), ",") {
		return strings.Join(first, "; ") + "; and " + last
	}
	return strings.Join(first, ", ") + " and " + last
}

// columns counts the columns of a terminal that text takes, whatever the locale says.
var columns = &runewidth.Condition{}

// Width is the number of columns of a terminal that s takes.
func Width(s string) int { return columns.StringWidth(s) }

// pad fills s up with spaces to n columns, on its left where n is negative.
func pad(s string, n int) string {
	if n < 0 {
		return strings.Repeat(" ", max(-n-Width(s), 0)) + s
	}
	return s + strings.Repeat(" ", max(n-Width(s), 0))
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
		case Width(line)+1+Width(word) <= n:
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
	return strings.Join(wrap(Clean(text), defaultWidth-len(indent)), "\n"+indent)
}

// cut shortens text to n columns, at a word.
func cut(text string, n int) string {
	if Width(text) <= n {
		return text
	}
	return strings.TrimRight(columns.Truncate(wrap(text, n-2)[0], n-2, ""), ",;:") + " …"
}

// capital makes the first letter of a sentence a capital one.
func capital(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// stopped ends a sentence with a full stop.
func stopped(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".:!?") {
		return text
	}
	return text + "."
}

// addMarks appends marks that a list does not have yet.
func addMarks(all, more []Mark) []Mark {
	for _, m := range more {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}
