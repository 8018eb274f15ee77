package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAbandonedCopies: what a killed reader left is found and removed, and the copy of a living one stays.
func TestAbandonedCopies(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	used, lock, err := makeCopyDir()
	must(t, err)
	left, killed, err := makeCopyDir()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(left, "run"), []byte("half of it"), 0o600))
	must(t, killed.Close()) // as the kernel does
	other := t.TempDir()
	must(t, os.Symlink(other, filepath.Join(temp, copyPrefix+"link")))

	if found := AbandonedCopies(); !slices.Equal(found, []string{left}) {
		t.Errorf("found %q, want %q", found, left)
	}
	must(t, RemoveAbandonedCopies())
	for dir, stays := range map[string]bool{used: true, left: false, other: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %v", dir, err, stays)
		}
	}
	must(t, os.Remove(used))
	must(t, lock.Close())
	if found := AbandonedCopies(); len(found) > 0 {
		t.Errorf("found %q in the end", found)
	}
}
