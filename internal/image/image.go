// Package image builds the one userland that every arm runs: a Debian tree with the workloads'
// tools, the same tree as a disk image, and a kernel with an initramfs for guests that boot their
// own.
//
// An image is built once from a [Recipe] and kept in a cache directory under the recipe's key. It
// is either complete or absent: a build works in a temporary directory beside it, which it renames
// at the end. Nothing changes an image afterwards, except for the initramfs files that
// [Image.Initramfs] adds; drivers use the tree and the disk read-only, for many guests at a time.
//
//	CACHE/bookworm-base-0123456789ab/
//	    manifest.json         recipe, package versions, sizes
//	    tree/                 the root file system
//	    tree/opt/tare/kernel  the kernel source in pieces, see MANIFEST there
//	    disk.ext4             the same tree as an ext4 file system, no journal
//	    sums                  SHA-256, owner, mode and times of all of this, see Unchanged
//	    kernel/vmlinuz        Debian's cloud kernel
//	    kernel/vmlinux        the same, uncompressed, where it could be had
//	    kernel/modules/       its modules, with modules.dep
//	    initramfs/            one file for each agent and set of modules
package image

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// AgentPath is an empty file in the tree over which the agent's program is bind-mounted. DataPath
// is an empty directory for the data volume.
const (
	AgentPath = "/tare-agent"
	DataPath  = "/data"
	// SourcePath is the directory in the tree that holds the pieces of the kernel source.
	SourcePath = "/opt/tare/kernel"
)

// ErrNotBuilt is in the chain of Open's error if the cache does not have the image.
var ErrNotBuilt = errors.New("the image is not built yet")

// Manifest is the build's record, in manifest.json.
type Manifest struct {
	Format        int               `json:"format"`
	Key           string            `json:"key"`
	Recipe        Recipe            `json:"recipe"`
	KernelVersion string            `json:"kernel_version"`
	Packages      map[string]string `json:"packages"`
	Built         time.Time         `json:"built"`
	BuildSeconds  float64           `json:"build_seconds"`
	DiskBytes     int64             `json:"disk_bytes"`
	DiskSHA256    string            `json:"disk_sha256"`
}

// Image is a complete image in the cache. Its paths are absolute.
type Image struct {
	Dir           string // contains everything below
	Key           string
	Tree          string // root file system directory; use it read-only
	Disk          string // ext4 image; use it read-only
	Kernel        string // vmlinuz
	Vmlinux       string // uncompressed kernel, or "" if there is none
	KernelVersion string // as uname -r prints it; "" without a kernel
	Modules       string // directory that contains modules.dep
	Manifest      Manifest
}

// Open returns the image of the base recipe if the cache has it. It is fast: it checks that files
// exist and have the right size, and does not read them.
func Open(cacheDir string) (*Image, error) { return OpenRecipe(cacheDir, Base()) }

// OpenRecipe is Open for another recipe.
func OpenRecipe(cacheDir string, r Recipe) (*Image, error) {
	cacheDir, err := filepath.Abs(cacheDir)
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	dir := filepath.Join(cacheDir, r.dirName())
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fault.WithRemedy(fault.Hostf("%w (looked for %s)", ErrNotBuilt, dir), "build it, as root")
	}
	return open(dir, r.Key())
}

// OpenKey is Open for the image with this key, whatever its recipe.
func OpenKey(cacheDir, key string) (*Image, error) {
	cacheDir, err := filepath.Abs(cacheDir)
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	list, err := List(cacheDir)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.Manifest.Key == key {
			return open(c.Dir, key)
		}
	}
	return nil, fault.WithRemedy(fault.Hostf("%w (looked for %.12s in %s)", ErrNotBuilt, key, cacheDir),
		"build it, as root")
}

func open(dir, key string) (*Image, error) {
	img := &Image{
		Dir: dir, Key: key,
		Tree:    filepath.Join(dir, "tree"),
		Disk:    filepath.Join(dir, "disk.ext4"),
		Kernel:  filepath.Join(dir, "kernel", "vmlinuz"),
		Vmlinux: filepath.Join(dir, "kernel", "vmlinux"),
		Modules: filepath.Join(dir, "kernel", "modules"),
	}
	m, err := readManifest(dir)
	if err != nil {
		return nil, damaged(dir, err)
	}
	img.Manifest, img.KernelVersion = m, m.KernelVersion
	if _, err := os.Stat(img.Vmlinux); err != nil {
		img.Vmlinux = ""
	}
	if err := img.check(); err != nil {
		return nil, damaged(dir, err)
	}
	return img, nil
}

func damaged(dir string, err error) error {
	return fault.WithRemedy(fault.Hostf("image %s is damaged: %w", dir, err),
		"remove that directory and build the image again")
}

func readManifest(dir string) (Manifest, error) {
	var m Manifest
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("manifest.json: %w", err)
	}
	return m, nil
}

// check checks that the image is complete, without reading whole files.
func (i *Image) check() error {
	m := i.Manifest
	if m.Key != i.Key || m.Recipe.Key() != i.Key {
		return errors.New("manifest.json belongs to another recipe")
	}
	size, err := diskSize(i.Disk)
	if err != nil {
		return err
	}
	if size != m.DiskBytes {
		return fmt.Errorf("disk.ext4 has %d bytes, the manifest says %d", size, m.DiskBytes)
	}
	need := []string{filepath.Join(i.Tree, AgentPath)}
	if m.Recipe.Kernel != "" {
		need = append(need, i.Kernel, filepath.Join(i.Modules, "modules.dep"))
	}
	for n := range m.Recipe.Pieces {
		need = append(need, filepath.Join(i.Tree, SourcePath, pieceName(n)))
	}
	for _, p := range need {
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	if missing := i.MissingTools([]string{"sh", "bash"}); len(missing) > 0 && m.Recipe.Container == nil {
		return fmt.Errorf("the tree has no %s", strings.Join(missing, ", "))
	}
	return nil
}

// diskSize returns the size of a file, or of a block device: a machine may get the disk image as a
// disk.
func diskSize(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Seek(0, io.SeekEnd)
}

// readPackages returns the versions of the packages installed in a tree, from its own dpkg status; bare: it may have
// none.
func readPackages(tree string, bare bool) (map[string]string, error) {
	root, err := os.OpenRoot(tree) // links of a container image may lead out of it
	if err != nil {
		return nil, fault.Hostf("packages of the image: %w", err)
	}
	defer root.Close()
	f, err := root.OpenFile("var/lib/dpkg/status", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil && bare {
		return nil, nil // a container image need not have Debian's packages
	}
	if err != nil {
		return nil, fault.Hostf("packages of the image: %w", err)
	}
	defer f.Close()
	pkgs := map[string]string{}
	var name, version, status string
	flush := func() {
		if name != "" && strings.HasSuffix(status, " installed") {
			pkgs[name] = version
		}
		name, version, status = "", "", ""
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		if line == "" {
			flush()
			continue
		}
		switch field, value, _ := strings.Cut(line, ": "); field {
		case "Package":
			name = value
		case "Version":
			version = value
		case "Status":
			status = value
		}
	}
	flush()
	return pkgs, sc.Err()
}

// MissingTools returns those of names that are not programs in the tree, in the given order. A name
// with a slash is a path in the tree.
func (i *Image) MissingTools(names []string) []string {
	var missing []string
	for _, name := range names {
		found := false
		if strings.Contains(name, "/") {
			found = files.IsProgram(i.Tree, name)
		} else {
			for _, dir := range files.ProgramDirs {
				found = found || files.IsProgram(i.Tree, filepath.Join(dir, name))
			}
		}
		if !found {
			missing = append(missing, name)
		}
	}
	return missing
}
