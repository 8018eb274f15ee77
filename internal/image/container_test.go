package image

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMountPoints: what drivers expect is in a tree whose links lead out of it, and nothing outside changes.
func TestMountPoints(t *testing.T) {
	tree, outside := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"proc", "dev", "var", "tare-agent", "data", "usr"} {
		if err := os.Symlink(outside, filepath.Join(tree, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(tree, "etc/full"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"etc/full/file": "of the image", "tmp": "no directory"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(kept, filepath.Join(tree, "etc/hosts")); err != nil {
		t.Fatal(err)
	}
	volumes := []string{"/data", "/etc/full", "/srv/db", "/srv/db/inner"}
	if err := addMountPoints(tree, volumes); err != nil {
		t.Fatal(err)
	}
	for dir := range mountPoints {
		if st, err := os.Lstat(filepath.Join(tree, dir)); err != nil || !st.IsDir() {
			t.Errorf("%s: %v, %v", dir, st, err)
		}
	}
	if st, err := os.Lstat(filepath.Join(tree, "root")); err != nil || !st.IsDir() {
		t.Errorf("root: %v, %v", st, err)
	}
	if st, err := os.Lstat(filepath.Join(tree, AgentPath)); err != nil || !st.Mode().IsRegular() || st.Size() > 0 {
		t.Errorf("%v, %v", st, err)
	}
	if b, err := os.ReadFile(filepath.Join(tree, "etc/full/file")); err != nil || string(b) != "of the image" {
		t.Errorf("a volume with files of the image: %q, %v", b, err)
	}
	if to, err := os.Readlink(filepath.Join(tree, "srv/db")); err != nil || to != filepath.Join(DataPath, VolumeDir(2)) {
		t.Errorf("the volume is %q, %v", to, err)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "kept" {
		t.Errorf("outside: %q, %v", b, err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
		t.Errorf("outside: %v, %v", list, err)
	}
}
