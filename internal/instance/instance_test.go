package instance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
)

// Only those machines of a hypervisor are removed that belong to dead instances.
func TestForeign(t *testing.T) {
	dir = t.TempDir()
	living, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	dead, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Abandon(); err != nil {
		t.Fatal(err)
	}
	var removed []string
	var machines []Foreign
	for _, name := range []string{"Domain-0", "web-1", living.ID + "-a", dead.ID + "-a", dead.ID + "-b"} {
		machines = append(machines, Foreign{"machine", name, func() error {
			removed = append(removed, name)
			if strings.HasSuffix(name, "-b") {
				return errors.New("it does not go")
			}
			return nil
		}})
	}
	// A state directory other than that of the living instance.
	found := leftovers(t, t.TempDir(), cgroup.Layout{}, machines...)
	if len(found) != 3 || found[0].String() != "machine "+dead.ID+"-a" || found[2].Path != dead.path() {
		t.Errorf("found %v", found)
	}
	if err := Remove(found); err == nil || !strings.Contains(err.Error(), dead.ID+"-b: it does not go") {
		t.Errorf("got: %v", err)
	}
	if len(removed) != 2 {
		t.Errorf("removed %q", removed)
	}
	// Without the lock file, nobody would remove the other machine later.
	found = leftovers(t, t.TempDir(), cgroup.Layout{}, machines[4])
	if len(found) != 2 {
		t.Errorf("after a machine did not go: %v", found)
	}
}

func leftovers(t *testing.T, stateDir string, layout cgroup.Layout, foreign ...Foreign) []Leftover {
	t.Helper()
	found, err := Leftovers(stateDir, layout, foreign...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// newInstance returns an instance that lives until the end of the test.
func newInstance(t *testing.T, stateDir string) *Instance {
	t.Helper()
	i, err := New()
	if err == nil {
		err = i.Hold(stateDir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

// TestCannotOpen: that a lock file cannot be opened does not make its owner dead.
func TestCannotOpen(t *testing.T) {
	dir = t.TempDir()
	i := newInstance(t, t.TempDir())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Max: limit.Max} // no descriptor is left
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	state, err := check(i.path())
	if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); e != nil {
		t.Fatal(e)
	}
	if state != alive || !errors.Is(err, unix.EMFILE) || fault.KindOf(err) != fault.Host {
		t.Errorf("without a descriptor: %v, %v", state, err)
	}
	// Something in its place that cannot be opened as a file.
	if err := errors.Join(os.Remove(i.path()), os.Symlink(i.path(), i.path())); err != nil {
		t.Fatal(err)
	}
	found, err := Leftovers(t.TempDir(), cgroup.Layout{}, Foreign{What: "machine", Name: i.ID + "-a"})
	if len(found) != 0 || !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link in its place: %v, %v", found, err)
	}
}

// TestOtherRun: a tare whose lock file is in another /run, as in a container, keeps what it has.
func TestOtherRun(t *testing.T) {
	dir = t.TempDir()
	stateDir := t.TempDir()
	i := newInstance(t, stateDir)
	dir = t.TempDir()
	groups := t.TempDir() // a hierarchy
	layout := cgroup.Layout{V2: groups}
	for name, processes := range map[string]string{"a": "4711\n", "b": ""} {
		group := filepath.Join(groups, cgroup.Prefix+i.ID+"-"+name)
		err := os.Mkdir(group, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(processes), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	machine := Foreign{What: "machine", Name: i.ID + "-a"}
	found := leftovers(t, stateDir, layout, machine)
	if len(found) != 1 || !strings.HasSuffix(found[0].Path, "-b") {
		t.Errorf("of a living instance: %v", found)
	}
	if err := i.Abandon(); err != nil {
		t.Fatal(err)
	}
	if found = leftovers(t, stateDir, layout, machine); len(found) != 2 || found[1].What != "data volumes" {
		t.Errorf("of a dead instance: %v", found)
	}
}

// TestLockedFromTheStart: others never see an instance without its locks, not even for a moment.
func TestLockedFromTheStart(t *testing.T) {
	dir = t.TempDir()
	stateDir := t.TempDir()
	newInstance(t, stateDir)
	ended := make(chan struct{})
	var seen []Leftover
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			found, err := Leftovers(stateDir, cgroup.Layout{})
			for _, l := range found {
				if strings.HasPrefix(filepath.Base(l.Path), newPrefix) { // as gc does it
					err = errors.Join(err, Remove([]Leftover{l}))
				} else {
					seen = append(seen, l)
				}
			}
			// A directory may have got its name in the meantime.
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	for range 300 {
		newInstance(t, stateDir)
	}
	close(ended)
	wg.Wait()
	if len(seen) > 0 {
		t.Errorf("%d things of living instances look like leftovers: %v", len(seen), seen[0])
	}
}

// TestModes: nobody else can open, or even see, what this package creates.
func TestModes(t *testing.T) {
	dir = filepath.Join(t.TempDir(), "tare")
	stateDir := t.TempDir()
	// As an older tare left them.
	if err := os.MkdirAll(names(), 0o755); err != nil {
		t.Fatal(err)
	}
	i := newInstance(t, stateDir)
	f, err := Lock("campaign quick")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for path, want := range map[string]os.FileMode{
		dir: 0o700, names(): 0o700, i.path(): 0o600, f.Name(): 0o600,
		filepath.Join(stateDir, volumesDir): 0o700, filepath.Join(stateDir, volumesDir, i.ID): 0o700,
	} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

// The lock has one holder; others get an error that says what the holder does.
func TestLock(t *testing.T) {
	dir = t.TempDir()
	f, err := Lock("campaign quick")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock("another"); err == nil || !strings.Contains(err.Error(), "measures on this host: campaign quick") {
		t.Errorf("a second: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = Lock("another")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
