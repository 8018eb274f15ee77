package page

import (
	"testing"

	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestHeat: only what is resolved has a colour, and whatever has one says the same in words.
func TestHeat(t *testing.T) {
	got := map[string]string{}
	for _, r := range isolationMatrix(reporttest.Cases()).Rows {
		for _, c := range r.Cells {
			got[r.Arm] += c.Class + ": " + c.Words + "; "
		}
	}
	for arm, want := range map[string]string{
		"lxc":      "open: not resolved; costs much: worse than native; ",
		"runc":     "gains: better than native; open: idle neighbour; ",
		"qemu-tcg": "open: emulated; costs much: worst of all; ",
	} {
		if got[arm] != want {
			t.Errorf("%s: %q", arm, got[arm])
		}
	}
}
