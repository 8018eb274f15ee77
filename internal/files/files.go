// Package files writes files as a whole, and identifies them by their content.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// part begins the name of a file that is being written, and of a directory of Scratch. Its owner holds a lock on it.
const part = ".tare-part-"

// Replace puts what write writes in the place of the file at path: all of it or nothing. Errors of
// write are returned as they are. A write that must outlive a power loss ends with f.Sync. Replace also
// removes what writers that were killed have left in the folder.
func Replace(path string, mode fs.FileMode, write func(f *os.File) error) error {
	dir := filepath.Dir(path)
	Clean(dir)
	f, held, err := create(dir)
	if err != nil {
		return fault.Hostf("%w", err)
	}
	defer held.Close()
	defer os.Remove(f.Name()) // if it still has this name
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	err = errors.Join(f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fault.Hostf("%w", err)
	}
	return nil
}

// Scratch makes a directory below dir for what only this process needs, and removes those that killed processes have
// left there. The caller calls remove.
func Scratch(dir string) (path string, remove func() error, err error) {
	Clean(dir)
	held, err := hold(func() (string, error) {
		path, err = os.MkdirTemp(dir, part+"*")
		return path, err
	})
	if err != nil {
		return "", nil, fault.Hostf("%w", err)
	}
	return path, func() error {
		err := os.RemoveAll(path)
		held.Close()
		return err
	}, nil
}

// create makes a file with a name of its own in a folder. It is locked until held is closed.
func create(dir string) (f, held *os.File, err error) {
	held, err = hold(func() (string, error) {
		if f != nil {
			f.Close()
		}
		if f, err = os.CreateTemp(dir, part+"*"); err != nil {
			return "", err
		}
		return f.Name(), nil
	})
	if err != nil && f != nil {
		f.Close()
	}
	return f, held, err
}

// hold makes a file or directory with a name that no other has, and locks it until held is closed.
func hold(make func() (name string, err error)) (held *os.File, err error) {
	for {
		name, err := make()
		if err != nil {
			return nil, err
		}
		// A file system without locks has no leftovers that can be recognized.
		if held, err = os.Open(name); err == nil && lock(held) != unix.EWOULDBLOCK && named(held) {
			return held, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			os.RemoveAll(name)
			return nil, err
		}
		held.Close() // until it had the lock, it looked like a leftover, and was removed
	}
}

// Clean removes from a folder what killed processes have left of Replace and Scratch.
func Clean(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // the next writer removes what is not found
	for _, name := range names {
		if !strings.HasPrefix(name, part) {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if lock(f) == nil {
			os.RemoveAll(f.Name())
		}
		f.Close()
	}
}

func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// named reports whether a file still has its name.
func named(f *os.File) bool {
	is, err := os.Stat(f.Name())
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(is, st)
}

// Sum returns the SHA-256 of a file in hex.
func Sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
