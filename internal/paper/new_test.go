package paper

import (
	"strings"
	"testing"
)

// fill makes a file from tables and reads it.
func fill(t *testing.T, name, text string, o NewOptions) (*Article, []Note) {
	t.Helper()
	sheets, err := ReadSheets(name, text)
	if err != nil {
		t.Fatal(err)
	}
	o.Name = "mine"
	file, notes, err := New(sheets, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Parse("mine.yaml", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return a, notes
}

func TestNewExample(t *testing.T) {
	file, _, err := New(nil, NewOptions{Name: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Parse("mine.yaml", file)
	if err != nil {
		t.Fatal(err)
	}
	if r := Audit(a); r.Agree != 1 || len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	// The commented keys are right: without the signs of comments, only the rows that they
	// name are missing.
	text := strings.ReplaceAll(string(file), "\n# - ", "\n- ")
	text = strings.ReplaceAll(text, "\n#   ", "\n  ")
	_, err = Parse("mine.yaml", []byte(text[strings.Index(text, "document:"):]))
	if err == nil || strings.Contains(err.Error(), "unknown key") || !strings.Contains(err.Error(), `"Table 2"`) {
		t.Error(err)
	}
}

func TestNewFromMarkdown(t *testing.T) {
	const page = `# Comparison
Words.
## Creation time
| Metric | LXC | KVM |
|---|---:|:--|
| **Total** time | 50.8s | 2m 6.5s (+148 %) |
| Rate (MB/s) | 1,100.5 | 900 (-18 %) |
| Boot | ~10.3 s | ca. 12 s (+16.5 %) |
| State | good | bad |

| Score (points) | LXC | KVM |
|---|---|---|
| index | 12 hits | – |
`
	a, notes := fill(t, "page.md", page, NewOptions{})
	var got []string
	for _, r := range a.Results {
		words := []string{r.Table, r.Workload, r.System, r.Values[0].number(), r.Unit, r.Better}
		if r.Delta != nil {
			words = append(words, r.Delta.Text+"%")
		}
		got = append(got, strings.Join(words, " "))
	}
	want := []string{
		"Creation time Total time LXC 50.8 s lower",
		"Creation time Total time KVM 126.5 s lower 148%",
		"Creation time Rate (MB/s) LXC 1100.5 MB/s higher",
		"Creation time Rate (MB/s) KVM 900 MB/s higher -18%",
		"Creation time Boot LXC 10.3 s lower",
		"Creation time Boot KVM 12 s lower 16.5%",
		"Creation time 2 index LXC 12 hits -",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(notes) != 2 || notes[0].Cell != "good" {
		t.Errorf("%+v", notes)
	}
	// 126.5/50.8 is +149 %.
	if r := Audit(a); len(r.Findings) != 1 || r.Findings[0].Kind != Rounding || r.Agree != 2 {
		t.Errorf("%+v", r)
	}
}

func TestNewFromCSV(t *testing.T) {
	const sheet = "system;openssl [s];untar [s]\nhost;47,639;310,147\nkvm;51,975 (+9,1 %);170,257 (-45,1 %)\n"
	a, _ := fill(t, "cpu.csv", sheet, NewOptions{SystemsInRows: true, DecimalComma: true})
	if r := Audit(a); r.Agree != 2 || len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	if len(a.Results) != 4 || a.Results[1].Values[0].number() != "51.975" || a.Results[1].System != "kvm" ||
		a.Results[1].Unit != "s" {
		t.Errorf("%+v", a.Results)
	}
}

func TestBadSheets(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"t.md", "no table here", "t.md has no table"},
		{"t.md", "| a | b |\n|---|---|\n| 1 |\n", "t.md:3:3: 1 cells, but the table has 2 columns"},
		{"t.csv", "a,b\n1,\"2\n", "t.csv: "},
		{"t.csv", "a,b,c\n\"1\n2\",3,4\n5,6\n", "t.csv:4:3: 2 cells"},
		{"t.csv", "a,b\n", "t.csv has no table"},
	} {
		if _, err := ReadSheets(c.name, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, not %q", c.text, err, c.want)
		}
	}
	sheets, err := ReadSheets("t.csv", "a,b\nx,y\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := New(sheets, NewOptions{}); err == nil ||
		!strings.Contains(err.Error(), "no cell of the tables has a number") {
		t.Error(err)
	}
}

// TestNewLosesNothing: each cell is a figure, is noted with its place, or is an error.
func TestNewLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name, text string
		comma      bool
		figures    string // values
		notes      string // places and beginnings
	}{
		{"a.csv", "\ufeffTest;native (MB/s);kvm (MB/s)\r\nread;1.234,5;1.100,0 (-10,9 %)\r\nwrite;500;\r\n", true,
			"1234.5 1100.0 500", ""},
		{"a.csv", "Test;native (MB/s)\nread;1.234,5\nwrite;500\n", false, "500", "a.csv:2:6 it has a decimal comma"},
		{"b.tsv", "test\thost\tguest\nboot (s)\t1 234.5\t2\u00a0345.6\nshare\t12%\t13 %\n", false,
			"1234.5 2345.6 12 13", ""},
		{"b.csv", "test,host,guest\nboot (s),1.5,2.5\n", true, "",
			"b.csv:2:10 it has a decimal point b.csv:2:14 it has a decimal point"},
		{"c.md", "Words | here.\n\nTest | Native | KVM\n--- | ---: | ---:\nCPU (s) | 13.1[^1] | 12.9*\n" +
			"x (s) | 0.5 ± 0.1 | <1\ny (s) | -3 | n/a\n", false,
			"13.1 12.9 0.5", "c.md:6:22 \"<1\" is not c.md:7:9 \"-3\" is not c.md:7:14 it has no number"},
	} {
		sheets, err := ReadSheets(c.name, c.text)
		if err != nil {
			t.Fatal(err)
		}
		file, notes, err := New(sheets, NewOptions{Name: "mine", DecimalComma: c.comma})
		var values []string
		if err == nil {
			a, err := Parse("mine.yaml", file)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range a.Results {
				values = append(values, r.Values[0].number())
			}
		}
		if got := strings.Join(values, " "); got != c.figures {
			t.Errorf("%q: figures %s, not %s", c.text, got, c.figures)
		}
		rest := c.notes
		for _, n := range notes {
			if strings.Contains(n.Text, "no unit") || strings.Contains(n.Text, "without its error") {
				continue
			}
			place, why, _ := strings.Cut(rest, " ")
			if n.Where != place || !strings.HasPrefix(n.Text, "is left out: "+firstWords(why)) {
				t.Errorf("%q: %s: %q %s; want %s", c.text, n.Where, n.Cell, n.Text, rest)
			}
			rest = strings.TrimPrefix(strings.TrimPrefix(why, firstWords(why)), " ")
		}
		if rest != "" {
			t.Errorf("%q: no note %s", c.text, rest)
		}
	}
	// A heading over several columns: the second has none.
	sheets, err := ReadSheets("d.csv", "Test,Host,,Guest\ndd (s),1,2,3\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := New(sheets, NewOptions{}); err == nil || !strings.Contains(err.Error(),
		`d.csv:1:11: this column has no name, but a cell, "2" (d.csv:2:10)`) {
		t.Error(err)
	}
}

// firstWords returns the words of a text before the next place.
func firstWords(s string) string {
	if i := strings.Index(s, " c.md:"); i >= 0 {
		return s[:i]
	}
	if i := strings.Index(s, " b.csv:"); i >= 0 {
		return s[:i]
	}
	return s
}
