package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
)

// TestKillAll kills by process id, as on a host without cgroup.kill, and keeps no file open: a host
// that runs out of descriptors could not remove a guest's directory then.
func TestKillAll(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it closes what was forgotten
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "cgroup.kill"), 0o700); err != nil { // cannot be written
		t.Fatal(err)
	}
	procs := []byte(strconv.Itoa(cmd.Process.Pid) + "\n")
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), procs, 0o600); err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	for range 10 {
		killAll(dir)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, before %d", after, before)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
