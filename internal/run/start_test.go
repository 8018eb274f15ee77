package run

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

const startYAML = `
name: test
seed: 1
flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}}
arms: [native, other]
workloads: [start]
scenarios: [solo, {name: two, guests: 2}]
blocks: 4
timeout: 5m
`

// newStartBench is a bench whose guests do nothing but start. The kernel of other has a clock of its own.
func newStartBench(t *testing.T) *bench {
	t.Helper()
	w, err := builtin.Get("start")
	if err != nil {
		t.Fatal(err)
	}
	b := newBenchOf(t, t.TempDir(), startYAML, w)
	quiet := func([]string) fake.Behaviour { return fake.Behaviour{Took: time.Millisecond} }
	b.native.Behave, b.other.Behave = quiet, quiet
	return b
}

// checkPhases checks of each trial that its phases add up to its time.
func checkPhases(t *testing.T, b *bench) (starts int) {
	t.Helper()
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Status != store.Done {
			continue
		}
		starts++
		var sum float64
		for _, phase := range model.StartPhases {
			sum += trial.Probes[phase]
		}
		if whole := trial.Metrics["time"]; whole <= 0 || math.Abs(sum-whole) > 1e-8 {
			t.Errorf("%s, block %d: phases of %v s add up to %v s: %v", trial.Arm, trial.Block, whole, sum, trial.Probes)
		}
		for _, name := range []string{workload.StopTime, workload.RemoveTime} {
			if trial.Metrics[name] <= 0 {
				t.Errorf("%s, block %d: %s is %v", trial.Arm, trial.Block, name, trial.Metrics[name])
			}
		}
	}
	return starts
}

// TestStart: each trial creates its guests and removes them.
func TestStart(t *testing.T) {
	b := newStartBench(t)
	if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if n := checkPhases(t, b); n != 4*(3+3*2) {
		t.Errorf("%d starts", n)
	}
	alive := 0
	var doing []string
	for _, e := range b.other.Events() {
		what, _, _ := strings.Cut(e, " ")
		switch what {
		case "create":
			alive++
		case "close":
			alive--
		}
		if alive > 2 {
			t.Fatal("more guests at once than the scenario has")
		}
		if !slices.Contains(doing, what) {
			doing = append(doing, what)
		}
	}
	if alive != 0 || !slices.Equal(doing, []string{"create", "run", "close"}) {
		t.Errorf("%d guests are left; the guests were asked to %q", alive, doing)
	}
	// 4 alone, 8 in pairs, and one before the first that counts: nothing had warmed the cache.
	if n := strings.Count(strings.Join(b.other.Events(), "\n"), "create"); n != 4+8+1 {
		t.Errorf("%d guests were created", n)
	}

	res := b.analyzed(t)
	if len(res.Starts) != 6 {
		t.Fatalf("%+v", res.Starts)
	}
	for _, s := range res.Starts {
		if s.N != 4*s.Guests || s.Blocks != 4 || math.Abs(s.Rest) > 1e-8 || s.P50.Value <= 0 || s.P99 != nil {
			t.Errorf("%+v", s)
		}
	}
	for _, c := range res.Comparisons {
		if c.Metric == "time" && c.N > 0 && c.DistinctGuests != 4 {
			t.Errorf("%s: %d guests in 4 blocks of one start each", c.Arm, c.DistinctGuests)
		}
	}
}

// TestStartResumes: an interrupted run makes exactly the missing starts.
func TestStartResumes(t *testing.T) {
	b := newStartBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.other.OnCreate = func(n int) error {
		if n == 6 {
			cancel()
		}
		return nil
	}
	if _, err := b.run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	before := checkPhases(t, b)
	if s, err := b.run(t.Context()); err != nil || !s.Complete {
		t.Fatalf("%+v, %v", s, err)
	}
	if after := checkPhases(t, b); before == 0 || before >= after || after != 4*(3+3*2) {
		t.Errorf("%d starts before the interruption, %d in the end", before, after)
	}
}

// TestStartFails: guests that do not start are a result, and nothing of them is left.
func TestStartFails(t *testing.T) {
	b := newStartBench(t)
	b.other.OnCreate = func(n int) error {
		if n == 3 {
			return fake.ErrDiesBooting
		}
		return nil
	}
	if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	n := b.statuses("other")[store.Failed] + b.statuses("other@two")[store.Failed]
	if n != 1 {
		t.Errorf("%d failed starts", n)
	}
	checkPhases(t, b)
}

// TestStartMarks: the guest's clock is converted to the host's, and is not believed against it.
func TestStartMarks(t *testing.T) {
	const ms = int64(time.Millisecond)
	own := &fake.Driver{Change: func(c *system.Capabilities) { c.SameKernel = false }}
	same := &fake.Driver{}
	at := func(d *fake.Driver, began, ready int64) *system.Machine {
		return &system.Machine{Driver: d, Requested: 1000 * ms, Answered: 1100 * ms, Hello: agent.Hello{Began: began,
			Ready: ready}}
	}
	clock := agent.Clock{Offset: time.Duration(-1030 * ms), Delay: time.Millisecond} // its kernel began at 1030
	for _, c := range []struct {
		name    string
		machine *system.Machine
		exec    int64
		want    map[string]time.Duration // in ms
		err     string
	}{
		{"own kernel", at(own, 20*ms, 60*ms), 90 * ms, map[string]time.Duration{
			model.ProbePhaseRuntime: 30, model.ProbePhaseKernel: 20, model.ProbePhaseInit: 40, model.ProbePhaseAgent: 10,
			model.ProbePhaseProgram: 20}, ""},
		{"the host's kernel", at(same, 1050*ms, 1060*ms), 1120 * ms, map[string]time.Duration{
			model.ProbePhaseRuntime: 50, model.ProbePhaseInit: 10, model.ProbePhaseAgent: 40, model.ProbePhaseProgram: 20}, ""},
		{"an agent that does not say when it began", at(same, 0, 0), 1120 * ms, map[string]time.Duration{
			model.ProbePhaseAgent: 100, model.ProbePhaseProgram: 20}, ""},
		{"within the clock's error", at(own, 20*ms, 71*ms), 90 * ms, map[string]time.Duration{
			model.ProbePhaseRuntime: 30, model.ProbePhaseKernel: 20, model.ProbePhaseInit: 51, model.ProbePhaseAgent: 0,
			model.ProbePhaseProgram: 19}, ""},
		{"began before the request", at(same, 900*ms, 1060*ms), 1120 * ms, nil, "contradicts the host's: phase_runtime"},
		{"ran before it answered", at(own, 20*ms, 60*ms), 60 * ms, nil, "contradicts the host's: phase_program"},
		{"an agent that does not say when the program ran", at(same, 1050*ms, 1060*ms), 0, nil, "does not say"},
	} {
		got, err := startMarks(c.machine, &agent.Result{GuestExec: c.exec}, clock)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || fault.KindOf(err) != fault.Guest {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var sum time.Duration
		for phase, d := range got.phases() {
			sum += d
			if d != c.want[phase]*time.Millisecond {
				t.Errorf("%s: %s takes %v, want %d ms", c.name, phase, d, c.want[phase])
			}
		}
		if len(got.phases()) != len(c.want) || sum != got.whole() {
			t.Errorf("%s: %v add up to %v of %v", c.name, got.phases(), sum, got.whole())
		}
	}
	// What tare's own process takes until it executes the runtime is not part of the start.
	stub := startOf{{"", 0}, {model.ProbePhaseSetup, 2}, {model.ProbeStartOwn, 50}, {model.ProbePhaseProgram, 60}}
	if stub.whole() != 12 {
		t.Errorf("%d", stub.whole())
	}
}

// daemonic is a system whose daemon makes its guests.
type daemonic struct {
	*fake.Driver
	starts, running int
	awake           bool
}

func (s *daemonic) KeepDaemon(context.Context, string) (system.Keep, error) {
	s.starts++
	s.running++
	s.awake = true
	return s, nil
}

func (s *daemonic) Rest() error    { s.awake = false; return nil }
func (s *daemonic) Wake() error    { s.awake = true; return nil }
func (s *daemonic) Release() error { s.running--; s.awake = false; return nil }

// TestStartDaemon: a system's daemon is running when a start is requested, is frozen while other systems start
// theirs, and is replaced if a start fails by the host's fault.
func TestStartDaemon(t *testing.T) {
	b := newStartBench(t)
	s := &daemonic{Driver: b.other}
	b.config.Drivers["other"] = s
	broken := false
	b.other.OnCreate = func(n int) error {
		if !s.awake || s.running != 1 {
			t.Errorf("start %d: awake %v, %d are running", n, s.awake, s.running)
		}
		if n == 5 {
			broken = true
			return fault.Hostf("the daemon does not answer")
		}
		return nil
	}
	b.native.OnCreate = func(int) error {
		if s.awake {
			t.Error("it is awake while native starts")
		}
		return nil
	}
	if sum, err := b.run(t.Context()); err != nil || !sum.Complete || sum.Failed != 0 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if !broken || s.starts != 2 || s.running != 0 {
		t.Errorf("broken: %v; it was started %d times, and %d are left", broken, s.starts, s.running)
	}
	checkPhases(t, b)
}
