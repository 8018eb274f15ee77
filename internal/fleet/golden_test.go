package fleet

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tare-bench/tare/internal/report/reporttest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldens freezes the JSON and the words of fleets and of their comparisons, with other groups, odd machines,
// machines that are left out, and every verdict.
func TestGoldens(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	costs := map[string][]float64{"dd-write": spread(r, 8, 0.1, 0.05), "sysbench-cpu": spread(r, 8, 0.003, 0.001),
		"untar": spread(r, 8, 0.05, 0.2)}
	costs["sysbench-cpu"][2] += 0.4
	before := sim(t, r, "june", costs, 0.004)
	other := sim(t, r, "other", map[string][]float64{"dd-write": spread(r, 4, 0.3, 0.05),
		"sysbench-cpu": spread(r, 4, 0.003, 0.001),
		"untar":        spread(r, 2, 0.05, 0.2)}, 0.004).Groups[0]
	other.Name = "epyc"
	for i := range other.Machines {
		other.Machines[i].HostID = "epyc" + other.Machines[i].Name
	}
	before.Groups = append(before.Groups, other)
	before = again(t, before)
	costs["dd-write"], costs["untar"] = plus(costs["dd-write"], 0.03), plus(costs["untar"], -0.01)
	costs["untar"][4] += 0.5
	after := sim(t, r, "july", costs, 0.004)
	for i := range after.Groups[0].Costs {
		for j := range after.Groups[0].Costs[i].Machines {
			after.Groups[0].Costs[i].Machines[j].BaselineValue *= 1.1 + 0.001*float64(j)
		}
		after.Groups[0].Costs[i].Machines[i].Size = 120
	}
	after.Groups = append(after.Groups, other)
	c, err := Compare(before, again(t, after))
	must(t, err)
	for name, write := range map[string]func(io.Writer) error{
		"fleet.json":  func(w io.Writer) error { return JSON(w, before) },
		"fleet.txt":   func(w io.Writer) error { return Text(w, before, true) },
		"change.json": func(w io.Writer) error { return ComparisonJSON(w, c) },
		"change.txt":  func(w io.Writer) error { return ComparisonText(w, c, true) },
	} {
		var b bytes.Buffer
		must(t, write(&b))
		reporttest.Golden(t, *update, name, b.Bytes())
	}
}
