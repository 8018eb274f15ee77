package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/files"
)

// writeTar writes an archive such as linux-source's: directories first, files of different sizes,
// some of them empty, and links. It returns the names of its files and links.
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
		s, err := files.Sum(filepath.Join(dir, pieceName(1)))
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
	if err := splitTar(t.Context(), opener(ok.Bytes()), 4, filepath.Join(t.TempDir(), "gone")); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("no directory to write to: %v", err)
	}
}
