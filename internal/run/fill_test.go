package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/histogram"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

const fillYAML = `
name: test
seed: 1
flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}}
arms: [native, other]
workloads: [fill]
blocks: 1
timeout: 5m
`

// newFillBench is a bench whose guests fill a host. Without limits of time, a loaded host gives the same result.
func newFillBench(t *testing.T, step, most int) *bench {
	t.Helper()
	w, err := builtin.Get("fill")
	if err != nil {
		t.Fatal(err)
	}
	of := *w.Fill
	of.Step, of.Most, of.Level = step, most, workload.Level{}
	w.Fill = &of
	b := newBenchOf(t, t.TempDir(), fillYAML, w)
	b.native.Behave, b.other.Behave = fillGuest, fillGuest
	return b
}

// fillGuest runs the probe, and servers until they are stopped.
func fillGuest(argv []string) fake.Behaviour {
	switch argv[0] {
	case "sysbench":
		return fake.Behaviour{Took: time.Millisecond, Stdout: probeReport}
	case "redis-cli":
		return fake.Behaviour{Took: time.Millisecond, Stdout: "PONG\n"}
	}
	return fake.Behaviour{Took: time.Hour}
}

const probeReport = `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Prime numbers limit: 10000

Initializing worker threads...

Threads started!

CPU speed:
    events per second:  3602.18

General statistics:
    total time:                          0.5516s
    total number of events:              2000

Latency (ms):
         min:                                    0.22
         avg:                                    0.27
         max:                                    2.36
         99th percentile:                        0.80
         sum:                                  544.52

Threads fairness:
    events (avg/stddev):           2000.0000/0.00
    execution time (avg/stddev):   0.5445/0.00
`

// fills returns the trials that are done, by arm.
func (b *bench) fills() map[string]*store.Trial {
	b.t.Helper()
	all := map[string]*store.Trial{}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			b.t.Fatal(err)
		}
		if trial.Status == store.Done {
			all[trial.Arm] = trial
		}
	}
	return all
}

// broke returns the limits that a fill broke.
func broke(t *store.Trial) (all []string) {
	for _, limit := range model.FillLimits {
		if t.Probes[model.ProbeBroke(limit)] > 0 {
			all = append(all, limit)
		}
	}
	return all
}

// TestFillMany: a thousand guests in the shares of the mix, and nothing of them is left.
func TestFillMany(t *testing.T) {
	const most = 1000
	b := newFillBench(t, 250, most)
	b.native.OnCreate = func(n int) error { // only its probe guests start
		if n%3 != 1 {
			return fake.ErrDiesBooting
		}
		return nil
	}
	if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	fills := b.fills()
	if f := fills["other"]; f == nil || f.Metrics[workload.FillGuests] != most || broke(f) != nil ||
		f.Metrics[workload.FillAlone] <= 0 || f.Probes[model.ProbeFillSlowdown] <= 0 || f.Probes[model.ProbeFillStart] <= 0 ||
		f.Probes[model.ProbeMemoryLeft] <= 0 || f.Probes[model.ProbeOwnMemory] <= 0 {
		t.Errorf("%+v", f)
	}
	for _, arm := range []string{"native", "native-control"} {
		f := fills[arm]
		if f == nil || f.Metrics[workload.FillGuests] != 1 || !slices.Equal(broke(f), []string{model.LimitLost}) {
			t.Errorf("%s: %+v", arm, f)
		}
	}
	events := strings.Join(b.other.Events(), "\n")
	for what, want := range map[string]int{"create ": most, "close ": most, "redis-server": 150, "stress-ng": 50} {
		if n := strings.Count(events, what); n != want {
			t.Errorf("%q %d times, not %d", what, n, want)
		}
	}
}

// TestFillBreaks: what breaks first decides how many fit.
func TestFillBreaks(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*bench, *workload.Fill)
		guests float64
		broke  []string
	}{
		{"nothing", func(*bench, *workload.Fill) {}, 20, nil},
		{"a guest that does not start", func(b *bench, _ *workload.Fill) {
			b.other.OnCreate = func(n int) error {
				if n == 14 {
					return fake.ErrDiesBooting
				}
				return nil
			}
		}, 12, []string{model.LimitLost}},
		{"a guest whose load ends", func(b *bench, _ *workload.Fill) {
			b.other.Behave = func(argv []string) fake.Behaviour {
				if argv[0] == "stress-ng" {
					return fake.Behaviour{Took: time.Millisecond, ExitCode: 1, Stderr: "no room"}
				}
				return fillGuest(argv)
			}
		}, 8, []string{model.LimitLost}}, // the 10th beside the probe guest is the first that computes
		{"starts", func(_ *bench, f *workload.Fill) { f.Level.Start = math.MaxInt64 }, 20, nil},
		{"a slow probe, once", func(b *bench, f *workload.Fill) {
			f.Level.P99 = 5
			runs := 0
			b.other.Behave = func(argv []string) fake.Behaviour {
				did := fillGuest(argv)
				if argv[0] == "sysbench" {
					if runs++; runs == 6 {
						did.Stdout = strings.Replace(probeReport, "0.80", "80.00", 1)
					}
				}
				return did
			}
		}, 20, nil},
		{"a slow tail", func(b *bench, f *workload.Fill) {
			f.Level.P99 = 5
			runs := 0
			b.other.Behave = func(argv []string) fake.Behaviour {
				did := fillGuest(argv)
				if argv[0] == "sysbench" {
					if runs++; runs > 5 {
						did.Stdout = strings.Replace(probeReport, "0.80", "80.00", 1)
					}
				}
				return did
			}
		}, 4, []string{model.LimitP99}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFillBench(t, 4, 20)
			c.change(b, b.config.Workloads["fill"].Fill)
			if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			fills := b.fills()
			if got := fills["other"]; got.Metrics[workload.FillGuests] != c.guests || !slices.Equal(broke(got), c.broke) {
				t.Errorf("%v guests fit, broken: %v; want %v, %v", got.Metrics[workload.FillGuests], broke(got), c.guests, c.broke)
			}
			if got := fills["native"]; got.Metrics[workload.FillGuests] != 20 || broke(got) != nil {
				t.Errorf("native: %v guests fit, broken: %v", got.Metrics[workload.FillGuests], broke(got))
			}
			text := b.fillEvents()
			if early := c.name == "a guest that does not start"; early != strings.Contains(text, "other: 14 of 16 guests: ") ||
				strings.Contains(text, " 0 times") {
				t.Errorf("the events are\n%s", text)
			}
		})
	}
}

// servingGuest is fillGuest, whose clients say on demand that each of 500 requests took as long as took says.
func servingGuest(t *testing.T, took func() time.Duration) func([]string) fake.Behaviour {
	return func(argv []string) fake.Behaviour {
		if argv[0] == "sh" {
			return fake.Behaviour{Took: time.Millisecond}
		}
		did := fillGuest(argv)
		if argv[0] == "tare-redis" {
			did.Asked = func() string {
				h := &histogram.Histogram{}
				if err := h.Add(took().Nanoseconds(), 500); err != nil {
					t.Error(err)
				}
				encoded, err := h.Encode()
				if err != nil {
					t.Error(err)
				}
				return fmt.Sprintf(`{"latencies":"%s"}`+"\n", encoded)
			}
		}
		return did
	}
}

// newServingBench is a bench whose guests, each fourth of which serves, must answer within 50 ms.
func newServingBench(t *testing.T) (*bench, *workload.Fill) {
	b := newFillBench(t, 5, 20)
	w, err := builtin.Get("fill")
	if err == nil {
		w, err = w.With("fill", map[string]string{"idle": "3", "serving": "1", "computing": "0", "serving_p99": "50"})
	}
	if err != nil {
		t.Fatal(err)
	}
	f := *w.Fill
	f.Step, f.Most, f.Level = 5, 20, workload.Level{Serving: f.Level.Serving}
	serving := *f.Serving
	serving.Requests = 500
	f.Serving = &serving
	b.config.Workloads["fill"].Fill = &f
	b.native.Behave = servingGuest(t, func() time.Duration { return time.Millisecond })
	return b, &f
}

// TestFillServing: a delay of the guests that serve breaks the limit of their latency and no other, and one that is not
// there again, or of too few requests, breaks none.
func TestFillServing(t *testing.T) {
	const slow, fast = 80 * time.Millisecond, time.Millisecond
	for _, c := range []struct {
		name   string
		took   func(asked int) time.Duration // when clients are asked for the n-th time
		guests float64
		broke  []string
		says   string
	}{
		{"fast", func(int) time.Duration { return fast }, 20, nil,
			"p99 of 2500 requests to the guests that serve, 5 of them, 1 ms"},
		// Of 5 guests, one of which is the probe guest, one serves, so that two windows have 1000 requests. Of 10, two do.
		{"slow from 10 guests on", func(n int) time.Duration {
			if n > 2 {
				return slow
			}
			return fast
		}, 5, []string{model.LimitServing}, "p99 of 3000 requests to the guests that serve, 2 of them, 80"},
		{"slow once", func(n int) time.Duration {
			if n == 3 || n == 4 {
				return slow
			}
			return fast
		}, 20, nil, "p99 of 3000 requests to the guests that serve, 2 of them, 1 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := newServingBench(t)
			var asked atomic.Int64
			b.other.Behave = servingGuest(t, func() time.Duration { return c.took(int(asked.Add(1))) })
			if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			fills := b.fills()
			if got := fills["other"]; got.Metrics[workload.FillGuests] != c.guests || !slices.Equal(broke(got), c.broke) {
				t.Errorf("%v guests fit, broken: %v; want %v, %v", got.Metrics[workload.FillGuests], broke(got), c.guests, c.broke)
			}
			want := fast.Seconds()
			if c.broke != nil {
				want = slow.Seconds()
			}
			p := fills["other"].Probes
			if got := p[model.ProbeServingP99]; got < 0.98*want || got > 1.02*want || p[model.ProbeServed] < 1000 {
				t.Errorf("p99 of %v requests: %v s, want %v", p[model.ProbeServed], got, want)
			}
			if got := fills["native"]; got.Metrics[workload.FillGuests] != 20 || broke(got) != nil {
				t.Errorf("native: %v guests fit, broken: %v", got.Metrics[workload.FillGuests], broke(got))
			}
			if text := b.fillEvents(); !strings.Contains(text, c.says) {
				t.Errorf("no %q in\n%s", c.says, text)
			}
		})
	}
}

// fillEvents returns the texts of the events of fills.
func (b *bench) fillEvents() string {
	b.t.Helper()
	events, err := b.config.Store.Events()
	if err != nil {
		b.t.Fatal(err)
	}
	var text strings.Builder
	for _, e := range events {
		if e.Kind == store.EventFill {
			fmt.Fprintln(&text, e.Text)
		}
	}
	return text.String()
}

// TestFillServesNot: clients that say nothing are as slow as that shows, those that end or talk nonsense are lost, and
// without any, nothing is judged.
func TestFillServesNot(t *testing.T) {
	for name, c := range map[string]struct {
		client func(*fake.Behaviour)
		idle   bool
		guests float64
		broke  []string
		says   string
	}{
		"silent": {func(b *fake.Behaviour) {
			b.Asked = func() string { return "" }
		}, false, 1, []string{model.LimitServing}, "requests to the guests that serve, 1 of them"},
		"ends": {func(b *fake.Behaviour) {
			b.Asked, b.Stderr, b.ExitCode = nil, "no server", 1
		}, false, 1, []string{model.LimitLost}, "step requests has ended: no server"},
		"nonsense": {func(b *fake.Behaviour) {
			b.Asked = func() string { return "panic\n" }
		}, false, 1, []string{model.LimitLost}, "not what a client says of its requests"},
		"none": {func(*fake.Behaviour) {}, true, 20, nil, "no guest serves yet, so that serving_p99 is not judged"},
	} {
		t.Run(name, func(t *testing.T) {
			b, f := newServingBench(t)
			// Only for what a silent client says is it in vain to wait.
			f.Serving.Window, f.Serving.Patience, f.Serving.Grace = 0, 0, 5*time.Minute
			if name == "silent" {
				f.Serving.Grace = 100 * time.Millisecond
			}
			if c.idle {
				f.Mix = f.Mix[:1]
			}
			good := b.native.Behave
			b.other.Behave = func(argv []string) fake.Behaviour {
				did := good(argv)
				if argv[0] == "tare-redis" {
					c.client(&did)
				}
				return did
			}
			if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			if got := b.fills()["other"]; got.Metrics[workload.FillGuests] != c.guests || !slices.Equal(broke(got), c.broke) {
				t.Errorf("%v guests fit, broken: %v; want %v, %v", got.Metrics[workload.FillGuests], broke(got), c.guests, c.broke)
			}
			if text := b.fillEvents(); !strings.Contains(text, c.says) {
				t.Errorf("no %q in\n%s", c.says, text)
			}
		})
	}
}

// TestFillMemory: a fill that would leave the host too little memory is not made.
func TestFillMemory(t *testing.T) {
	for name, limit := range map[string]int64{"level": lowMemory(t), "reserve": 1 << 60} {
		t.Run(name, func(t *testing.T) {
			b := newFillBench(t, 4, 20)
			b.config.Workloads["fill"].Fill.Level.MemoryLeft = limit
			if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 3 {
				t.Fatalf("%+v, %v", s, err)
			}
			for trial, err := range b.config.Store.Trials() {
				if err != nil || trial.Status != store.Failed || !strings.Contains(trial.Error, "breaks the level: memory") {
					t.Errorf("%+v, %v", trial, err)
				}
			}
		})
	}
}

// lowMemory is more memory than the host has available, but not twice as much.
func lowMemory(t *testing.T) int64 {
	t.Helper()
	var l lowest
	left := l.read()
	if left <= 0 {
		t.Fatal("the available memory is not known")
	}
	return left + left/2
}

// TestFillInterrupted: nothing of an interrupted fill is left, and the next session makes it again.
func TestFillInterrupted(t *testing.T) {
	b := newFillBench(t, 10, 40)
	ctx, cancel := context.WithCancel(t.Context())
	b.other.OnCreate = func(n int) error {
		if n == 25 {
			cancel()
		}
		return nil
	}
	if _, err := b.run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if s, err := b.run(t.Context()); err != nil || !s.Complete {
		t.Fatalf("%+v, %v", s, err)
	}
	if f := b.fills()["other"]; f.Metrics[workload.FillGuests] != 40 {
		t.Errorf("%v", f.Metrics)
	}
}

// TestFillHost: a host that cannot make even the first guests has failed; later, its limit is the result.
func TestFillHost(t *testing.T) {
	for at, fits := range map[int]float64{3: 0, 9: 8} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			b := newFillBench(t, 4, 20)
			b.other.OnCreate = func(n int) error {
				if n >= at {
					return fault.Hostf("no more processes")
				}
				return nil
			}
			_, err := b.run(t.Context())
			if failed := err != nil; failed != (fits == 0) {
				t.Fatal(err)
			}
			if f := b.fills()["other"]; (f == nil) != (fits == 0) || f != nil && f.Metrics[workload.FillGuests] != fits {
				t.Errorf("%+v, not %v guests", f, fits)
			}
		})
	}
}
