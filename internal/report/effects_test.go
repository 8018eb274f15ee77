package report

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
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

func TestPolite(t *testing.T) {
	p := campaign.Polite{CPUs: 2, Free: 1 << 30, Pressure: 20}
	paused := []store.Event{{Kind: store.EventPaused, Text: "12 s: others waited"}, {Kind: store.EventKSM, Text: "9 s"},
		{Kind: store.EventPaused, Text: "30 s: others waited"}}
	if got := polite(campaign.Polite{}, paused); got != "" {
		t.Errorf("not polite: %q", got)
	}
	if got := polite(p, nil); !strings.HasPrefix(got, "at most 2 CPUs,") || !strings.HasSuffix(got, "it never paused") {
		t.Errorf("%q", got)
	}
	if got := polite(p, paused); !strings.HasSuffix(got, "above 20% of pressure; paused 2 times, 42 s in all") {
		t.Errorf("%q", got)
	}
}
