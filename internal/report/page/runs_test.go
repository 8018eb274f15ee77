package page

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
)

const campaignYAML = `
name: example
about: What two systems cost on computing and on writing.
seed: 7
flavors:
  small: {vcpus: 1, memory: 512MiB, disk: 1GiB}
arms: [native, lxc, kvm, {system: qemu-tcg}, {system: xen-pv, if_usable: true}]
workloads: [sysbench-cpu, dd-write]
blocks: 12
delta: 2%
`

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// synth is a synthetic run; its text is inserted wherever a guest or a campaign can
// contribute text.
type synth struct {
	blocks  int
	ended   string
	says    string
	bulk    bool // write past the journal: much faster
	lacking bool // some trials fail, some are interrupted
	several bool // several guests at once, neighbours, and a mix
	warm    bool // with trials that are no results: discarded, and repeated
	single  bool // native only
}

// companyYAML is what a campaign with several guests at once has in addition.
const companyYAML = `
scenarios:
  - solo
  - {name: fit, guests: [2, 8], slowdown: 1.5}
  - {name: noisy, neighbours: [cpu, fork]}
  - {name: mixed, mix: [{flavor: small, guests: 2}, {flavor: quarter, guests: 2}]}
`

func (s synth) yaml() string {
	if s.single {
		return strings.Replace(campaignYAML, ", lxc, kvm, {system: qemu-tcg}, {system: xen-pv, if_usable: true}", "", 1)
	}
	if !s.several {
		return campaignYAML
	}
	return strings.Replace(campaignYAML, "arms:", "  quarter: {vcpus: 1, memory: 512MiB, disk: 1GiB, cpu_cap: 25%}\narms:",
		1) + companyYAML
}

// slower is the factor by which other guests slow down a guest with this number on a
// machine with four CPUs.
func slower(a campaign.PlannedArm, member int) float64 {
	workers := 0
	for _, m := range a.Guests {
		if m.Role == model.Working {
			workers++
		}
	}
	f := max(1, float64(workers)/4)
	if len(a.Guests) > workers {
		f *= 1.5
	}
	if a.System == "kvm" {
		f *= 1 + 0.02*float64(len(a.Guests)-1)
	}
	if a.Guests[member].Flavor.CPUCap > 0 {
		f *= 4.1
	}
	return f
}

// costs is the true ratio of each arm on each workload.
var costs = map[string]map[string]float64{
	"sysbench-cpu": {"lxc": 1.001, "kvm": 1.091, "qemu-tcg": 15.6},
	"dd-write":     {"lxc": 1.01, "kvm": 0.72, "qemu-tcg": 3},
}

func (s synth) write(t testing.TB) *store.Run {
	t.Helper()
	usable := campaign.Limits{Usable: true, CPUCap: true}
	c, err := campaign.Parse("example.yaml", []byte(s.yaml()), campaign.Known{Systems: map[string]campaign.Limits{
		"native": usable, "lxc": usable, "kvm": usable, "qemu-tcg": usable,
		"xen-pv": {Why: "this kernel does not run under Xen " + s.says}}})
	must(t, err)
	p := plan.New(c, c.Planned())
	var arms []store.Arm
	ids := map[string]int{}
	for i, a := range p.Arms {
		ids[a.Name] = i
		arm := store.Arm{Name: a.Name, System: a.System, Scenario: a.Scenario, Emulated: a.System == "qemu-tcg",
			Flavor: model.Flavor{Name: a.Flavor.Name + s.says, VCPUs: 1, MemoryBytes: 512 << 20, DiskBytes: 1 << 30}}
		arm.ControlOf = a.Control
		arms = append(arms, arm)
	}
	var metrics []store.Metric
	for _, w := range p.Workloads {
		metrics = append(metrics,
			store.Metric{Workload: w, Name: "time" + s.says, Unit: "s", Better: "lower", Primary: true},
			store.Metric{Workload: w, Name: "rate", Unit: "1/s", Better: "higher"},
			store.Metric{Workload: w, Name: "host_cpu", Unit: "s", Probe: true})
	}
	env, err := json.Marshal(host.Environment{Version: 1, CPU: host.CPU{Model: "Example CPU 3000" + s.says, Threads: 4,
		Policies: []host.Policy{{CPUs: "0-3", Driver: "acpi", Governor: "powersave"}}},
		Kernel: host.Kernel{Release: "6.1.0-18-amd64", Cmdline: s.says}, Virt: host.Virtualization{Role: host.InGuest,
			Of: "KVM"}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "example.tare")
	r, err := store.Create(path, map[string][]byte{
		store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(s.yaml() + "# " + s.says + "\n"),
		store.DocEnvironment: env,
		store.DocSystems:     []byte(`{}`), store.DocUserland: []byte(`{"key": "abc"}`),
	}, arms, metrics)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	session, err := r.BeginSession("boot", "0.1"+s.says)
	must(t, err)
	must(t, r.AddSize("sysbench-cpu", 3000, "events"+s.says, nil))
	generations := max(1, min(s.blocks/2, 6))
	for n := range generations * len(arms) {
		i, a := n%len(arms), arms[n%len(arms)]
		id, err := r.AddGuest(session, i, store.Guest{Generation: n / len(arms), StartNS: 1.5e9,
			Flavor: store.GuestFlavor{Flavor: a.Flavor}, Hello: agent.Hello{Kernel: s.says},
			CommandLine: []string{"start", a.Name}})
		must(t, err)
		if s.several && n < len(arms) {
			size := map[string]float64{"kvm": 180 << 20, "qemu-tcg": 210 << 20}[a.System] + 6<<20
			for name, v := range map[string]float64{store.MemoryPSS: size, store.MemoryCharged: 1.2 * size,
				store.MemoryHost: 1.1 * size} {
				must(t, r.AddGuestValue(id, name, "B", v))
			}
		}
	}
	var j journal = r
	commit := func() {}
	if s.bulk {
		j, commit = bulkJournal(t, path)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for b := range s.blocks {
		for position, trial := range whole(p, b) {
			arm := p.Arms[ids[trial.Arm]]
			for member, m := range arm.Guests {
				generation := b * generations / s.blocks
				attempt := store.Attempt{Session: session, Guest: int64(generation*len(arms) + ids[trial.Arm] + 1), Block: b,
					Position: position, Workload: trial.Workload, Arm: ids[trial.Arm], Generation: generation, Size: 128,
					Member: member, Role: m.Role}
				if s.warm {
					for _, status := range []store.Status{store.Discarded, store.Repeat} {
						id, err := j.Begin(attempt)
						must(t, err)
						must(t, j.Finish(id, store.Outcome{Status: status, Values: map[int]float64{0: 1e3, 3: 1e3}}))
					}
				}
				id, err := j.Begin(attempt)
				must(t, err)
				if s.lacking && b == s.blocks-1 && position == 3 {
					must(t, r.AddEvent(session, id, "kernel-hung-task", "INFO: task blocked "+s.says))
					return r
				}
				first := 0
				for i, w := range p.Workloads {
					if w == trial.Workload {
						first = 3 * i
					}
				}
				v := 0.25 * math.Exp(0.004*random.NormFloat64()+0.003*math.Sin(float64(b)/float64(s.blocks)*6)) * slower(arm,
					member)
				if c, ok := costs[trial.Workload][arm.Of]; ok {
					v *= c
				}
				o := store.Outcome{Status: store.Done, Values: map[int]float64{first: v, first + 1: 1000 / v, first + 2: v * 1.1},
					Steps: []store.Step{{Name: "run" + s.says, Timed: true, Argv: []string{"tool", "--go", s.says},
						Result: &agent.Result{Stdout: []byte("42 \x1b[31m\n" + s.says), StdoutBytes: 9, HostEnd: 1e9}}}}
				if m.Role != model.Working {
					o.Values = nil
				}
				if s.lacking && b%5 == 2 && arm.Of == "qemu-tcg" && trial.Workload == "dd-write" {
					o.Status, o.Error, o.Values = store.Failed, "dd: \x1b[31mwriting\x1b[0m: Input/output error "+s.says, nil
				}
				must(t, j.Finish(id, o))
			}
		}
	}
	commit()
	if s.ended != "" {
		must(t, r.EndSession(session, s.ended))
	}
	return r
}

// journal writes trials.
type journal interface {
	Begin(store.Attempt) (int64, error)
	Finish(int64, store.Outcome) error
}

// bulk writes trials in one transaction and without their steps.
type bulk struct {
	tx   *sql.Tx
	last int64
}

func bulkJournal(t testing.TB, path string) (journal, func()) {
	db, err := sql.Open("sqlite", "file:"+path)
	must(t, err)
	tx, err := db.Begin()
	must(t, err)
	return &bulk{tx: tx}, func() {
		must(t, tx.Commit())
		must(t, db.Close())
	}
}

func (b *bulk) Begin(a store.Attempt) (int64, error) {
	b.last++
	_, err := b.tx.Exec("INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", b.last, a.Session, a.Guest,
		a.Block, a.Position, a.Workload, a.Arm, a.Generation, a.Size, b.last*1e9, a.Member, a.Role)
	return b.last, err
}

func (b *bulk) Finish(id int64, o store.Outcome) error {
	_, err := b.tx.Exec("INSERT INTO outcome VALUES (?, ?, '', ?, 0, 0, '')", id, o.Status, id*1e9)
	for m, v := range o.Values {
		if err == nil {
			_, err = b.tx.Exec("INSERT INTO value VALUES (?, ?, ?)", id, m, v)
		}
	}
	return err
}

func analyzed(t testing.TB, r *store.Run) *analyze.Result {
	t.Helper()
	in, err := dataset.Read(r)
	must(t, err)
	res, err := analyze.Analyze(in)
	must(t, err)
	return res
}

// echo is raw output that contains a text.
func echo(says string) func(int64) (stdout, stderr [][]byte, err error) {
	return func(attempt int64) (stdout, stderr [][]byte, err error) {
		return [][]byte{fmt.Appendf(nil, "attempt %d\n\x1b[31m\x00\xff%s", attempt, says)}, [][]byte{[]byte(says)}, nil
	}
}

// whole is a block of all workloads with all arms.
func whole(p *plan.Plan, block int) (ids []model.TrialID) {
	for _, g := range p.Whole(block, func(campaign.PlannedArm) bool { return true }) {
		ids = append(ids, g.Trials()...)
	}
	return ids
}
