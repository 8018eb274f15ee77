package systemtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/system"
)

// leftovers is everything that a guest of this test process could leave behind. Other test
// processes make guests on the same host at the same time, and theirs are excluded.
type leftovers map[string]bool

// snapshot lists what exists now.
func snapshot(t *testing.T, h *system.Host) leftovers {
	t.Helper()
	l := leftovers{}
	sites, _ := filepath.Glob(filepath.Join(h.Dir, "guests", "*"))
	for _, s := range sites {
		l["site "+s] = true
	}
	if host == nil { // no sandbox, so our processes and mounts cannot be told from others
		return l
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		l["mount "+strings.TrimSpace(line)] = true
	}
	// All processes in the sandbox are ours.
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		// Not the command line: servers such as sshd rewrite theirs while they run.
		name, _ := os.ReadFile(p + "/comm")
		l["process "+filepath.Base(p)+" "+strings.TrimSpace(string(name))] = true
	}
	ports, err := h.Network.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		l["interface on the bridge "+p] = true
	}
	for _, dir := range h.Cgroups.Leftovers(h.RunID) {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				l["cgroup "+path] = true
			}
			return nil
		})
	}
	for what, pattern := range map[string]string{
		"loop device": "/sys/block/loop*/loop/backing_file",
		"interface":   "/sys/class/net/*" + h.RunID + "*",
		"volume":      filepath.Join(h.Volumes(), "*"),
		// LXC's default groups; tare sets others.
		"cgroup of a runtime": "/sys/fs/cgroup/*/lxc*",
	} {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			if what == "loop device" { // another process may have the number by now
				b, err := os.ReadFile(f)
				if err != nil || !strings.Contains(string(b), h.RunID) {
					continue
				}
			}
			l[what+" "+f] = true
		}
	}
	return l
}

// since lists what is new.
func (l leftovers) since(before leftovers) []string {
	var fresh []string
	for what := range l {
		if !before[what] {
			fresh = append(fresh, what)
		}
	}
	return fresh
}

// nothingLeft fails for each thing that is new, once it had time to disappear.
func nothingLeft(t *testing.T, h *system.Host, before leftovers) {
	t.Helper()
	for _, line := range settle(t, h, before) {
		t.Errorf("left behind: %s", line)
	}
}

// settle takes snapshots until nothing is new or a minute is over, and returns what is new.
func settle(t *testing.T, h *system.Host, before leftovers) []string {
	t.Helper()
	var fresh []string
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if fresh = snapshot(t, h).since(before); len(fresh) == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fresh
}
