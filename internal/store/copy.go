package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// openCopy opens a run whose writer was killed. The journal beside it must be rolled
// back, which is writing, so it reads a copy. The copy is removed from its directory
// as soon as it is open.
func openCopy(ctx context.Context, path string) (_ *Run, err error) {
	if !hasJournal(path) {
		return nil, fault.Campaignf("%s has no journal", path)
	}
	dir, lock, err := makeCopyDir()
	if err != nil {
		return nil, fault.Hostf("a directory for a copy of %s: %w", path, err)
	}
	defer lock.Close()
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "run")
	for _, suffix := range []string{"", journal} {
		if err := copyFile(ctx, copied+suffix, path+suffix); err != nil {
			err := fault.Hostf("%s: its last writer was killed, and what that had begun cannot be undone in a copy: %w", path,
				err)
			return nil, fault.WithRemedy(err, "tare resume %s", path)
		}
	}
	if err := checkJournal(copied + journal); err != nil {
		return nil, err
	}
	if err := rollBack(ctx, copied); err != nil {
		return nil, err
	}
	format, err := checkHeader(copied)
	if err != nil {
		return nil, err
	}
	r, err := openChecked(ctx, copied, "ro", format)
	if err != nil {
		return nil, err
	}
	r.path = path
	return r, nil
}

func copyFile(ctx context.Context, to, from string) error {
	in, err := openRegular(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), ctx.Err())
}

// copyPrefix begins the names of directories for copies. A reader locks its directory as long as it uses it, so a
// directory without a lock is one whose reader was killed.
const copyPrefix = "tare-read-"

// makeCopyDir makes a directory for a copy, and locks it. The caller removes it and closes the lock.
func makeCopyDir() (dir string, lock *os.File, err error) {
	for {
		dir, err := os.MkdirTemp("", copyPrefix)
		if err != nil {
			return "", nil, err
		}
		lock, err := lockCopyDir(dir)
		switch {
		case err == nil:
			return dir, lock, nil
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EWOULDBLOCK): // it was taken for an abandoned one
			continue
		}
		os.Remove(dir)
		return "", nil, err
	}
}

// lockCopyDir locks a directory for a copy. The error is unix.EWOULDBLOCK if its reader is alive, and fs.ErrNotExist
// if the directory is gone.
func lockCopyDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil { // its reader may have removed it before it released the lock
		_, err = os.Lstat(dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// AbandonedCopies returns the directories, below the one for temporary files, of copies whose readers were killed.
func AbandonedCopies() []string {
	var dirs []string
	eachAbandoned(func(dir string) { dirs = append(dirs, dir) })
	return dirs
}

// RemoveAbandonedCopies removes what AbandonedCopies returns.
func RemoveAbandonedCopies() error {
	var errs []error
	eachAbandoned(func(dir string) {
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fault.Hostf("%w", err))
		}
	})
	return errors.Join(errs...)
}

// eachAbandoned calls f with each directory of an abandoned copy, which is locked meanwhile. A directory that cannot be
// locked may belong to a living reader.
func eachAbandoned(f func(dir string)) {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), copyPrefix+"*"))
	for _, dir := range dirs {
		if lock, err := lockCopyDir(dir); err == nil {
			f(dir)
			lock.Close()
		}
	}
}
