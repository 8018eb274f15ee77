package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
)

// TestAdd: a process that was started elsewhere is moved into the group; one that is in the group
// or below stays where it is.
func TestAdd(t *testing.T) {
	l := layoutForTest(t)
	g, err := l.New("test-add", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Remove()
	remove, err := l.Partition("test-partition")
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if _, err := l.Partition("test-partition"); err == nil {
		t.Error("the same partition twice")
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	defer cmd.Process.Kill()
	for _, at := range l.mounts() { // as a daemon would have it
		dir := filepath.Join(at, Prefix+"test-partition", "x")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file)); err == nil {
				os.WriteFile(filepath.Join(dir, file), b, 0)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, cmd.Process.Pid), 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	if pids, err := g.Processes(); err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("in the group: %v, %v", pids, err)
	}
	if err := g.Add(1 << 30); fault.KindOf(err) != fault.Guest {
		t.Errorf("adding a process that has ended: %v", err)
	}
	if err := g.Remove(); err != nil { // kills it
		t.Error(err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if left := l.Leftovers("test-"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
