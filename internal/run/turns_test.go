package run

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system/fake"
)

// TestInTurn: of arms that take turns on a device, never two have guests at the same time, and every arm has all its
// trials.
func TestInTurn(t *testing.T) {
	b := newBench(t, strings.Replace(yaml, "disk: 64MiB}",
		"disk: 64MiB, backing: block, device: /dev/null, in_turn: true}", 1))
	behave := func(argv []string) fake.Behaviour {
		if live := append(b.native.Live(), b.other.Live()...); len(live) != 1 {
			t.Errorf("guests while %s runs: %v", argv[0], live)
		}
		return good(argv)
	}
	b.native.Behave, b.other.Behave = behave, behave
	s, err := b.run(t.Context())
	if err != nil || !s.Complete || s.Failed != 0 || s.Reason != plan.ReasonBlocks {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, arm := range []string{"native", "other", "native-control"} {
		if n := b.statuses(arm); n[store.Done] != 4 {
			t.Errorf("%s: %v", arm, n)
		}
	}
}
