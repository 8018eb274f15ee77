package image

import (
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestModuleOrder(t *testing.T) {
	dir := fstest.MapFS{
		"modules.dep": {Data: []byte(`kernel/lib/libcrc32c.ko:
kernel/fs/xfs/xfs.ko: kernel/lib/libcrc32c.ko
kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio_ring.ko:
kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/block/xen-blkfront.ko:
kernel/a.ko: kernel/b.ko
kernel/b.ko: kernel/a.ko
`)},
		"modules.builtin": {Data: []byte("kernel/fs/ext4/ext4.ko\n")},
	}
	got, err := moduleOrder(dir, []string{"virtio_pci", "xfs", "ext4", "virtio", "xen_blkfront"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got {
		names = append(names, moduleName(f))
	}
	want := []string{"virtio_ring", "virtio", "virtio_pci", "libcrc32c", "xfs", "xen_blkfront"}
	if !slices.Equal(names, want) {
		t.Errorf("order %v, want %v", names, want)
	}
	for _, name := range []string{"nosuch", "a"} {
		if _, err := moduleOrder(dir, []string{name}); err == nil {
			t.Errorf("module %s: no error", name)
		}
	}
}

// fakeImage returns an image that contains only modules.
func fakeImage(t *testing.T) *Image {
	t.Helper()
	img := &Image{Dir: t.TempDir(), KernelVersion: "6.1.0-1"}
	img.Modules = filepath.Join(img.Dir, "kernel/modules")
	if err := os.MkdirAll(img.Modules, 0o755); err != nil {
		t.Fatal(err)
	}
	var dep strings.Builder
	for _, m := range append([]string{"libcrc32c", "tun"}, GuestModules...) {
		needs := ""
		if m == "xfs" {
			needs = " libcrc32c.ko"
		}
		fmt.Fprintf(&dep, "%s.ko:%s\n", m, needs)
		if err := os.WriteFile(filepath.Join(img.Modules, m+".ko"), []byte("module "+m), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"modules.dep": dep.String(), "modules.builtin": ""} {
		if err := os.WriteFile(filepath.Join(img.Modules, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

func TestInitramfs(t *testing.T) {
	img := fakeImage(t)
	path, err := img.Initramfs([]byte("agent"), "tun")
	if err != nil {
		t.Fatal(err)
	}
	again, err := img.Initramfs([]byte("agent"), "tun")
	if err != nil || again != path {
		t.Errorf("the same agent made %s (%v)", again, err)
	}
	if other, err := img.Initramfs([]byte("Agent"), "tun"); err != nil || other == path {
		t.Errorf("another agent got the same file (%v)", err)
	}
	if other, err := img.Initramfs([]byte("agent")); err != nil || other == path {
		t.Errorf("other modules got the same file (%v)", err)
	}
	if _, err := img.Initramfs(nil); err == nil {
		t.Error("no agent: no error")
	}
	if _, err := img.Initramfs([]byte("agent"), "nosuch"); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("unknown module: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(img.Dir, "initramfs", ".tare-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}

	cpio, err := exec.LookPath("cpio")
	if err != nil {
		t.Skip("no cpio here to read the archive with")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(cpio, "-id", "init", "modules/*", "proc", "tmp")
	cmd.Dir, cmd.Stdin = dir, zr
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cpio: %v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "init"))
	if err != nil || string(b) != "agent" {
		t.Errorf("/init is %q, %v", b, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "init")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("/init: %v, %v", st, err)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "modules/*"))
	slices.Sort(found)
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(f))
	}
	want := []string{"000-crc32c_generic.ko", "001-ext4.ko", "002-virtio_pci.ko", "003-virtio_blk.ko",
		"004-virtio_console.ko", "005-virtio_net.ko", "006-virtio_rng.ko", "007-virtio_balloon.ko",
		"008-xen_blkfront.ko", "009-xen_netfront.ko", "010-libcrc32c.ko", "011-xfs.ko", "012-tun.ko"}
	if !slices.Equal(names, want) {
		t.Errorf("modules %v, want %v", names, want)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "modules/011-xfs.ko")); string(b) != "module xfs" {
		t.Errorf("xfs.ko is %q", b)
	}
}

func TestDropOld(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"new": 0, "old": 10 * time.Hour} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	dropOld(dir, now.Add(-time.Hour))
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 || filepath.Base(left[0]) != "new" {
		t.Errorf("left %v", left)
	}
}
