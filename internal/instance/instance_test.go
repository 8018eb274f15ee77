package instance

import (
	"errors"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/cgroup"
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
	if err := dead.Close(); err != nil {
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
	found := Leftovers(t.TempDir(), cgroup.Layout{}, machines...)
	if len(found) != 2 || found[0].String() != "machine "+dead.ID+"-a" {
		t.Errorf("found %v", found)
	}
	if err := Remove(found); err == nil || !strings.Contains(err.Error(), dead.ID+"-b: it does not go") {
		t.Errorf("got: %v", err)
	}
	if len(removed) != 2 {
		t.Errorf("removed %q", removed)
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
