package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/host"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
)

// synthetic is the campaign of a run with known true values, written with package
// store: a CPU workload that costs nothing with LXC, 9 % with KVM and 15 times with
// emulation; a disk workload with throughputs, whose writes KVM caches and whose
// values vary too much under emulation; and trials that fail.
const synthetic = `
name: example
seed: 7
flavors:
  small: {vcpus: 1, memory: 512MiB, cpu_cap: 50%, disk: 1GiB}
arms: [native, lxc, kvm, {system: qemu-tcg}, {system: xen-pv, if_usable: true}]
workloads: [sysbench-cpu, dd-write]
blocks: 12
delta: 2%
`

// guestBlocks is the number of blocks after which guests are re-created.
const guestBlocks = 2

type metricOf struct {
	store.Metric
	native float64
	cost   map[string]float64 // by arm; 1 where absent
	cv     map[string]float64 // by arm; 0.4 % where absent
}

var synthMetrics = []metricOf{
	{store.Metric{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}, 0.25,
		map[string]float64{"kvm": 1.091, "qemu-tcg": 15.6}, nil},
	{store.Metric{Workload: "sysbench-cpu", Name: "rate", Unit: "1/s", Better: "higher"}, 4321,
		map[string]float64{"kvm": 1 / 1.091, "qemu-tcg": 1 / 15.6}, nil},
	{store.Metric{Workload: "dd-write", Name: "cold-rate-flushed", Unit: "B/s", Better: "higher", Primary: true}, 412e6,
		map[string]float64{"lxc": 0.993, "kvm": 1.3, "qemu-tcg": 0.4}, map[string]float64{"qemu-tcg": 0.7, "native": 0.02,
			"native-control": 0.02, "lxc": 0.02, "kvm": 0.02}},
	{store.Metric{Workload: "sysbench-cpu", Name: "host_cpu", Unit: "s", Probe: true}, 0.26,
		map[string]float64{"kvm": 1.4, "qemu-tcg": 16}, nil},
	{store.Metric{Workload: "sysbench-cpu", Name: "guest_cgroup_cpu", Unit: "s", Probe: true}, 0.25,
		map[string]float64{"kvm": 1.4, "qemu-tcg": 16}, nil},
	{store.Metric{Workload: "sysbench-cpu", Name: "guest_cpu", Unit: "s", Probe: true}, 0.25,
		map[string]float64{"kvm": 1.08, "qemu-tcg": 15}, nil},
	{store.Metric{Workload: "dd-write", Name: "host_cpu", Unit: "s", Probe: true}, 0.11, nil, nil},
	{store.Metric{Workload: "dd-write", Name: "workload_bytes", Unit: "B", Probe: true}, 128 << 20, nil,
		map[string]float64{"": 0}},
	{store.Metric{Workload: "dd-write", Name: "device_bytes", Unit: "B", Probe: true}, 129 << 20,
		map[string]float64{"kvm": 0.02}, map[string]float64{"": 0}},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeRun writes the synthetic run, as far as blocks go, to a file.
func makeRun(t testing.TB, blocks int, ended string) *store.Run {
	t.Helper()
	usable := campaign.Limits{Usable: true, CPUCap: true}
	c, err := campaign.Parse("example.yaml", []byte(synthetic), campaign.Known{Systems: map[string]campaign.Limits{
		"native": usable, "lxc": usable, "kvm": usable, "qemu-tcg": usable,
		"xen-pv": {Why: "this kernel does not run under Xen"}}})
	must(t, err)
	p := plan.New(c, c.Planned())
	var arms []store.Arm
	ids := map[string]int{}
	for i, a := range p.Arms {
		ids[a.Name] = i
		arm := store.Arm{Name: a.Name, System: a.System, Scenario: "solo", Emulated: a.System == "qemu-tcg",
			Flavor: a.Flavor, ControlOf: a.Control}
		arm.Flavor.Backing, arm.Flavor.Network = "", "" // as in an old run file
		arms = append(arms, arm)
	}
	var metrics []store.Metric
	for _, m := range synthMetrics {
		metrics = append(metrics, m.Metric)
	}
	memory := int64(8 << 30)
	env, err := json.Marshal(host.Environment{Version: 1, CPU: host.CPU{Model: "Example CPU 3000 @ 2.40GHz", Threads: 4},
		Memory: host.Memory{Total: &memory},
		Kernel: host.Kernel{Release: "6.1.0-18-amd64"}, Virt: host.Virtualization{Role: host.InGuest, Of: "KVM"}})
	must(t, err)
	r, err := store.Create(filepath.Join(t.TempDir(), "example.tare"), map[string][]byte{
		store.DocCampaign: c.Resolved(), store.DocCampaignYAML: []byte(synthetic), store.DocEnvironment: env,
		store.DocSystems: []byte(`{"lxc": {"usable": true}}`),
		store.DocUserland: []byte(
			`{"key": "abc", "kernel_version": "6.1.0", "disk_sha256": "def", "packages": {"bash": "5.2"}, "recipe": {}}`),
	}, arms, metrics)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	session, err := r.BeginSession("boot", "0.1")
	must(t, err)
	must(t, r.AddSize("sysbench-cpu", 3000, "events", nil))
	must(t, r.AddSize("dd-write", 128, "MiB written in each pass", []any{map[string]any{"size": 128}}))
	guests := map[string]int64{}
	random := rand.New(rand.NewPCG(1, 2))
	for b := range blocks {
		for _, a := range p.Arms {
			if b%guestBlocks == 0 {
				guests[a.Name], err = r.AddGuest(session, ids[a.Name], store.Guest{Generation: b / guestBlocks,
					StartNS: 1.5e9, Hello: agent.Hello{Kernel: "Linux 6.1.0", CPUs: 1}, CommandLine: []string{"start", a.Name}})
				must(t, err)
			}
		}
		drift := math.Exp(0.003 * random.NormFloat64())
		for place, trial := range whole(p, b) {
			position := place % len(p.Arms)
			begin := func() int64 {
				id, err := r.Begin(store.Attempt{Session: session, Guest: guests[trial.Arm], Block: b, Position: position,
					Workload: trial.Workload, Arm: ids[trial.Arm], Generation: b / guestBlocks, Size: 128})
				must(t, err)
				return id
			}
			beside := func(status store.Status, slower float64) { // trials that are no results
				id := begin()
				o := store.Outcome{Status: status, Values: map[int]float64{}}
				for i, m := range synthMetrics {
					if m.Workload == trial.Workload {
						o.Values[i] = m.native * slower
					}
				}
				must(t, r.Finish(id, o))
			}
			if position == 0 {
				position = -1
				beside(store.Discarded, 2)
				position = 0
			}
			id := begin()
			if b == 3 && trial.Arm == "kvm" && trial.Workload == "dd-write" {
				must(t, r.AddEvent(session, id, "kernel-hung-task", "INFO: task kworker blocked"))
				continue // interrupted, as by a kill, and not made again
			}
			if b == 3 && place == 0 {
				must(t, r.Finish(id, store.Outcome{Status: store.Void, Error: "the host slept"}))
				id = begin()
			}
			o := store.Outcome{Status: store.Done, Clock: agent.Clock{Offset: time.Second, Delay: 100 * time.Microsecond},
				Values: map[int]float64{},
				Steps: []store.Step{{Name: "run", Timed: true, Argv: []string{"tool", "--go"},
					Result: &agent.Result{Stdout: []byte("42\n"), StdoutBytes: 3, HostEnd: 1e9}}}}
			for i, m := range synthMetrics {
				if m.Workload == trial.Workload {
					o.Values[i] = m.draw(trial.Arm, drift, random)
				}
			}
			if (b == 2 || b == 5) && trial.Arm == "qemu-tcg" && trial.Workload == "dd-write" {
				o = store.Outcome{Status: store.Failed, Error: "dd: \x1b[31mwriting\x1b[0m: Input/output error\nexit status 1",
					Log: "I/O error"}
			}
			must(t, r.Finish(id, o))
			if b%4 == 0 && trial.Arm == "lxc" {
				beside(store.Repeat, 0.5)
			}
		}
	}
	if ended != "" {
		must(t, r.EndSession(session, ended))
	}
	return r
}

func (m metricOf) draw(arm string, drift float64, random *rand.Rand) float64 {
	cost, cv := 1.0, 0.004
	if c, ok := m.cost[arm]; ok {
		cost = c
	}
	if v, ok := m.cv[arm]; ok {
		cv = v
	} else if v, ok := m.cv[""]; ok {
		cv = v
	}
	return m.native * cost * math.Pow(drift, map[bool]float64{true: 1, false: -1}[m.Better != "higher"]) *
		math.Exp(cv*random.NormFloat64())
}

func analyzed(t testing.TB, r *store.Run) *analyze.Result {
	t.Helper()
	in, err := dataset.Read(r)
	must(t, err)
	res, err := analyze.Analyze(in)
	must(t, err)
	return res
}

func contextOf(t testing.TB, r *store.Run) Context {
	t.Helper()
	ctx, err := ContextOf(r)
	must(t, err)
	ctx.Path = "example.tare"
	return ctx
}

// whole is a block of all workloads with all arms.
func whole(p *plan.Plan, block int) (ids []model.TrialID) {
	for _, g := range p.Whole(block, func(campaign.PlannedArm) bool { return true }) {
		ids = append(ids, g.Trials()...)
	}
	return ids
}
