package libvirt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCleanRoot: what libvirt has left in the tree is removed, but not while a container starts, and never if there is
// something in it.
func TestCleanRoot(t *testing.T) {
	tree := t.TempDir()
	left := filepath.Join(tree, oldRoot)
	clean := func(want error) {
		t.Helper()
		if err := cleanRoot(tree); !errors.Is(err, want) {
			t.Errorf("got: %v", err)
		}
	}
	there := func() bool {
		_, err := os.Stat(left)
		return !errors.Is(err, fs.ErrNotExist)
	}
	clean(nil)
	if err := os.MkdirAll(filepath.Join(left, "somebody's"), 0o755); err != nil {
		t.Fatal(err)
	}
	clean(unix.ENOTEMPTY)
	if err := os.Remove(filepath.Join(left, "somebody's")); err != nil {
		t.Fatal(err)
	}
	starting, err := lockRoot(tree, unix.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	clean(nil)
	if !there() {
		t.Error("it was removed while a container was starting")
	}
	starting.Close()
	clean(nil)
	if there() {
		t.Error("it is still there")
	}
}
