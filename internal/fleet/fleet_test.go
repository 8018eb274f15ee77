package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/view"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// truth is a machine, and what a run on it finds.
type truth struct {
	name     string
	cpu      string
	governor string
	boot     string
	cost     float64 // of lxc
	size     int64
	memory   int64   // of guests
	emulated bool    // lxc is
	slow     float64 // ln of the factor by which all trials take longer
	control  float64 // and those of the control
	ended    string  // why the run has no more blocks; "": they are all there
}

const campaignYAML = `
name: racks
seed: 1
flavors:
  small: {vcpus: 1, memory: 512MiB, disk: 1GiB}
arms: [native, lxc]
workloads: [sysbench-cpu]
blocks: 10
`

const (
	lives  = 2 // blocks of a guest
	blocks = 10
	cv     = 0.004 // of single trials
)

// run writes a run file of the machine, and reads it.
func (m truth) run(t testing.TB) *Run {
	t.Helper()
	usable := campaign.Limits{Usable: true, CPUCap: true}
	c, err := campaign.Parse("c.yaml", []byte(campaignYAML),
		campaign.Known{Systems: map[string]campaign.Limits{"native": usable, "lxc": usable}})
	must(t, err)
	env, err := json.Marshal(host.Environment{Version: 1, HostID: m.name, Kernel: host.Kernel{Release: "6.1.0"},
		CPU: host.CPU{Model: m.cpu, Threads: 4,
			Policies: []host.Policy{{CPUs: "0-3", Driver: "acpi", Governor: m.governor}}}})
	must(t, err)
	flavor := model.Flavor{Name: "small", VCPUs: 1, MemoryBytes: m.memory, DiskBytes: 1 << 30, DiskFS: "ext4"}
	arms := []store.Arm{{Name: "native", System: "native", Scenario: "solo", Flavor: flavor},
		{Name: "lxc", System: "lxc", Scenario: "solo", Flavor: flavor, Emulated: m.emulated},
		{Name: "native-control", System: "native", Scenario: "solo", Flavor: flavor, ControlOf: "native"}}
	path := filepath.Join(t.TempDir(), m.name+".tare")
	r, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved(), store.DocEnvironment: env,
		store.DocUserland: []byte(`{"key": "abc"}`)}, arms,
		[]store.Metric{{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	must(t, err)
	defer r.Close()
	session, err := r.BeginSession(m.boot, "1")
	must(t, err)
	must(t, r.AddSize("sysbench-cpu", m.size, "events", nil))
	seed := uint64(11)
	for _, letter := range m.name + m.boot {
		seed = seed*31 + uint64(letter)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	ids := make([]int64, len(arms))
	for b := range blocks {
		for i, a := range arms {
			if b%lives == 0 {
				ids[i], err = r.AddGuest(session, i, store.Guest{Generation: b / lives, StartNS: 1e9,
					CommandLine: []string{a.Name}})
				must(t, err)
			}
			id, err := r.Begin(store.Attempt{Session: session, Guest: ids[i], Block: b, Position: i, Workload: "sysbench-cpu",
				Arm: i, Generation: b / lives, Size: m.size})
			must(t, err)
			v := 0.25 * math.Exp(cv*random.NormFloat64())
			if a.Name == "lxc" {
				v *= m.cost
			}
			v *= math.Exp(m.slow)
			if a.ControlOf != "" {
				v *= math.Exp(m.control)
			}
			must(t, r.Finish(id, store.Outcome{Status: store.Done, Values: map[int]float64{0: v}}))
		}
	}
	must(t, r.EndSession(session, cmp.Or(m.ended, "blocks")))
	must(t, r.Close())
	s, err := store.Open(context.Background(), path)
	must(t, err)
	defer s.Close()
	run, err := Read(s)
	must(t, err)
	return run
}

// usual is a machine on which lxc costs so much.
func usual(name string, cost float64) truth {
	return truth{name: name, cpu: "Example 3000", governor: "performance", boot: name, cost: cost, size: 1000,
		memory: 512 << 20}
}

func machine(t testing.TB, of ...truth) Machine {
	t.Helper()
	m := Machine{Name: of[0].name}
	for _, o := range of {
		m.Runs = append(m.Runs, o.run(t))
	}
	return m
}

// six are machines on which lxc costs about 5 %, with a spread of about 1 %.
func six(t testing.TB) (list []Machine) {
	for i, cost := range []float64{1.04, 1.045, 1.05, 1.055, 1.06, 1.05} {
		list = append(list, machine(t, usual(fmt.Sprint("node", i+1), cost)))
	}
	return list
}

func analyzed(t testing.TB, machines []Machine) *Result {
	t.Helper()
	res, err := Analyze("racks", machines, false)
	must(t, err)
	return res
}

// TestFleet: what was put into the runs comes out: the cost, the spread, and a planted odd machine
// with the fact that differs.
func TestFleet(t *testing.T) {
	t.Parallel()
	machines := six(t)
	res := analyzed(t, machines)
	if len(res.Groups) != 1 || res.Groups[0].Name != "Example 3000, 4 CPUs" || len(res.Groups[0].Costs) != 1 {
		t.Fatalf("%+v", res)
	}
	g := res.Groups[0]
	p := g.Costs[0].Pooled
	if p.Verdict != analyze.Costs || p.CILow > 1.05 || p.CIHigh < 1.05 || p.NextLow > p.CILow || p.NextHigh < p.CIHigh {
		t.Errorf("pooled: %+v", p)
	}
	if p.Tau < 0.003 || p.Tau > 0.012 || p.TauLow > p.Tau || p.TauHigh < p.Tau || p.DifferP > 0.01 {
		t.Errorf("spread: %+v", p)
	}
	if len(g.Odd) != 0 {
		t.Errorf("odd: %+v", g.Odd)
	}
	shares := g.Costs[0].Shares
	if len(shares) != 4 || !shares[0].Known || shares[1].Known || !shares[3].Known || shares[0].Percent < 30 {
		t.Errorf("shares: %+v", shares)
	}

	strange := usual("node7", 1.35)
	strange.governor = "powersave"
	res = analyzed(t, append(machines, machine(t, strange)))
	odd := res.Groups[0].Odd
	if len(odd) != 1 || odd[0].Machine != "node7" || odd[0].Costs[0].Arm != "lxc" || odd[0].Costs[0].NextHigh > 1.1 {
		t.Fatalf("odd: %+v", odd)
	}
	if !slices.Equal(odd[0].Facts, []Fact{{"governor", "powersave", "performance", 6, 6}}) {
		t.Errorf("facts: %+v", odd[0].Facts)
	}
	var text bytes.Buffer
	must(t, Text(&text, res, true))
	for _, want := range []string{"Fleet racks: 7 machines in 1 group", "Odd: node7. lxc on sysbench-cpu costs +3",
		"on the others  which suggests", "What to expect on the next machine of this kind, against its own native, with 95 %",
		"- governor: powersave; on 6 of 6 others: performance", "tare doctor: ", "boot  guest",
		"% on sysbench-cpu (without node7, which is odd, +"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	var out bytes.Buffer
	must(t, view.PrintJSON(&out, res))
	var back Result
	must(t, json.Unmarshal(out.Bytes(), &back))
	if back.Groups[0].Odd[0].Machine != "node7" {
		t.Errorf("JSON: %s", &out)
	}
}

// TestLeftOutOrder: machines that are left out for the same reason are named once, in their order.
func TestLeftOutOrder(t *testing.T) {
	t.Parallel()
	out := []LeftOut{{"a", "odd"}, {"b", "other"}, {"c", "odd"}}
	g := Group{Costs: []Cost{{Arm: "lxc", Workload: "untar", Family: analyze.FamilyPrimary, LeftOut: out}}}
	if got := g.leftOut(); !slices.Equal(got, []string{"a, c: lxc on untar: odd", "b: lxc on untar: other"}) {
		t.Errorf("%q", got)
	}
}

// TestBetween: groups are compared with an interval, each with its own spread.
func TestBetween(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	res := sim(t, r, "a", map[string][]float64{"dd-write": spread(r, 6, 0.05, 0.01),
		"untar": spread(r, 6, 0, 0.002)}, 0.002)
	other := sim(t, r, "b", map[string][]float64{"dd-write": spread(r, 4, 0.15, 0.02),
		"untar": spread(r, 2, 0, 0.002)}, 0.002)
	other.Groups[0].Name = "epyc"
	res.Groups = append(res.Groups, other.Groups[0])
	res = again(t, res)
	if len(res.Between) != 1 { // only two machines of epyc measured untar
		t.Fatalf("%+v", res.Between)
	}
	x := res.Between[0]
	if x.Group != "epyc" || x.Against != "xeon" || x.Verdict != analyze.Costs || x.Ratio < 1.05 ||
		x.Ratio > 1.16 || x.DF > 8 {
		t.Errorf("%+v", x)
	}
	var text bytes.Buffer
	must(t, Text(&text, res, false))
	if !strings.Contains(text.String(), "costs more") || !strings.Contains(text.String(), "no prediction for untar") {
		t.Errorf("%s", &text)
	}
	two := res.Groups[1]
	two.Machines = two.Machines[:2]
	text.Reset()
	must(t, view.Terminal(&text, view.Options{}, two.section(res, "g")))
	if !strings.Contains(text.String(), "Two machines allow no prediction") {
		t.Error(text.String())
	}
}

// TestExport: CSV and Parquet have the machines, the pooled costs and the shares, with the same columns.
func TestExport(t *testing.T) {
	t.Parallel()
	res := analyzed(t, six(t))
	res.Groups[0].Costs[0].LeftOut = []LeftOut{{"=node9", "it did not measure this"}}
	var text, columns bytes.Buffer
	must(t, CSV(&text, res))
	lines, err := csv.NewReader(bytes.NewReader(text.Bytes())).ReadAll()
	must(t, err)
	kinds := map[string]int{}
	at := map[string]int{}
	for i, name := range lines[0] {
		at[name] = i
	}
	for _, l := range lines[1:] {
		kinds[l[0]]++
		if l[0] == "pooled" && (l[at["next_low"]] == "" || l[at["machines"]] != "6" || l[at["machine"]] != "") ||
			l[0] == "share" && (l[at["share_percent"]] == "" || l[at["ratio"]] != "") {
			t.Errorf("%q", l)
		}
	}
	if kinds["machine"] != 7 || kinds["pooled"] != 1 || kinds["share"] != 3 ||
		!strings.Contains(text.String(), "'=node9") {
		t.Errorf("%v\n%s", kinds, &text)
	}
	must(t, Parquet(&columns, res))
	rows, err := parquet.Read[exportRow](bytes.NewReader(columns.Bytes()), int64(columns.Len()))
	must(t, err)
	if len(rows) != len(lines)-1 || rows[6].Note == "" || *rows[7].Tau != res.Groups[0].Costs[0].Pooled.Tau {
		t.Errorf("%+v", rows)
	}
}

// TestNotPooled: machines of different types are not pooled, nor figures of different things.
func TestNotPooled(t *testing.T) {
	t.Parallel()
	list := []Machine{machine(t, usual("a", 1.05)), machine(t, usual("b", 1.05))}
	other, larger, longer, emulated := usual("c", 1.5), usual("d", 1.5), usual("e", 1.5), usual("f", 15)
	other.cpu, larger.memory, longer.size, emulated.emulated = "Other 7", 1<<30, 5000, true
	for _, m := range []truth{other, larger, longer, emulated} {
		list = append(list, machine(t, m))
	}
	res := analyzed(t, list)
	if len(res.Groups) != 2 || len(res.Groups[1].Machines) != 1 || res.Groups[1].Costs[0].Pooled != nil {
		t.Fatalf("groups: %+v", res.Groups)
	}
	c := res.Groups[0].Costs[0]
	if len(c.Machines) != 2 || math.Abs(c.Pooled.Ratio-1.05) > 0.01 || c.Pooled.NextHigh != 0 {
		t.Errorf("%+v, %+v", c, c.Pooled)
	}
	for machine, why := range map[string]string{"d": "the guests of lxc are of another size",
		"e": "the trial sizes are 1000 and 5000", "f": "emulated"} {
		if !slices.ContainsFunc(c.LeftOut, func(l LeftOut) bool {
			return l.Machine == machine && strings.Contains(l.Why, why)
		}) {
			t.Errorf("%s is not left out because of %q: %+v", machine, why, c.LeftOut)
		}
	}
	// A file may put machines of several types into a group; that is said.
	for i := range list {
		list[i].Group = "all"
	}
	res = analyzed(t, list)
	if len(res.Groups) != 1 || len(res.Groups[0].Warnings) != 1 ||
		!strings.Contains(res.Groups[0].Warnings[0], "2 types") {
		t.Errorf("%+v", res.Groups)
	}
	twice := []Machine{list[0], {Name: "again", Runs: list[0].Runs}}
	if res = analyzed(t, twice); len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "same host id") {
		t.Errorf("%q", res.Warnings)
	}
	if _, err := Analyze("", nil, false); err == nil {
		t.Error("no machines: no error")
	}
}

// TestBoots: runs of several boots tell the boot from the machine.
func TestBoots(t *testing.T) {
	t.Parallel()
	var list []Machine
	for i := range 3 {
		a := usual(fmt.Sprint("node", i), 1.05)
		b := a
		a.boot, b.boot, b.cost = a.name+"-1", a.name+"-2", 1.09
		list = append(list, machine(t, a, b))
	}
	g := analyzed(t, list).Groups[0]
	c := g.Costs[0]
	if g.Machines[0].Boots != 2 || c.Machines[0].Runs != 2 || c.Machines[0].StdErr < 0.01 {
		t.Errorf("%+v, %+v", g.Machines[0], c.Machines[0])
	}
	if s := c.Shares; !s[1].Known || s[1].Percent < 60 || s[0].Percent > 10 {
		t.Errorf("%+v", s)
	}
}

func TestParse(t *testing.T) {
	f, err := Parse("/etc/racks.yaml", []byte(`
name: racks
campaign: web.yaml
budget: 30m
busy: 2
machines:
  node1: {ssh: root@10.0.0.1, group: xeon}
  node2:
`))
	must(t, err)
	want := File{Name: "racks", Campaign: "/etc/web.yaml", Budget: 30 * time.Minute, Busy: 2, Results: "/etc/racks",
		Machines: []Member{{"node1", "root@10.0.0.1", "xeon"}, {"node2", "node2", ""}}}
	if fmt.Sprint(*f) != fmt.Sprint(want) || f.Runs("node1") != "/etc/racks/node1" {
		t.Errorf("%+v", f)
	}
	for text, why := range map[string]string{
		"name: a\n":                                            `needs the key "machines"`,
		"name: a\nmachines: {n: {sssh: x}}\n":                  `unknown key "sssh"`,
		"name: a\nmachines: {n: {ssh: -oProxy=x}}\n":           "begin with -",
		"name: a\ndir: x\nmachines: {n: }\n":                   "absolute",
		"name: a\nbusy: 0\nmachines: {n: }\n":                  "busy",
		"name: a\nmachines: {n: , n: }\n":                      "n",
		"name: a\nmachines: {n: }\ntemporal: {address: x:1}\n": `needs the key "collector"`,
		"name: a\nmachines: {n: }\ntemporal: {address: x, collector: y, token_file: t, tls: {key: k}}\n": "both cert and key",
	} {
		if _, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// TestParseTemporal: files are beside the fleet's, and tls without any means the system's authorities.
func TestParseTemporal(t *testing.T) {
	f, err := Parse("/etc/racks.yaml", []byte(`
name: racks
temporal:
  address: temporal.example:7233
  tls: {}
  collector: https://collector:7234
  token_file: token
machines: {node1: }
`))
	must(t, err)
	want := Temporal{Address: "temporal.example:7233", Namespace: "default", TLS: TLS{On: true},
		Collector: "https://collector:7234", Token: "/etc/token"}
	if f.Temporal != want {
		t.Errorf("%+v", f.Temporal)
	}
}

// TestIncomplete: text, JSON and comparisons say that a machine's run is not finished.
func TestIncomplete(t *testing.T) {
	machines := six(t)
	for _, i := range []int{1, 4} {
		of := usual(machines[i].Name, 1.05)
		of.ended = "interrupted"
		machines[i] = machine(t, of)
	}
	res := analyzed(t, machines)
	const want = "not finished, and pooled with what is there: node2 and node5 (interrupted)"
	var text bytes.Buffer
	must(t, Text(&text, res, false))
	if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "Warning: "+want) {
		t.Errorf("want %q:\n%s", want, &text)
	}
	if got := res.Groups[0].Machines; got[1].Incomplete != "interrupted" || got[0].Incomplete != "" {
		t.Errorf("the machines do not say which runs are incomplete: %+v", got)
	}
	c, err := Compare(res, res)
	must(t, err)
	if !slices.Contains(c.Warnings, "before: "+want) || !slices.Contains(c.Warnings, "after: "+want) {
		t.Errorf("the comparison does not say it: %q", c.Warnings)
	}
	const same = "no figure of any machine changed in any digit: the two fleets have the same runs"
	if !slices.Contains(c.Warnings, same) {
		t.Errorf("a fleet against itself: %q", c.Warnings)
	}
	if c, err = Compare(res, analyzed(t, six(t))); err != nil || slices.Contains(c.Warnings, same) {
		t.Errorf("another run of two machines: %q, %v", c.Warnings, err)
	}
}
