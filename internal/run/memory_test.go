package run

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
)

// returning creates guests that return freed memory, as a balloon does.
type returning struct{ system.Driver }

type returner struct {
	system.Guest
	system.Meter
	system.MemoryMeter
}

func (returner) ReturnDelay() time.Duration { return time.Millisecond }

func (d returning) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	g, err := d.Driver.Create(ctx, s)
	if err != nil {
		return nil, err
	}
	return returner{g, g.(system.Meter), g.(system.MemoryMeter)}, nil
}

// TestWeighLast: the memory of every guest that worked is measured before it
// ends; a guest that returns memory is thawed before that.
func TestWeighLast(t *testing.T) {
	b := newBench(t, yaml)
	b.config.Drivers["other"] = returning{b.other}
	if _, err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	guests, err := b.config.Store.Guests()
	if err != nil || len(guests) < 6 { // three arms, twice
		t.Fatalf("%d guests, %v", len(guests), err)
	}
	for _, g := range guests {
		if v := g.Values[store.MemoryAfter]; v.Value != 8<<20 || v.Unit != "B" {
			t.Errorf("%s: %+v", g.Arm, g.Values)
		}
	}
	last := func(events []string) (before []string) {
		for i, e := range events {
			if strings.HasPrefix(e, "close") {
				before = append(before, strings.Fields(events[i-1])[0])
			}
		}
		return before
	}
	if got := last(b.other.Events()); !slices.Equal(got, []string{"thaw", "thaw"}) {
		t.Errorf("before they ended, guests that give back did %q", got)
	}
	if got := last(b.native.Events()); slices.Contains(got, "thaw") {
		t.Errorf("before they ended, others did %q", got)
	}
}
