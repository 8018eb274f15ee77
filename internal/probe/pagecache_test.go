package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/model"
)

// TestPageCache: a file that was just written is in the page cache, and not after it was dropped.
func TestPageCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var at unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &at); err != nil || at.Type == unix.TMPFS_MAGIC {
		t.Skip("temporary files are in memory, from where nothing can be dropped")
	}
	if _, err := f.Write(bytes.Repeat([]byte("x"), 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	share := func() float64 {
		c, err := ReadPageCache([]string{path, path + " that is not there"})
		if err != nil {
			t.Fatal(err)
		}
		v := map[string]float64{}
		c.Add(v)
		if v[model.ProbeDiskRead] < 0 {
			t.Errorf("%v", v)
		}
		return v[model.ProbeCached]
	}
	if got := share(); got < 0.9 {
		t.Errorf("%v of a new file are in the page cache", got)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if got := share(); got > 0.1 {
		t.Errorf("%v of a dropped file are in the page cache", got)
	}
}
