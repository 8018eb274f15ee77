package volume

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

func TestFiles(t *testing.T) {
	needRoot(t)
	for backing, magic := range map[string]string{model.BackingRaw: "", model.BackingQCOW2: "QFI\xfb"} {
		t.Run(backing, func(t *testing.T) {
			dir := t.TempDir()
			v, err := Create(t.Context(), Spec{Backing: backing, Dir: dir, Bytes: 64 << 20, FS: "ext4"})
			if errors.Is(err, exec.ErrNotFound) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			head := make([]byte, 4)
			f, err := os.Open(v.Device)
			if err == nil {
				_, err = f.Read(head)
				f.Close()
			}
			if err != nil || magic != "" && string(head) != magic {
				t.Errorf("begins with %q, %v", head, err)
			}
			if backing == model.BackingRaw {
				if out, err := exec.Command("e2fsck", "-fn", v.Device).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
			if v.Format != backing || v.FS != "ext4" {
				t.Errorf("%+v", v)
			}
			if _, err := v.Written(); !errors.Is(err, ErrNotCounted) {
				t.Errorf("written: %v", err)
			}
			for range 2 {
				if err := v.Close(); err != nil {
					t.Error(err)
				}
			}
			nothingLeft(t, dir)
		})
	}
	// A volume that does not fit is refused and leaves nothing behind.
	dir := t.TempDir()
	tooLarge := Spec{Backing: model.BackingQCOW2, Dir: dir, Bytes: 1 << 60, FS: "ext4"}
	if _, err := Create(t.Context(), tooLarge); fault.KindOf(err) != fault.Host {
		t.Errorf("an exbibyte: %v", err)
	}
	nothingLeft(t, dir)
}

// device creates an unused, empty block device of 64 MiB.
func device(t *testing.T) string {
	t.Helper()
	needRoot(t)
	v, err := newLoop(Spec{Dir: t.TempDir(), Bytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v.Device
}

func TestBlock(t *testing.T) {
	one, two := device(t), device(t)
	spec := Spec{Backing: model.BackingBlock, Bytes: 48 << 20, FS: "ext4", Devices: []string{one, two}}
	v, err := Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if v.Device != one || !v.Direct {
		t.Errorf("%+v", v)
	}
	if n, err := v.Written(); err != nil || n <= 0 || n > 64<<20 {
		t.Errorf("%d bytes written by mkfs, %v", n, err)
	}
	w, err := Create(t.Context(), spec)
	if err != nil || w.Device != two {
		t.Fatalf("the second guest has %+v, %v", w, err)
	}
	if _, err := Create(t.Context(), spec); fault.KindOf(err) != fault.Campaign || fault.RemedyOf(err) == "" {
		t.Errorf("a third guest on two devices: %v", err)
	}
	at := t.TempDir()
	if err := v.Mount(at); err != nil {
		t.Fatal(err)
	}
	if err := CheckDevice(one, []string{one}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a mounted device: %v", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil || st.Blocks*uint64(st.Bsize) > 48<<20 {
		t.Errorf("a file system of %d MiB on 48, %v", st.Blocks*uint64(st.Bsize)>>20, err)
	}
	if err := unix.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*Volume{v, w} {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	// tare may reuse a device with its own file system.
	if v, err = Create(t.Context(), spec); err != nil || v.Device != one {
		t.Fatalf("the next guest has %+v, %v", v, err)
	}
	v.Close()
}

// TestSomebodysData: a device with data is refused unless it is in Destroy, too.
func TestSomebodysData(t *testing.T) {
	d := device(t)
	if err := CheckDevice(d, nil); err != nil {
		t.Errorf("an empty device: %v", err)
	}
	for _, mkfs := range [][]string{{"mkfs.ext4", "-q", "-F", "-L", "photos", d}, {"mkswap", d}} {
		if out, err := exec.Command(mkfs[0], mkfs[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", mkfs, err, out)
		}
		spec := Spec{Backing: model.BackingBlock, Bytes: 48 << 20, FS: "ext4", Devices: []string{d}}
		if _, err := Create(t.Context(), spec); fault.KindOf(err) != fault.Campaign ||
			!strings.Contains(fault.RemedyOf(err), "--destroy "+d) {
			t.Errorf("%s: %v", mkfs[0], err)
		}
		spec.Destroy = []string{d}
		v, err := Create(t.Context(), spec)
		if err != nil {
			t.Fatalf("%s, named twice: %v", mkfs[0], err)
		}
		v.Close()
		if out, err := exec.Command("wipefs", "-a", d).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	spec := Spec{Backing: model.BackingBlock, Bytes: 65 << 20, FS: "ext4", Devices: []string{d}}
	if _, err := Create(t.Context(), spec); fault.KindOf(err) != fault.Campaign {
		t.Errorf("a device that is too small: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{file, "/dev/null", "/dev/no-such-device"} {
		if err := CheckDevice(no, []string{no}); fault.KindOf(err) != fault.Campaign {
			t.Errorf("%s: %v", no, err)
		}
	}
}
