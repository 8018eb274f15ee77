package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/dataset"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
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

const yaml = `
name: test
seed: 1
flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}}
arms: [native, other]
workloads: [{name: count, size: 1}]
blocks: 4
recreate_every: 2
timeout: 1s
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

func TestRun(t *testing.T) {
	b := newBench(t, yaml)
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Passes != 4 || s.Failed != 0 || s.Reason != plan.ReasonBlocks {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, arm := range []string{"native", "other", "native-control"} {
		if n := b.statuses(arm); n[store.Done] != 4 || n[store.Failed] > 0 {
			t.Errorf("%s: %v", arm, n)
		}
	}
	// Two generations of one guest each, and never two guests thawed at once.
	created := 0
	awake := map[string]bool{}
	for _, e := range b.other.Events() {
		what, site, _ := strings.Cut(e, " ")
		switch what {
		case "create":
			created++
			awake[site] = true
		case "freeze", "close":
			delete(awake, site)
		case "thaw":
			awake[site] = true
		case "talked":
			t.Errorf("%s", e)
		}
		if len(awake) > 1 {
			t.Errorf("awake at once: %v", awake)
		}
	}
	if created != 2 {
		t.Errorf("%d guests were made for 2 generations", created)
	}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Metrics["time"] <= 0 || trial.Probes[model.ProbeGuestGroupCPU] <= 0 || len(trial.Steps) != 2 {
			t.Errorf("trial %+v", trial)
		}
	}
}

// TestTrouble: a guest's failure affects only the result of that trial; the run
// goes on with a new guest.
func TestTrouble(t *testing.T) {
	for name, trouble := range map[string]fake.Behaviour{
		"dies":            {Trouble: fake.Dies},
		"hangs":           {Trouble: fake.Hangs},
		"nonsense":        {Trouble: fake.Nonsense},
		"floods":          {Trouble: fake.Floods},
		"exit status":     {ExitCode: 3},
		"wrong output":    {Stdout: "no"},
		"does not start":  {SpawnError: "no such program"},
		"failed but fast": {ExitCode: 1, Took: time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, yaml)
			var n atomic.Int32
			var counts atomic.Bool // the trial is no warm-up, and no repeat
			b.config.Progress = func(e Event) {
				counts.Store(e.Kind == TrialBegin && e.Trial.Arm == "other")
			}
			b.other.Behave = func(argv []string) fake.Behaviour {
				if argv[0] == "count" && counts.Load() && n.Add(1) == 2 {
					return trouble
				}
				return good(argv)
			}
			s, err := b.run(t.Context())
			if err != nil || !s.Complete || s.Failed != 1 {
				t.Fatalf("%+v, %v", s, err)
			}
			if n := b.statuses("other"); n[store.Done] != 3 || n[store.Failed] != 1 {
				t.Errorf("other: %v", n)
			}
			if n := b.statuses("native"); n[store.Done] != 4 {
				t.Errorf("native: %v", n)
			}
			failures, err := b.config.Store.Failures()
			if err != nil || len(failures) != 1 || failures[0].Error == "" {
				t.Errorf("failures: %+v, %v", failures, err)
			}
		})
	}
}

// TestNoStart: a guest that never starts loses its trials, and only those.
func TestNoStart(t *testing.T) {
	b := newBench(t, yaml)
	b.other.OnCreate = func(int) error { return fake.ErrDiesBooting }
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 4 {
		t.Fatalf("%+v, %v", s, err)
	}
	if n := b.statuses("native"); n[store.Done] != 4 {
		t.Errorf("native: %v", n)
	}
	created := 0
	for _, e := range b.other.Events() {
		if strings.HasPrefix(e, "create") || strings.HasPrefix(e, "cannot create") {
			created++
		}
	}
	if most := 2 * maxStarts; created > most {
		t.Errorf("%d starts were tried, want at most %d", created, most)
	}
}

// TestHostFault: after a fault of the host the trial is repeated; if the fault
// persists, it ends the run, which can be resumed.
func TestHostFault(t *testing.T) {
	b := newBench(t, yaml)
	broken := true
	b.other.OnCreate = func(int) error {
		if broken {
			return fault.Hostf("no loop device")
		}
		return nil
	}
	s, err := b.run(t.Context())
	if err == nil || fault.KindOf(err) != fault.Host || s.Complete {
		t.Fatalf("%+v, %v", s, err)
	}
	broken = false
	if s, err = b.run(t.Context()); err != nil || !s.Complete {
		t.Fatalf("resumed: %+v, %v", s, err)
	}
	if n := b.statuses("other"); n[store.Done] != 4 || n[store.Failed] != 0 {
		t.Errorf("other: %v", n)
	}
}

// TestInterrupted cancels runs at random moments: every trial ends up done exactly once.
func TestInterrupted(t *testing.T) {
	b := newBench(t, yaml)
	for n := 0; ; n++ {
		// Longer each time, so that a slow machine comes through, too.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(100+rand.IntN(500)+50*n)*time.Millisecond)
		s, err := b.run(ctx)
		cancel()
		if err == nil {
			if !s.Complete {
				t.Fatalf("%+v", s)
			}
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n > 300 {
			t.Fatal("no progress")
		}
	}
	for _, arm := range []string{"native", "other", "native-control"} {
		if n := b.statuses(arm); n[store.Done] != 4 || n[store.Failed] != 0 {
			t.Errorf("%s: %v", arm, n)
		}
	}
}

// TestCalibration: the size makes a trial of the baseline take the trial time.
func TestCalibration(t *testing.T) {
	b := newBench(t, strings.Replace(strings.Replace(yaml, "{name: count, size: 1}", "count", 1), "blocks: 4", "blocks: 1",
		1))
	if _, err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sizes, err := b.config.Store.Sizes()
	if err != nil || len(sizes) != 1 || sizes[0].Size < 40 || sizes[0].Size > 150 {
		t.Errorf("%+v, %v", sizes, err)
	}
}

func TestBudget(t *testing.T) {
	b := newBench(t, strings.Replace(yaml, "blocks: 4", "blocks: {min: 2, max: 1000}\nbudget: 500ms", 1))
	s, err := b.run(t.Context())
	if err != nil || s.Reason != plan.ReasonBudget || s.Passes == 0 || s.Passes >= 1000 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestPrecision(t *testing.T) {
	b := newBench(t, strings.Replace(yaml, "blocks: 4", "blocks: {min: 10, max: 50}\nprecision: 2%", 1))
	b.config.Widths = func() (map[string]plan.Width, error) {
		return map[string]plan.Width{"count": {Half: 0.1, Reached: b.statuses("other")[store.Done] >= 13}}, nil
	}
	s, err := b.run(t.Context())
	if err != nil || s.Reason != plan.ReasonPrecision || s.Passes != 13 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestExtras: a warm-up begins each group, and some trials are made twice
// without a freeze in between; neither warm-ups nor repeats are results.
func TestExtras(t *testing.T) {
	b := newBench(t, yaml)
	if s, err := b.run(t.Context()); err != nil || !s.Complete {
		t.Fatalf("%+v, %v", s, err)
	}
	discarded, repeats := 0, 0
	var before *store.Trial
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		switch trial.Status {
		case store.Discarded:
			discarded++
			if trial.Position != -1 {
				t.Errorf("a warm-up at position %d", trial.Position)
			}
		case store.Repeat:
			repeats++
			if before == nil || before.Status != store.Done || before.Guest != trial.Guest || before.Block != trial.Block ||
				before.Arm != trial.Arm {
				t.Errorf("%+v is the repeat of %+v", trial, before)
			}
		}
		before = trial
	}
	if discarded != 4 || repeats != 1 {
		t.Errorf("%d warm-ups and %d repeats in 4 blocks, want 4 and 1", discarded, repeats)
	}
	for _, d := range []*fake.Driver{b.native, b.other} {
		last := map[string]string{}
		for _, e := range d.Events() {
			what, site, _ := strings.Cut(e, " ")
			if what == last[site] && (what == "thaw" || what == "freeze") {
				t.Errorf("guest %s has two events %q in a row", site, what)
			}
			last[site] = what
		}
	}
}

// TestPreferred: sizes near each other round to the same one, and none far away.
func TestPreferred(t *testing.T) {
	for size, want := range map[float64]int64{0.2: 1, 7: 7, 42: 40, 45: 40, 55: 63, 1000: 1000, 1300: 1600, 9000: 10000,
		123456: 100000} {
		if got := preferred(size); got != want {
			t.Errorf("%v becomes %d, want %d", size, got, want)
		}
	}
}

// TestHeardLate: a duration that is wrong because the host processed messages
// late is refused.
func TestHeardLate(t *testing.T) {
	defer func(before time.Duration) { lateGrain = before }(lateGrain)
	lateGrain = 5 * time.Millisecond
	for _, c := range []struct {
		timed time.Duration
		off   float64 // s, host's time minus the guest's
		late  bool
	}{
		{100 * time.Millisecond, 0.0001, false}, {100 * time.Millisecond, -0.004, false},
		{15 * time.Microsecond, -0.09, true},
		{200 * time.Millisecond, 0.1, true}, {10 * time.Second, -0.1, false}, {2 * time.Millisecond, 0.001, false},
	} {
		m := member{x: execution{timed: c.timed}}
		m.x.readings.Values = map[string]float64{model.ProbeHostTimeError: c.off}
		if err := m.heardLate(); (err != nil) != c.late || err != nil &&
			(fault.KindOf(err) != fault.Host || !errors.Is(err, errLate)) {
			t.Errorf("%v, off by %v s: %v", c.timed, c.off, err)
		}
	}
	m := member{x: execution{timed: time.Millisecond}}
	if err := m.heardLate(); err != nil {
		t.Errorf("nothing is known of the guest's clock: %v", err)
	}
}

// TestSingleLatencies: the histogram of a trial's single latencies is in the run file, and a trial whose histogram
// contradicts its figures has failed.
func TestSingleLatencies(t *testing.T) {
	b := newBench(t, yaml)
	with := *count
	with.SingleOf = "time"
	broken := false
	with.Latencies = func([]workload.StepResult) (*histogram.Histogram, error) {
		if broken {
			return nil, fault.Guestf("%w: 3 latencies of 4", workload.ErrContradiction)
		}
		h := &histogram.Histogram{}
		return h, h.Add(1500, 4)
	}
	b.config.Workloads = map[string]*workload.Workload{"count": &with}
	if _, err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for l, err := range b.config.Store.Latencies() {
		if err != nil {
			t.Fatal(err)
		}
		h, err := histogram.Decode(l.Encoded)
		if err != nil || h.Count() != 4 || l.Metric != 0 || l.Guest == 0 {
			t.Errorf("%+v, %+v, %v", l, h, err)
		}
		n++
	}
	if n < 8 {
		t.Errorf("%d trials have latencies", n)
	}

	broken = true
	b = newBench(t, yaml)
	b.config.Workloads = map[string]*workload.Workload{"count": &with}
	if s, err := b.run(t.Context()); err != nil || s.Failed == 0 {
		t.Errorf("with contradictions: %+v, %v", s, err)
	}
	for range b.config.Store.Latencies() {
		t.Error("a failed trial has latencies")
	}
}
