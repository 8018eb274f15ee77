package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/campaign"
	"github.com/tare-bench/tare/internal/store"
)

// storedRun writes a run in which lxc takes so many times as long as native,
// with 1 % of noise.
func storedRun(t *testing.T, path string, seed uint64, lxc float64) {
	t.Helper()
	storedRunOf(t, path, seed, lxc, "boot", 1000)
}

// storedRunOf is storedRun in a boot of the host, with trials of a size in proportion.
func storedRunOf(t *testing.T, path string, seed uint64, lxc float64, boot string, size int64) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := campaign.Parse("c.yaml", []byte("name: compared\nseed: 1\narms: [native, lxc]\nworkloads: [sysbench-cpu]\n"+
		"blocks: 12\n"),
		campaign.Known{Systems: map[string]campaign.Limits{"native": {Usable: true}, "lxc": {Usable: true}}})
	must(err)
	r, err := store.Create(path, map[string][]byte{store.DocCampaign: c.Resolved(),
		store.DocEnvironment: []byte(`{"version": 1}`), store.DocUserland: []byte(`{}`)},
		[]store.Arm{{Name: "native", System: "native", Scenario: "solo"}, {Name: "lxc", System: "lxc", Scenario: "solo"},
			{Name: "native-control", System: "native", Scenario: "solo", ControlOf: "native"}},
		[]store.Metric{{Workload: "sysbench-cpu", Name: "time", Unit: "s", Better: "lower", Primary: true}})
	must(err)
	defer r.Close()
	session, err := r.BeginSession(boot, "1")
	must(err)
	must(r.AddSize("sysbench-cpu", size, "events (each finds the primes up to 10000)", nil))
	noise := rand.New(rand.NewPCG(seed, 6))
	for b := range 12 {
		for arm, cost := range []float64{1, lxc, 1} {
			id, err := r.Begin(store.Attempt{Session: session, Block: b, Position: arm, Workload: "sysbench-cpu", Arm: arm,
				Size: size})
			must(err)
			must(r.Finish(id, store.Outcome{Status: store.Done,
				Values: map[int]float64{0: cost * float64(size) / 1000 * math.Exp(0.01*noise.NormFloat64())}}))
		}
	}
	must(r.EndSession(session, "blocks"))
}

// TestFailAbove: the exit status is for CI. It is 6 if a change for the worse is
// claimed and larger than allowed, and only then.
func TestFailAbove(t *testing.T) {
	dir := t.TempDir()
	storedRun(t, filepath.Join(dir, "before.tare"), 1, 1)
	storedRun(t, filepath.Join(dir, "same.tare"), 2, 1)
	storedRun(t, filepath.Join(dir, "worse.tare"), 3, 1.3)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"before.tare worse.tare --fail-above 5%", int(exitWorse), "more than 5%"},
		{"before.tare same.tare worse.tare --fail-above 5%", int(exitWorse), "more than 5%"},
		{"before.tare worse.tare --fail-above 5% --markdown", int(exitWorse), "more than 5%"},
		{"before.tare worse.tare --fail-above 50%", exitOK, ""},
		{"before.tare worse.tare", exitOK, ""},
		{"before.tare same.tare --fail-above 5%", exitOK, ""},
		{"worse.tare before.tare --fail-above 5%", exitOK, ""}, // better
		{"before.tare worse.tare --fail-above much", exitCampaign, "--fail-above"},
		{"before.tare none.tare --fail-above 5%", exitCampaign, "no such run"},
	} {
		r := tare(t, dir, append([]string{"compare"}, strings.Fields(c.args)...)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.says) || c.says == "" && r.stderr != "" {
			t.Errorf("compare %s: status %d, want %d: %s", c.args, r.status, c.status, r.stderr)
		}
		if c.status != exitCampaign && !strings.Contains(r.stdout, "lxc") {
			t.Errorf("compare %s says nothing of lxc:\n%s", c.args, r.stdout)
		}
	}
}

// TestCompareSides: a folder is a side, and the claims depend on the boots of the
// host that its runs come from.
func TestCompareSides(t *testing.T) {
	dir := t.TempDir()
	for i, side := range []string{"old", "new", "same-boot", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			boot := fmt.Sprint(side, n)
			if side == "same-boot" {
				boot = "the only one"
			}
			lxc := 1.3
			if side == "old" {
				lxc = 1
			}
			if side != "empty" {
				storedRunOf(t, filepath.Join(dir, side, fmt.Sprintf("%d.tare", n)), uint64(10*i+n), lxc, boot, 1000)
			}
		}
	}
	write(t, dir, "old/notes.txt", "no run")
	for _, c := range []struct {
		args   string
		status int
		says   []string
	}{
		{"old new", exitOK, []string{"new (3 runs) against old (3 runs)", "The system changed in 1 of 1 overhead",
			"over boots of the host"}},
		{"old new/ --fail-above 5%", int(exitWorse), []string{"the system changed: costs more"}},
		{"old same-boot", exitOK, []string{"These runs differ in 1 of 1 overhead", "This holds for these runs"}},
		{"old new/1.tare", exitOK, []string{"These runs differ", "new/1.tare against old (3 runs)"}},
		{"old empty", exitCampaign, []string{"there is no run in this folder"}},
	} {
		r := tare(t, dir, append([]string{"compare"}, strings.Fields(c.args)...)...)
		if r.status != c.status {
			t.Errorf("compare %s: status %d, want %d: %s", c.args, r.status, c.status, r.stderr)
		}
		for _, want := range c.says {
			if !strings.Contains(r.stdout+r.stderr, want) {
				t.Errorf("compare %s does not say %q:\n%s%s", c.args, want, r.stdout, r.stderr)
			}
		}
	}
}

// TestCompareSizes: two runs of one campaign whose calibrations chose different
// sizes are compared for the same work, which is reported before any figure.
func TestCompareSizes(t *testing.T) {
	dir := t.TempDir()
	storedRunOf(t, filepath.Join(dir, "a.tare"), 1, 1, "1", 4200)
	storedRunOf(t, filepath.Join(dir, "b.tare"), 2, 1.3, "1", 4000)
	storedRunOf(t, filepath.Join(dir, "far.tare"), 3, 1.3, "1", 10000)
	r := tare(t, dir, "compare", "a.tare", "b.tare", "--fail-above", "5%")
	if r.status != int(exitWorse) || !strings.Contains(r.stdout, "differ: costs more") ||
		!strings.Contains(r.stdout, " s for 4200 events") {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
	if sizes, figure := strings.Index(r.stdout, "trials of sysbench-cpu: 4200 events → 4000 events"),
		strings.Index(r.stdout, "%"); sizes < 0 || figure < sizes {
		t.Errorf("the sizes do not come first:\n%s", r.stdout)
	}
	r = tare(t, dir, "compare", "a.tare", "far.tare", "--fail-above", "5%")
	if r.status != exitOK || !strings.Contains(r.stdout,
		"not compared: the trial sizes are 4200 and 10000 events, more than 1.6 times apart") {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// TestShowTrial: any trial is printed by its number, with its values.
func TestShowTrial(t *testing.T) {
	dir := t.TempDir()
	storedRun(t, filepath.Join(dir, "a.tare"), 1, 1)
	if r := tare(t, dir, "show", "a.tare", "--trial", "36"); r.status != exitOK ||
		!strings.HasPrefix(r.stdout, "trial 36: sysbench-cpu on native-control, block 12: done\ntime = ") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if r := tare(t, dir, "show", "a.tare", "--trial", "37"); r.status != exitCampaign ||
		!strings.Contains(r.stderr, "its trials are 1 to 36") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
