package volume

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/pagecache"
)

// TestEvict: of a volume nothing stays in the page cache, while other files do; what a process has mapped stays, and
// is told.
func TestEvict(t *testing.T) {
	needRoot(t)
	const size = 8 << 20
	cached := func(f *os.File) int64 {
		t.Helper()
		n, _, err := pagecache.Resident(f)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	fill := func(name string) *os.File {
		t.Helper()
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	other := fill(filepath.Join(t.TempDir(), "other"))
	if _, all, err := pagecache.Resident(other); err != nil || all == 0 {
		t.Skip("temporary files are in memory: ", err)
	}
	at := t.TempDir()
	v, err := Create(t.Context(), Spec{Dir: t.TempDir(), Bytes: 64 << 20, FS: "ext4"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if !v.Direct {
		t.Skip("the file system lacks direct I/O")
	}
	if err := v.Mount(at); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(at, unix.MNT_DETACH)
	if err := os.Mkdir(filepath.Join(at, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := fill(filepath.Join(at, "dir", "file"))
	for name, err := range map[string]error{
		"pipe": unix.Mkfifo(filepath.Join(at, "pipe"), 0o600),
		"link": os.Symlink(other.Name(), filepath.Join(at, "link")),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	if cached(f) != size {
		t.Fatal("what was written is not cached")
	}
	if stays, err := v.Evict(at); err != nil || stays != 0 || cached(f) != 0 {
		t.Errorf("%v of the data stays, %d bytes, %v", stays, cached(f), err)
	}
	if cached(other) == 0 {
		t.Error("another file was evicted, too")
	}
	pages, err := unix.Mmap(int(f.Fd()), 0, size/2, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(pages)
	if stays, err := v.Evict(at); err != nil || stays < 0.5 {
		t.Errorf("half is mapped, but %v stays, %v", stays, err)
	}
	file := &Volume{Device: other.Name(), Format: "raw"}
	if stays, err := file.Evict(""); err != nil || stays != 0 || cached(other) != 0 {
		t.Errorf("a file as a volume: %v stays, %d bytes, %v", stays, cached(other), err)
	}
}
