package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/store/storetest"
)

// interrupted starts tare, and sends it an interrupt every moment until it ends. It
// returns how it ended, and after how many interrupts.
func interrupted(t *testing.T, stdin *os.File, args ...string) (status syscall.WaitStatus, sent int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // only a hang takes that long
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdin = stdin
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if ctx.Err() != nil {
				t.Fatalf("tare %v still runs after %d interrupts", args, sent)
			}
			return cmd.ProcessState.Sys().(syscall.WaitStatus), sent
		case <-time.After(500 * time.Millisecond):
			if stdin != nil && unread(t, stdin) { // tare is still starting, and would end by the first one
				continue
			}
			if cmd.Process.Signal(os.Interrupt) == nil {
				sent++
			}
		}
	}
}

// unread reports whether a pipe has bytes that its reader has not taken yet.
func unread(t *testing.T, pipe *os.File) bool {
	t.Helper()
	n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// TestInterrupts: an interrupt ends reading a file that never ends. The second one ends
// tare whatever it does, such as waiting for input.
func TestInterrupts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.tare")
	storedRun(t, path, 1, 1)
	run, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, storetest.EndlessSchema(t, run), 0o600); err != nil {
		t.Fatal(err)
	}
	status, sent := interrupted(t, nil, "show", path)
	if sent == 0 || status.Exited() && status.ExitStatus() != exitIncomplete {
		t.Errorf("an endless file: status %v after %d interrupts", status, sent)
	}

	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close() // nothing more is written to it
	if _, err := out.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	status, sent = interrupted(t, in, "parse", "sysbench", "-")
	if sent < 2 || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("waiting for input: status %v after %d interrupts", status, sent)
	}
}
