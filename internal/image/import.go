package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tare-bench/tare/internal/fault"
)

// importPrefix begins the names of directories of unfinished imports. They stay, so that an import can go on.
const importPrefix = ".import-"

// A Source delivers the chunks in need: it calls take for each of them. take refuses a damaged one by an error, after
// which the source may go on with others.
type Source func(ctx context.Context, need []int, take func(chunk int, compressed []byte) error) error

// Rounds is how often Import asks its source for what is missing.
const rounds = 3

// Import makes the image of an index from its chunks. It needs root and loop devices, but none of the tools of a build.
// If the cache has this image, nothing is asked of the source, and the image may be another build of the recipe: its
// Manifest.DiskSHA256 tells. An import that ends early goes on with the chunks that had arrived when it is repeated.
// Anyone who can choose the content of an image is root on this machine: its programs run in native guests.
func Import(ctx context.Context, cacheDir string, x Index, source Source, step func(string)) (*Image, error) {
	if err := x.valid(); err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(cacheDir)
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	final := filepath.Join(cache, x.Name)
	if img, err := open(final, x.Key); err == nil {
		return img, nil
	}
	if geteuid() != 0 {
		return nil, fault.WithRemedy(fault.Hostf("importing an image needs root"), "run the command with sudo")
	}
	lock, err := lockCache(ctx, cache, step)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	img, err := open(final, x.Key)
	if err == nil {
		return img, nil
	}
	if _, statErr := os.Stat(final); statErr == nil {
		step("importing again: " + err.Error())
		if err := removeTree(final); err != nil {
			return nil, err
		}
	}
	temp := filepath.Join(cache, importPrefix+x.ID()[:12])
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	if err := freeFor(cache, 3*x.Size, "importing the image"); err != nil { // archive, disk and tree
		return nil, err
	}
	archive := filepath.Join(temp, "archive")
	if err := receive(ctx, archive, x, source, step); err != nil {
		return nil, err
	}
	dir := filepath.Join(temp, "image")
	if err := removeTree(dir); err != nil {
		return nil, err
	}
	step("unpacking")
	if err := unpackArchive(ctx, archive, dir, x); err != nil {
		return nil, errors.Join(err, removeTree(temp)) // its chunks were right: the export is bad
	}
	if err := publish(dir, final); err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	if err := removeTree(temp); err != nil {
		return nil, err
	}
	return open(final, x.Key)
}

// receive completes the archive with the chunks that it lacks.
func receive(ctx context.Context, archive string, x Index, source Source, step func(string)) error {
	f, err := os.OpenFile(archive, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fault.Hostf("image cache: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(x.Size); err != nil {
		return fault.Hostf("image cache: %w", err)
	}
	missing, err := lacks(ctx, f, x)
	if err != nil {
		return err
	}
	var damaged error
	for round := 0; len(missing) > 0 && round < rounds; round++ {
		damaged = nil
		step(fmt.Sprintf("copying %d of %d chunks", len(missing), len(x.Chunks)))
		asked := map[int]bool{}
		for _, n := range missing {
			asked[n] = true
		}
		err := source(ctx, missing, func(n int, compressed []byte) error {
			if !asked[n] {
				return fmt.Errorf("chunk %d was not asked for", n)
			}
			data, err := x.unpack(n, compressed)
			if err != nil {
				step(err.Error())
				damaged = errors.Join(damaged, err)
				return err
			}
			if _, err := f.WriteAt(data, int64(n)*chunkSize); err != nil {
				return fault.Hostf("image cache: %w", err)
			}
			delete(asked, n)
			return nil
		})
		if err != nil {
			return fault.WithRemedy(fault.Hostf("importing the image: %w", err),
				"repeat the command: the chunks that have arrived are kept")
		}
		still := missing[:0]
		for _, n := range missing {
			if asked[n] {
				still = append(still, n)
			}
		}
		missing = still
	}
	if len(missing) > 0 {
		return fault.WithRemedy(fault.Hostf("importing the image: %d of %d chunks are missing or damaged: %s", len(missing),
			len(x.Chunks), x.names(missing)), "export these again and repeat the command: the others are kept")
	}
	return nil
}

// names lists the files of chunks, of many only the first.
func (x Index) names(chunks []int) string {
	const show = 3
	var words []string
	for _, n := range chunks[:min(show, len(chunks))] {
		words = append(words, fmt.Sprintf("%d (%s/%s.zst)", n, chunksName, x.Chunks[n]))
	}
	text := strings.Join(words, ", ")
	if more := len(chunks) - show; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// lacks returns the chunks that an archive does not have: it believes only what it reads.
func lacks(ctx context.Context, archive io.ReaderAt, x Index) ([]int, error) {
	missing := []int{}
	buf := make([]byte, chunkSize)
	for n, want := range x.Chunks {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b := buf[:x.length(n)]
		if _, err := archive.ReadAt(b, int64(n)*chunkSize); err != nil {
			return nil, fault.Hostf("image cache: %w", err)
		}
		if hashOf(b) != want {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// unpackArchive makes a complete image in dir and checks all of it against its manifest and sums.
func unpackArchive(ctx context.Context, archive, dir string, x Index) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fault.Hostf("image cache: %w", err)
	}
	if err := extract(ctx, archive, dir); err != nil {
		return fault.Hostf("unpacking the image: %w", err)
	}
	m, err := readManifest(dir)
	if err != nil {
		return fault.Hostf("unpacking the image: %w", err)
	}
	if m.Key != x.Key || m.Recipe.Key() != x.Key || m.Recipe.dirName() != x.Name || m.DiskSHA256 != x.DiskSHA256 {
		return fault.WithRemedy(fault.Campaignf("the exported image does not match its index: it is %s with key %.12s",
			m.Recipe.dirName(), m.Key), "export it again")
	}
	if err := treeOfDisk(ctx, filepath.Join(dir, "disk.ext4"), filepath.Join(dir, "tree")); err != nil {
		return err
	}
	img, err := open(dir, x.Key)
	if err != nil {
		return err
	}
	return img.Unchanged() // the sums have no times, so it reads all files
}

// extract unpacks an archive. Nothing in it can reach beyond dir.
func extract(ctx context.Context, archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(f); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractFile(root, h, r); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func extractFile(root *os.Root, h *tar.Header, content io.Reader) error {
	mode := fs.FileMode(h.Mode & 0o777)
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(h.Name, 0o700); err != nil {
			return err
		}
		return root.Chmod(h.Name, mode)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, h.Name)
	case tar.TypeReg:
	default:
		return fmt.Errorf("an image has no file of type %q", h.Typeflag)
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return root.Chtimes(h.Name, h.ModTime, h.ModTime)
}

// ReadIndex reads the index of an exported folder.
func ReadIndex(folder string) (x Index, err error) {
	b, err := os.ReadFile(filepath.Join(folder, indexName))
	if err != nil {
		return x, fault.WithRemedy(fault.Campaignf("%w", err), "name a folder that tare image export has written")
	}
	if x, err = ParseIndex(b); err != nil {
		return x, fault.Campaignf("%s: %w", filepath.Join(folder, indexName), err)
	}
	return x, nil
}

// FolderSource takes chunks from an exported folder. Those that are not there are left out.
func FolderSource(folder string, x Index) Source {
	return func(ctx context.Context, need []int, take func(int, []byte) error) error {
		for _, n := range need {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			compressed, err := os.ReadFile(chunkFile(folder, x, n))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			_ = take(n, compressed) // Import names what is damaged
		}
		return nil
	}
}

// freeFor returns an error unless the file system of dir has so many bytes free.
func freeFor(dir string, bytes int64, what string) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return fault.Hostf("image cache: %w", err)
	}
	if free := int64(st.Bavail) * st.Bsize; free < bytes {
		return fault.WithRemedy(fault.Hostf("%s has %.1f GB free, %s needs %.1f", dir, float64(free)/1e9, what,
			float64(bytes)/1e9), "free some space, or put the image cache on another disk")
	}
	return nil
}
