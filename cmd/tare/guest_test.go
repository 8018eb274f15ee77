package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/keeper"
)

// guests are the guests that are up.
func guests(t *testing.T) map[string]keeper.Status {
	t.Helper()
	r := tare(t, t.TempDir(), "guest", "list", "--json")
	var list []keeper.Status
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || r.status != 0 {
		t.Fatalf("list: %v, status %d: %s%s", err, r.status, r.stdout, r.stderr)
	}
	byName := map[string]keeper.Status{}
	for _, g := range list {
		byName[g.Name] = g
	}
	return byName
}

// TestGuest: guests started by hand do what guests of runs do, outlive the command
// that started them, and leave nothing behind when their keeper ends.
func TestGuest(t *testing.T) {
	live(t)
	defer func() { // whatever went wrong
		for name := range guests(t) {
			tare(t, t.TempDir(), "guest", "rm", name)
		}
	}()
	do := func(status int, want string, args ...string) {
		t.Helper()
		if args[0] == "start" || args[0] == "clone" {
			args = append(args, "--yes") // whoever else lives here
		}
		r := tare(t, t.TempDir(), append([]string{"guest"}, args...)...)
		if out := r.stdout + r.stderr; r.status != status || !strings.Contains(out, want) {
			t.Fatalf("guest %q: status %d, want %d and %q:\n%s", args, r.status, status, want, out)
		}
	}
	do(0, "guest web (lxc) is up", "start", "lxc", "--name", "web", "--flavor", "memory=256MiB,disk=64MiB")
	do(0, "guest native (native) is up", "start", "native", "--flavor", "disk=64MiB")
	do(exitCampaign, "there is already a guest web", "start", "native", "--name", "web")
	do(exitCampaign, `did you mean "memory"`, "start", "native", "--flavor", "memry=1GiB")
	do(exitCampaign, "there is no guest", "exec", "wbe", "--", "true")

	do(3, "/data\n", "exec", "web", "--", "sh", "-c", "echo treasure >f; pwd; exit 3")
	do(0, "running", "list")
	do(0, "", "freeze", "web", "native")
	do(exitCampaign, "tare guest thaw web", "exec", "web", "--", "true")
	if g := guests(t); g["web"].State != keeper.Frozen || g["native"].State != keeper.Frozen {
		t.Errorf("frozen: %+v", g)
	}
	do(0, "", "thaw", "web", "native")
	do(0, "guest copy (lxc) is up", "clone", "web", "--name", "copy")
	do(0, "treasure", "exec", "copy", "--", "cat", "f")
	do(0, "", "exec", "copy", "--", "rm", "f")
	do(0, "treasure", "exec", "web", "--", "cat", "f")
	g := guests(t)
	if c, web := g["copy"], g["web"]; c.CopyOf != "web" || c.Request.MemoryBytes != web.Request.MemoryBytes ||
		web.State != keeper.Running {
		t.Errorf("%+v", g)
	}

	console := exec.Command(binary, "guest", "console", "web")
	console.Stdin = strings.NewReader("cat f; echo $((6*7))\n")
	if out, err := console.CombinedOutput(); err != nil || !strings.Contains(string(out), "treasure\r\n42\r\n") {
		t.Errorf("console: %v\n%s", err, out)
	}

	// However a keeper ends, its guest is removed.
	dead := guests(t)["native"].Keeper
	kill9(dead)
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, up := guests(t)["native"]; !up {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("its keeper was killed and the guest is up")
		}
	}
	do(0, "", "rm", "web", "copy")
	for begin := time.Now(); len(ours()) > 0 && time.Since(begin) < time.Minute; {
		time.Sleep(50 * time.Millisecond) // until all that a killed keeper started is reaped
	}
	if r := tare(t, t.TempDir(), "gc"); r.status != 0 {
		t.Errorf("gc: %s", r.stderr)
	}
	nothingLeft(t)
}

// TestGuestKilled kills the keepers of guests in engines and on networks in the
// middle of their work: nothing of them may be left.
func TestGuestKilled(t *testing.T) {
	live(t)
	for system, flavor := range map[string]string{
		"docker": "disk=64MiB", "podman": "disk=64MiB", "libvirt-lxc": "disk=64MiB", "lxc": "disk=64MiB,network=bridged",
		"native": "disk=64MiB,network=bridged",
	} {
		t.Run(system, func(t *testing.T) {
			r := tare(t, t.TempDir(), "guest", "start", "--yes", system, "--flavor", flavor)
			if r.status != 0 && strings.Contains(r.stderr, "not installed") {
				t.Skip(r.stderr)
			} else if r.status != 0 {
				t.Fatalf("status %d: %s", r.status, r.stderr)
			}
			g := guests(t)[system]
			work := exec.Command(binary, "guest", "exec", system, "--", "sh", "-c", "echo begun; while :; do :; done")
			out, err := work.StdoutPipe()
			if err == nil {
				err = work.Start()
			}
			if err == nil {
				_, err = out.Read(make([]byte, 5))
			}
			kill9(g.Keeper)
			if err != nil {
				t.Error(err)
			}
			_ = work.Wait() // the guest has gone
			left := ""
			for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(50 * time.Millisecond) {
				if left = processesOf(g.ID); left == "" && len(ours()) == 0 {
					break
				}
			}
			if left != "" {
				t.Errorf("still running: %s", left)
			}
			if r := tare(t, t.TempDir(), "gc"); r.status != 0 {
				t.Errorf("gc: %s", r.stderr)
			}
			if links, _ := filepath.Glob("/sys/class/net/*" + g.ID + "*"); links != nil {
				t.Errorf("interfaces left: %q", links)
			}
			nothingLeft(t)
		})
	}
}

// processesOf are the processes with an instance's name on their command line.
func processesOf(id string) string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), id) {
			found = append(found, f+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return strings.Join(found, "\n")
}
