package run

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
)

// attacking is the campaign with attacks.
var attacking = strings.Replace(yaml, "blocks: 4", "blocks: 1\nattacks: [processes, memory, disk]", 1)

// TestAttacks: each arm but the control attacks each limit once, also if the run is
// resumed. The next attack has a new guest after one that died, and the guest beside an attack may fail.
func TestAttacks(t *testing.T) {
	b := newBench(t, attacking)
	var interrupt atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	behave := func(system string) func(argv []string) fake.Behaviour {
		return func(argv []string) fake.Behaviour {
			program := strings.Join(argv, " ")
			switch {
			case argv[0] == "sh" && system == "other" && interrupt.Load():
				return fake.Behaviour{ExitCode: 1, Stderr: "No space"}
			case argv[0] != "perl":
				return good(argv)
			case strings.Contains(program, `"attack"`):
				interrupt.Store(system == "other")
				return fake.Behaviour{Took: 20 * time.Millisecond, Stdout: "got 60000000, stopped: No space left on device\n"}
			case strings.Contains(program, "@all < 2"):
				return fake.Behaviour{Took: time.Millisecond, Trouble: fake.Dies}
			case system == "other":
				cancel() // in its second attack
			}
			return fake.Behaviour{Took: time.Millisecond, Stdout: "got 12, not stopped\n"}
		}
	}
	b.native.Behave, b.other.Behave = behave("native"), behave("other")
	if _, err := b.run(ctx); err == nil {
		t.Fatal("it was not interrupted")
	}
	cancel = func() {}
	if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	all, err := b.config.Store.Attacks()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range all {
		got = append(got, a.Arm+" "+a.On)
		if a.Died != (a.On == model.AttackProcesses) || a.Stopped != (a.On == model.AttackDisk) || a.Limit <= 0 ||
			a.Took != map[string]float64{model.AttackDisk: 60000000}[a.On] || a.Alone <= 0 {
			t.Errorf("%+v", a)
		}
		if lost := a.Arm == "other" && a.On == model.AttackDisk; lost != strings.Contains(a.Lost, "No space") {
			t.Errorf("%+v", a)
		}
	}
	want := []string{"native processes", "native memory", "native disk", "other processes", "other memory", "other disk"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n := b.statuses("other")[store.Done]; n != 1 {
		t.Errorf("%d trials beside the attacks", n)
	}
	res := b.analyzed(t)
	if len(res.Attacks) != 6 || res.Attacks[2].Held != model.HeldYes || res.Attacks[1].Held != model.HeldUnknown {
		t.Errorf("%+v", res.Attacks)
	}
}
