package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFleetShow: runs, folders and a fleet's file give the same fleet; what is wrong with them is told.
func TestFleetShow(t *testing.T) {
	dir := t.TempDir()
	var runs []string
	for i, cost := range []float64{1.04, 1.05, 1.06} {
		name := filepath.Join("racks", fmt.Sprint("node", i+1), "run.tare")
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		storedRun(t, filepath.Join(dir, name), uint64(i), cost)
		runs = append(runs, name)
	}
	text := "name: racks\nmachines: {node1: {group: a}, node2: {group: a}, node3: {group: b}}\n"
	if err := os.WriteFile(filepath.Join(dir, "racks.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   []string
	}{
		{"racks", 0, []string{"3 machines in 1 group", "unknown CPU: 3 machines", "sysbench-cpu  lxc  3  ", "node2"}},
		{strings.Join(runs, " "), 0, []string{"3 machines in 1 group"}},
		{"racks.yaml", 0, []string{"Fleet racks: 3 machines in 2 groups", "a: 2 machines", "needs 3 machines", "b: 1 machine"}},
		{"racks --json", 0, []string{`"next_high": 1.`, `"machine": "node3"`}},
		{"racks --html -", 0, []string{"<!DOCTYPE html>", "node3"}},
		{"racks --html - --json", 2, []string{"choose one"}},
		{"racks.yaml racks", 2, []string{"must be the only argument"}},
		{".", 2, []string{"there is no run in this folder"}},
		{"gone.yaml", 2, []string{"gone.yaml"}},
	} {
		r := tare(t, dir, append([]string{"fleet", "show", "--machines"}, strings.Fields(c.args)...)...)
		all := strings.Join(strings.Fields(r.stdout+r.stderr), " ")
		for _, want := range c.want {
			if r.status != c.status || !strings.Contains(all, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("fleet show %s: status %d, want %d and %q:\n%s%s", c.args, r.status, c.status, want, r.stdout, r.stderr)
			}
		}
	}
}
