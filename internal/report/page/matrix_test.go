package page

import (
	"testing"

	"github.com/tare-bench/tare/internal/report"
	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestHeat: only what is resolved has a colour, and whatever has one says the same in words.
func TestHeat(t *testing.T) {
	res, got := reporttest.Cases(), map[string]string{}
	for i, c := range res.IsolationMatrix {
		if c.Arm == "lxc@noisy" {
			res.IsolationMatrix[i].Unfinished = []string{"dd-write"}
		}
	}
	for _, r := range report.MatrixOf(res).Rows {
		for _, c := range r.Cells {
			got[r.Arm] += heat(c) + ": " + c.Excess.Words + "; "
		}
	}
	for arm, want := range map[string]string{
		"lxc":      "costs much: worst of all; costs much: worse than native; ",
		"runc":     "gains: better than native; open: idle neighbour; ",
		"qemu-tcg": "open: emulated; open: emulated; ",
	} {
		if got[arm] != want {
			t.Errorf("%s: %q", arm, got[arm])
		}
	}
}
