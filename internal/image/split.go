package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// manifestHead is the first line of the pieces' MANIFEST; it explains the others.
const manifestHead = "# piece, entries that tar creates (files and links; directories are not counted), bytes of the " +
	"files unpacked\n"

// piece is one part of a split archive: a tar archive that can be unpacked alone.
type piece struct {
	n       int
	entries int
	bytes   int64
	raw     bytes.Buffer
}

func pieceName(n int) string { return fmt.Sprintf("%03d.tar.gz", n) }

// splitTar splits the tar archive that open returns into count archives with about the same number
// of unpacked bytes, in the archive's order, and writes them to dir with a MANIFEST. It reads the
// archive twice, the first time for its size, and keeps only a few pieces in memory.
//
// The pieces have no entries for directories: tar creates those that the files need. Therefore the
// number of entries is the number of files and links that a piece creates.
func splitTar(ctx context.Context, open func() (io.ReadCloser, error), count int, dir string) error {
	var total int64
	err := eachEntry(ctx, open, func(h *tar.Header, _ io.Reader) error {
		total += h.Size
		return nil
	})
	if err != nil {
		return err
	}
	if total == 0 {
		return errors.New("the archive has no files")
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan *piece)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) { // a piece takes about 20 MB of memory
		workers.Go(func() {
			for p := range jobs {
				if err := writePiece(p, dir); err != nil {
					cancel(err)
				}
			}
		})
	}

	lines := make([]string, 0, count)
	var cur *piece
	var tw *tar.Writer
	finish := func() error {
		if cur == nil {
			return nil
		}
		if err := tw.Close(); err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%03d %d %d\n", cur.n, cur.entries, cur.bytes))
		jobs <- cur
		return nil
	}
	var seen, begin int64 // bytes before this entry, and before this piece
	err = eachEntry(ctx, open, func(h *tar.Header, r io.Reader) error {
		// A piece ends when it has its share of what was left at its start, counted to the middle
		// of the next entry. A file larger than that is a piece by itself, and the others share the
		// rest.
		if left := count - len(lines); cur == nil || left > 1 && seen+h.Size/2-begin > (total-begin)/int64(left) &&
			cur.bytes > 0 {
			if err := finish(); err != nil {
				return err
			}
			begin = seen
			cur = &piece{n: len(lines)}
			tw = tar.NewWriter(&cur.raw)
		}
		seen += h.Size
		cur.entries++
		cur.bytes += h.Size
		if err := tw.WriteHeader(plainHeader(h)); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		_, err := io.Copy(tw, r)
		return err
	})
	if err == nil {
		err = finish()
	}
	close(jobs)
	workers.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if len(lines) != count {
		return fmt.Errorf("the archive makes only %d of %d pieces", len(lines), count)
	}
	return os.WriteFile(filepath.Join(dir, "MANIFEST"), []byte(manifestHead+strings.Join(lines, "")), 0o644)
}

// eachEntry calls f for all entries of the archive except directories.
func eachEntry(ctx context.Context, open func() (io.ReadCloser, error), f func(*tar.Header, io.Reader) error) error {
	rc, err := open()
	if err != nil {
		return err
	}
	defer rc.Close()
	for tr := tar.NewReader(rc); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := tr.Next()
		if err == io.EOF {
			if _, err := io.Copy(io.Discard, rc); err != nil { // padding after the end
				return err
			}
			return rc.Close()
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeSymlink:
			if err := f(h, tr); err != nil {
				return err
			}
		case tar.TypeDir, tar.TypeXGlobalHeader:
		default: // a hard link's target may be in another piece
			return fmt.Errorf("%s: entries of type %q cannot be split", h.Name, h.Typeflag)
		}
	}
}

// plainHeader keeps only what a source file needs, so that the pieces depend on nothing else.
func plainHeader(h *tar.Header) *tar.Header {
	return &tar.Header{
		Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname,
		Size: h.Size, Mode: h.Mode, ModTime: h.ModTime,
		Uname: "root", Gname: "root",
	}
}

func writePiece(p *piece, dir string) error {
	f, err := os.Create(filepath.Join(dir, pieceName(p.n)))
	if err != nil {
		return err
	}
	defer f.Close()
	zw, err := gzip.NewWriterLevel(f, 6)
	if err != nil {
		return err
	}
	if _, err := p.raw.WriteTo(zw); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	return f.Close()
}
