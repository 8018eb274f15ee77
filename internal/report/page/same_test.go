package page

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/report/reporttest"
	"github.com/tare-bench/tare/internal/view"
)

// TestSameEverywhere: terminal, page, Markdown, CSV and JSON have the same text for every cell of every table of a run,
// and CSV and JSON the same number.
func TestSameEverywhere(t *testing.T) {
	r := synth{blocks: 12, several: true, bulk: true, ended: string(plan.ReasonBlocks)}.write(t)
	res := analyzed(t, r)
	cells := sameEverywhere(t, res, written(t, r, res, Options{}))
	cases := reporttest.Cases()
	cells += sameEverywhere(t, cases, renderCases(t))
	if cells < 1500 {
		t.Errorf("only %d cells were compared", cells)
	}
}

// sameEverywhere compares the cells of a result with those on its page, and returns their number.
func sameEverywhere(t *testing.T, res *analyze.Result, page string) (cells int) {
	t.Helper()
	ctx := report.Context{AllMetrics: true, Width: 1 << 16}
	d := report.Document(res, ctx)
	var terminal, markdown, table, js bytes.Buffer
	must(t, report.Table(&terminal, res, ctx))
	must(t, view.Markdown(&markdown, 1, d))
	must(t, view.CSV(&table, d))
	must(t, view.PrintJSON(&js, d))
	screen, notes := rowsOn(terminal.String(), `\n`), rowsOn(markdown.String(), `\n`)
	shown := rowsOn(page, `</tr>`)
	var lines [][]string
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
	each(d, func(tb *view.Table) {
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

// each calls f with every table of a section that is no repetition of others.
func each(s *view.Section, f func(*view.Table)) {
	for _, p := range s.Parts {
		switch p := p.(type) {
		case *view.Section:
			each(p, f)
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
