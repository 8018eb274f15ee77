package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAbandoned: an empty group is abandoned only if no tare holds it.
func TestAbandoned(t *testing.T) {
	l := layoutForTest(t)
	g, err := l.New("test-held", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Remove()
	if _, err := l.New("test-held", Limits{}); err == nil {
		t.Error("the same group twice")
	}
	for _, dir := range l.Leftovers("test-held") {
		if err := l.RemoveAbandoned(dir); err != nil || l.Abandoned(dir) {
			t.Errorf("%s looks abandoned, %v", dir, err)
		}
	}
	if err := g.Freeze(); err != nil { // it is still there
		t.Fatal(err)
	}
	release(g.held) // as if this process had ended
	dirs := l.Leftovers("test-held")
	for _, dir := range dirs {
		if !l.Abandoned(dir) {
			t.Errorf("%s does not look abandoned", dir)
		}
		if err := l.RemoveAbandoned(dir); err != nil {
			t.Error(err)
		}
	}
	if left := l.Leftovers("test-held"); len(dirs) == 0 || len(left) > 0 {
		t.Errorf("of %q are left %q", dirs, left)
	}
}

// TestAbandonedElsewhere: an empty group of which only a hierarchy is seen in which nobody holds it, as in a container
// that shares that hierarchy with the tare which made the group, is not abandoned.
func TestAbandonedElsewhere(t *testing.T) {
	seen, shared := t.TempDir(), t.TempDir()
	l := Layout{V2: seen, V1: map[string]string{"cpu": seen, "freezer": shared}}
	const name = Prefix + "test"
	group := filepath.Join(shared, name)
	for _, dir := range []string{group, filepath.Join(seen, name)} {
		if l.Abandoned(group) {
			t.Error("it looks abandoned, and its lock is in no hierarchy that is seen")
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !l.Abandoned(group) {
		t.Error("nobody holds it where its lock is, and it does not look abandoned")
	}
	f, err := lock(filepath.Join(seen, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := l.RemoveAbandoned(group); err != nil || l.Abandoned(group) {
		t.Errorf("it is held in another hierarchy, and looks abandoned, %v", err)
	}
	if _, err := os.Stat(group); err != nil {
		t.Error(err)
	}
}

// TestHold: a directory that somebody takes for a leftover before it is locked is made again.
func TestHold(t *testing.T) {
	l := layoutForTest(t)
	removeAll := func() {
		for _, dir := range l.Leftovers("test-hold") {
			if err := l.RemoveAbandoned(dir); err != nil {
				t.Error(err)
			}
		}
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				removeAll()
			}
		}
	})
	for i := range 300 {
		dir := filepath.Join(l.V2, fmt.Sprintf("%stest-hold-%d", Prefix, i))
		f, err := hold(dir)
		if err != nil {
			t.Error(err)
			break
		}
		for range 20 {
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
				break
			}
		}
		f.Close()
	}
	close(ended)
	wg.Wait()
	removeAll()
}

// TestTooManyFiles: a group that cannot be made because this process may open no more files leaves nothing behind.
func TestTooManyFiles(t *testing.T) {
	l := layoutForTest(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for more := range uint64(12) {
		few := unix.Rlimit{Cur: uint64(len(open)) + more, Max: limit.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		g, err := l.New("test-files", Limits{CPUs: "0", MemoryBytes: 64 << 20})
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			failed++
		} else if err := g.Remove(); err != nil {
			t.Fatal(err)
		}
		left := l.Leftovers("test-files")
		if len(left) > 0 {
			t.Errorf("with %d more files: %v; left are %q", more, err, left)
		}
		if err := RemoveLeftovers(left); err != nil {
			t.Fatal(err)
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}
