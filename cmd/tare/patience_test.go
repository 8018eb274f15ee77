package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tare-bench/tare/internal/instance"
)

// TestPatience: while another tare measures, a run is refused, or waits if it may, and then measures; one that waits
// can be interrupted.
func TestPatience(t *testing.T) {
	live(t)
	dir := t.TempDir()
	write(t, dir, "c.yaml", "name: c\narms: [native]\nworkloads: [{name: sysbench-cpu, size: 150}]\nblocks: 1\n")
	// Another test's tare may hold the lock of this host; the run waits for the holder.
	lock, err := instance.Lock("another campaign")
	if err == nil {
		defer lock.Close()
	}
	run := filepath.Join(dir, "c.tare")
	said(t, tare(t, dir, "run", "c.yaml", "--out", run), exitHost, othersMeasure)
	said(t, tare(t, dir, "run", "c.yaml", "--out", run, "--patience", "10ms"), exitHost, "waiting: "+othersMeasure)
	for _, interrupted := range []bool{true, false} {
		cmd := exec.Command(binary, "run", "--yes", "c.yaml", "--out", run, "--patience", "1h")
		cmd.Dir = dir
		var out, rest bytes.Buffer
		cmd.Stdout = &out
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, len("waiting: "+othersMeasure))
		for n := 0; n < len(first); {
			more, err := stderr.Read(first[n:])
			if err != nil {
				t.Fatalf("it ends with %v after saying %q", err, first[:n])
			}
			n += more
		}
		if !strings.Contains(string(first), othersMeasure) {
			t.Errorf("it begins with %q", first)
		}
		if interrupted {
			cmd.Process.Signal(syscall.SIGTERM)
		} else if lock != nil {
			lock.Close()
		}
		rest.ReadFrom(stderr)
		cmd.Wait()
		status := map[bool]int{true: exitIncomplete, false: 0}[interrupted]
		if cmd.ProcessState.ExitCode() != status {
			t.Errorf("interrupted: %v: %v\n%s%s", interrupted, cmd.ProcessState, out.String(), rest.String())
		}
	}
}
