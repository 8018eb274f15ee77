package systemtest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/mounttest"
)

func TestMain(m *testing.M) {
	mounttest.Enter()
	os.Exit(m.Run())
}

// TestMountsOfOthers: a mount that was there before is not left behind, whatever becomes of it.
func TestMountsOfOthers(t *testing.T) {
	if !mounttest.Inside() {
		t.Skip("needs root: it mounts")
	}
	dir := t.TempDir()
	mount := func(name string, flags uintptr) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", at, "tmpfs", flags, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
	}
	mounts := func() leftovers {
		t.Helper()
		l := leftovers{}
		if err := l.addMounts(); err != nil {
			t.Fatal(err)
		}
		return l
	}
	mount("part/proc", 0)
	before := mounts()
	if err := os.Rename(filepath.Join(dir, "part"), filepath.Join(dir, "tree")); err != nil {
		t.Fatal(err)
	}
	mount("tree/proc", unix.MS_REMOUNT|unix.MS_RDONLY)
	if left := mounts().since(before); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	mount("left", 0)
	want := []string{"mount " + filepath.Join(dir, "left") + " of tmpfs"}
	if left := mounts().since(before); !slices.Equal(left, want) {
		t.Errorf("left behind: %q, want %q", left, want)
	}
}

// TestPlaces: guests of tests that run beside each other have different CPUs.
func TestPlaces(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("this host has one CPU")
	}
	var cpus []int
	for _, place := range []string{"", "0", "1"} {
		t.Setenv("TARE_PLACE", place)
		cpus = append(cpus, Request().CPUs...)
	}
	if last := runtime.NumCPU() - 1; !slices.Equal(cpus, []int{last, last, last - 1}) {
		t.Errorf("they have CPUs %v", cpus)
	}
}
