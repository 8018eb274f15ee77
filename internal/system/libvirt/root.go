package libvirt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// While libvirt starts a container, it makes this directory in the container's root, which is the tree that all guests
// share, and mounts the new root below it. It stays there if libvirt is killed meanwhile.
const oldRoot = ".oldroot"

// lockRoot locks a tree of containers: shared while one starts, or exclusively, which does not wait. Closing the file
// unlocks the tree.
func lockRoot(tree string, how int) (*os.File, error) {
	f, err := os.Open(tree)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fault.Hostf("locking %s: %w", tree, err)
		}
	}
}

// cleanRoot removes what libvirt has left in the tree. If a container is being started, it leaves that to the
// container's end: removing the directory would unmount the container's root.
func cleanRoot(tree string) error {
	lock, err := lockRoot(tree, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := os.Remove(filepath.Join(tree, oldRoot)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Hostf("what libvirt has left: %w", err)
	}
	return nil
}
