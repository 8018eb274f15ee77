package systemtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/tare-bench/tare/internal/system"
)

// leftovers is everything that a guest of this test process could leave behind: what it is, by what identifies it.
// Other processes make guests and mounts on the same host at the same time, and theirs are excluded.
type leftovers map[string]string

func (l leftovers) add(what string) { l[what] = what }

// snapshot lists what exists now.
func snapshot(t *testing.T, h *system.Host) leftovers {
	t.Helper()
	l := leftovers{}
	sites, _ := filepath.Glob(filepath.Join(h.Dir, "guests", "*"))
	for _, s := range sites {
		l.add("site " + s)
	}
	if host == nil { // no sandbox, so our processes and mounts cannot be told from others
		return l
	}
	if err := l.addMounts(); err != nil {
		t.Fatal(err)
	}
	// All processes in the sandbox are ours.
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		// Not the command line: servers such as sshd rewrite theirs while they run.
		name, _ := os.ReadFile(p + "/comm")
		l.add("process " + filepath.Base(p) + " " + strings.TrimSpace(string(name)))
	}
	ports, err := h.Network.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		l.add("interface on the bridge " + p)
	}
	for _, dir := range h.Cgroups.Leftovers(h.RunID) {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				l.add("cgroup " + path)
			}
			return nil
		})
	}
	for what, pattern := range map[string]string{
		"loop device": "/sys/block/loop*/loop/backing_file",
		"interface":   "/sys/class/net/*" + h.RunID + "*",
		"volume":      filepath.Join(h.Volumes(), "*"),
		// LXC's default groups; tare sets others. Other containers of the host have theirs beside them.
		"cgroup of LXC": "/sys/fs/cgroup/*/lxc*" + h.RunID + "*",
	} {
		found, _ := filepath.Glob(pattern)
		for _, f := range found {
			if what == "loop device" { // another process may have the number by now
				b, err := os.ReadFile(f)
				if err != nil || !strings.Contains(string(b), h.RunID) {
					continue
				}
			}
			l.add(what + " " + f)
		}
	}
	return l
}

// addMounts adds the mounts in this process's namespace. Not their lines: the namespace began with those of the host,
// and where they are changes when a directory above them gets another name, as that of an image when it is complete.
func (l leftovers) addMounts() error {
	mounts, err := mountinfo.GetMounts(nil)
	for _, m := range mounts {
		// The kernel may give the number of a mount that is gone to another, but not also that of its device.
		l[fmt.Sprintf("mount %d of %d:%d", m.ID, m.Major, m.Minor)] = "mount " + m.Mountpoint + " of " + m.FSType
	}
	return err
}

// since lists what is new.
func (l leftovers) since(before leftovers) []string {
	var fresh []string
	for id, what := range l {
		if _, old := before[id]; !old {
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
