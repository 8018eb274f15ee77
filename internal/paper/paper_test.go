package paper

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/strict"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; read the diff, then -update:\n%s", file, got)
	}
}

func TestArticles(t *testing.T) {
	figures, names := 0, []string{}
	for _, a := range All() {
		figures += len(a.Results)
		names = append(names, a.Document.Name)
		d := a.Document
		if d.Title == "" || d.Author == "" || len(d.Language) != 2 || d.Source() == "not known" || len(a.Systems) < 2 {
			t.Errorf("%s: %+v, %d systems", d.Name, d, len(a.Systems))
		}
		if _, err := json.Marshal(a.Tree); err != nil {
			t.Error(d.Name, err)
		}
		if got, err := Get(d.Name); got != a || err != nil {
			t.Errorf("Get(%q): %v", d.Name, err)
		}
	}
	if figures != 369 || len(names) != 5 {
		t.Errorf("%d figures of %q", figures, names)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not sorted: %q", names)
	}
	if y := All()[0].Document.Year(); y != 2010 {
		t.Error("year", y)
	}
	_, err := Get("latgrid-xen-veikspeja")
	if fault.KindOf(err) != fault.Campaign || !strings.Contains(fmt.Sprint(err), "did you mean latgrid-xen-veiktspeja") {
		t.Error(err)
	}
	if a, err := Get("habr"); err != nil || a.Document.Name != "habr-truevds-xen-disk" {
		t.Errorf("by a prefix: %v", err)
	}
}

// TestChoose: a name may be cut short as long as one name alone begins so.
func TestChoose(t *testing.T) {
	names := []string{"xen", "xen-disk", "xen-net", "kvm"}
	for word, want := range map[string]int{"xen": 0, "xen-d": 1, "xen-net": 2, "k": 3} {
		if got, err := choose(word, names); got != want || err != nil {
			t.Errorf("%q: %d, want %d: %v", word, got, want, err)
		}
	}
	for word, says := range map[string]string{
		"xe": "xen, xen-disk, xen-net", "xen-": "xen-disk, xen-net", "xen-dsik": "did you mean xen-disk",
		"": "the articles are xen, ", "XEN-D": "no article is named",
	} {
		if got, err := choose(word, names); got != -1 || fault.KindOf(err) != fault.Campaign ||
			!strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%q: %d, %v; want %q", word, got, err, says)
		}
	}
}

// TestResolutions: the resolution of each figure comes from the article's own words,
// because YAML drops trailing zeros.
func TestResolutions(t *testing.T) {
	for _, c := range []struct {
		words string
		value float64
		want  float64
	}{
		{"47,639 s (+9,1 %)", 47.639, 0.001},
		{"3,10", 3.1, 0.01},
		{"2 m 42,412 s", 162.412, 0.001},
		{"26 m 17,560 s", 1577.56, 0.001},
		{"30 m 10.0s", 1810, 0.1},
		{"1 h 2 m 3 s", 3723, 1},
		{"6 минут и 5 секунд", 365, 1},
		{"1197ms", 1197000, 1000},
		{"13 675,59", 13675.59, 0.01},
		{"13,675.59 requests", 13675.59, 0.01},
		{"13.675,59 requests", 13675.59, 0.01},
		{"1,234,567", 1234567, 1},
		{"530862 blocks", 530862, 1},
		{"10039.80s (1,63 MB/s … -86,6 %)", 1.63, 0.01},
		{"none", 5, 0},
	} {
		if got, _ := inText(c.words, c.value); !same(got, c.want) && got != c.want {
			t.Errorf("%q of %v: %v, not %v", c.words, c.value, got, c.want)
		}
	}
	for _, a := range All() {
		for _, r := range a.Results {
			for _, v := range r.Values {
				if v.Resolution <= 0 || !finite(v.Resolution) {
					t.Errorf("%s:%d: resolution %v", a.Document.Name, r.Line, v.Resolution)
				}
			}
		}
	}
}

// TestTables: every figure is in its article's tables, as printed.
func TestTables(t *testing.T) {
	var b bytes.Buffer
	for _, a := range All() {
		left := map[string]bool{}
		for _, r := range a.Results {
			left[r.Printed] = true
		}
		fmt.Fprintf(&b, "%s\n", a.Document.Name)
		for _, table := range a.Tables() {
			fmt.Fprintf(&b, "\n%s: %s\n%s\n", table.Name, strings.Join(table.Heading, " / "), strings.Join(table.Columns, " | "))
			for _, l := range table.Lines {
				fmt.Fprintf(&b, "%s: %s\n", strings.Join(l.Labels, ", "), strings.Join(l.Cells, " | "))
				for _, c := range l.Cells {
					delete(left, c)
				}
			}
		}
		if len(left) > 0 {
			t.Errorf("%s: not shown: %v", a.Document.Name, left)
		}
		b.WriteByte('\n')
	}
	golden(t, "tables.txt", b.Bytes())
}

// minimal is a valid file; tests replace parts of it.
const minimal = `document:
  short_name: mine
  title: T
systems:
  host: {kind: native}
  kvm-1: {kind: guest}
results:
- {table: t, workload: w, scenario: solo, system: host, statistic: mean, value: 10.0, unit: s, better: lower, printed: 10.0 s}
- {table: t, workload: w, scenario: solo, system: kvm-1, statistic: mean, value: 12.0, unit: s, better: lower, printed: 12.0 s (+20 %), printed_delta_pct: 20, baseline: host}
`

// recipeRest is what a repetition has besides its baseline.
const recipeRest = `systems: [{system: host, as: [native]}], campaigns: [{name: solo, scenarios: [solo], workloads: [file-ops]}], figures: [{campaign: solo, by: file-ops, metric: io-time}]`

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"table: t, workload: w, scenario: solo, system: kvm-1", "tabel: t, workload: w, scenario: solo, system: kvm-1",
			`f.yaml:9:4: unknown key "tabel" in a result (did you mean "table"?)`},
		{"table: t, workload: w, scenario: solo, system: host", "workload: w, scenario: solo, system: host",
			`f.yaml:8:3: a result needs the key "table"`},
		{"  title: T\n", "", `f.yaml:2:3: a document needs the key "title"`},
		{"short_name: mine", "short_name: My Article", `f.yaml:2:15: short_name must be a name of lower-case letters`},
		{"title: T", "title: T\n  title: U", `f.yaml:4:3: key "title" appears twice, first in line 3`},
		{"value: 10.0", "value: fast", `value must be a plain number: "fast" is not one`},
		{"value: 10.0", "value: .inf", `value must be a plain number`},
		{"value: 10.0", "value: 0x10", `value must be a plain number`},
		{"value: 10.0", "value: [1, 2, 3]", `value must have 1 to 2 numbers, found 3`},
		{"value: 10.0, ", "", `f.yaml:8:3: a result needs the key "value"`},
		{"printed_delta_pct: 20", "printed_delta_pct: about 20", `printed_delta_pct must be a percentage`},
		{"printed_delta_pct: 20", "printed_ratio: '3:2'", `printed_ratio must be a number, "1:5"`},
		{", baseline: host", "", "a printed change needs a baseline"},
		{"baseline: host", "baseline: hots", `systems has no "hots" (did you mean "host"?)`},
		{"system: kvm-1", "system: kvn-1", `systems has no "kvn-1" (did you mean "kvm-1"?)`},
		{"baseline: host", "of: {statistic: max}, to: {system: host}", `of: no row with a value has table "t"`},
		{"unit: s", "unit: sx", `the unit "sx" is not known`},
		{"unit: s", "unit: requests/sec", `if it is right, list it below the key units`},
		{"baseline: host", "of: {statistic: mean, table: t}, to: {system: host, table: u}", `table "u"`},
		{"baseline: host", "of: {sytem: kvm-1}, to: 2", `unknown key "sytem" in an operand (did you mean "system"?)`},
		{"baseline: host", "to: -2", `to must be a number above 0`},
		{"baseline: host", "baseline: host, resolution: 0", `resolution must be a number above 0`},
		{"systems:", "sistems:", `unknown key "sistems" in an article (did you mean "systems"?)`},
		{"title: T", "title: !!str T", "tags are not allowed"},
		{"results:", "results: {", "not YAML"},
		{"results:", "repetition: {baseline: hots, " + recipeRest + "}\nresults:",
			`systems has no "hots" (did you mean "host"?)`},
		{"results:", "repetition: {baseline: host, " + strings.Replace(recipeRest, "by: file-ops", "by: v", 1) +
			"}\nresults:", `campaign solo has no workload "v"`},
		{"results:", "repetition: {baseline: host, " + strings.Replace(recipeRest, "campaign: solo", "campaign: sole", 1) +
			"}\nresults:", `no campaign is named "sole"`},
		{"results:", "repetition: {baseline: host, " + strings.Replace(recipeRest, "metric: io-time", "in: crowd", 1) +
			"}\nresults:", `needs campaign, by and metric`},
		{"results:", "repetition: {baseline: host, " + strings.Replace(recipeRest, "metric: io-time",
			"metric: io-time, in: crowd", 1) + "}\nresults:", `campaign solo has no scenario crowd`},
		{"results:", "repetition: {baseline: host, " + strings.Replace(recipeRest, "metric: io-time", "metric: io", 1) +
			"}\nresults:", `file-ops has no metric "io"`},
		{"results:", "repetition: {baseline: host, " + strings.Replace(recipeRest, "[file-ops]", "[fiel-ops]", 1) +
			"}\nresults:", `fiel-ops`},
		{"results:", "repetition: {baseline: host, " + recipeRest + "}\nresults:", ""},
		{"title: T", "title: T\n  date: yesterday", `date must be YYYY`},
		{minimal, "", "f.yaml:1:1: the file is empty"},
		{minimal, "- 1\n", "f.yaml:1:1: an article must be a mapping of keys to values, found a list"},
		{minimal, "a: \xff\n", "f.yaml:1:4: the file is not UTF-8"},
		{minimal, minimal + "---\na: b\n", "f.yaml:11:1: a second document"},
		{minimal, "a: " + strings.Repeat("[", 50), "nested more than"},
		{minimal, strings.Repeat("# x\n", 1<<19), "the limit is"},
	} {
		text := strings.Replace(minimal, c.old, c.new, 1)
		if c.old == "" {
			text = minimal
		}
		_, err := Parse("f.yaml", []byte(text))
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		var all strict.Errors
		if fault.KindOf(err) != fault.Campaign || !errors.As(err, &all) || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%q → %q: %v, not %q", c.old, c.new, err, c.want)
		}
	}
}

// TestDocumentedExample: the file in docs/paper.md is valid and has the documented
// findings.
func TestDocumentedExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/paper.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	a, err := Parse("docs/paper.md", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	r := Audit(a)
	if r.Agree != 1 || r.Count(Arithmetic) != 2 || len(r.Findings) != 2 ||
		!strings.Contains(r.Findings[0].Explanation, "other base") {
		t.Errorf("%+v", r)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	for _, dir := range []string{"data", "testdata"} {
		names, err := filepath.Glob(dir + "/*.yaml")
		if err != nil || len(names) == 0 {
			f.Fatal(names, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text[:min(len(text), 8<<10)])
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Parse("fuzz.yaml", text)
		if err != nil {
			var all strict.Errors
			if fault.KindOf(err) != fault.Campaign || !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("an error of the wrong kind: %v", err)
			}
			for _, p := range all {
				if p.Line < 1 || p.Col < 1 || p.Msg == "" || strings.ContainsAny(p.Msg, "\n\x1b") {
					t.Fatalf("a problem without its place: %+v", p)
				}
			}
			return
		}
		for _, table := range a.Tables() {
			for _, l := range table.Lines {
				if len(l.Cells) != len(table.Columns) {
					t.Fatalf("%s: %d cells in %d columns", table.Name, len(l.Cells), len(table.Columns))
				}
			}
		}
		r := Audit(a)
		if _, err := json.Marshal(r.Findings); err != nil { // infinities are no JSON
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			f.Values()
			if f.Kind == "" || f.Row == "" || f.Low > f.High {
				t.Fatalf("%+v", f)
			}
		}
		if _, err := json.Marshal(a.Tree); err != nil {
			t.Fatal(err)
		}
	})
}
