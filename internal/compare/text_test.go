package compare

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/view"
)

func TestWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a, b, c := costing("a.tare", 1.09).run(t, random), costing("b|<img>\n\x1b[31m.tare", 1.20).run(t, random),
		costing("c.tare", 1.09).run(t, random)
	c.facts = [][2]string{{"kernel", "6.5"}, {"tare", "1"}}
	compared := compared(t, Alone(a, b, c)...)
	var text, markdown, js bytes.Buffer
	for _, err := range []error{Text(&text, compared, false), Markdown(&markdown, compared, false),
		view.PrintJSON(&js, compared)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"c.tare against a.tare\n\nNot the same on both sides:\n- kernel: 6.1 → 6.5\n\n" +
			"Nothing shows that these runs differ. 2 are the same within ±2 %.\n",
		"These runs differ in 1 of 2 overheads: 1 costs more than before. 1 is the same within ±2 %.\n",
		"these runs differ: costs more", "This holds for these runs", "The machine itself: ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String()+markdown.String(), "\x1b") || strings.Contains(markdown.String(), "<img") ||
		strings.Contains(markdown.String(), "b|") {
		t.Errorf("names are printed as they are:\n%s", markdown.String())
	}
	if !strings.Contains(markdown.String(), "| sysbench-cpu | lxc | +") {
		t.Errorf("the table is not there:\n%s", markdown.String())
	}
	var back Comparison
	if err := json.Unmarshal(js.Bytes(), &back); err != nil || len(back.Against) != 2 ||
		back.Against[0].Changes[0].Verdict != Worse || back.Against[1].Differences[0].What != "kernel" {
		t.Errorf("JSON: %v, %+v", err, back)
	}
}

// TestToldFirst: differences between the sides precede all figures.
func TestToldFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	a, b := usual("a"), usual("b")
	b.size = map[string]int64{"sysbench-cpu": 105}
	c := compared(t, a.side(t, random, 3), b.side(t, random, 3))
	for name, write := range map[string]func(io.Writer, *Comparison, bool) error{"text": Text, "markdown": Markdown} {
		var b bytes.Buffer
		if err := write(&b, c, false); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		sizes, figure := strings.Index(text, "100 events → 105 events"), strings.Index(text, "%")
		if sizes < 0 || figure < sizes {
			t.Errorf("%s: the sizes do not precede the first figure:\n%s", name, text)
		}
		for _, want := range []string{"(3 runs)", "Nothing shows that the system changed",
			"The intervals are over boots of the host"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, text)
			}
		}
	}
}

func TestSummary(t *testing.T) {
	c := &Comparison{Delta: 0.02}
	a := Against{Scope: System, Changes: []Change{
		{Verdict: NotResolved, FartherPercent: 3}, {Verdict: NotResolved, FartherPercent: -7.6},
		{Verdict: NotCompared, Why: "too far apart"}, {Verdict: Better}, {Verdict: Same}, {Verdict: Same},
	}}
	want := "The system changed in 1 of 5 overheads: 1 costs less than before. 2 are the same within ±2 %. 2 are not " +
		"resolved, at most ±7.6 %. 1 is not compared: too far apart."
	if got := c.Summary(a); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	a.Changes = []Change{{Verdict: NotCompared, Why: "a has too few blocks"},
		{Verdict: NotCompared, Why: "a has too few blocks"}}
	if got := c.Summary(a); got != "No overhead could be compared. 2 are not compared: a has too few blocks." {
		t.Errorf("%q", got)
	}
}
