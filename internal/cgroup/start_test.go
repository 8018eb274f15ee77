package cgroup

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStart: a process is in the group from its first instruction on, with the group's CPUs and without real
// time, and nothing of this process stays there.
func TestStart(t *testing.T) {
	l := layoutForTest(t)
	g, err := l.New("test-start", Limits{CPUs: "0", MemoryBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Remove()
	raiseThreads(t)
	// As a runtime leaves it in a hierarchy that the group does not use.
	if at := l.V1["freezer"]; at != "" {
		if err := os.MkdirAll(filepath.Join(at, g.name, "container"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // on some thread or other, among them the main one
		var out bytes.Buffer
		cmd := exec.Command("grep", "", "/proc/self/cgroup", "/proc/self/status", "/proc/self/sched")
		cmd.Stdout = &out
		if err := g.Start(cmd); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // a kernel may have no sched
		within := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			if of, ok := strings.CutPrefix(line, "/proc/self/cgroup:"); ok {
				f := strings.SplitN(strings.TrimSpace(of), ":", 3)
				for _, controller := range strings.Split(f[1], ",") {
					within[controller] = f[2] == "/"+g.name+"/"+leaf
				}
			}
		}
		if !within[""] {
			t.Fatalf("it is not in the version 2 group:\n%s", out.String())
		}
		for _, c := range controllers(false) {
			if l.V1[c.name] != "" && !within[c.name] {
				t.Fatalf("it is not in the group of %s:\n%s", c.name, out.String())
			}
		}
		if !strings.Contains(out.String(), "Cpus_allowed_list:\t0\n") {
			t.Fatalf("it may run on other CPUs:\n%s", out.String())
		}
		for _, dir := range g.leaves() {
			if b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil || len(b) > 0 {
				t.Fatalf("afterwards %s has %q, %v", dir, b, err)
			}
		}
	}
	if err := g.Start(exec.Command("/nonexistent")); err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("a program that there is not: %v", err)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
	if left := l.Leftovers("test-start"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := g.Start(exec.Command("true")); err == nil {
		t.Error("a process was started in a group that was removed")
	}
}

// raiseThreads gives all threads of this process real-time priority until the test ends, if it may.
func raiseThreads(t *testing.T) {
	each := func(attr unix.SchedAttr) {
		threads, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range threads {
			tid := 0
			for _, digit := range filepath.Base(path) {
				tid = 10*tid + int(digit-'0')
			}
			_ = unix.SchedSetAttr(tid, &attr, 0)
		}
	}
	each(unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: 1}) // reset on fork
	t.Cleanup(func() { each(unix.SchedAttr{Size: unix.SizeofSchedAttr}) })
}
