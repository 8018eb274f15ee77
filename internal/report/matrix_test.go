package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report/reporttest"
)

// TestMatrix: each system has a cell for each scenario, also where it was in fewer; figures that are not resolved are
// in brackets, and what is missing is said.
func TestMatrix(t *testing.T) {
	res := reporttest.Cases()
	res.IsolationMatrix = slices.DeleteFunc(res.IsolationMatrix, func(c analyze.IsolationCell) bool {
		return c.Arm == "runc@noisy"
	})
	m := MatrixOf(res)
	if len(m.Scenarios) != 2 || m.Scenarios[1] != (MatrixScenario{"disk", "disk"}) || len(m.Rows) != 3 {
		t.Fatalf("%+v", m)
	}
	got := map[string]string{}
	for _, r := range m.Rows {
		for i, c := range r.Cells {
			if c.Known {
				got[r.Arm+"@"+m.Scenarios[i].Name] = fmt.Sprintf("%s %s, %s; %s", c.Excess.Text, c.Excess.Interval,
					c.Excess.Words, c.P99.Text)
			}
		}
	}
	for cell, want := range map[string]string{
		"lxc@noisy":      "(1.06×) 0.980 … 1.14, not resolved; ",
		"qemu-tcg@noisy": "(3.20×) 2.80 … 3.60, emulated; ",
		"lxc@disk":       "1.82× 1.61 … 2.06, worse than native; 14.2×",
		"runc@disk":      "(1.02×) 0.970 … 1.07, idle neighbour; ",
		"qemu-tcg@disk":  "did not finish , emulated; ",
	} {
		if got[cell] != want {
			t.Errorf("%s: %q, want %q", cell, got[cell], want)
		}
	}
	if len(got) != 5 || !strings.Contains(strings.Join(m.Notes, "\n"), "lxc@disk: no interval on cyclictest") {
		t.Errorf("%v, %q", got, m.Notes)
	}
	if MatrixOf(&analyze.Result{}) != nil {
		t.Error("a run without neighbours has no matrix")
	}
}
