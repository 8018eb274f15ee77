package run

import (
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
)

// TestPolite: a polite run ends before it makes a guest if too little memory is left to others, and continues
// when there is enough.
func TestPolite(t *testing.T) {
	b := newBench(t, yaml)
	b.config.Campaign.Polite = campaign.Polite{CPUs: 1, Free: 1 << 60, Pressure: 100}
	_, err := Run(t.Context(), b.config)
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "1048576TiB must be") ||
		fault.RemedyOf(err) == "" {
		t.Errorf("%v", err)
	}
	b.config.Campaign.Polite.Free = 0
	if s, err := Run(t.Context(), b.config); err != nil || !s.Complete {
		t.Errorf("%+v, %v", s, err)
	}
}
