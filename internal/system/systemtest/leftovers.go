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

// leftovers is everything that a guest of this test process could leave
// behind; other test processes make guests on the same host at the same time.
type leftovers map[string]bool

// snapshot lists what is there now.
func snapshot(t *testing.T, h *system.Host) leftovers {
	t.Helper()
	l := leftovers{}
	sites, _ := filepath.Glob(filepath.Join(h.Dir, "guests", "*"))
	for _, s := range sites {
		l["site "+s] = true
	}
	if host == nil { // no sandbox, so no way to tell what is ours
		return l
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		l["mount "+strings.TrimSpace(line)] = true
	}
	// In the sandbox there are no processes but ours.
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		// Not its command line: a server such as sshd rewrites that as it works.
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
		// What LXC makes where it is not told; tare tells it.
		"cgroup of a runtime": "/sys/fs/cgroup/*/lxc*",
	} {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			if what == "loop device" { // the number may be somebody else's by now
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

// settle takes snapshots until nothing is new or the time is up.
func settle(t *testing.T, h *system.Host, before leftovers) []string {
	t.Helper()
	var fresh []string
	for range 100 {
		if fresh = snapshot(t, h).since(before); len(fresh) == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fresh
}
