package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGCCopies: gc lists and removes copies of runs whose readers were killed.
func TestGCCopies(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	left := filepath.Join(temp, "tare-read-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"gc", "--dry-run"}, {"gc"}} {
		if r := tare(t, temp, args...); r.status != 0 || !strings.Contains(r.stdout, "copy of a run "+left+"\n") {
			t.Errorf("%q: status %d: %s%s", args, r.status, r.stdout, r.stderr)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("after gc: %v", err)
	}
}
