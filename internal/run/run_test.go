package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
)

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
		// The baseline takes part in every block; an arm that a busy host slowed down skips some.
		return map[string]plan.Width{"count": {Half: 0.1, Reached: b.statuses("native")[store.Done] >= 13}}, nil
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

// TestKeptFilesNeedRoom: the volume of a guest is emptied when a trial's own files do not fit beside those that others
// have left, and only then; a new machine of the guest has none.
func TestKeptFilesNeedRoom(t *testing.T) {
	g := &guest{}
	g.Flavor.DiskBytes = 1000
	takes := func(name string, bytes int64) *workload.Workload {
		w := &workload.Workload{DiskBytes: func(int64) int64 { return bytes + 10 }}
		if name != "" {
			w.Keeps = func(int64) workload.Kept { return workload.Kept{Name: name, Bytes: bytes} }
		}
		return w
	}
	for i, step := range []struct {
		w     *workload.Workload
		empty bool
	}{
		{takes("file", 400), false},
		{takes("file", 400), false}, // the same file, of another workload
		{takes("", 480), false},
		{takes("", 500), true},
		{takes("", 500), false},
		{takes("file", 400), false},
		{takes("other", 300), false},
		{takes("third", 300), true},
		{takes("", 600), true},
		{takes("", 2000), false}, // never fits; there is nothing to remove
	} {
		g.keep(step.w, 1)
		if g.dirty != step.empty {
			t.Errorf("trial %d: emptied is %v; it keeps %v", i, g.dirty, g.keeps)
		}
		g.dirty = false // as wake does
	}
	g.keep(takes("file", 400), 1)
	g.dirty = true // a trial failed
	g.keep(takes("", 880), 1)
	if len(g.keeps) != 0 {
		t.Errorf("an emptied volume keeps %v", g.keeps)
	}
}
