package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// builtForExport builds an image with a real disk from a stand-in of mmdebstrap. Its tree has what copies tend to lose.
func builtForExport(t *testing.T) (img *Image, cache string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: the disk of the image is mounted")
	}
	mke2fs, err := lookTool("mke2fs")
	if err != nil {
		t.Skip("needs mke2fs")
	}
	cache, dir := fakeHost(t, fakeMmdebstrap+`
cd "$TARE_DEBS/../tree"
echo ping >usr/bin/ping; chmod 4755 usr/bin/ping
ln usr/bin/ping usr/bin/ping6; ln -s ping usr/bin/ping4; mknod usr/null c 1 3
echo "a strange name" >"usr/it's new"; chown 7:8 usr/bin/sh; mkdir -m 1777 usr/drop
cp "$FAKE/noise" usr/noise
`)
	must(t, os.Remove(filepath.Join(dir, "mke2fs")))
	must(t, os.Symlink(mke2fs, filepath.Join(dir, "mke2fs")))
	noise := make([]byte, 3*chunkSize)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(noise)
	must(t, os.WriteFile(filepath.Join(dir, "noise"), noise, 0o644))
	r := testRecipe()
	img, err = Build(t.Context(), Options{CacheDir: cache, Recipe: &r})
	must(t, err)
	return img, cache
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listing describes all files of a tree, but not its root, whose time mke2fs sets.
func listing(t *testing.T, tree string) string {
	t.Helper()
	const script = `cd "$1" && find . -mindepth 1 -printf '%p %y %m %U %G %n %l %Ts\n' | sort`
	out, err := exec.Command("sh", "-c", script, "sh", tree).Output()
	must(t, err)
	return string(out)
}

func quiet(string) {}

// TestExportImport: an image arrives in a folder or by a stream as it was, whatever becomes of the first attempts, and
// an export of the copy has the same chunks.
func TestExportImport(t *testing.T) {
	img, cache := builtForExport(t)
	folder := filepath.Join(t.TempDir(), "out")
	x, err := img.Export(t.Context(), folder)
	must(t, err)
	if read, err := ReadIndex(folder); err != nil || read.ID() != x.ID() || len(x.Chunks) < 5 {
		t.Errorf("%+v, %v", read, err)
	}

	// Two chunks are bad: the error names them, and only they are asked for in the end.
	lost, damaged := chunkFile(folder, x, 1), chunkFile(folder, x, 2)
	must(t, os.Remove(lost))
	must(t, os.WriteFile(damaged, []byte("damaged"), 0o644))
	there := filepath.Join(t.TempDir(), "images")
	var steps []string
	_, err = Import(t.Context(), there, x, FolderSource(folder, x), func(s string) { steps = append(steps, s) })
	if err == nil || fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "2 of ") ||
		!strings.Contains(err.Error(), filepath.Base(lost)) || !strings.Contains(err.Error(), filepath.Base(damaged)) {
		t.Errorf("damaged: %v", err)
	}
	if !slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "chunk 2 is damaged") }) {
		t.Errorf("%q", steps)
	}
	before, err := os.Stat(chunkFile(folder, x, 0))
	must(t, err)
	_, err = img.Export(t.Context(), folder)
	must(t, err)
	if after, err := os.Stat(chunkFile(folder, x, 0)); err != nil || !os.SameFile(before, after) {
		t.Errorf("a chunk that was there is written again: %v", err)
	}
	var asked []int
	source := FolderSource(folder, x)
	watched := func(ctx context.Context, need []int, take func(int, []byte) error) error {
		asked = append(asked, need...)
		return source(ctx, need, take)
	}
	copied, err := Import(t.Context(), there, x, watched, quiet)
	must(t, err)
	if !slices.Equal(asked, []int{1, 2}) {
		t.Errorf("asked for %d", asked)
	}
	if got, want := listing(t, copied.Tree), listing(t, img.Tree); got != want {
		t.Errorf("the copy's tree:\n%s\nthe original:\n%s", got, want)
	}
	must(t, verify(copied))
	must(t, copied.Unchanged())
	if again, err := copied.Index(t.Context()); err != nil || again.ID() != x.ID() {
		t.Errorf("an export of the copy differs: %v", err)
	}
	if got := visible(t, there); !slices.Equal(got, []string{x.Name}) {
		t.Errorf("left: %q", got)
	}
	if st, err := os.Stat(copied.Dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("others can read it: %v, %v", st.Mode(), err)
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if file, _ := os.ReadFile(l); strings.HasPrefix(string(file), there) || strings.HasPrefix(string(file), cache) {
			t.Errorf("a loop device is left: %s", file)
		}
	}
}

// flaky is a connection that damages a byte and breaks after so many.
type flaky struct {
	io.Writer
	left int
	flip int // the byte to damage; none below 0
}

var errBroken = errors.New("the cable was pulled")

func (f *flaky) Write(b []byte) (int, error) {
	if f.flip >= 0 && f.flip < len(b) {
		b = slices.Clone(b)
		b[f.flip] ^= 1
	}
	f.flip -= len(b)
	if f.left -= len(b); f.left < 0 {
		return 0, errBroken
	}
	return f.Writer.Write(b)
}

// TestStream: a damaged chunk is sent anew; after a broken connection only what is missing is sent.
func TestStream(t *testing.T) {
	img, _ := builtForExport(t)
	x, err := img.Index(t.Context())
	must(t, err)
	there := filepath.Join(t.TempDir(), "images")
	transfer := func(limit, flip int) (sent int, disk string, steps []string, sendErr, receiveErr error) {
		t.Helper()
		sr, sw := io.Pipe()
		rr, rw := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, receiveErr = Receive(t.Context(), there, rw, sr, func(s string) { steps = append(steps, s) })
			rw.Close()
			io.Copy(io.Discard, sr)
		}()
		sent, disk, sendErr = img.SendTo(t.Context(), x, &flaky{sw, limit, flip}, rr)
		sw.Close()
		<-done
		return
	}
	const half = 6 << 20
	first, _, _, sendErr, receiveErr := transfer(half, -1)
	if !errors.Is(sendErr, errBroken) || receiveErr == nil ||
		!strings.Contains(receiveErr.Error(), "the connection ended") {
		t.Errorf("broken: %v; %v", sendErr, receiveErr)
	}
	second, disk, steps, sendErr, receiveErr := transfer(1<<40, half)
	must(t, errors.Join(sendErr, receiveErr))
	if disk != x.DiskSHA256 || first < 2 || second >= len(x.Chunks) {
		t.Errorf("sent %d and then %d of %d, disk %s", first, second, len(x.Chunks), disk)
	}
	if !slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "is damaged") }) ||
		!slices.Contains(steps, fmt.Sprintf("copying 1 of %d chunks", len(x.Chunks))) {
		t.Errorf("%q", steps)
	}
	if sent, disk, _, err, _ := transfer(1<<40, -1); err != nil || sent != 0 || disk != x.DiskSHA256 {
		t.Errorf("sent again: %d, %v", sent, err)
	}
}

// TestImportRefuses: indexes that cannot be, and archives which are not what their index says.
func TestImportRefuses(t *testing.T) {
	img, _ := builtForExport(t)
	good, err := img.Index(t.Context())
	must(t, err)
	source := func(x Index) Source {
		return func(ctx context.Context, need []int, take func(int, []byte) error) error {
			return img.Send(ctx, need, func(n int, compressed []byte) error {
				_ = take(n, compressed)
				return nil
			})
		}
	}
	for want, change := range map[string]func(*Index){
		"has format 7":             func(x *Index) { x.Format = 7 },
		"is not the name":          func(x *Index) { x.Name = "../up" },
		"cannot have":              func(x *Index) { x.Size += chunkSize },
		"is not a hash":            func(x *Index) { x.Chunks = slices.Clone(x.Chunks); x.Chunks[3] = "00" },
		"does not match its index": func(x *Index) { x.Name = "other" },
		"with key":                 func(x *Index) { x.Key = strings.Repeat("0", 64) },
		"chunks are missing or dama": func(x *Index) {
			x.Chunks = slices.Clone(x.Chunks)
			x.Chunks[1] = strings.Repeat("0", 64)
		},
	} {
		x := good
		change(&x)
		cache := t.TempDir()
		_, err := Import(t.Context(), cache, x, source(x), quiet)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if list, _ := List(cache); len(list) > 0 {
			t.Errorf("%s: it is in the cache", want)
		}
	}
}

// TestKilledImport: an import that is killed, at any moment, leaves no image or a whole one, no mount and no loop
// device, and the next import completes it.
func TestKilledImport(t *testing.T) {
	img, _ := builtForExport(t)
	folder := filepath.Join(t.TempDir(), "out")
	x, err := img.Export(t.Context(), folder)
	must(t, err)
	there := filepath.Join(t.TempDir(), "images")
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	for n := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestImportHelper$")
		cmd.Env = append(os.Environ(), "TARE_IMPORT_FROM="+folder, "TARE_IMPORT_TO="+there)
		must(t, cmd.Start())
		time.Sleep(time.Duration(n*n) * 4 * time.Millisecond)
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		if list, _ := List(there); len(list) > 0 {
			whole, err := open(list[0].Dir, x.Key)
			must(t, err)
			must(t, errors.Join(verify(whole), whole.Unchanged(), os.RemoveAll(list[0].Dir)))
		}
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if bytes.Contains(after, []byte(there)) {
		t.Errorf("mounted before:\n%s\nand now:\n%s", mounts, after)
	}
	got, err := Import(t.Context(), there, x, FolderSource(folder, x), quiet)
	must(t, err)
	must(t, errors.Join(verify(got), got.Unchanged()))
}

// TestCopyTree: capabilities of files, and other extended attributes, arrive.
func TestCopyTree(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "tree")
	must(t, os.WriteFile(filepath.Join(from, "ping"), []byte("ping"), 0o755))
	for _, name := range []string{"user.one", "user.two"} {
		if err := unix.Lsetxattr(filepath.Join(from, "ping"), name, []byte("kept"), 0); err != nil {
			t.Skipf("this file system has no extended attributes: %v", err)
		}
	}
	must(t, copyTree(t.Context(), from, to))
	for _, name := range []string{"user.one", "user.two"} {
		value := make([]byte, 100)
		if n, err := unix.Lgetxattr(filepath.Join(to, "ping"), name, value); err != nil || string(value[:n]) != "kept" {
			t.Errorf("%s: %q, %v", name, value[:max(n, 0)], err)
		}
	}
}

// TestImportHelper is the process that TestKilledImport kills.
func TestImportHelper(t *testing.T) {
	from := os.Getenv("TARE_IMPORT_FROM")
	if from == "" {
		return // not a test of its own
	}
	x, err := ReadIndex(from)
	must(t, err)
	unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	_, err = Import(t.Context(), os.Getenv("TARE_IMPORT_TO"), x, FolderSource(from, x), quiet)
	must(t, err)
}
