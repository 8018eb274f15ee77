package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// writeTar writes an archive as linux-source's: directories first, files of
// uneven sizes, some of them empty, and links. It returns the names of its
// files and links.
func writeTar(t *testing.T, w io.Writer, files int) (names []string) {
	t.Helper()
	tw := tar.NewWriter(w)
	put := func(h *tar.Header) {
		h.ModTime, h.Uid, h.Uname = time.Unix(1e9, 0), 1234, "builder"
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(tw, zeros{}, h.Size); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeDir {
			names = append(names, h.Name)
		}
	}
	for n := range files {
		dir := fmt.Sprintf("linux-6.1/%s%d/", strings.Repeat("d", n%120), n/4)
		if n%4 == 0 {
			put(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755})
		}
		put(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("%sf%d.c", dir, n), Mode: 0o644, Size: int64(n * 37 % 500)})
		if n%7 == 0 {
			put(&tar.Header{Typeflag: tar.TypeSymlink, Name: fmt.Sprintf("%sl%d", dir, n), Linkname: "../gone", Mode: 0o777})
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return names
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func opener(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

func TestSplitTar(t *testing.T) {
	var src bytes.Buffer
	want := writeTar(t, &src, 300)
	const pieces = 8
	dir := t.TempDir()
	if err := splitTar(t.Context(), opener(src.Bytes()), pieces, dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != pieces+1 || lines[0][0] != '#' {
		t.Fatalf("MANIFEST:\n%s", b)
	}
	var got []string
	var sizes []int64
	for n := range pieces {
		f, err := os.Open(filepath.Join(dir, pieceName(n)))
		if err != nil {
			t.Fatal(err)
		}
		zr, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		entries, size := 0, int64(0)
		for tr := tar.NewReader(zr); ; {
			h, err := tr.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Uid != 0 || h.Uname != "root" || h.ModTime.Unix() != 1e9 {
				t.Errorf("%s: uid %d %s, %s", h.Name, h.Uid, h.Uname, h.ModTime)
			}
			got = append(got, h.Name)
			entries, size = entries+1, size+h.Size
		}
		f.Close()
		sizes = append(sizes, size)
		if line := fmt.Sprintf("%03d %d %d", n, entries, size); lines[n+1] != line {
			t.Errorf("MANIFEST has %q, the piece %q", lines[n+1], line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pieces have %d entries in another order or number than the archive's %d", len(got), len(want))
	}
	if slices.Max(sizes)-slices.Min(sizes) > 2*500 {
		t.Errorf("uneven pieces: %v", sizes)
	}
}

func TestSplitTarSameAgain(t *testing.T) {
	var src bytes.Buffer
	writeTar(t, &src, 50)
	sum := func() string {
		dir := t.TempDir()
		if err := splitTar(t.Context(), opener(src.Bytes()), 2, dir); err != nil {
			t.Fatal(err)
		}
		s, err := sha256File(filepath.Join(dir, pieceName(1)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if a, b := sum(), sum(); a != b {
		t.Error("the same archive makes different pieces")
	}
}

func TestSplitTarErrors(t *testing.T) {
	var big, link, ok bytes.Buffer
	tw := tar.NewWriter(&big)
	_ = tw.WriteHeader(&tar.Header{Name: "one", Size: 1000, Mode: 0o644})
	_, _ = tw.Write(make([]byte, 1000))
	_ = tw.Close()
	tw = tar.NewWriter(&link)
	_ = tw.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b"})
	_ = tw.Close()
	writeTar(t, &ok, 40)
	for name, src := range map[string][]byte{
		"one large file": big.Bytes(), "hard link": link.Bytes(), "empty": make([]byte, 1024),
		"cut off": ok.Bytes()[:ok.Len()/2],
	} {
		if err := splitTar(t.Context(), opener(src), 4, t.TempDir()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := splitTar(t.Context(), opener(ok.Bytes()), 4, filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory to write to: %v", err)
	}
}

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

// fakeImage is an image with nothing but modules.
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
	if left, _ := filepath.Glob(filepath.Join(img.Dir, "initramfs", ".new-*")); left != nil {
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
	want := []string{"000-virtio_pci.ko", "001-virtio_blk.ko", "002-virtio_console.ko", "003-virtio_net.ko", "004-virtio_rng.ko", "005-libcrc32c.ko", "006-xfs.ko", "007-tun.ko"}
	if !slices.Equal(names, want) {
		t.Errorf("modules %v, want %v", names, want)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "modules/006-xfs.ko")); string(b) != "module xfs" {
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

// bzImage wraps a payload as arch/x86/boot does.
func bzImage(payload []byte) []byte {
	b := make([]byte, 3*512)
	b[0x1f1] = 1 // set-up sectors
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(b[0x248:], 512)
	binary.LittleEndian.PutUint32(b[0x24c:], uint32(len(payload)))
	return append(append(b, payload...), "trailer"...)
}

func TestVmlinux(t *testing.T) {
	elf := []byte(magicELF + strings.Repeat("kernel text, ", 500) + "end")
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(elf)))
	for _, c := range []struct {
		tool string
		args []string
	}{{"xz", []string{"-c", "--check=crc32"}}, {"lz4", []string{"-c", "-l", "-9", "-"}}} {
		t.Run(c.tool, func(t *testing.T) {
			cmd := exec.Command(c.tool, c.args...)
			cmd.Stdin = bytes.NewReader(elf)
			packed, err := cmd.Output()
			if err != nil {
				t.Skipf("no %s here: %v", c.tool, err)
			}
			dir := t.TempDir()
			in, out := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
			if err := os.WriteFile(in, bzImage(append(packed, size...)), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := writeVmlinux(t.Context(), in, out); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, elf) {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(elf))
			}
		})
	}
	for _, b := range [][]byte{nil, make([]byte, 4096), bzImage([]byte("\x1f\x8bgzip"))} {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux")
		if err := os.WriteFile(in, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := writeVmlinux(t.Context(), in, out); err != nil {
			t.Errorf("a kernel of another form: %v", err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Error("a vmlinux out of nothing")
		}
	}
}

// A small LZ4 frame made by hand: "abcabcabcabc!" as three literals, an
// overlapping match of nine, and a last literal.
func TestUnlz4(t *testing.T) {
	good := "\x02\x21\x4c\x18" + "\x08\x00\x00\x00" + "\x35abc\x03\x00" + "\x10!" + "\x0d\x00\x00\x00"
	if got, err := unlz4([]byte(good)); err != nil || string(got) != "abcabcabcabc!" {
		t.Errorf("%q, %v", got, err)
	}
	for n := range len(good) {
		if got, err := unlz4([]byte(good[:n])); err == nil {
			t.Errorf("cut at %d: %q without an error", n, got)
		}
	}
}

func FuzzUnlz4(f *testing.F) {
	f.Add([]byte("\x35abc\x03\x00\x10!"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, err := unlz4Block(nil, b); err == nil && len(out) > 255*len(b)+19 {
			t.Errorf("%d bytes from %d", len(out), len(b))
		}
	})
}

func TestMissingTools(t *testing.T) {
	tree := t.TempDir()
	for _, d := range []string{"usr/bin", "usr/sbin", "etc/alternatives", "opt"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for p, mode := range map[string]os.FileMode{"usr/bin/fio": 0o755, "usr/sbin/mkfs.xfs": 0o755, "usr/bin/notes": 0o644, "opt/own": 0o755} {
		if err := os.WriteFile(filepath.Join(tree, p), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"bin": "usr/bin", "usr/bin/awk": "/etc/alternatives/awk", "etc/alternatives/awk": "/usr/bin/fio",
		"usr/bin/up": "../sbin/mkfs.xfs", "usr/bin/out": "/bin/nosuchthing", "usr/bin/loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(tree, link)); err != nil {
			t.Fatal(err)
		}
	}
	img := &Image{Tree: tree}
	got := img.MissingTools([]string{"fio", "mkfs.xfs", "awk", "up", "/opt/own", "notes", "out", "loop", "bin", "/opt/none", "sh-of-the-host"})
	want := []string{"notes", "out", "loop", "bin", "/opt/none", "sh-of-the-host"}
	if !slices.Equal(got, want) {
		t.Errorf("missing %v, want %v", got, want)
	}
}

func TestHostSources(t *testing.T) {
	etc := t.TempDir()
	if err := os.Mkdir(filepath.Join(etc, "sources.list.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	fallback := hostSources(etc, "bookworm")
	if len(fallback) != 3 || !strings.Contains(fallback[2], "debian-security bookworm-security main") {
		t.Errorf("without sources: %q", fallback)
	}
	for name, text := range map[string]string{
		"sources.list": `# deb http://comment.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ bookworm main contrib
deb-src http://mirror.example/debian/ bookworm main
deb https://download.docker.com/linux/debian bookworm stable
deb http://mirror.example/debian trixie main
`,
		"sources.list.d/debian.sources": `Types: deb deb-src
# a comment
URIs: mirror+file:///etc/apt/mirrors/debian-security.list
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
`,
		"sources.list.d/other.sources":   "Types: deb\nURIs: https://deb.example/node\nSuites: nodistro\nComponents: main\n",
		"sources.list.d/x.list.disabled": "deb http://disabled.example/debian bookworm main\n",
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"deb [signed-by=/k.gpg] http://mirror.example/debian/ bookworm main",
		"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] mirror+file:///etc/apt/mirrors/debian-security.list bookworm-security main",
	}
	if got := hostSources(etc, "bookworm"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
