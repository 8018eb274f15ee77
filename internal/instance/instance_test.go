package instance

import (
	"errors"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/cgroup"
)

// Of a hypervisor's machines, those of dead tares are removed, and nobody else's.
func TestForeign(t *testing.T) {
	state := t.TempDir()
	living, err := New(state)
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	dead, err := New(state)
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
	found := Leftovers(state, cgroup.Layout{}, machines...)
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
