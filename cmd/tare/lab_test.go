package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCopyFile: what the lab puts in the place of a run file is copied only if it is a plain file,
// and never holds tare up.
func TestCopyFile(t *testing.T) {
	dir := t.TempDir()
	secret := write(t, dir, "secret", "of the host")
	link, pipe, to := filepath.Join(dir, "link"), filepath.Join(dir, "pipe"), filepath.Join(dir, "to")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{link, pipe, dir} {
		if err := copyFile(from, to, 0o644); err == nil {
			t.Errorf("%s was copied", from)
		}
		if _, err := os.Lstat(to); err == nil {
			t.Errorf("the copy of %s exists", from)
		}
	}
	// A link where the copy goes is replaced, not followed.
	if err := copyFile(write(t, dir, "from", "new"), link, 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "of the host" {
		t.Errorf("the file that the link pointed to: %q, %v", b, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".tare-*"))
	if b, err := os.ReadFile(link); err != nil || !strings.HasPrefix(string(b), "new") || len(left) > 0 {
		t.Errorf("the copy: %q, %v; left: %q", b, err, left)
	}
}
