package paper

import (
	"encoding/csv"
	"regexp"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// Sheet is a table as text: its first row names the columns.
type Sheet struct {
	Name string
	Rows [][]string // all of the same length
	line int        // of the first row in its file
}

// ReadSheets reads the tables of a CSV file (separated by commas, semicolons or tabs), or
// of a Markdown page, whose headings name them. name is the file's name for messages; a
// name that ends in .md or .markdown is a page. An error is of the kind fault.Campaign.
func ReadSheets(name, text string) ([]Sheet, error) {
	lower := strings.ToLower(name)
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
	for _, s := range sheets {
		for i, row := range s.Rows {
			if len(row) != len(s.Rows[0]) {
				return nil, fault.Campaignf("%s:%d: %d cells, but the table has %d columns", name, s.line+i, len(row),
					len(s.Rows[0]))
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
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fault.Campaignf("%s: %w", name, err)
	}
	if len(rows) < 2 {
		return nil, nil
	}
	title := name[strings.LastIndexByte(name, '/')+1:]
	return []Sheet{{Name: strings.TrimSuffix(title, ".csv"), Rows: rows, line: 1}}, nil
}

var (
	heading  = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*$`)
	ruler    = regexp.MustCompile(`^:?-+:?$`)
	emphasis = strings.NewReplacer("**", "", "__", "", "`", "", "<br>", " ", `\|`, "|")
)

// markdownSheets returns the tables of a page. A table without a heading of its own has
// that of the table before it, and a number.
func markdownSheets(text string) []Sheet {
	var sheets []Sheet
	title, used := "Table", map[string]int{}
	open := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			title = emphasis.Replace(m[1])
		}
		if !strings.HasPrefix(line, "|") {
			open = false
			continue
		}
		cells := markdownCells(line)
		if !open {
			name := title
			if used[title]++; used[title] > 1 {
				name += " " + string(rune('0'+used[title]%10))
			}
			sheets, open = append(sheets, Sheet{Name: name, line: i + 1}), true
		}
		s := &sheets[len(sheets)-1]
		if len(s.Rows) == 1 && ruler.MatchString(cells[0]) {
			s.line++ // the rows after the ruler are one line farther down
			continue
		}
		s.Rows = append(s.Rows, cells)
	}
	kept := sheets[:0]
	for _, s := range sheets {
		if len(s.Rows) > 1 {
			kept = append(kept, s)
		}
	}
	return kept
}

func markdownCells(line string) []string {
	line = strings.ReplaceAll(line, `\|`, "\x00")
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(emphasis.Replace(strings.ReplaceAll(c, "\x00", "|")))
	}
	return cells
}
