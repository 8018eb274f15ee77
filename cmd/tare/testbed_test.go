package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/workload"
)

// TestMissingTool: an image without a workload's program is refused before
// anything runs.
func TestMissingTool(t *testing.T) {
	tree := t.TempDir()
	bin := filepath.Join(tree, "usr", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	bed := &testbed{image: &image.Image{Dir: tree, Tree: tree}}
	c := &campaign.Campaign{Workloads: []campaign.Workload{{Name: "sysbench-cpu"}}}
	_, err := bed.workloads(c)
	if err == nil || fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "no [sysbench") {
		t.Errorf("%v", err)
	}
	w, err := workload.Get("sysbench-cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range w.Tools {
		if err := os.WriteFile(filepath.Join(bin, tool), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bed.workloads(c); err != nil {
		t.Errorf("with the tool there: %v", err)
	}
}

// TestVerifiedOn: every driver says what it was verified on, and README's table
// of systems says the same.
func TestVerifiedOn(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "## Systems")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := strings.Split(table, "\n")
	for _, d := range drivers() {
		on := d.Capabilities().VerifiedOn
		if !slices.Contains([]string{system.Live, system.Lab, system.Simulator, system.NeedsProduct}, on) {
			t.Errorf("%s was verified on %q", d.Name(), on)
		}
		if !slices.ContainsFunc(rows, func(row string) bool {
			columns := strings.Split(row, "|")
			return len(columns) > 5 && strings.Contains(columns[1], "`"+d.Name()+"`") && strings.HasPrefix(strings.TrimSpace(columns[5]), on)
		}) {
			t.Errorf("README's table of systems has no row of %s, verified on: %s", d.Name(), on)
		}
	}
}
