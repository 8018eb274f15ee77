package cgroup

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
)

func TestLayoutOf(t *testing.T) {
	for _, c := range []struct{ name, text, mode, v2, cpu string }{
		{"v2", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "v2", "/sys/fs/cgroup",
			""},
		{"hybrid", "31 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
			"32 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n", "hybrid", "/sys/fs/cgroup/unified",
			"/sys/fs/cgroup/cpu,cpuacct"},
		{"v1", "32 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "v1", "", "/sys/fs/cgroup/cpu"},
	} {
		mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(c.text), nil)
		if err != nil {
			t.Fatal(err)
		}
		l := layoutOf(mounts)
		if l.Mode() != c.mode || l.V2 != c.v2 || l.V1["cpu"] != c.cpu {
			t.Errorf("%s: got mode %s, v2 %q, cpu %q", c.name, l.Mode(), l.V2, l.V1["cpu"])
		}
	}
}

// TestGroup makes a real group, freezes and kills a process in it, and leaves nothing behind.
func TestGroup(t *testing.T) {
	l := layoutForTest(t)
	g, err := l.New("test-group", Limits{CPUs: "0", CPUCap: 0.5, MemoryBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Remove()
	cmd := exec.Command("sh", "-c", `while :; do :; done`)
	cmd.Stderr = os.Stderr
	if err := g.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	usage := func() Usage {
		t.Helper()
		u, err := g.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for start := time.Now(); usage().ThrottledPeriods == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("the cap never bit: %+v", usage())
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	before := usage()
	time.Sleep(200 * time.Millisecond)
	if after := usage(); after.CPU-before.CPU > 10*time.Millisecond {
		t.Errorf("a frozen group used %v of CPU", after.CPU-before.CPU)
	}
	if err := g.Remove(); err != nil { // while frozen
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the process ended by itself")
	}
	if err := g.Remove(); err != nil {
		t.Errorf("second remove: %v", err)
	}
	if left := l.Leftovers("test-group"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// layoutForTest returns this host's layout, or skips the test if groups cannot be made.
func layoutForTest(t *testing.T) Layout {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	l, err := Detect()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); err != nil {
		t.Skip(err)
	}
	return l
}
