package paper

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Sheet is a table as text: its first row names the columns.
type Sheet struct {
	Name string
	File string
	Rows [][]string // all of the same length
	at   [][]place  // of each cell
}

// place is a position in a file, from 1. The column counts bytes, as that of compilers.
type place struct{ line, column int }

// where is the position of a cell as file:line:column.
func (s *Sheet) where(row, column int) string {
	at := s.at[row][column]
	return fmt.Sprintf("%s:%d:%d", s.File, at.line, at.column)
}

// ReadSheets reads the tables of a CSV file (separated by commas, semicolons or tabs), or
// of a Markdown page, whose headings name them. name is the file's name for messages; a
// name that ends in .md or .markdown is a page. An error is of the kind fault.Campaign.
func ReadSheets(name, text string) ([]Sheet, error) {
	lower := strings.ToLower(name)
	text = strings.ToValidUTF8(text, "\ufffd")
	sheets, err := []Sheet(nil), error(nil)
	if strings.HasSuffix(lower, ".md") || strings.HasSuffix(lower, ".markdown") {
		sheets = markdownSheets(text)
	} else {
		sheets, err = csvSheet(name, text)
	}
	if err != nil {
		return nil, err
	}
	if len(sheets) == 0 {
		return nil, fault.WithRemedy(fault.Campaignf("%s has no table", name),
			"a table has a line of column names, and lines of figures with the same number of columns")
	}
	for i := range sheets {
		s := &sheets[i]
		s.File = name
		for i, row := range s.Rows {
			if len(row) != len(s.Rows[0]) {
				return nil, fault.Campaignf("%s: %d cells, but the table has %d columns",
					s.where(i, min(len(row), len(s.Rows[0])+1)-1), len(row), len(s.Rows[0]))
			}
		}
	}
	return sheets, nil
}

// csvSheet reads a CSV file. The separator is the one that its first line has most of.
func csvSheet(name, text string) ([]Sheet, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	for _, separator := range ";\t" {
		if strings.Count(first, string(separator)) > strings.Count(first, string(r.Comma)) {
			r.Comma = separator
		}
	}
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	title := name[strings.LastIndexByte(name, '/')+1:]
	s := Sheet{Name: strings.TrimSuffix(title, filepath.Ext(title))}
	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF) && len(s.Rows) < 2:
			return nil, nil
		case errors.Is(err, io.EOF):
			return []Sheet{s}, nil
		case err != nil:
			return nil, fault.Campaignf("%s: %w", name, err)
		}
		at := make([]place, len(row))
		for i := range row {
			at[i].line, at[i].column = r.FieldPos(i)
		}
		s.Rows, s.at = append(s.Rows, row), append(s.at, at)
	}
}

var (
	heading  = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*$`)
	ruler    = regexp.MustCompile(`^:?-+:?$`)
	emphasis = strings.NewReplacer("**", "", "__", "", "`", "", "<br>", " ", `\|`, "|")
)

// markdownSheets returns the tables of a page. A table without a heading of its own has
// that of the table before it, and a number. Lines of a table begin with a bar, or belong
// to one whose second line is a ruler.
func markdownSheets(text string) []Sheet {
	var sheets []Sheet
	title, used := "Table", map[string]int{}
	open, bare := false, false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := heading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			title = emphasis.Replace(m[1])
		}
		if !open {
			bare = i+1 < len(lines) && strings.Contains(line, "|") && isRuler(lines[i+1])
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "|") && !(bare && strings.Contains(line, "|")) {
			open = false
			continue
		}
		cells, at := markdownCells(line, i+1)
		if !open {
			name := title
			if used[title]++; used[title] > 1 {
				name += " " + strconv.Itoa(used[title])
			}
			sheets, open = append(sheets, Sheet{Name: name}), true
		}
		s := &sheets[len(sheets)-1]
		if len(s.Rows) == 1 && isRuler(line) {
			continue
		}
		s.Rows, s.at = append(s.Rows, cells), append(s.at, at)
	}
	return slices.DeleteFunc(sheets, func(s Sheet) bool { return len(s.Rows) < 2 })
}

// isRuler reports whether a line separates the names of a table's columns from its rows.
func isRuler(line string) bool {
	cells, _ := markdownCells(line, 0)
	return strings.Contains(line, "|") && !slices.ContainsFunc(cells, func(c string) bool { return !ruler.MatchString(c) })
}

// markdownCells returns the cells of a line of a table, and their places.
func markdownCells(line string, number int) (cells []string, at []place) {
	line = strings.TrimRight(strings.ReplaceAll(line, `\|`, "\x00\x00"), " \t\r")
	column := len(line) - len(strings.TrimLeft(line, " \t"))
	line = strings.TrimSuffix(line[column:], "|")
	if strings.HasPrefix(line, "|") {
		line, column = line[1:], column+1
	}
	for c := range strings.SplitSeq(line, "|") {
		trimmed := strings.TrimLeft(c, " \t")
		at = append(at, place{number, column + len(c) - len(trimmed) + 1})
		column += len(c) + 1
		cells = append(cells, strings.TrimSpace(emphasis.Replace(strings.ReplaceAll(trimmed, "\x00\x00", "|"))))
	}
	return cells, at
}
