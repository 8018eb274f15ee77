package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/image"
)

// TestPoisonedUserland: an image that a guest has changed is not used again.
func TestPoisonedUserland(t *testing.T) {
	dir := t.TempDir()
	img := &image.Image{Dir: dir, Tree: filepath.Join(dir, "tree")}
	for _, d := range []string{"tree", "kernel"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, f := range []string{"tree/sh", "disk.ext4"} {
			if err := os.WriteFile(filepath.Join(dir, f), []byte(t.Name()), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := img.Unchanged(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "tree/sh"), []byte("poison"), 0o755); err != nil {
		t.Fatal(err)
	}
	bed := &Testbed{}
	err := bed.use(img)
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "tree/sh has other content") || bed.Image != nil {
		t.Errorf("a poisoned userland is used: %v", err)
	}
}
