package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// TestUnchanged: whatever a guest does to the userland is noticed, and named.
func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	img := &Image{Dir: dir, Tree: filepath.Join(dir, "tree")}
	at := func(path string) string { return filepath.Join(dir, path) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"tree/usr/bin", "tree/data", "kernel"} {
		must(os.MkdirAll(at(d), 0o755))
	}
	for _, f := range []string{"tree/usr/bin/fio", "tree/usr/bin/tar", "disk.ext4", "kernel/vmlinuz"} {
		must(os.WriteFile(at(f), []byte("program"), 0o755))
	}
	must(os.Symlink("tar", at("tree/usr/bin/link\t\"")))
	must(img.Unchanged()) // records the sums
	must(img.Unchanged())

	forged := func(path, text string) { // same size and mtime
		st, err := os.Stat(at(path))
		must(err)
		must(os.WriteFile(at(path), []byte(text), 0o755))
		must(os.Chtimes(at(path), st.ModTime(), st.ModTime()))
	}
	link := func(target string) {
		must(os.Remove(at("tree/usr/bin/link\t\"")))
		must(os.Symlink(target, at("tree/usr/bin/link\t\"")))
	}
	fio, tar, ls := "tree/usr/bin/fio", "tree/usr/bin/tar", "tree/usr/bin/ls"
	mode := func(path string, mode os.FileMode) { must(os.Chmod(at(path), mode)) }
	move := func(from, to string) { must(os.Rename(at(from), at(to))) }
	must(os.Mkdir(at("tree/.oldroot"), 0o755))
	must(img.Unchanged()) // as long as it is empty
	must(os.Remove(at("tree/.oldroot")))
	for _, c := range []struct {
		change, undo func()
		want         string
	}{
		{func() { forged(fio, "pro-ram") }, func() { forged(fio, "program") }, fio + " has other content"},
		{func() { forged("disk.ext4", "pro-ram") }, func() { forged("disk.ext4", "program") }, "disk.ext4 has other"},
		{func() { mode(tar, 0o755|os.ModeSetuid) }, func() { mode(tar, 0o755) }, tar + " has another owner or mode"},
		{func() { must(os.MkdirAll(at("tree/.oldroot/x"), 0o755)) }, func() { must(os.RemoveAll(at("tree/.oldroot"))) },
			"tree/.oldroot is new"},
		{func() { must(os.WriteFile(at(ls), nil, 0o755)) }, func() { must(os.Remove(at(ls))) }, ls + " is new"},
		{func() { move("kernel/vmlinuz", "x") }, func() { move("x", "kernel/vmlinuz") }, "kernel/vmlinuz is missing"},
		{func() { link("fio") }, func() { link("tar") }, "has other content"},
		{func() { mode("tree/data", 0o777) }, func() { mode("tree/data", 0o755) }, "tree/data has another owner or mode"},
	} {
		c.change()
		err := img.Unchanged()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got: %v", c.want, err)
		}
		if fault.KindOf(err) != fault.Host || fault.RemedyOf(err) == "" {
			t.Errorf("%v is a fault of %v with the remedy %q", err, fault.KindOf(err), fault.RemedyOf(err))
		}
		c.undo()
		if err := img.Unchanged(); err != nil {
			t.Errorf("after it was undone: %v", err)
		}
	}
	// A copy has other times. Its files are read once.
	must(os.Chtimes(at("tree/usr/bin/fio"), time.Now(), time.Unix(1, 0)))
	before, err := os.ReadFile(at(sumsName))
	must(err)
	must(img.Unchanged())
	if after, err := os.ReadFile(at(sumsName)); err != nil || string(after) == string(before) {
		t.Errorf("the sums have the old times, %v", err)
	}
	must(os.WriteFile(at(sumsName), []byte("nonsense\n"), 0o644))
	if err := img.Unchanged(); err == nil || !strings.Contains(err.Error(), "not a line of sums") {
		t.Errorf("damaged sums: %v", err)
	}
}
