package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupted: scripts/test ends everything that it has started when it is told to end, or is
// killed. What it runs are stubs that would sleep for minutes.
func TestInterrupted(t *testing.T) {
	for _, tool := range []string{"setsid", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	script, err := os.ReadFile("../test")
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		dir := t.TempDir()
		sleeps := func(name string) string {
			file := filepath.Join(dir, name)
			return "echo $$ >" + file + ".new && mv " + file + ".new " + file + ".pid && exec sleep 100\n"
		}
		for name, text := range map[string]string{
			"scripts/test":  string(script),
			"scripts/check": "#!/bin/sh\n",
			"scripts/fuzz":  "#!/bin/sh\n" + sleeps("fuzz"),
			"go":            "#!/bin/sh\n[ $1 = run ] || exit 0\n" + sleeps("tests"),
			"go.mod":        "module x\n",
			"cmd/x_test.go": "", "internal/x_test.go": "",
		} {
			file := filepath.Join(dir, name)
			err := os.MkdirAll(filepath.Dir(file), 0o755)
			if err == nil {
				err = os.WriteFile(file, []byte(text), 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(filepath.Join(dir, "scripts/test"))
		cmd.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"), "TARE_LIVE=0")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started := []int{await(t, dir, "fuzz"), await(t, dir, "tests")}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		for _, pid := range started {
			// The signal of a killed parent takes a moment.
			for begin := time.Now(); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
				if time.Since(begin) > time.Minute {
					t.Errorf("%v: process %d goes on", signal, pid)
					syscall.Kill(pid, syscall.SIGKILL)
					break
				}
			}
		}
	}
}

// await returns the process ID that a stub has written.
func await(t *testing.T, dir, name string) int {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(dir, name+".pid")); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("%s was not started", name)
	return 0
}

func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(b), ") Z ")
}
