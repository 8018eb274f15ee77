package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/host/watch"
)

// fillCampaign has a mix without serving guests, whose programs are not in every image.
const fillCampaign = `
name: density
seed: 5
flavors: {small: {vcpus: 1, memory: 128MiB, disk: 32MiB}}
arms: [native, {system: lxc, if_usable: true}, {system: runc, if_usable: true}]
workloads:
  - name: fill
    params: {idle: 3, serving: 0, computing: 1, step: 3, most: MOST, start: 0, slowdown: 0, memory_left: 256}
blocks: 1
`

// TestFill fills the host with few real guests; with TARE_SOAK, with 500 of each system.
func TestFill(t *testing.T) {
	live(t)
	most, mostMemory := 6, math.Inf(1) // with few guests, the race detector hides what one costs
	if os.Getenv("TARE_SOAK") != "" {
		most, mostMemory = 500, 200<<20
	}
	dir := t.TempDir()
	write(t, dir, "d.yaml", strings.Replace(fillCampaign, "MOST", strconv.Itoa(most), 1))
	r := tare(t, dir, "run", "--yes", "d.yaml", "--out", "d.tare")
	if r.status != 0 {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, want := range []string{"broke first", "≥ " + strconv.Itoa(most), "nothing 1", "tare holds"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the table has no %q:\n%s", want, r.stdout)
		}
	}
	e := exported(t, filepath.Join(dir, "d.tare"))
	var arms []string
	for _, trial := range e.Trials {
		arms = append(arms, trial.Arm)
		p := trial.Probes
		if trial.Status != "done" || trial.Metrics["guests"] != float64(most) || trial.Metrics["probe-time"] <= 0 {
			t.Errorf("%s: %s %s: %v", trial.Arm, trial.Status, trial.Error, trial.Metrics)
		}
		if p["fill_slowdown"] <= 0 || p["fill_p99"] <= 0 || p["fill_start"] <= 0 || p["memory_left"] <= 0 {
			t.Errorf("%s: %v", trial.Arm, p)
		}
		t.Logf("%s: a guest takes %.3g MiB, tare %.3g MiB", trial.Arm, p["guest_share"]/(1<<20), p["own_memory"]/(1<<20))
		if p["own_memory"] <= 0 || p["own_memory"] > mostMemory {
			t.Errorf("%s: tare held %v B", trial.Arm, p["own_memory"])
		}
	}
	if !slices.Contains(arms, "native") || !slices.Contains(arms, "native-control") {
		t.Errorf("trials of %q", arms)
	}
}

// TestFillTooLittleMemory: a fill is not begun where it would leave the host less memory than asked for.
func TestFillTooLittleMemory(t *testing.T) {
	live(t)
	available, err := watch.AvailableMemory()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.Replace(fillCampaign, "MOST", "6", 1)
	text = strings.Replace(text, "memory_left: 256", "memory_left: "+strconv.FormatInt(available>>20+available>>22, 10), 1)
	write(t, dir, "d.yaml", text)
	r := tare(t, dir, "run", "--yes", "d.yaml", "--out", "d.tare")
	if r.status != 0 && r.status != exitFailed {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, trial := range exported(t, filepath.Join(dir, "d.tare")).Trials {
		if trial.Status != "failed" || !strings.Contains(trial.Error, "a single guest breaks the level: memory") {
			t.Errorf("%s: %s %s", trial.Arm, trial.Status, trial.Error)
		}
	}
}
