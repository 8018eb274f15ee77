package run

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
)

// count is a workload whose size is milliseconds; its output must be "ok".
var count = &workload.Workload{
	Name: "count", SizeUnit: "ms", MinSize: 1, MaxSize: 1000,
	Metrics: []workload.Metric{{Name: "time", Unit: "s", Better: workload.Lower}},
	Steps: func(size int64) []workload.Step {
		return []workload.Step{
			{Name: "prepare", Argv: []string{"prepare"}},
			{Name: "run", Argv: []string{"count", fmt.Sprint(size)}, Timed: true},
		}
	},
	Evaluate: func(_ int64, results []workload.StepResult) (map[string]float64, error) {
		last := results[len(results)-1]
		if last.Name != "run" || last.ExitCode != 0 || string(last.Stdout) != "ok" {
			return nil, fault.Guestf("step %s: exit status %d, output %q", last.Name, last.ExitCode, last.Stdout)
		}
		return map[string]float64{"time": last.Wall.Seconds()}, nil
	},
}

// A trial of these tests takes a millisecond, and a busy host may hear of its end much later.
func init() { lateGrain = time.Hour }

// good is the behaviour of a guest without faults.
func good(argv []string) fake.Behaviour {
	b := fake.Behaviour{Took: time.Millisecond, Stdout: "ok"}
	if argv[0] == "count" {
		var ms int
		fmt.Sscan(argv[1], &ms)
		b.Took = time.Duration(ms) * time.Millisecond
	}
	return b
}

// yaml is a campaign whose steps have minutes, so that none fails because this host is busy.
const yaml = `
name: test
seed: 1
flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}}
arms: [native, other]
workloads: [{name: count, size: 1}]
blocks: 4
recreate_every: 2
timeout: 5m
trial_time: 100ms
`

// bench is a run over fake systems.
type bench struct {
	t             *testing.T
	path          string
	native, other *fake.Driver
	config        Config
	events        []Event
}

func newBench(t *testing.T, text string) *bench {
	t.Helper()
	return newBenchIn(t, t.TempDir(), text)
}

// newBenchIn is newBench with its file in this directory.
func newBenchIn(t *testing.T, dir, text string) *bench {
	t.Helper()
	return newBenchOf(t, dir, text, count)
}

// newBenchOf is newBenchIn for a campaign of this workload.
func newBenchOf(t *testing.T, dir, text string, w *workload.Workload) *bench {
	t.Helper()
	c, err := campaign.Parse("test.yaml", []byte(text), campaign.Known{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, path: filepath.Join(dir, "test.tare"),
		native: &fake.Driver{System: "native", Behave: good}, other: &fake.Driver{System: "other", Behave: good},
	}
	p := plan.New(c, c.Planned())
	var arms []store.Arm
	for _, a := range p.Arms {
		arm := store.Arm{Name: a.Name, System: a.System}
		arm.ControlOf = a.Control
		arms = append(arms, arm)
	}
	var metrics []store.Metric
	for i, m := range w.Metrics {
		metrics = append(metrics, store.Metric{Workload: w.Name, Name: m.Name, Unit: m.Unit, Better: "lower",
			Primary: i == 0})
	}
	for _, u := range probe.UnitsOf(w.Kind()) {
		metrics = append(metrics, store.Metric{Workload: w.Name, Name: u.Name, Unit: u.Unit, Probe: true})
	}
	s, err := store.Create(b.path, map[string][]byte{store.DocCampaign: c.Resolved()}, arms, metrics)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b.config = Config{
		Campaign: c, Plan: p, Store: s, Host: fake.Host(t),
		Drivers:   map[string]system.Driver{"native": b.native, "other": b.other},
		Workloads: map[string]*workload.Workload{w.Name: w},
		Progress:  func(e Event) { b.events = append(b.events, e) },
		Widths:    func() (map[string]plan.Width, error) { return nil, nil },
	}
	return b
}

func (b *bench) run(ctx context.Context) (Summary, error) {
	b.t.Helper()
	s, err := Run(ctx, b.config)
	for _, d := range []*fake.Driver{b.native, b.other} {
		if live := d.Live(); len(live) > 0 {
			b.t.Errorf("guests of %s are left: %v", d.Name(), live)
		}
	}
	return s, err
}

// analyzed is the analysis of the run so far.
func (b *bench) analyzed(t *testing.T) *analyze.Result {
	t.Helper()
	in, err := dataset.Read(b.config.Store)
	if err != nil {
		t.Fatal(err)
	}
	res, err := analyze.Analyze(in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// statuses counts the attempts of an arm by how they ended.
func (b *bench) statuses(arm string) map[store.Status]int {
	b.t.Helper()
	n := map[store.Status]int{}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			b.t.Fatal(err)
		}
		if trial.Arm == arm {
			n[trial.Status]++
		}
	}
	return n
}
