package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	if err := copyTree(ctx, fmt.Sprintf("/proc/self/fd/%d", root.Fd()), tree); err != nil {
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

// lostAndFound is mke2fs's own directory on the disk, which is not of the tree.
const lostAndFound = "lost+found"

// copyTree copies a directory with owners, modes, times, hard links and extended attributes. It runs on machines that
// have only busybox, whose cp does not keep all of these.
func copyTree(ctx context.Context, from, to string) error {
	links := map[uint64]string{} // by inode
	var dirs []string
	err := filepath.WalkDir(from+"/.", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if rel == lostAndFound {
			return fs.SkipDir
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &fs.PathError{Op: "lstat", Path: rel, Err: err}
		}
		at := filepath.Join(to, rel)
		if d.IsDir() {
			dirs = append(dirs, rel) // times are set when they are complete
		} else if st.Nlink > 1 {
			if first, there := links[st.Ino]; there {
				return os.Link(first, at)
			}
			links[st.Ino] = at
		}
		if err := copyNode(path, at, &st); err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		return copyAttributes(path, at, &st)
	})
	if err != nil {
		return err
	}
	for _, rel := range dirs {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(from, rel), &st); err != nil {
			return err
		}
		if err := setTimes(filepath.Join(to, rel), &st); err != nil {
			return err
		}
	}
	return nil
}

// copyNode makes a file with its content, but without its attributes.
func copyNode(from, to string, st *unix.Stat_t) error {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return os.Mkdir(to, 0o700)
	case unix.S_IFLNK:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case unix.S_IFREG:
		return copyFile(from, to)
	default:
		return unix.Mknod(to, st.Mode, int(st.Rdev))
	}
}

// copyAttributes sets owner, mode, extended attributes and times, in the order in which none undoes another.
func copyAttributes(from, to string, st *unix.Stat_t) error {
	if err := unix.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
		return &fs.PathError{Op: "chown", Path: to, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
			return &fs.PathError{Op: "chmod", Path: to, Err: err}
		}
	}
	names := make([]byte, 64<<10) // the most that the kernel returns
	n, err := unix.Llistxattr(from, names)
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		return &fs.PathError{Op: "listxattr", Path: from, Err: err}
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:max(n, 0)]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(from, name, value)
		if err == nil {
			err = unix.Lsetxattr(to, name, value[:n], 0)
		}
		if err != nil {
			return fmt.Errorf("%s: extended attribute %s: %w", to, name, err)
		}
	}
	return setTimes(to, st)
}

func setTimes(path string, st *unix.Stat_t) error {
	times := []unix.Timespec{st.Mtim, st.Mtim}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "utimes", Path: path, Err: err}
	}
	return nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
