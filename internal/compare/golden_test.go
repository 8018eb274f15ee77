package compare

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/report/reporttest"
	"github.com/tare-bench/tare/internal/view"
	"github.com/tare-bench/tare/internal/view/pagetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldens freezes the JSON and the words of comparisons in which every verdict occurs.
func TestGoldens(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	before, after := costing("june.tare", 1.09), costing("july.tare", 1.20)
	for i, u := range []*truth{&before, &after} {
		u.workloads = []string{"sysbench-cpu", "openssl-enc", "dd-write", "fio-randread", "stress-ng-exec"}
		u.size = map[string]int64{"dd-write": 100 + 100*int64(i)}
		u.cost["openssl-enc runc"] = 1.2 - 0.15*float64(i)
	}
	after.cost["fio-randread runc"] = 1.012
	a, b := before.run(t, random), after.run(t, random)
	b.facts[0][1] = "6.12"
	for name, c := range map[string]*Comparison{
		"runs":  compared(t, Alone(a, b)...),
		"boots": compared(t, before.side(t, random, 3), after.side(t, random, 4)),
	} {
		var js, text bytes.Buffer
		for _, err := range []error{view.PrintJSON(&js, c), Text(&text, c, false)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		reporttest.Golden(t, *update, name+".json", js.Bytes())
		page, err := view.HTML(1, c.Document(true)...)
		if err != nil {
			t.Fatal(err)
		}
		if n := pagetest.Same(t, string(page), c.Document(true)...); n < 50 {
			t.Errorf("%s: only %d cells were compared", name, n)
		}
		reporttest.Golden(t, *update, name+".txt", text.Bytes())
	}
}
