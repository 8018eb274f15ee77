package report

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	long    = regexp.MustCompile(`-?\d+\.\d{6,}(e[+-]\d+)?`)
)

// golden compares text with a file, except for the time of day and for digits that
// differ between processors.
func golden(t *testing.T, name, text string) {
	t.Helper()
	text = instant.ReplaceAllString(text, "2026-01-02T03:04:05Z")
	text = long.ReplaceAllStringFunc(text, func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		must(t, err)
		return strconv.FormatFloat(v, 'g', 7, 64)
	})
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if text != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, text, want)
	}
}

func tableOf(t *testing.T, res *analyze.Result, ctx Context) string {
	t.Helper()
	var b strings.Builder
	must(t, Table(&b, res, ctx))
	return b.String()
}

// texts are the headings and the cells of a table, with their marks.
func texts(t *view.Table) [][]string {
	rows := [][]string{{}}
	for _, c := range t.Columns {
		rows[0] = append(rows[0], c.Head)
	}
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, c.Line())
		}
		rows = append(rows, cells)
	}
	return rows
}

func fits(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if view.Width(strings.TrimSuffix(line, "\n")) > columns {
			t.Errorf("wider than %d columns: %q", columns, line)
		}
	}
}

func TestTable(t *testing.T) {
	r := makeRun(t, 12, "blocks")
	res, ctx := analyzed(t, r), contextOf(t, r)
	golden(t, "table.txt", tableOf(t, res, ctx))

	all := ctx
	all.AllMetrics = true
	golden(t, "table-all.txt", tableOf(t, res, all))

	colour := ctx
	colour.Colour = true
	text := tableOf(t, res, colour)
	golden(t, "table-colour.txt", text)
	if plain := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(text, ""); plain != tableOf(t, res, ctx) {
		t.Error("colour changes more than the colour")
	}
}

func TestTableIncomplete(t *testing.T) {
	r := makeRun(t, 3, "")
	golden(t, "table-incomplete.txt", tableOf(t, analyzed(t, r), contextOf(t, r)))
	budget := makeRun(t, 3, "budget")
	if text := tableOf(t, analyzed(t, budget), contextOf(t, budget)); !strings.Contains(text, "TOO FEW") ||
		strings.Contains(text, "INCOMPLETE") {
		t.Errorf("a budget that left too few blocks:\n%s", text)
	}
	empty := makeRun(t, 0, "host: the disk is full")
	golden(t, "table-empty.txt", tableOf(t, analyzed(t, empty), contextOf(t, empty)))
}

// TestTableFits: no line exceeds the width, and no text from a guest controls the
// terminal.
func TestTableFits(t *testing.T) {
	r := makeRun(t, 6, "blocks")
	res, ctx := analyzed(t, r), contextOf(t, r)
	for _, columns := range []int{0, 80, 100, 140} {
		for _, ctx.AllMetrics = range []bool{false, true} {
			ctx.Width = columns
			text := tableOf(t, res, ctx)
			fits(t, text, cmp.Or(columns, 100))
			if strings.ContainsAny(text, "\x1b\r\a") {
				t.Error("control characters in the table")
			}
		}
	}
}

func TestScale(t *testing.T) {
	for _, test := range []struct {
		unit string
		v    float64
		want string
	}{
		{"s", 1.23456, "1.235 s"}, {"s", 0.25, "250.0 ms"}, {"s", 3897, "3897 s"}, {"s", 0, "0 s"},
		{"s", 12.5e-6, "12.50 µs"},
		{"ns", 2.5e6, "2.500 ms"}, {"ns", 0.5, "0.5000 ns"}, {"B", 512 << 20, "512.0 MiB"}, {"B", 0, "0 B"},
		{"B", 3, "3.000 B"},
		{"B/s", 412e6, "412.0 MB/s"}, {"1/s", 4321, "4321 /s"}, {"1/s", 432100, "432.1 k/s"}, {"1/s", 0.5, "0.5000 /s"},
		{"periods", 12, "12.00 periods"}, {"", 7, "7.000"}, {"s", -0.25, "-250.0 ms"}, {"x", 9.99996, "10.00 x"},
		{"x", 3e12, "3e+12 x"},
	} {
		if got := ScaleFor(test.unit, test.v).With(test.v); got != test.want {
			t.Errorf("%v %s: %q, want %q", test.v, test.unit, got, test.want)
		}
	}
	for v, want := range map[float64]string{9.123: "+9.1", -0.345: "-0.34", 1457.4: "+1457", 0: "0.00", -0.001: "0.00",
		22.44: "+22.4", -99.96: "-100"} {
		if got := Percent(v); got != want {
			t.Errorf("percent(%v) = %q, want %q", v, got, want)
		}
	}
}
