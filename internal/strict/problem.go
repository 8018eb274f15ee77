package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a file, and where.
type Problem struct {
	File   string
	Line   int    // from 1
	Col    int    // in characters, from 1
	Msg    string // one line
	Hint   string // the right word, if one is near; or ""
	Source string // the line of the file; or "" if it is not available
}

// String writes p as file:line:col: message, with the source line and a mark
// beneath it.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", p.Hint)
	}
	if strings.TrimSpace(p.Source) == "" {
		return b.String()
	}
	line, mark := window(p.Source, p.Col)
	fmt.Fprintf(&b, "\n%5d | %s\n      | %s^", p.Line, line, strings.Repeat(" ", mark))
	return b.String()
}

// window cuts a long source line to the part around column col, and returns it fit
// for a terminal, with the number of characters before the column.
func window(source string, col int) (string, int) {
	const width = 110
	line := []rune(source)
	at := min(max(col-1, 0), len(line))
	start := 0
	if len(line) > width && at > width*2/3 {
		start = at - width*2/3
	}
	end := min(len(line), start+width)
	shown := printable(string(line[start:end]))
	if start > 0 {
		shown, at = "…"+shown, at+1
	}
	if end < len(line) {
		shown += "…"
	}
	return shown, at - start
}

// printable replaces what would move a terminal's cursor or hide text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Quote quotes a word of the file for a message, and cuts a long one.
func Quote(s string) string {
	return strconv.Quote(Shorten(s))
}

// Shorten cuts a long word for a message.
func Shorten(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:57]) + "..."
	}
	return s
}

// Errors is everything that is wrong with one file, in its order.
type Errors []Problem

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems of one file are listed.
const maxProblems = 50

// tidy sorts problems by their place in the file, removes repeats, and cuts them to
// maxProblems.
func tidy(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	problems = slices.Compact(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = problems[:maxProblems]
		last := &problems[maxProblems-1]
		last.Msg += fmt.Sprintf(" (and %d more problems after this one)", more)
	}
	return problems
}
