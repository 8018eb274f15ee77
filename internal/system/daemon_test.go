package system_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/systemtest"
)

func TestMain(m *testing.M) { systemtest.Main(m) }

// A daemon that leaves behind a process which only SIGKILL ends.
const server = `trap 'exit 0' TERM; (trap '' TERM; sleep 1000.375 & wait) & : >ready; while :; do sleep 0.01; done`

// TestDaemon: a daemon is frozen while all of its guests rest, runs while at least one does not,
// and ends with the last one, frozen or not.
func TestDaemon(t *testing.T) {
	h := systemtest.Host(t)
	d := &system.Daemon{
		Start: func(string) (system.Command, error) { return system.Command{Argv: []string{"sh", "-c", server}}, nil },
		Ready: func(_ context.Context, dir string) error {
			_, err := os.Stat(filepath.Join(dir, "ready"))
			return err
		},
	}
	acquire := func() *system.Use {
		t.Helper()
		u, err := d.Acquire(t.Context(), h.RunID+"-a")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { u.Release() })
		return u
	}
	events := filepath.Join(h.Cgroups.V2, "tare-"+h.RunID+"-a"+system.DaemonSuffix, "cgroup.events")
	frozen := func(when string, want bool, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		b, err := os.ReadFile(events)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got := strings.Contains(string(b), "frozen 1"); got != want {
			t.Errorf("%s: frozen %v, want %v", when, got, want)
		}
	}
	a, b := acquire(), acquire()
	frozen("two at work", false, nil)
	frozen("one rests", false, a.Rest())
	frozen("it rests again", false, a.Rest())
	frozen("both rest", true, b.Rest())
	frozen("one wakes", false, a.Wake())
	frozen("it rests", true, a.Rest())
	c := acquire()
	frozen("a third came", false, nil)
	frozen("it went", true, c.Release())
	frozen("it says so twice", true, c.Release())
	frozen("it wakes when it has gone", true, c.Wake())
	frozen("one went while it rested", true, a.Release())
	dir := b.Dir()
	if err := b.Release(); err != nil {
		t.Errorf("the last went while it rested: %v", err)
	}
	if left := h.Cgroups.Leftovers(h.RunID + "-a"); len(left) > 0 || d.Root() != "" {
		t.Errorf("left behind: %q, root %q", left, d.Root())
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
	e := acquire() // another one
	frozen("it was started again", false, nil)
	if err := e.Release(); err != nil {
		t.Error(err)
	}
}

// TestDaemonFails: a daemon that fails to start leaves nothing behind.
func TestDaemonFails(t *testing.T) {
	h := systemtest.Host(t)
	d := &system.Daemon{
		Start: func(string) (system.Command, error) {
			return system.Command{Argv: []string{"sh", "-c", "echo no such luck >&2; exit 1"}}, nil
		},
		Ready: func(context.Context, string) error { return os.ErrNotExist },
	}
	if _, err := d.Acquire(t.Context(), h.RunID+"-b"); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("got: %v", err)
	}
	if left := h.Cgroups.Leftovers(h.RunID + "-b"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
