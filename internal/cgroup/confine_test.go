package cgroup

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestConfine starts a shell in a group with few processes and without devices.
func TestConfine(t *testing.T) {
	l := layoutForTest(t)
	g, err := l.New("test-confine", Limits{CPUs: "0", Processes: 8, OwnDevices: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Remove()
	run := func(script string) string {
		t.Helper()
		var out bytes.Buffer
		cmd := exec.Command("sh", "-c", script)
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.WaitDelay = time.Minute // if a child keeps the output open
		if err := g.Start(cmd); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // its output says whether it failed
		return strings.TrimSpace(out.String())
	}
	// A device that every Linux has, that no guest needs, and that does nothing when opened.
	const device = "/dev/loop-control"
	if out := run("head -c 0 " + device + " && head -c 0 /dev/zero && echo >/dev/null && echo ok"); !strings.Contains(out,
		"Operation not permitted") {
		t.Errorf("a process in a group without devices opened %s: %q", device, out)
	}
	if out := run("head -c 4 /dev/zero | wc -c && echo >/dev/null && head -c 1 /dev/urandom | wc -c"); out != "4\n1" {
		t.Errorf("/dev/zero, null and urandom: %q", out)
	}
	bomb := "for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 >/dev/null 2>&1 & done; echo all"
	if out := run(bomb); strings.Contains(out, "all") || !strings.Contains(out, "fork") {
		t.Errorf("ten processes in a group for eight: %q", out)
	}
}
