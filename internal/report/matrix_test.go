package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/report/reporttest"
	"github.com/tare-bench/tare/internal/view"
)

// TestMatrix: each system has a cell for each scenario, also where it was in fewer; figures that are not resolved are
// in brackets, and what is missing is said.
func TestMatrix(t *testing.T) {
	res := reporttest.Cases()
	res.IsolationMatrix = slices.DeleteFunc(res.IsolationMatrix, func(c analyze.IsolationCell) bool {
		return c.Arm == "runc@noisy"
	})
	t1 := MatrixTable(res)
	got := map[string]string{}
	for _, r := range texts(t1)[1:] {
		name := r[1] + " " + r[0]
		if r[1] == "by p99" {
			name = "lxc disk by p99"
		}
		got[name] = fmt.Sprintf("%s %s, %s", r[2], r[3], r[5])
	}
	for cell, want := range map[string]string{
		"lxc noisy: cpu":       "(1.06×) 0.980 … 1.14, not resolved",
		"qemu-tcg* noisy: cpu": "(3.20×) 2.80 … 3.60, emulated",
		"lxc disk":             "1.82× 1.61 … 2.06, worse than native",
		"lxc disk by p99":      "14.2× 9.70 … 20.8, worse than native",
		"runc disk":            "(1.02×) 0.970 … 1.07, idle neighbour",
		"qemu-tcg* disk":       "did not finish , emulated",
	} {
		if got[cell] != want {
			t.Errorf("%s: %q, want %q", cell, got[cell], want)
		}
	}
	if len(got) != 6 || !slices.ContainsFunc(t1.Notes, func(n view.Note) bool {
		return n.About == "lxc@disk" && strings.HasPrefix(n.Text, "no interval on cyclictest")
	}) {
		t.Errorf("%v, %v", got, t1.Notes)
	}
	if len(MatrixTable(&analyze.Result{}).Rows) > 0 {
		t.Error("a run without neighbours has a matrix")
	}
}

// TestHeat: only what is resolved has a colour, and whatever has one says the same in words.
func TestHeat(t *testing.T) {
	res, got := reporttest.Cases(), map[string]string{}
	for i, c := range res.IsolationMatrix {
		if c.Arm == "lxc@noisy" {
			res.IsolationMatrix[i].Unfinished = []string{"dd-write"}
		}
	}
	for _, r := range MatrixTable(res).Rows {
		if !r.Also {
			got[r.Cells[1].Text] += string(r.Cells[2].Class) + ": " + r.Cells[5].Text + "; "
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
