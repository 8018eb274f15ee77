package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAllowRealTime: subgroups share the group's budget; on a kernel without budgets there is no
// such file, and none is created.
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
	for sub, want := range map[string]string{"": "4000\n", "vmm": "2000\n", "payload": "2000\n",
		"payload/init": "2000\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, sub, "cpu.rt_runtime_us")); err != nil || string(got) != want {
			t.Errorf("%q has %q, %v", sub, got, err)
		}
	}
	g.AllowRealTime(0)
	for _, sub := range []string{"", "payload/init"} { // unlike plain files, the kernel's are overwritten as a whole
		if got, err := os.ReadFile(filepath.Join(dir, sub, "cpu.rt_runtime_us")); err != nil || got[0] != '0' {
			t.Errorf("afterwards %q has %q, %v", sub, got, err)
		}
	}
}
