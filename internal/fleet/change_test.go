package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
)

// sim is a fleet of k machines of one group, on which lxc costs so much on workloads, by the ln costs
// of each machine; estimates have the standard error stdErr.
func sim(t testing.TB, r *rand.Rand, name string, costs map[string][]float64, stdErr float64) *Result {
	t.Helper()
	g := Group{Name: "xeon"}
	res := &Result{Format: Format, Name: name, Alpha: 0.05, Delta: 0.02}
	for _, workload := range []string{"dd-write", "sysbench-cpu", "untar"} {
		c := Cost{Workload: workload, Metric: "time", Unit: "s", Better: "lower", Arm: "lxc", Baseline: "native",
			Family: analyze.FamilyPrimary}
		for i, cost := range costs[workload] {
			if len(g.Machines) <= i {
				g.Machines = append(g.Machines, MachineInfo{Name: fmt.Sprint("node", i+1), HostID: fmt.Sprint("id", i+1),
					Facts: map[string]string{"kernel": "6.1"}})
			}
			c.Machines = append(c.Machines, MachineCost{Machine: g.Machines[i].Name,
				Ratio: math.Exp(cost + stdErr*r.NormFloat64()), StdErr: stdErr, DF: 7, Size: 100, Guests: "1 vCPU",
				BaselineSystem: "native", BaselineValue: 0.25})
		}
		if len(c.Machines) > 0 {
			g.Costs = append(g.Costs, c)
		}
	}
	res.Groups = []Group{g}
	return again(t, res)
}

// again writes a result as JSON and reads it.
func again(t testing.TB, res *Result) *Result {
	t.Helper()
	var b bytes.Buffer
	must(t, JSON(&b, res))
	out, err := ParseJSON("fleet.json", b.Bytes())
	must(t, err)
	return out
}

// spread are the ln costs of k machines, with sd between them.
func spread(r *rand.Rand, k int, ln, sd float64) []float64 {
	var out []float64
	for range k {
		out = append(out, ln+sd*r.NormFloat64())
	}
	return out
}

// plus adds a change to every cost.
func plus(of []float64, change float64) []float64 {
	out := slices.Clone(of)
	for i := range out {
		out[i] += change
	}
	return out
}

// TestCompare: planted changes come out, with what is alike told apart from what is not resolved; each
// machine is compared with itself, so that their spread of 5 % does not hide a change of 3 %.
func TestCompare(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	dd, cpu, untar := spread(r, 12, 0.1, 0.05), spread(r, 12, 0.01, 0.01), spread(r, 12, 0.05, 0.02)
	before := sim(t, r, "june", map[string][]float64{"dd-write": dd, "sysbench-cpu": cpu, "untar": untar}, 0.004)
	dd, untar = plus(dd, 0.03), plus(untar, -0.05)
	untar[4] += 0.3
	after := sim(t, r, "july", map[string][]float64{"dd-write": dd, "sysbench-cpu": cpu, "untar": untar}, 0.004)
	for i := range after.Groups[0].Machines {
		after.Groups[0].Machines[i].Facts["kernel"] = "6.12"
	}
	after.Groups[0].Machines[3].Facts["governor"] = "powersave"
	before.Groups[0].Machines[3].Facts["governor"] = "performance"
	after.Groups[0].Machines[11].HostID = "another host under the same name"
	c, err := Compare(before, after)
	must(t, err)
	g := c.Groups[0]
	if !g.Paired || len(g.Both) != 11 || g.OnlyBefore[0] != "node12" || g.OnlyAfter[0] != "node12" {
		t.Fatalf("%+v", g)
	}
	for i, want := range []struct {
		verdict analyze.Verdict
		ratio   float64
	}{{analyze.Costs, math.Exp(0.03)}, {analyze.None, 1}, {analyze.NotResolved, 0}} {
		p := g.Changes[i].Change
		if p.Verdict != want.verdict || want.ratio > 0 && (p.CILow > want.ratio || p.CIHigh < want.ratio) ||
			p.NextLow > p.CILow || p.NextHigh < p.CIHigh {
			t.Errorf("%s: %+v", g.Changes[i].Workload, p)
		}
	}
	if !slices.Equal(g.Odd, []string{"node5"}) {
		t.Errorf("odd: %v", g.Odd)
	}
	want := []Difference{{"kernel", "6.1", "6.12", 11, 11}, {"governor", "performance", "powersave", 1, 11}}
	if !slices.Equal(g.Differences, want) {
		t.Errorf("%+v", g.Differences)
	}
	if len(g.Baselines) != 3 || g.Baselines[0].Change != nil || !strings.Contains(g.Baselines[0].Why, "last digit") {
		t.Errorf("baselines: %+v", g.Baselines)
	}
	var text, out bytes.Buffer
	must(t, ComparisonText(&text, c, true))
	for _, want := range []string{"Fleet july against june", "xeon: 11 machines, each compared with itself",
		"left out, since only measured before: node12", "kernel: 6.1 → 6.12 on 11 of 11",
		"lxc on dd-write costs more than before: +", "On the next machine, expect", "the same", "Odd: node5. lxc on untar"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	must(t, ComparisonJSON(&out, c))
	var back Comparison
	must(t, json.Unmarshal(out.Bytes(), &back))
	if back.Groups[0].Changes[0].Change.Verdict != analyze.Costs || back.Format != 1 {
		t.Errorf("%s", &out)
	}
}

// TestCompareOthers: other machines are compared by their means; few machines, other trials, and
// groups that only one side has are told.
func TestCompareOthers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	before := sim(t, r, "old", map[string][]float64{"dd-write": spread(r, 8, 0.1, 0.01),
		"untar": spread(r, 8, 0, 0.01)}, 0.003)
	after := sim(t, r, "new", map[string][]float64{"dd-write": spread(r, 9, 0.2, 0.01),
		"untar": spread(r, 9, 0, 0.01)}, 0.003)
	for i := range after.Groups[0].Machines {
		after.Groups[0].Machines[i].HostID = fmt.Sprint("other", i)
	}
	c, err := Compare(before, after)
	must(t, err)
	g := c.Groups[0]
	if p := g.Changes[0].Change; g.Paired || p.Verdict != analyze.Costs || p.Ratio < 1.08 || p.Ratio > 1.13 ||
		p.NextHigh != 0 || len(g.Baselines) != 0 {
		t.Errorf("%+v, %+v", g, p)
	}
	var text bytes.Buffer
	must(t, ComparisonText(&text, c, false))
	if !strings.Contains(text.String(), "8 machines before and 9 other machines after: their means are compared") {
		t.Errorf("%s", &text)
	}
	// Two of the machines: too few to say anything of the kind.
	two := sim(t, r, "two", map[string][]float64{"dd-write": {0.1, 0.1}}, 0.003)
	c, err = Compare(before, two)
	must(t, err)
	if ch := c.Groups[0].Changes[0]; !c.Groups[0].Paired || ch.Change != nil || len(ch.Machines) != 2 ||
		ch.Why != "2 machines; a change of the kind needs 3" {
		t.Errorf("%+v", ch)
	}
	// Trials of another size are not compared, and neither are other groups.
	long := again(t, before)
	long.Groups[0].Costs[0].Machines[0].Size = 1000
	c, err = Compare(before, long)
	must(t, err)
	if ch := c.Groups[0].Changes[0]; len(ch.Machines) != 7 ||
		!strings.Contains(ch.LeftOut[0].Why, "the trial sizes are 100 and 1000") {
		t.Errorf("%+v", ch)
	}
	long.Groups[0].Name = "epyc"
	if _, err := Compare(before, long); err == nil || !strings.Contains(err.Error(), "no group in common") {
		t.Error(err)
	}
}

// TestSimCompare: intervals of a change cover it, for paired and for other machines, whose spread is
// five times their standard error.
func TestSimCompare(t *testing.T) {
	t.Parallel()
	const fleets, k, change = 300, 6, 0.03
	for _, paired := range []bool{true, false} {
		r := rand.New(rand.NewPCG(9, 9))
		covered := 0
		for range fleets {
			x := spread(r, k, 0.1, 0.05)
			y := spread(r, k, 0.1+change, 0.05)
			if paired {
				y = plus(x, change)
			}
			before := sim(t, r, "a", map[string][]float64{"untar": x}, 0.01)
			after := sim(t, r, "b", map[string][]float64{"untar": y}, 0.01)
			for i := range k {
				if !paired {
					after.Groups[0].Machines[i].HostID += "b"
				}
			}
			c, err := Compare(before, after)
			must(t, err)
			if p := c.Groups[0].Changes[0].Change; p.CILow <= math.Exp(change) && math.Exp(change) <= p.CIHigh {
				covered++
			}
		}
		share := float64(covered) / fleets
		t.Logf("paired %v: covers in %.3f", paired, share)
		if share < 0.91 || share > 0.99 {
			t.Errorf("paired %v: covers in %.3f", paired, share)
		}
	}
}

func TestParseJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	res := sim(t, r, "a", map[string][]float64{"dd-write": {0.1, 0.2, 0.3, 0.1}}, 0.003)
	var b bytes.Buffer
	must(t, JSON(&b, res))
	good := b.String()
	for _, c := range [][3]string{
		{`"tare_fleet": 1`, `"tare_fleet": 2`, "another version"}, {`"tare_fleet": 1,`, ``, "tare fleet show"},
		{`"alpha": 0.05`, `"alpha": 1`, "alpha"}, {`"std_err": 0.003`, `"std_err": 0`, "standard error 0"},
		{`"machine": "node1"`, `"machine": "node2"`, "listed twice"}, {`"name": "node1"`, `"name": "node2"`, "listed twice"},
		{`"ratio"`, `"ratio": -1, "x"`, "ratio -1"}, {"{", "", "not the JSON"},
		{`"ratio"`, `"ratio": 1e999, "x"`, "not the JSON"},
	} {
		_, err := ParseJSON("f.json", []byte(strings.Replace(good, c[0], c[1], 1)))
		if err == nil || !strings.Contains(err.Error(), c[2]) || !strings.HasPrefix(err.Error(), "f.json") {
			t.Errorf("%q for %q: %v, want %q", c[1], c[0], err, c[2])
		}
	}
	// What the file says of its machines taken together is not believed.
	lie := strings.ReplaceAll(good, `"verdict": "`, `"verdict": "none-within-delta", "x": "`)
	if got, err := ParseJSON("f.json", []byte(lie)); err != nil || got.Groups[0].Costs[0].Pooled.Verdict == analyze.None {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"tare_fleet": 1, "alpha": 0.05, "delta": 0.02, "groups": [{"name": "a", "machines": [{"name": "x"}],
		"costs": [{"machines": [{"machine": "x", "ratio": 1.1, "std_err": 0.01, "df": 3}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		res, err := ParseJSON("f.json", text)
		if err != nil {
			return
		}
		c, err := Compare(res, res)
		if err != nil {
			t.Fatal(err)
		}
		if err := ComparisonText(&bytes.Buffer{}, c, true); err != nil {
			t.Fatal(err)
		}
		if err := ComparisonJSON(&bytes.Buffer{}, c); err != nil {
			t.Fatal(err)
		}
	})
}
