package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
)

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
			text := yaml
			if trouble.Trouble == fake.Hangs {
				text = strings.Replace(yaml, "timeout: 5m", "timeout: 5s", 1)
			}
			b := newBench(t, text)
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
