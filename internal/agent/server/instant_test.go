package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// policyOf returns the scheduling policy from the text of a stat file in /proc (field 41).
func policyOf(t *testing.T, stat string) string {
	t.Helper()
	_, rest, ok := strings.Cut(stat, ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 39 {
		t.Fatalf("stat %q", stat)
	}
	return fields[38]
}

// TestRealTimeEnds: a command that was started at a given time runs at normal priority, and so does
// the agent afterwards.
func TestRealTimeEnds(t *testing.T) {
	h := serveHere(t)
	r := sh("exec cat /proc/self/stat")
	r.StartAtNs = clock(unix.CLOCK_MONOTONIC) + int64(120*time.Millisecond)
	p := h.run(t, r)
	if got := policyOf(t, string(p.stdout)); got != "0" {
		t.Errorf("the command runs under policy %s", got)
	}
	threads, err := filepath.Glob("/proc/self/task/*/stat")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		if got := policyOf(t, string(stat)); got != "0" {
			t.Errorf("a thread of the agent is left under policy %s", got)
		}
	}
}
