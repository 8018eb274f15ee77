package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAllowRealTime: groups below share what the group has; kernels without
// budgets have no such file, and get none.
func TestAllowRealTime(t *testing.T) {
	g := fakeGroup(t, true)
	dir := filepath.Join(g.layout.V1["cpu"], "tare-x")
	g.AllowRealTime(4 * time.Millisecond)
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
	for _, sub := range []string{"", "vmm", "payload", "payload/init"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, sub, "cpu.rt_runtime_us"), []byte("0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g.AllowRealTime(4 * time.Millisecond)
	for sub, want := range map[string]string{"": "4000\n", "vmm": "2000\n", "payload": "2000\n", "payload/init": "2000\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, sub, "cpu.rt_runtime_us")); err != nil || string(got) != want {
			t.Errorf("%q has %q, %v", sub, got, err)
		}
	}
	g.AllowRealTime(0)
	for _, sub := range []string{"", "payload/init"} { // what is written to a file of the kernel's takes the place of what it had
		if got, err := os.ReadFile(filepath.Join(dir, sub, "cpu.rt_runtime_us")); err != nil || got[0] != '0' {
			t.Errorf("afterwards %q has %q, %v", sub, got, err)
		}
	}
}
