package systemtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// cpus checks on the host that every thread of the guest is pinned to the guest's CPUs.
func (s suite) cpus(t *testing.T) {
	if s.m.Site.Group == nil {
		t.Skip("no control group")
	}
	pids, err := s.m.Site.Group.Processes()
	if err != nil || len(pids) == 0 {
		t.Fatalf("processes of the guest: %v, %v", pids, err)
	}
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				continue // it has just ended
			}
			_, after, _ := strings.Cut(string(b), "Cpus_allowed_list:")
			allowed, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
			if allowed != s.m.Site.Flavor.CPUs.String() {
				name, _, _ := strings.Cut(string(b), "\n")
				t.Errorf("%s %s may run on CPUs %s, not only on %s", file, name, allowed, s.m.Site.Flavor.CPUs)
			}
		}
	}
}

// second creates another guest beside the first, with another file system, and closes it while it
// is frozen.
func (s suite) second(t *testing.T, h *system.Host) {
	f := networked(s.d)
	f.DiskFS, f.DiskBytes = "xfs", 320<<20
	if s.d.Capabilities().Swap == system.SwapVolume {
		f.SwapBytes = 64 << 20
	}
	other := suite{d: s.d, m: launch(t, s.d, h, "second", f), size: s.size}
	if other.m.Site.Group != nil && !s.knowsDataFS(other.m.Hello.DataFS, f.DiskFS) {
		t.Errorf("/data is %q, want %q", other.m.Hello.DataFS, f.DiskFS)
	}
	if f.SwapBytes > 0 {
		// All pages but the one that describes the swap, in KiB.
		other.sh(t, fmt.Sprintf("grep -q ' %d' /proc/swaps || { cat /proc/swaps; exit 1; }", f.SwapBytes>>10-4))
		s.sh(t, "test $(wc -l </proc/swaps) = 1 || { echo a guest without swap has one; exit 1; }")
	}
	const size = 1 << 20
	w0 := written(t, s.m)
	v0 := written(t, other.m)
	other.sh(t, fmt.Sprintf("head -c %d /dev/urandom >mine && sync", size))
	s.sh(t, "if test -e mine; then echo two guests share their data; exit 1; fi; sync")
	if got := written(t, other.m) - v0; other.m.Site.Volume != nil && got < size {
		t.Errorf("%d bytes were written and synced, %d counted", size, got)
	}
	if got := written(t, s.m) - w0; got >= size {
		t.Errorf("one guest's %d bytes were counted as the other's: %d", size, got)
	}
	t.Run("network", func(t *testing.T) { s.network(t, h, other) })
	if s.d.Capabilities().Freeze != "" {
		if err := other.m.Freeze(timeout(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.m.Close(); err != nil {
		t.Errorf("close while frozen: %v", err)
	}
	s.sh(t, "true")
}

func written(t *testing.T, m *system.Machine) int64 {
	t.Helper()
	n, err := m.Written()
	if errors.Is(err, cgroup.ErrUnknown) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// testLog gives the driver a broken agent and kernel: the error must contain the end of the guest's
// log.
func testLog(t *testing.T, d system.Driver, h *system.Host) {
	agent := filepath.Join(h.Dir, "no-agent")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\necho no such luck >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(agent)
	u, broken := *h.Userland, *h
	u.Agent, u.Kernel, u.Vmlinux, u.BareInitramfs = agent, agent, agent, agent
	broken.Userland = &u
	needUsable(t, d, h)
	m, err := system.Launch(t.Context(), d, &broken, "log", Request())
	if err == nil {
		m.Close()
		t.Fatal("a guest without an agent")
	}
	if fault.KindOf(err) != fault.Guest || d.Capabilities().HostMount && !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("got: %v", err)
	}
	t.Log(err)
}
