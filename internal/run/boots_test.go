package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/plan"
	"github.com/tare-bench/tare/internal/store"
)

// TestBoots: a run stops when it needs another boot of the host and continues in
// that boot; a boot creates no guests of the other boot's arms.
func TestBoots(t *testing.T) {
	b := newBench(t, strings.NewReplacer("blocks: 4", "blocks: 8", "arms: [native, other]",
		"boots: {linux: {}, pinned: {of: xen, entry: Xen}}\narms: [native, {system: other, boot: pinned}]").Replace(yaml))
	b.config.Boot = model.BootLinux
	var boots []string
	for {
		boots = append(boots, b.config.Boot)
		b.config.BootID = fmt.Sprint("boot ", len(boots))
		if len(boots) > 8 {
			t.Fatalf("booted too often: %v", boots)
		}
		native, other := len(b.native.Events()), len(b.other.Events())
		s, err := b.run(t.Context())
		idle := b.other.Events()[other:]
		if b.config.Boot == "pinned" {
			idle = b.native.Events()[native:]
		}
		if len(idle) > 0 {
			t.Errorf("booted as %s: %v", b.config.Boot, idle)
		}
		if err == nil {
			if !s.Complete || s.Reason != plan.ReasonBlocks {
				t.Errorf("%+v", s)
			}
			break
		}
		var next *OtherBoot
		if !errors.As(err, &next) {
			t.Fatalf("booted as %s: %v", b.config.Boot, err)
		}
		done := func() int { return b.statuses("native")[store.Done] + b.statuses("other")[store.Done] }
		before := done()
		if _, err := b.run(t.Context()); !errors.As(err, &next) || done() != before {
			t.Errorf("a boot went on after its round: %v", err)
		}
		b.config.Boot = next.Name
	}
	for _, arm := range []string{"native", "other", "native-control"} {
		if n := b.statuses(arm); n[store.Done] != 8 || n[store.Failed] > 0 {
			t.Errorf("%s: %v", arm, n)
		}
	}
	if boots[0] != model.BootLinux || len(boots) != 8 {
		t.Errorf("boots %v", boots)
	}
	for _, c := range b.analyzed(t).Comparisons {
		if c.DistinctGuests != 4 || c.Units != 4 {
			t.Errorf("%s: an interval over %d of %d boots", c.Arm, c.Units, c.DistinctGuests)
		}
	}
}
