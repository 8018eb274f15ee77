package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree is a root directory with programs that are not the host's.
type Tree struct {
	Root string // a mount point
	// Dirs are directories of the host that programs see at the same paths in the tree; those that the host lacks are
	// left out.
	Dirs []string
}

// enter makes the tree the root of this process's mount namespace, which must be its own.
func (t Tree) enter() error {
	copies := map[string]int{}
	defer func() {
		for _, fd := range copies {
			unix.Close(fd)
		}
	}()
	// Before any is mounted, so that no copy contains another. Each once: what a mount covers would still be there.
	for _, dir := range t.Dirs {
		if _, copied := copies[dir]; copied || t.within(dir) {
			continue
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copying the mounts of %s: %w", dir, err)
		}
		copies[dir] = fd
	}
	for dir, fd := range copies {
		at, err := t.mountPoint(dir)
		if err == nil {
			err = unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
		if err != nil {
			return fmt.Errorf("mounting %s in %s: %w", dir, t.Root, err)
		}
	}
	return pivot(t.Root)
}

// within reports whether dir is below another of the directories.
func (t Tree) within(dir string) bool {
	for _, d := range t.Dirs {
		if strings.HasPrefix(dir, d+"/") {
			return true
		}
	}
	return false
}

// mountPoint makes the directory of the tree that a directory of the host is mounted on. Links such as /lib are
// followed in the tree.
func (t Tree) mountPoint(dir string) (string, error) {
	at := t.Root
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		next := filepath.Join(at, part)
		if target, err := os.Readlink(next); err == nil {
			if filepath.IsAbs(target) {
				next = filepath.Join(t.Root, target)
			} else {
				next = filepath.Join(at, target)
			}
		}
		if err := os.Mkdir(next, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		at = next
	}
	return at, nil
}
