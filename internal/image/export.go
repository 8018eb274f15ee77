package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tare-bench/tare/internal/fault"
)

// An image travels as a tar archive of its manifest, sums, kernel and disk; the tree is a copy of what is on the disk.
// The archive is cut into chunks, each known by its hash, so that a transfer can go on where it ended, and damage is
// found where it is. The same image makes the same chunks everywhere.

const (
	chunkSize    = 4 << 20
	exportFormat = 1
	indexName    = "index.json"
	chunksName   = "chunks" // directory with a zstd file for each chunk, named by the chunk's hash
)

// Index lists the chunks that an exported image consists of.
type Index struct {
	Format int    `json:"format"`
	Name   string `json:"name"` // of the image's directory
	Key    string `json:"key"`
	// DiskSHA256 tells builds of one recipe apart, whose packages may have other versions.
	DiskSHA256 string `json:"disk_sha256"`
	Size       int64  `json:"size"` // bytes of all chunks, uncompressed
	// Chunks are the SHA-256, in hex, of each 4 MiB of the archive.
	Chunks []string `json:"chunks"`
}

// length is how many bytes a chunk has.
func (x Index) length(chunk int) int { return int(min(chunkSize, x.Size-int64(chunk)*chunkSize)) }

// valid checks an index, which may come from anywhere.
func (x Index) valid() error {
	switch {
	case x.Format != exportFormat:
		return fault.WithRemedy(fault.Campaignf("the exported image has format %d, this tare reads %d", x.Format,
			exportFormat), "use the tare that exported it, or export it again")
	case x.Name == "" || x.Name != filepath.Base(x.Name) || strings.HasPrefix(x.Name, "."):
		return fault.Campaignf("index of the image: %q is not the name of an image", x.Name)
	case x.Size <= 0 || x.Size > 1<<40 || int64(len(x.Chunks)) != (x.Size+chunkSize-1)/chunkSize:
		return fault.Campaignf("index of the image: %d chunks cannot have %d bytes", len(x.Chunks), x.Size)
	}
	for _, c := range x.Chunks {
		if b, err := hex.DecodeString(c); err != nil || len(b) != sha256.Size {
			return fault.Campaignf("index of the image: %q is not a hash", c)
		}
	}
	return nil
}

// ID is the hash of the index as Marshal gives it. It stands for the whole content of the image.
func (x Index) ID() string { return hashOf(x.Marshal()) }

// Marshal returns the index as JSON, which ParseIndex reads.
func (x Index) Marshal() []byte {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return b
}

// ParseIndex reads an index, which may come from anywhere.
func ParseIndex(b []byte) (x Index, err error) {
	if err := json.Unmarshal(b, &x); err != nil {
		return x, fault.Campaignf("index of the image: %w", err)
	}
	return x, x.valid()
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Index returns the image's index. It is an error if the image was changed after it was built. The first call reads the
// whole image and keeps the index beside it; a cache that cannot be written is no error.
func (i *Image) Index(ctx context.Context) (Index, error) {
	x := Index{Format: exportFormat, Name: filepath.Base(i.Dir), Key: i.Key, DiskSHA256: i.Manifest.DiskSHA256}
	if err := i.Unchanged(); err != nil {
		return x, err
	}
	kept, err := ReadIndex(i.Dir)
	if err == nil && kept.Name == x.Name && kept.Key == x.Key && kept.DiskSHA256 == x.DiskSHA256 {
		return kept, nil
	}
	err = i.eachChunk(ctx, func(_ int, data []byte) error {
		x.Size += int64(len(data))
		x.Chunks = append(x.Chunks, hashOf(data))
		return nil
	})
	if err == nil {
		_ = writeIndex(i.Dir, x)
	}
	return x, err
}

func writeIndex(folder string, x Index) error {
	b, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(folder, indexName), append(b, '\n'))
}

// Send calls send for each chunk in need, compressed, in the order of their numbers.
func (i *Image) Send(ctx context.Context, need []int, send func(chunk int, compressed []byte) error) error {
	zw, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	defer zw.Close()
	return i.eachChunk(ctx, func(chunk int, data []byte) error {
		if !slices.Contains(need, chunk) {
			return nil
		}
		return send(chunk, zw.EncodeAll(data, nil))
	})
}

// Export writes the image to a folder, which Import reads. Chunks that are there already and undamaged stay, so an
// interrupted export is repeated to complete it.
func (i *Image) Export(ctx context.Context, folder string) (Index, error) {
	x, err := i.Index(ctx)
	if err != nil {
		return x, err
	}
	if err := os.MkdirAll(filepath.Join(folder, chunksName), 0o755); err != nil {
		return x, fault.Hostf("export: %w", err)
	}
	var need []int
	for n := range x.Chunks {
		compressed, err := os.ReadFile(chunkFile(folder, x, n))
		if err == nil {
			_, err = x.unpack(n, compressed)
		}
		if err != nil {
			need = append(need, n)
		}
	}
	err = i.Send(ctx, need, func(n int, compressed []byte) error {
		return writeAtomic(chunkFile(folder, x, n), compressed)
	})
	if err != nil {
		return x, fault.Hostf("export: %w", err)
	}
	if err := writeIndex(folder, x); err != nil {
		return x, fault.Hostf("export: %w", err)
	}
	return x, nil
}

func chunkFile(folder string, x Index, n int) string {
	return filepath.Join(folder, chunksName, x.Chunks[n]+".zst")
}

// unpack returns the content of a chunk, or an error if it is damaged.
func (x Index) unpack(chunk int, compressed []byte) ([]byte, error) {
	data, err := Unpack(x.Chunks[chunk], compressed)
	if err != nil {
		return nil, fmt.Errorf("chunk %d is damaged: %w", chunk, err)
	}
	if len(data) != x.length(chunk) {
		return nil, fmt.Errorf("chunk %d is damaged: it has %d bytes, not %d", chunk, len(data), x.length(chunk))
	}
	return data, nil
}

// Unpack returns the content of a compressed chunk, or an error if it does not have this hash.
func Unpack(hash string, compressed []byte) ([]byte, error) {
	zr, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(chunkSize))
	if err != nil {
		return nil, err
	}
	defer zr.Close()
	data, err := zr.DecodeAll(compressed, nil)
	if err != nil {
		return nil, err
	}
	if got := hashOf(data); got != hash {
		return nil, fmt.Errorf("%d bytes with hash %.12s, not %.12s", len(data), got, hash)
	}
	return data, nil
}

// eachChunk calls f for each chunk of the archive in turn; the bytes are valid until it returns.
func (i *Image) eachChunk(ctx context.Context, f func(chunk int, data []byte) error) error {
	c := &chunker{f: f}
	w := tar.NewWriter(c)
	err := i.archive(ctx, w)
	if err == nil {
		err = errors.Join(w.Close(), c.flush())
	}
	if err != nil {
		return fault.Hostf("reading the image %s: %w", filepath.Base(i.Dir), err)
	}
	return nil
}

// chunker cuts what is written to it.
type chunker struct {
	f    func(int, []byte) error
	n    int
	part bytes.Buffer
}

func (c *chunker) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		take := min(len(b), chunkSize-c.part.Len())
		c.part.Write(b[:take])
		b = b[take:]
		if c.part.Len() == chunkSize {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (c *chunker) flush() error {
	if c.part.Len() == 0 {
		return nil
	}
	err := c.f(c.n, c.part.Bytes())
	c.n++
	c.part.Reset()
	return err
}

// archive writes what travels of the image.
func (i *Image) archive(ctx context.Context, w *tar.Writer) error {
	sums, err := portableSums(i.Dir)
	if err != nil {
		return err
	}
	h := &tar.Header{Name: sumsName, Mode: 0o644, Size: int64(len(sums)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if _, err := w.Write(sums); err != nil {
		return err
	}
	for _, part := range []string{"manifest.json", "kernel", "disk.ext4"} {
		err := filepath.WalkDir(filepath.Join(i.Dir, part), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return archiveFile(w, i.Dir, path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// archiveFile writes a file as it will be after an import, so that an export of the copy has the same chunks.
func archiveFile(w *tar.Writer, dir, path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	link := ""
	if st.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(st, link)
	if err != nil {
		return err
	}
	if h.Name, err = filepath.Rel(dir, path); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeBlock { // a machine may get the disk image as a disk
		h.Typeflag = tar.TypeReg
		if h.Size, err = diskSize(path); err != nil {
			return err
		}
	}
	h = &tar.Header{
		Typeflag: h.Typeflag, Name: h.Name, Linkname: h.Linkname, Size: h.Size, Mode: h.Mode & 0o777,
		ModTime: st.ModTime().Truncate(time.Second), Format: tar.FormatPAX,
	}
	if st.IsDir() {
		h.ModTime = time.Unix(0, 0)
	}
	if err := w.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(w, f, h.Size)
	return err
}
