package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/volume"
)

// treeOfDisk copies what is on a disk image to a directory that does not exist yet. The mount has no place in any
// directory: it ends with this process, however that ends.
func treeOfDisk(ctx context.Context, disk, tree string) error {
	loop, err := volume.ReadOnly(disk)
	if err != nil {
		return err
	}
	defer loop.Close()
	root, err := mountDetached(loop.Device)
	if err != nil {
		return fault.WithRemedy(fault.Hostf("mounting the image's disk: %w", err),
			"the kernel must have ext4; in a container, tare needs CAP_SYS_ADMIN and loop devices")
	}
	defer root.Close()
	if err := copyTree(ctx, root, tree); err != nil {
		return err
	}
	// mke2fs's own directory is not of the tree.
	st, err := root.Stat()
	if err == nil {
		err = errors.Join(os.Remove(filepath.Join(tree, "lost+found")), os.Chtimes(tree, st.ModTime(), st.ModTime()))
	}
	if err != nil {
		return fault.Hostf("copying the tree: %w", err)
	}
	return nil
}

// mountDetached mounts an ext4 file system, read-only, and returns its root.
func mountDetached(device string) (*os.File, error) {
	sb, err := unix.Fsopen("ext4", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(sb)
	err = errors.Join(unix.FsconfigSetString(sb, "source", device), unix.FsconfigSetFlag(sb, "ro"))
	if err == nil {
		err = unix.FsconfigCreate(sb)
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.Fsmount(sb, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), device), nil
}

// copyTree copies a directory with owners, modes, times, hard links and extended attributes.
func copyTree(ctx context.Context, from *os.File, to string) error {
	return run(ctx, func(string) {}, command{name: "cp", keep: []*os.File{from},
		args: []string{"-a", "--preserve=xattr", "-T", "/proc/self/fd/3/.", to}})
}
