package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// sumsName is the file of an image with a line for each of its files: the SHA-256 of the content, and what the file
// system says of it.
const sumsName = "sums"

// parts are what guests use of an image. Directories of the tree are listed for their owner and mode; that
// something is new in one shows by its own line.
var parts = []string{"tree", "disk.ext4", "kernel"}

// libvirtRoot is the directory that libvirt makes in the root of a container while it starts, and leaves there if it is
// killed. While it is empty, it is no change of the image.
const libvirtRoot = "tree/.oldroot"

// entry is a line of that file.
type entry struct {
	sum    string // SHA-256 of a regular file in hex, or the target of a link
	access string // type and mode, owner, group, device number
	change string // size and the times of the last changes of content and inode; "" for directories
}

// Unchanged returns an error that names the changed files unless the tree, the disk and the kernel are as they were
// built. It reads only files whose size or times differ from those on record, so it takes a fraction of a second. A
// file cannot be changed without a new ctime, which only somebody who sets the host's clock can choose.
//
// The first call for an image without a record, built by an older tare, records it as it is. A tree that is a read-only
// file system needs none.
func (i *Image) Unchanged() error {
	var st unix.Statfs_t
	if err := unix.Statfs(i.Tree, &st); err == nil && st.Flags&unix.ST_RDONLY != 0 {
		return nil
	}
	was, err := readSums(i.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return recordSums(i.Dir)
	}
	if err != nil {
		return damaged(i.Dir, err)
	}
	is, err := i.compare(was)
	if err != nil {
		return damaged(i.Dir, err)
	}
	if is == nil {
		return nil
	}
	// Only times differ, as after the image was copied.
	return writeSums(i.Dir, is)
}

// compare returns an error for changed files, and new sums if only times have changed.
func (i *Image) compare(was map[string]entry) (map[string]entry, error) {
	var changed []string
	is, touched := map[string]entry{}, false
	err := walkParts(i.Dir, func(path string, e entry) error {
		before, there := was[path]
		switch {
		case !there:
			changed = append(changed, path+" is new")
			return nil
		case e.change == before.change && e.access == before.access:
			e.sum = before.sum
		case e.access != before.access:
			changed = append(changed, path+" has another owner or mode")
		default:
			var err error
			if e.sum, err = contentSum(filepath.Join(i.Dir, path)); err != nil {
				return err
			}
			if e.sum != before.sum {
				changed = append(changed, path+" has other content")
			}
			touched = true
		}
		is[path] = e
		return nil
	})
	if err != nil {
		return nil, err
	}
	for path := range was {
		if _, there := is[path]; !there {
			changed = append(changed, path+" is missing")
		}
	}
	if len(changed) > 0 {
		const show = 5
		slices.Sort(changed)
		text := strings.Join(changed[:min(show, len(changed))], ", ")
		if more := len(changed) - show; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return nil, fmt.Errorf("it was changed after it was built: %s", text)
	}
	if !touched {
		return nil, nil
	}
	return is, nil
}

// recordSums writes the sums of the image in dir.
func recordSums(dir string) error {
	is := map[string]entry{}
	err := walkParts(dir, func(path string, e entry) (err error) {
		e.sum, err = contentSum(filepath.Join(dir, path))
		is[path] = e
		return err
	})
	if err != nil {
		return fault.Hostf("checksums of the image: %w", err)
	}
	return writeSums(dir, is)
}

// walkParts calls f for each file of the image in dir, with its path there and an entry without the sum.
func walkParts(dir string, f func(path string, e entry) error) error {
	for _, part := range parts {
		err := filepath.WalkDir(filepath.Join(dir, part), func(path string, d fs.DirEntry, err error) error {
			if path == filepath.Join(dir, libvirtRoot) && d != nil && d.IsDir() && emptyOrGone(path) {
				return fs.SkipDir
			}
			if err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return &fs.PathError{Op: "lstat", Path: path, Err: err}
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			e := entry{access: fmt.Sprintf("%o %d %d %d", st.Mode, st.Uid, st.Gid, st.Rdev)}
			if !d.IsDir() {
				e.change = fmt.Sprintf("%d %d.%09d %d.%09d", st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
			}
			return f(rel, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func emptyOrGone(dir string) bool {
	found, err := os.ReadDir(dir)
	return len(found) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// contentSum returns the SHA-256 of a regular file, the target of a link, and "" for all else.
func contentSum(path string) (string, error) {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case st.Mode().IsRegular():
		return files.Sum(path)
	case st.Mode()&fs.ModeSymlink != 0:
		return os.Readlink(path)
	}
	return "", nil
}

func writeSums(dir string, is map[string]entry) error {
	if err := writeAtomic(filepath.Join(dir, sumsName), formatSums(is)); err != nil {
		return fault.Hostf("checksums of the image: %w", err)
	}
	return nil
}

func formatSums(is map[string]entry) []byte {
	var b bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(is)) {
		e := is[path]
		fmt.Fprintf(&b, "%q\t%s\t%s\t%q\n", e.sum, e.access, e.change, path)
	}
	return b.Bytes()
}

// portableSums are the sums of an image without the times, which are of one machine: a comparison of the image with
// them reads every file.
func portableSums(dir string) ([]byte, error) {
	is, err := readSums(dir)
	if err != nil {
		return nil, err
	}
	for path, e := range is {
		if e.change != "" {
			e.change = "of another machine"
			is[path] = e
		}
	}
	return formatSums(is), nil
}

func readSums(dir string) (map[string]entry, error) {
	f, err := os.Open(filepath.Join(dir, sumsName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	was := map[string]entry{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		if len(words) != 4 {
			return nil, fmt.Errorf("%s: %q is not a line of sums", sumsName, lines.Text())
		}
		sum, err := strconv.Unquote(words[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", sumsName, words[0], err)
		}
		path, err := strconv.Unquote(words[3])
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", sumsName, words[3], err)
		}
		was[path] = entry{sum: sum, access: words[1], change: words[2]}
	}
	return was, lines.Err()
}
