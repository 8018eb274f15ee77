package report

import (
	"testing"

	"github.com/tare-bench/tare/internal/store"
)

func TestEffects(t *testing.T) {
	dropped, other := store.Event{Kind: store.EventCachesDropped}, store.Event{Kind: store.EventKSM}
	for want, events := range map[string][]store.Event{
		"": {other}, "dropped once, for the whole host": {other, dropped},
		"dropped 2 times, for the whole host": {dropped, other, dropped},
	} {
		if got := effects(events); got != want {
			t.Errorf("%v: %q", events, got)
		}
	}
}
