package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tare-bench/tare/internal/fault"
)

// takeKernel moves the kernel that the bootstrap's hook unpacked in debs to the directory dir, and
// returns its version.
func takeKernel(ctx context.Context, debs, dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(debs, "version"))
	if err != nil {
		return "", fault.Hostf("kernel: %w", err)
	}
	version := strings.TrimSpace(string(b))
	from := filepath.Join(debs, "kernel")
	modules := filepath.Join("usr/lib/modules", version)
	if _, err := os.Stat(filepath.Join(from, modules)); err != nil {
		modules = filepath.Join("lib/modules", version)
	}
	for old, name := range map[string]string{"boot/vmlinuz-" + version: "vmlinuz", modules: "modules"} {
		if err := os.Rename(filepath.Join(from, old), filepath.Join(dir, name)); err != nil {
			return "", fault.Hostf("kernel: %w", err)
		}
	}
	for _, link := range []string{"build", "source"} { // dangling
		_ = os.Remove(filepath.Join(dir, "modules", link))
	}
	return version, writeVmlinux(ctx, filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "vmlinux"))
}

// GuestModules are the modules that a guest needs to find its disks, its network and its agent's
// channel on virtio or Xen, to mount its file systems, and to return memory. Those that are built
// into a kernel are not loaded.
var GuestModules = []string{
	// crc32c first: file systems need it, but do not list it as a dependency.
	"crc32c_generic", "ext4",
	"virtio_pci", "virtio_blk", "virtio_console", "virtio_net", "virtio_rng", "virtio_balloon",
	"xen_blkfront", "xen_netfront", "xfs",
}

var errNoModule = errors.New("there is no module")

// ModuleFiles returns the files of the named modules and their dependencies, in the order in which
// they must be loaded.
func (i *Image) ModuleFiles(names ...string) ([]string, error) {
	files, err := moduleOrder(os.DirFS(i.Modules), names)
	if err != nil {
		if errors.Is(err, errNoModule) {
			return nil, fault.WithRemedy(fault.Campaignf("the kernel of the image, %s: %w", i.KernelVersion, err),
				"use Debian's kernel for all machines: image: {kernel: generic} in the campaign")
		}
		return nil, fault.Hostf("kernel %s: %w", i.KernelVersion, err)
	}
	for n, f := range files {
		files[n] = filepath.Join(i.Modules, f)
	}
	return files, nil
}

// moduleOrder reads modules.dep and modules.builtin in a directory of modules.
func moduleOrder(dir fs.FS, names []string) ([]string, error) {
	dep, err := fs.ReadFile(dir, "modules.dep")
	if err != nil {
		return nil, err
	}
	builtin, err := fs.ReadFile(dir, "modules.builtin")
	if err != nil {
		return nil, err
	}
	deps, files := map[string][]string{}, map[string]string{}
	for line := range strings.Lines(string(dep)) {
		file, needs, ok := strings.Cut(line, ":")
		if ok {
			files[moduleName(file)] = file
			deps[file] = strings.Fields(needs)
		}
	}
	inKernel := map[string]bool{}
	for line := range strings.Lines(string(builtin)) {
		inKernel[moduleName(strings.TrimSpace(line))] = true
	}

	var order []string
	state := map[string]int{} // 1 while its dependencies are added, 2 when done
	var add func(file string) error
	add = func(file string) error {
		switch state[file] {
		case 1:
			return fmt.Errorf("module %s depends on itself", moduleName(file))
		case 2:
			return nil
		}
		state[file] = 1
		for _, d := range deps[file] {
			if err := add(d); err != nil {
				return err
			}
		}
		state[file] = 2
		order = append(order, file)
		return nil
	}
	for _, name := range names {
		name = moduleName(name)
		switch file, ok := files[name]; {
		case ok:
			if err := add(file); err != nil {
				return nil, err
			}
		case !inKernel[name]:
			return nil, fmt.Errorf("%w %s", errNoModule, name)
		}
	}
	return order, nil
}

// moduleName returns a module's name as the kernel prints it.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}
