package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/mounttest"
)

func TestMain(m *testing.M) {
	mounttest.Enter()
	os.Exit(m.Run())
}

func needRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

// attached lists the loop devices over files in dir.
func attached(dir string) (found []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), dir+"/") {
			found = append(found, f)
		}
	}
	return found
}

func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 && len(attached(dir)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("left in %s, or attached: %v", dir, attached(dir))
}

func TestVolume(t *testing.T) {
	needRoot(t)
	for _, fs := range []string{"ext4", "ext3", "ext2", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			dir, at := t.TempDir(), t.TempDir()
			v, err := Create(t.Context(), Spec{Dir: dir, Bytes: 320 << 20, FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if err := v.Mount(at); err != nil {
				t.Fatal(err)
			}
			defer unix.Unmount(at, unix.MNT_DETACH)
			mounttest.Unseen(t, at)
			var st unix.Statfs_t
			if err := unix.Statfs(at, &st); err != nil || st.Blocks*uint64(st.Bsize) < 200<<20 {
				t.Errorf("%d blocks of %d, %v", st.Blocks, st.Bsize, err)
			}
			before, err := v.Written()
			if err != nil {
				t.Fatal(err)
			}
			const size = 4 << 20
			f, err := os.Create(filepath.Join(at, "file"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			if after, err := v.Written(); err != nil || after-before < size || after-before > 4*size {
				t.Errorf("%d bytes were written and synced, %d counted, %v", size, after-before, err)
			}
			for range 2 {
				if err := v.Close(); err != nil { // it is still mounted
					t.Error(err)
				}
			}
			f.Close()
			if err := unix.Unmount(at, 0); err != nil {
				t.Error(err)
			}
			nothingLeft(t, dir)
		})
	}
}

func TestImpossible(t *testing.T) {
	needRoot(t)
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip(err)
	}
	defer unix.Unmount(small, 0)
	for name, c := range map[string]struct {
		dir    string
		size   int64
		fs     string
		kind   fault.Kind
		remedy bool
	}{
		"no room":           {small, 64 << 20, "ext4", fault.Host, true},
		"no such size":      {t.TempDir(), 1 << 60, "ext4", fault.Host, true},
		"no such directory": {filepath.Join(small, "x"), 16 << 20, "ext4", fault.Host, false},
		"no such type":      {t.TempDir(), 16 << 20, "minix", fault.Campaign, false},
		"too small for xfs": {t.TempDir(), 16 << 20, "xfs", fault.Host, false},
		"no size":           {t.TempDir(), 0, "ext4", fault.Host, false},
	} {
		v, err := Create(t.Context(), Spec{Dir: c.dir, Bytes: c.size, FS: c.fs})
		if err == nil {
			v.Close()
		}
		if fault.KindOf(err) != c.kind || c.remedy != (fault.RemedyOf(err) != "") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(c.dir); err == nil {
			nothingLeft(t, c.dir)
		}
	}
}

// TestCheck: a program that data volumes need is named if it is not there, with what to install.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mkfs.ext4"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		err         error
		lacks, from string
	}{
		{CheckFS("ext4"), "", ""},
		{CheckFS("xfs"), "no mkfs.xfs", "tare image"},
		{CheckBacking(model.BackingLoop), "", ""},
		{CheckBacking(model.BackingQCOW2), "no qemu-img", "tare image"},
	} {
		if said := fmt.Sprint(c.err); (c.err == nil) != (c.lacks == "") || !strings.Contains(said, c.lacks) ||
			!strings.Contains(said, c.from) {
			t.Errorf("%v, want %q and %q", c.err, c.lacks, c.from)
		}
	}
}
