package mounttest

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Enter()
	os.Exit(m.Run())
}

// TestUnseen: the process that started the tests does not see what they mount.
func TestUnseen(t *testing.T) {
	if !Inside() {
		t.Skip("needs root: it mounts")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || !strings.Contains(string(mounts), " "+dir+" ") {
		t.Errorf("it is not mounted: %v", err)
	}
	Unseen(t, dir)
}
