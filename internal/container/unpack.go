package container

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/containerd/containerd/v2/pkg/archive"

	"github.com/tare-bench/tare/internal/fault"
)

// maxEntries bounds the files of all layers.
const maxEntries = 5_000_000

// Unpack writes the image's file system into an empty directory, layer over layer, with owners, modes, extended
// attributes and hard links. Device nodes are left out: every system brings its own. Each layer must have the digest
// that the configuration names, and all of them together at most limit bytes. Needs root.
func (i *Image) Unpack(ctx context.Context, dir string, limit int64) error {
	left := bounds{read: limit, written: limit, entries: maxEntries, limit: limit}
	for n, layer := range i.layers {
		r, err := layer.Uncompressed()
		if err == nil {
			err = apply(ctx, dir, r, i.content[n].Hex, &left)
			err = errors.Join(err, r.Close())
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fault.Campaignf("layer %d of %d: %w", n+1, len(i.layers), err)
		}
	}
	return nil
}

// bounds are how much more layers may have: bytes of their tar files, and of files, which are more where files are
// sparse.
type bounds struct {
	read, written, limit int64
	entries              int
}

// errBomb: an image is larger than it may be.
var errBomb = errors.New("the image unpacks to more than there is room for")

func (b *bounds) exceeded() error { return fmt.Errorf("%w: more than %d bytes", errBomb, b.limit) }

// apply unpacks one layer, whose tar file must have the SHA-256 sum.
func apply(ctx context.Context, dir string, r io.Reader, sum string, left *bounds) error {
	hash := sha256.New()
	bounded := &boundedReader{r: io.TeeReader(r, hash), left: left}
	_, err := archive.Apply(ctx, dir, bounded, archive.WithFilter(func(h *tar.Header) (bool, error) {
		if left.entries--; left.entries < 0 {
			return false, fmt.Errorf("%w: more than %d files", errBomb, maxEntries)
		}
		if left.written -= h.Size; left.written < 0 {
			return false, left.exceeded()
		}
		return h.Typeflag != tar.TypeChar && h.Typeflag != tar.TypeBlock, nil
	}))
	if err == nil {
		_, err = io.Copy(io.Discard, bounded) // what follows the end of the archive belongs to the sum
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return fault.Campaignf("it is damaged: its digest is %s instead of %s", got, sum)
	}
	return nil
}

// boundedReader reads at most what is left.
type boundedReader struct {
	r    io.Reader
	left *bounds
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left.read -= int64(n); b.left.read < 0 {
		return 0, b.left.exceeded()
	}
	return n, err
}
