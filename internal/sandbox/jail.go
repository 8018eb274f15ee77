package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Jail confines a process that serves a guest and could be taken over by it, such as a VMM. It runs as a user without
// privileges and sees, besides programs and libraries of the host or of the tools tree, only the files and devices
// listed here, at their own paths. It has its own process IDs, its own IPC and, if Enter names no other, a network
// without any interface.
type Jail struct {
	User    uint32   // user and group; no process or file of the host should belong to them
	Read    []string // files, directories and devices to read
	Write   []string // files to read and write; they are given to User
	Devices []string // devices to read and write; there are new nodes for them, which belong to User
}

// programs are the directories of programs and libraries, and what the dynamic linker needs.
var programs = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives",
}

// cloneflags are the namespaces that the process is created in.
func (j *Jail) cloneflags(net string) uintptr {
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if net == "" {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// enter moves the calling process, which must be the first of its namespaces, into the jail. programs is the tree with
// the programs; nil: they are the host's. The caller must have locked its thread, and only that thread may execute the
// program.
func (j *Jail) enter(programs *Tree) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separating its mounts: %w", err)
	}
	root := filepath.Join(Dir(), "jail")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("jail", root, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return err
	}
	from := ""
	if programs != nil {
		from = programs.Root
	}
	if err := j.furnish(root, from); err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	return j.become()
}

// pivot makes a mount point the root of this process's mount namespace, and removes the old root from it: a process
// could leave a chroot.
func pivot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// With the old root over the new one, unmounting the old leaves the new (pivot_root(2)).
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root to %s: %w", root, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting the host's files: %w", err)
	}
	return os.Chdir("/")
}

// furnish makes the files of the jail in the directory root, with the programs below from.
func (j *Jail) furnish(root, from string) error {
	for dir, mode := range map[string]os.FileMode{"dev": 0o755, "proc": 0o755, "tmp": 0o777 | os.ModeSticky} {
		if err := os.Mkdir(filepath.Join(root, dir), mode); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(root, dir), mode); err != nil { // despite the umask
			return err
		}
	}
	const quiet = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", quiet, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	for _, path := range programs {
		source := filepath.Join("/", from, path)
		target, err := os.Readlink(source)
		switch {
		case err == nil:
			err = os.Symlink(target, filepath.Join(root, path))
		case exists(source):
			err = bindAt(source, filepath.Join(root, path), unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	for _, path := range j.Read {
		st, err := os.Stat(path)
		switch {
		case err != nil:
		case st.Mode()&os.ModeDevice != 0:
			err = j.node(path, root, 0o400)
		case !exists(filepath.Join(root, path)): // not among the programs
			err = bindBelow(root, path, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
		}
		if err != nil {
			return err
		}
	}
	for _, path := range j.Write {
		if err := os.Chown(path, int(j.User), int(j.User)); err != nil {
			return err
		}
		if err := bindBelow(root, path, quiet); err != nil {
			return err
		}
	}
	for _, path := range append([]string{"/dev/null", "/dev/zero", "/dev/urandom"}, j.Devices...) {
		if err := j.node(path, root, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// node makes the device node in the jail that a path of the host leads to, with this mode.
func (j *Jail) node(path, root string, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if err := unix.Mknod(at, st.Mode&unix.S_IFMT|mode, int(st.Rdev)); err != nil {
		return fmt.Errorf("%s: making a device node: %w", path, err)
	}
	return os.Chown(at, int(j.User), int(j.User))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// bindBelow makes a file or directory of the host appear below root at its own path.
func bindBelow(root, path string, flags uintptr) error {
	return bindAt(path, filepath.Join(root, path), flags)
}

// bindAt makes a file or directory appear at another path, where it makes a file or directory to mount it on.
func bindAt(path, at string, flags uintptr) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		err = os.MkdirAll(at, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(at), 0o755); err == nil {
		err = os.WriteFile(at, nil, 0o666)
	}
	if err != nil {
		return err
	}
	return Bind(path, at, flags)
}

// Bind makes the file or directory source appear at the path at, where there is one of its kind, with flags of mount(2)
// such as MS_RDONLY. Nothing is mounted after an error. The caller unmounts it.
func Bind(source, at string, flags uintptr) error {
	if err := unix.Mount(source, at, "", unix.MS_BIND, ""); err != nil {
		return fault.Hostf("mounting %s at %s: %w", source, at, err)
	}
	if flags&^unix.MS_BIND == 0 {
		return nil
	}
	// The first call ignores flags.
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
		unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		return fault.Hostf("changing the mount of %s at %s: %w", source, at, err)
	}
	return nil
}

// UnmountBelow unmounts everything below dir, no matter what mounted it.
func UnmountBelow(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return fault.Hostf("mounts below %s: %w", dir, err)
	}
	for _, m := range slices.Backward(mounts) { // in the order in which they were mounted
		if m.Mountpoint == dir {
			continue
		}
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fault.Hostf("unmounting %s: %w", m.Mountpoint, err)
		}
	}
	return nil
}

// become gives up root. No program that the process executes gets privileges again.
func (j *Jail) become() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	// Package syscall's functions change all threads.
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(int(j.User), int(j.User), int(j.User)); err != nil {
		return err
	}
	if err := syscall.Setresuid(int(j.User), int(j.User), int(j.User)); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
