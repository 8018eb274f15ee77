package systemtest

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/system"
)

// SoakLoop is Loop if TARE_SOAK is set, and skips otherwise. It is for machines that boot slowly:
// five of them find no more than the conformance suite does.
func SoakLoop(t *testing.T, d system.Driver) {
	if os.Getenv("TARE_SOAK") == "" {
		t.Skip("TARE_SOAK is not set")
	}
	Loop(t, d)
}

// Loop creates, freezes, thaws and closes guests one after the other: 5, or 50 with TARE_SOAK set.
// Afterwards neither this process nor the host may hold more than before.
func Loop(t *testing.T, d system.Driver) {
	h, rounds := Host(t), 5
	if os.Getenv("TARE_SOAK") != "" {
		rounds = 50
	}
	needUsable(t, d, h)
	loopRound(t, d, h) // allocates what is allocated only once
	before, w0 := snapshot(t, h), weigh()
	for range rounds {
		loopRound(t, d, h)
	}
	nothingLeft(t, h, before)
	w1 := weigh()
	for begin := time.Now(); time.Since(begin) < time.Minute; { // what is closed disappears with a delay
		if !w1.over(w0) {
			break
		}
		time.Sleep(20 * time.Millisecond)
		w1 = weigh()
	}
	t.Logf("%d rounds: before %+v, after %+v", rounds, w0, w1)
	if w1.over(w0) {
		t.Errorf("this process grew in %d rounds from %+v to %+v", rounds, w0, w1)
	}
}

func loopRound(t *testing.T, d system.Driver, h *system.Host) {
	t.Helper()
	m, err := system.Launch(t.Context(), d, h, "loop", Request())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	for range 3 {
		if d.Capabilities().Freeze != "" {
			if err := m.Freeze(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := m.Thaw(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r, err := m.Agent.Run(t.Context(), agent.Command{
			Argv: []string{"sh", "-c", "echo x >y && cat y"}, Env: system.AgentEnv, Dir: m.DataDir(), Timeout: time.Minute,
		})
		if err != nil || r.ExitCode != 0 || string(r.Stdout) != "x\n" {
			t.Fatalf("%v, %+v", err, r)
		}
	}
}

// weight is what this process holds.
type weight struct {
	files, goroutines int
	heap              uint64
}

// over reports whether it is more than it was before.
func (w weight) over(before weight) bool {
	return w.files > before.files || w.goroutines > before.goroutines || w.heap > before.heap+1<<20
}

func weigh() weight {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return weight{openFiles(), runtime.NumGoroutine(), m.HeapAlloc}
}
