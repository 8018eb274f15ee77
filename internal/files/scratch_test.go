package files

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScratch: a directory of a killed process goes, those of living ones stay, and nothing is left after them.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	orphan := filepath.Join(dir, part+"orphan")
	if err := os.MkdirAll(filepath.Join(orphan, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	mine, remove, err := Scratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(orphan); err == nil {
		t.Error("the directory of a killed process is still there")
	}
	if err := os.WriteFile(filepath.Join(mine, "copy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, removeOther, err := Scratch(dir)
	if err != nil {
		t.Fatal(err)
	}
	Clean(dir)
	for _, path := range []string{filepath.Join(mine, "copy"), other} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for _, remove := range []func() error{remove, removeOther} {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
