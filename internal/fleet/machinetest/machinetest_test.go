package machinetest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/instance"
)

// victim makes this program a test that has a machine until it is killed.
const victim = "TARE_MACHINETEST_VICTIM"

// TestKilled: a machine whose test was killed is gone, and its control groups are among the leftovers that tare gc
// removes.
func TestKilled(t *testing.T) {
	if os.Getenv(victim) != "" {
		Start(t, Machine{Name: "lost", Userland: This})
		os.Stdout.WriteString("started\n")
		select {}
	}
	if os.Getuid() != 0 {
		t.Skip("machines of a fleet need root")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), victim+"=yes", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil || line != "started\n" {
		t.Skipf("there can be no machine: %s", line) // as Start says
	}
	layout, err := cgroup.Detect()
	must(t, err)
	other := func(dir string) bool { return !strings.Contains(dir, "-machine-lost") }
	groups := func() []string { return slices.DeleteFunc(layout.Leftovers(""), other) }
	lost := func() []instance.Leftover {
		all, err := instance.Leftovers(t.TempDir(), layout)
		must(t, err)
		return slices.DeleteFunc(all, func(l instance.Leftover) bool { return other(l.Path) })
	}
	// A tare that ends meanwhile, in another test, also removes them.
	if len(groups()) > 0 && len(lost()) == 0 && len(groups()) > 0 {
		t.Fatal("nothing says that the machine's control groups are left")
	}
	until(t, "they are removed", func() bool { return instance.Remove(lost()) == nil && len(groups()) == 0 })
}

// TestMountsOfUserland: what making a userland mounts is mounted nowhere else, also not if it stays mounted.
func TestMountsOfUserland(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it mounts")
	}
	programs, old := t.TempDir(), cache
	cache = t.TempDir()
	t.Cleanup(func() { cache = old })
	const mmdebstrap = "#!/bin/sh\nmkdir -p \"$4/proc\" && mount -t proc proc \"$4/proc\" && ls -d \"$4/proc/$$\" >&2\n"
	must(t, os.WriteFile(filepath.Join(programs, "mmdebstrap"), []byte(mmdebstrap), 0o755))
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	tree := userland(t, "trixie", "")
	mounts, err := os.ReadFile("/proc/self/mounts")
	must(t, err)
	if entries, err := os.ReadDir(filepath.Join(tree, "proc")); err != nil || len(entries) > 0 ||
		strings.Contains(string(mounts), cache) {
		t.Errorf("%d files in its /proc, %v, among these mounts:\n%s", len(entries), err, mounts)
	}
}

// TestOwnGroups: a machine sees none of the control groups of this host, in whatever hierarchy.
func TestOwnGroups(t *testing.T) {
	config := Start(t, Machine{Name: "alone", Userland: This})
	layout, err := cgroup.Detect()
	must(t, err)
	owner, err := instance.New()
	must(t, err)
	defer owner.Close()
	remove, err := layout.Partition(owner.ID + "-other")
	must(t, err)
	defer remove()
	out, err := exec.Command("ssh", "-F", config, "alone", "find /sys/fs/cgroup -name 'tare-*'").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("it sees %s%v", out, err)
	}
}
