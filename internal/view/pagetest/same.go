package pagetest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/view"
)

// Same reports cells of the tables of parts that are not the same on a page of these parts and as the terminal,
// Markdown, CSV and JSON show them: the text everywhere, and the number in CSV and JSON. It returns how many cells it
// compared.
func Same(t *testing.T, page string, parts ...view.Part) (cells int) {
	t.Helper()
	var terminal, markdown, table, js bytes.Buffer
	must(t, view.Terminal(&terminal, view.Options{All: true, Plots: true, Width: 1 << 16}, parts...))
	must(t, view.Markdown(&markdown, 1, parts...))
	must(t, view.CSV(&table, parts...))
	must(t, view.PrintJSON(&js, parts))
	screen, notes := rowsOn(terminal.String(), `\n`), rowsOn(markdown.String(), `\n`)
	shown := rowsOn(page, `</tr>`)
	lines, err := csv.NewReader(&table).ReadAll()
	must(t, err)
	var decoded any
	must(t, json.Unmarshal(js.Bytes(), &decoded))
	figures := map[string]bool{}
	collect(decoded, figures)
	exported := map[string]bool{}
	for _, l := range lines {
		exported[strings.TrimPrefix(l[5], "'")+"\x00"+l[6]] = true
	}
	each(parts, func(tb *view.Table) {
		for _, row := range tb.Rows {
			var texts []string
			for _, c := range row.Cells {
				if c.Text == "" {
					continue
				}
				cells++
				texts = append(texts, c.Line())
				value := ""
				if c.Figure != nil {
					value = strconv.FormatFloat(c.Figure.Value, 'g', -1, 64)
				}
				if !exported[c.Line()+"\x00"+value] {
					t.Errorf("%s: CSV does not have %q, %s", tb.Caption, c.Line(), value)
				}
				if !figures[c.Text+"\x00"+value] {
					t.Errorf("%s: JSON does not have %q, %s", tb.Caption, c.Text, value)
				}
			}
			if tb.Once { // a terminal does not print its name again
				screen.has(t, tb, texts[1:], "the terminal")
			} else {
				screen.has(t, tb, texts, "the terminal")
			}
			notes.has(t, tb, texts, "Markdown")
			if tb.Across == 0 {
				shown.has(t, tb, texts, "the page")
			}
		}
	})
	return cells
}

// each calls f with every table of parts that is no repetition of others.
func each(parts []view.Part, f func(*view.Table)) {
	for _, p := range parts {
		switch p := p.(type) {
		case *view.Section:
			each(p.Parts, f)
		case *view.Table:
			if !p.Repeats {
				f(p)
			}
		}
	}
}

// rows are lines of text without tags and spaces.
type rows []string

var (
	notText = regexp.MustCompile(`<[^>]*>|[\s|\x{a0}]+`)
	unseen  = regexp.MustCompile(`<span class="hidden">[^<]*</span>`)
)

func squeezed(text string) string {
	return notText.ReplaceAllString(html.UnescapeString(unseen.ReplaceAllString(text, "")), "")
}

func rowsOn(text, end string) (all rows) {
	for _, line := range regexp.MustCompile(end).Split(text, -1) {
		all = append(all, squeezed(line))
	}
	return all
}

// has reports it unless a row has all of these texts in their order.
func (all rows) has(t *testing.T, tb *view.Table, texts []string, where string) {
	t.Helper()
	wanted := make([]string, len(texts))
	for i, text := range texts {
		wanted[i] = squeezed(strings.TrimPrefix(text, "~ "))
	}
	for _, row := range all {
		found := true
		for _, text := range wanted {
			at := strings.Index(row, text)
			if at < 0 {
				found = false
				break
			}
			row = row[at+len(text):]
		}
		if found {
			return
		}
	}
	t.Errorf("%s: %s does not have %q", tb.Caption, where, texts)
}

// collect notes the text and the figure of each cell in JSON.
func collect(v any, into map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collect(e, into)
		}
	case map[string]any:
		if text, ok := v["text"].(string); ok {
			value := ""
			if f, ok := v["figure"].(map[string]any); ok {
				value = strconv.FormatFloat(f["value"].(float64), 'g', -1, 64)
			}
			into[text+"\x00"+value] = true
		}
		for _, e := range v {
			collect(e, into)
		}
	}
}
