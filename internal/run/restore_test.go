package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/probe"
	"github.com/tare-bench/tare/internal/store"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/fake"
	"github.com/tare-bench/tare/internal/workload"
	"github.com/tare-bench/tare/internal/workload/builtin"
)

const restoreYAML = `
name: test
seed: 1
flavors: {s: {vcpus: 1, memory: 256MiB, disk: 64MiB}}
arms: [native, other]
workloads: [restore]
blocks: 2
timeout: 5m
`

// newRestoreBench is a bench whose guests are saved and restored. If said is not empty, the program of other that
// should keep the nonce prints said instead.
func newRestoreBench(t *testing.T, said string) *bench {
	t.Helper()
	w, err := builtin.Get("restore")
	if err != nil {
		t.Fatal(err)
	}
	b := newBenchOf(t, t.TempDir(), restoreYAML, w)
	behave := func(kept fake.Behaviour) func([]string) fake.Behaviour {
		return func(argv []string) fake.Behaviour {
			if argv[0] == "python3" {
				return kept
			}
			return fake.Behaviour{Took: time.Millisecond}
		}
	}
	const touched = "64 2000000 1000000 same\n"
	b.native.Behave = behave(fake.Behaviour{Took: time.Hour, Keeps: true, Stdout: touched})
	b.other.Behave = behave(fake.Behaviour{Took: time.Hour, Keeps: said == "", Stdout: said + touched})
	return b
}

// errorsOf are the errors of an arm's failed attempts.
func errorsOf(t *testing.T, b *bench, arm string) (all []string) {
	t.Helper()
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		if trial.Arm == arm && trial.Status == store.Failed {
			all = append(all, trial.Error)
		}
	}
	return all
}

// TestRestore: each trial starts a guest, saves it, restores it and removes it.
func TestRestore(t *testing.T) {
	b := newRestoreBench(t, "")
	if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 0 {
		t.Fatalf("%+v, %v: %q", s, err, errorsOf(t, b, "other"))
	}
	if n := checkPhases(t, b); n != 2*3 {
		t.Errorf("%d restorations", n)
	}
	for trial, err := range b.config.Store.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		m := trial.Metrics
		if m["first-touch"] != 0.002 || m["second-touch"] != 0.001 || m[workload.FreshTime] <= 0 ||
			m[workload.SavedSize] <= 0 || m[workload.SaveTime] <= 0 ||
			m[workload.SaveTime+workload.FlushedSuffix] < m[workload.SaveTime] {
			t.Errorf("%s, block %d: %v", trial.Arm, trial.Block, m)
		}
	}
	var doing []string
	for _, e := range b.other.Events() {
		what, _, _ := strings.Cut(e, " ")
		if i := len(doing); i == 0 || doing[i-1] != what {
			doing = append(doing, what)
		}
	}
	once := []string{"create", "run", "save", "restore", "run", "close"}
	if want := slices.Repeat(once, len(doing)/len(once)); !slices.Equal(doing, want) {
		t.Errorf("the guests were asked to %q", doing)
	}
	if live := b.other.Live(); len(live) > 0 {
		t.Errorf("%q are left", live)
	}
}

// TestRestoreIsProved: a guest that was started anew, or whose memory is another's, is a failed trial.
func TestRestoreIsProved(t *testing.T) {
	for name, c := range map[string]struct {
		said, err string
		anew      bool
	}{
		"a boot":        {"", "it was not restored but started anew", true},
		"another nonce": {"MFRGGZDFMZTWQ2LK\n", "not the one that was saved", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRestoreBench(t, c.said)
			b.other.Anew = c.anew
			if s, err := b.run(t.Context()); err != nil || !s.Complete || s.Failed != 2 {
				t.Fatalf("%+v, %v", s, err)
			}
			for _, e := range errorsOf(t, b, "other") {
				if !strings.Contains(e, c.err) {
					t.Error(e)
				}
			}
			if live := b.other.Live(); len(live) > 0 {
				t.Errorf("%q are left", live)
			}
		})
	}
}

// TestWarm: what was saved is read, so that it is in the page cache.
func TestWarm(t *testing.T) {
	name := filepath.Join(t.TempDir(), "guest")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
	k := kept{saved: system.Saved{Files: []string{name}}}
	if err := k.warm(); err != nil {
		t.Fatal(err)
	}
	cache, err := probe.ReadPageCache(k.saved.Files)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	cache.Add(values)
	if share, ok := values[model.ProbeCached]; ok && share != 1 { // a file in memory has none
		t.Errorf("%v of it is in the page cache", share)
	}
	k.saved.Files = append(k.saved.Files, name+".gone")
	if err := k.warm(); fault.KindOf(err) != fault.Host {
		t.Errorf("a file that is gone: %v", err)
	}
}
