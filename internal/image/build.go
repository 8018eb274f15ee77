package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tare-bench/tare/internal/container"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

const (
	tempPrefix = ".build-" // directories of unfinished builds
	lockName   = ".lock"   // held while building
)

// Tests replace these.
var (
	needBytes int64 = 4 << 30 // disk space for a build at its largest, with slack
	geteuid         = os.Geteuid
)

// Options are where and what to build.
type Options struct {
	CacheDir string
	Recipe   *Recipe // nil: Base()
	// Container and Kernel are what an image with Recipe.Container is made of: the container image, and the image whose
	// kernel it gets.
	Container *container.Image
	Kernel    *Image
	Step      func(string) // gets each step of a build as it begins; may be nil
}

// Build returns the recipe's image, and builds it first if the cache does not have it. A build
// needs root, a Debian mirror and some minutes. Concurrent builds wait for each other. A build that
// fails or is cancelled leaves nothing behind; the next build removes what a killed one has left.
func Build(ctx context.Context, o Options) (*Image, error) {
	if o.Recipe == nil {
		base := Base()
		o.Recipe = &base
	}
	r := *o.Recipe
	step := o.Step
	if step == nil {
		step = func(string) {}
	}
	if img, err := OpenRecipe(o.CacheDir, r); err == nil {
		return img, nil
	}
	if geteuid() != 0 {
		return nil, fault.WithRemedy(fault.Hostf("building the image needs root"), "run the command with sudo")
	}
	if err := needTools(); err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(o.CacheDir)
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	lock, err := lockCache(ctx, cache, step)
	if err != nil {
		return nil, err
	}
	defer lock.Close()

	// Another build may have made it in the meantime.
	img, err := OpenRecipe(cache, r)
	if err == nil {
		return img, nil
	}
	dir := filepath.Join(cache, r.dirName())
	if !errors.Is(err, ErrNotBuilt) {
		step("building again: " + err.Error())
		if err := removeTree(dir); err != nil {
			return nil, err
		}
	}
	if err := removeLeftovers(cache); err != nil {
		return nil, err
	}
	if err := checkSpace(cache, r); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(cache, tempPrefix)
	if err == nil && r.Container == nil {
		err = os.Chmod(temp, 0o755) // apt downloads as another user
	}
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	log, err := os.Create(filepath.Join(cache, logName))
	if err != nil {
		return nil, errors.Join(fault.Hostf("image cache: %w", err), removeTree(temp))
	}
	defer log.Close()
	if err := buildIn(ctx, temp, o, step, log, lock); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w\n  everything that the build printed is in %s", err, log.Name())
		}
		return nil, errors.Join(err, removeTree(temp))
	}
	if err := publish(temp, dir); err != nil {
		return nil, errors.Join(fault.Hostf("image cache: %w", err), removeTree(temp))
	}
	return OpenRecipe(cache, r)
}

// publish gives a complete image its name. After a power loss it is there as a whole or not at all.
// From then on it is closed to other users: the tree has programs that run as root no matter who
// starts them.
func publish(temp, dir string) error {
	if err := os.Chmod(temp, 0o700); err != nil {
		return err
	}
	if err := syncFS(temp); err != nil { // before the rename makes it valid
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	cache, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer cache.Close()
	return cache.Sync()
}

// logName is the file in the cache with what the last build printed.
const logName = "build.log"

// buildIn builds a complete image in dir. What its tools print goes to the log file.
func buildIn(ctx context.Context, dir string, o Options, begin func(string), file io.Writer, lock *os.File) error {
	r := *o.Recipe
	log := func(line string) { fmt.Fprintln(file, line) }
	step := func(text string) {
		log("== " + text)
		begin(text)
	}
	start := time.Now()
	key := r.Key()
	tree, disk := filepath.Join(dir, "tree"), filepath.Join(dir, "disk.ext4")

	version, err := "", error(nil)
	if r.Container != nil {
		step("unpacking the container image")
		version, err = takeContainer(ctx, o, tree, filepath.Join(dir, "kernel"))
	} else {
		version, err = takePackages(ctx, dir, r, step, log, lock)
	}
	if err != nil {
		return err
	}
	step("writing the disk image")
	if err := makeDisk(ctx, log, tree, disk, key); err != nil {
		return err
	}
	sum, err := files.Sum(disk)
	if err != nil {
		return fault.Hostf("disk image: %w", err)
	}
	st, err := os.Stat(disk)
	if err != nil {
		return fault.Hostf("disk image: %w", err)
	}
	pkgs, err := readPackages(tree, r.Container != nil)
	if err != nil {
		return err
	}
	took := time.Since(start)
	m, err := json.MarshalIndent(Manifest{
		Format: formatVersion, Key: key, Recipe: r, KernelVersion: version, Packages: pkgs,
		Built: start.UTC().Truncate(time.Second), BuildSeconds: took.Round(time.Second).Seconds(),
		DiskBytes: st.Size(), DiskSHA256: sum,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), append(m, '\n'), 0o644); err != nil {
		return fault.Hostf("image: %w", err)
	}
	if err := recordSums(dir); err != nil {
		return err
	}
	if _, err := open(dir, key); err != nil {
		return err
	}
	step(fmt.Sprintf("built in %s", took.Round(time.Second)))
	return nil
}

// takePackages makes the tree of Debian's packages in dir, and takes the kernel out of its package.
func takePackages(ctx context.Context, dir string, r Recipe, step, log func(string), lock *os.File) (string, error) {
	tree, debs, kernel := filepath.Join(dir, "tree"), filepath.Join(dir, "debs"), filepath.Join(dir, "kernel")
	step("installing the packages")
	if err := bootstrap(ctx, log, r, tree, debs, lock); err != nil {
		return "", err
	}
	for _, b := range r.OwnBuilds {
		if err := b.copyInto(ctx, tree); err != nil {
			return "", err
		}
	}
	for _, p := range r.Programs {
		if err := p.writeInto(tree); err != nil {
			return "", err
		}
	}
	version, err := "", os.Mkdir(kernel, 0o755)
	if err != nil {
		return "", fault.Hostf("kernel: %w", err)
	}
	if r.Kernel != "" {
		step("unpacking the kernel")
		if version, err = takeKernel(ctx, debs, kernel); err != nil {
			return "", err
		}
	}
	if r.Source != "" {
		step(fmt.Sprintf("splitting the kernel source into %d pieces", r.Pieces))
		if err := splitSource(ctx, debs, r, filepath.Join(tree, SourcePath)); err != nil {
			return "", err
		}
	}
	return version, removeTree(debs)
}

// splitSource splits the archive in the source package into the pieces.
func splitSource(ctx context.Context, debs string, r Recipe, dir string) error {
	found, err := filepath.Glob(filepath.Join(debs, r.Source+"_*.deb"))
	if err != nil || len(found) != 1 {
		return fault.Hostf("kernel source: no package %s was downloaded", r.Source)
	}
	unpacked := filepath.Join(debs, "source")
	nop := func(string) {}
	if err := run(ctx, nop, command{name: "dpkg-deb", args: []string{"-x", found[0], unpacked}}); err != nil {
		return err
	}
	archive := filepath.Join(unpacked, "usr/src", r.Source+".tar.xz")
	err = splitTar(ctx, func() (io.ReadCloser, error) {
		return pipe(ctx, nil, "xz", "-dc", "-T0", archive)
	}, r.Pieces, dir)
	if err != nil && fault.KindOf(err) != fault.Host {
		return explain(fmt.Errorf("kernel source: %w", err), nil)
	}
	return err
}

// lockCache waits until no other build works in the cache. The caller closes the result to unlock.
func lockCache(ctx context.Context, cache string, step func(string)) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(cache, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fault.Hostf("image cache: lock %s: %w", f.Name(), err)
		}
		if !told {
			step("waiting for another build in " + cache)
			told = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// removeLeftovers removes what killed builds have left. The caller must hold the lock.
func removeLeftovers(cache string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return fault.Hostf("image cache: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			if err := removeTree(filepath.Join(cache, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSpace(cache string, r Recipe) error {
	needBytes := needBytes
	if len(r.Setups) > 0 { // their data is in the tree and on the disk
		needBytes *= 2
	}
	return freeFor(cache, needBytes, "building the image")
}

// Cached is an image directory in the cache.
type Cached struct {
	Dir      string
	Manifest Manifest // zero if the directory is damaged
}

// List returns the images in the cache, oldest first.
func List(cacheDir string) ([]Cached, error) {
	found, err := filepath.Glob(filepath.Join(cacheDir, "*", "manifest.json"))
	if err != nil {
		return nil, fault.Hostf("image cache: %w", err)
	}
	var list []Cached
	for _, f := range found {
		if dir := filepath.Dir(f); !strings.HasPrefix(filepath.Base(dir), tempPrefix) {
			m, _ := readManifest(dir)
			list = append(list, Cached{Dir: dir, Manifest: m})
		}
	}
	slices.SortStableFunc(list, func(a, b Cached) int { return a.Manifest.Built.Compare(b.Manifest.Built) })
	return list, nil
}
