package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tare-bench/tare/internal/container"
	"github.com/tare-bench/tare/internal/fault"
)

// Container is the container image whose files are the tree.
type Container struct {
	ID     string           `json:"id"` // see [container.Image]
	Config container.Config `json:"config"`
}

// OfContainer is the recipe of the image whose tree is a container image, with the kernel of Base.
func OfContainer(c Container) Recipe {
	b := Base()
	return Recipe{Name: "container", Suite: "oci", Arch: b.Arch, Kernel: b.Kernel, Container: &c}
}

// takeContainer makes the tree of a container image, and copies the kernel of the base image.
func takeContainer(ctx context.Context, o Options, tree, kernel string) (version string, err error) {
	if o.Container == nil || o.Kernel == nil || o.Container.ID != o.Recipe.Container.ID {
		return "", fault.Hostf("the container image %s is needed to build this image", o.Recipe.Container.ID)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(tree), &st); err != nil {
		return "", fault.Hostf("container image: %w", err)
	}
	// There is room for the tree, for the disk with the same files, and for the rest of the host.
	limit := (int64(st.Bavail)*st.Bsize - needBytes/4) / 2
	if err := os.Mkdir(tree, 0o755); err != nil {
		return "", fault.Hostf("container image: %w", err)
	}
	if err := o.Container.Unpack(ctx, tree, limit); err != nil {
		return "", err
	}
	if err := addMountPoints(tree, o.Container.Config.Volumes); err != nil {
		return "", fault.Hostf("container image: %w", err)
	}
	for _, p := range o.Recipe.Programs {
		if err := p.writeInto(tree); err != nil {
			return "", err
		}
	}
	if err := copyTree(ctx, filepath.Dir(o.Kernel.Kernel), kernel); err != nil {
		return "", fault.Hostf("kernel: %w", err)
	}
	return o.Kernel.KernelVersion, nil
}

// mountPoints are what drivers expect in every tree.
var mountPoints = map[string]os.FileMode{
	DataPath: 0o755, "proc": 0o555, "sys": 0o555, "dev": 0o755, "dev/shm": os.ModeSticky | 0o777, "dev/pts": 0o755,
	"tmp": os.ModeSticky | 0o777, "run": 0o755, "var/tmp": os.ModeSticky | 0o777,
}

// addMountPoints adds to a tree, perhaps a stranger's, the mount points and files that every driver expects. What is in
// their places and is no directory, such as a link that leads out of the tree, goes.
func addMountPoints(tree string, volumes []string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for dir, mode := range mountPoints {
		dir = strings.TrimPrefix(dir, "/")
		if err := mkdirs(root, dir); err != nil {
			return err
		}
		if err := root.Chmod(dir, mode); err != nil {
			return err
		}
	}
	for v, at := range linked(root, volumes) {
		if err := mkdirs(root, filepath.Dir(v)); err != nil {
			return err
		}
		if err := root.RemoveAll(v); err != nil {
			return err
		}
		if err := root.Symlink(filepath.Join(DataPath, at), v); err != nil {
			return err
		}
	}
	// nspawn takes a tree without /usr for none, and would make /root and these links in it.
	for _, dir := range []string{"etc", "usr", "root"} {
		if err := mkdirs(root, dir); err != nil {
			return err
		}
	}
	for _, dir := range []string{"bin", "lib", "sbin"} {
		of := filepath.Join("usr", dir)
		st, err := root.Lstat(of)
		if err != nil || !st.IsDir() {
			continue
		}
		if _, err := root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			if err := root.Symlink(of, dir); err != nil {
				return err
			}
		}
	}
	files := map[string]string{
		"etc/hostname": "tare\n", "etc/hosts": "127.0.0.1 localhost tare\n::1 localhost\n", "etc/resolv.conf": "",
		strings.TrimPrefix(AgentPath, "/"): "",
	}
	for file, text := range files {
		if err := root.RemoveAll(file); err != nil {
			return err
		}
		if err := root.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return root.Chmod(strings.TrimPrefix(AgentPath, "/"), 0o755)
}

// linked are the volumes of a container image that are kept on the data volume, each with its directory there. A volume
// in which the image has files stays in the tree, which is read-only.
func linked(root *os.Root, volumes []string) map[string]string {
	all := map[string]string{}
	for n, v := range volumes {
		v = strings.TrimPrefix(v, "/")
		inner := slices.ContainsFunc(append(volumes[:n:n], DataPath), func(outer string) bool {
			return v == "" || strings.HasPrefix("/"+v+"/", outer+"/")
		})
		if d, err := root.OpenFile(v, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			some, _ := d.Readdirnames(1)
			d.Close()
			inner = inner || len(some) > 0
		}
		if !inner {
			all[v] = VolumeDir(n)
		}
	}
	return all
}

// VolumeDir is the directory on the data volume for volume n of a container image.
func VolumeDir(n int) string { return fmt.Sprintf(".volumes/%d", n) }

// mkdirs makes a directory and those above it, and replaces what is none.
func mkdirs(root *os.Root, dir string) error {
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = filepath.Join(at, part)
		st, err := root.Lstat(at)
		if err == nil && st.IsDir() {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			if err := root.Remove(at); err != nil {
				return err
			}
		}
		if err := root.Mkdir(at, 0o755); err != nil {
			return err
		}
	}
	return nil
}
