package volume

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/pagecache"
)

// Evict writes what is dirty to the device, and then removes what the host's page cache holds of the volume, of no
// other files. mounted is where the host has mounted it; "": nowhere. stays is the share of the data that is still
// cached, 0 to 1; it is 1 if the device caches in a way that cannot be emptied for it alone. What is on the volume
// is a guest's.
func (v *Volume) Evict(mounted string) (stays float64, err error) {
	device, err := os.Open(v.Device)
	if err != nil {
		return 0, fault.Hostf("data volume: %w", err)
	}
	defer device.Close()
	e := eviction{}
	if mounted != "" && v.FS != model.NoFS { // what is mounted then is a directory in memory
		if err := e.tree(mounted); err != nil {
			return 0, fault.Hostf("emptying the page cache of %s: %w", mounted, err)
		}
	}
	st, err := device.Stat()
	if err != nil {
		return 0, fault.Hostf("data volume: %w", err)
	}
	if err := device.Sync(); err != nil {
		return 0, fault.Hostf("flushing %s: %w", v.Device, err)
	}
	switch {
	case st.Mode().IsRegular():
		err = e.file(device)
	case !v.Direct: // the file behind the loop device is cached, and has no name any more
		return 1, nil
	default:
		err = pagecache.Evict(device)
	}
	if err != nil {
		return 0, fault.Hostf("emptying the page cache of %s: %w", v.Device, err)
	}
	if e.size == 0 {
		return 0, nil
	}
	return float64(e.cached) / float64(e.size), nil
}

// eviction sums up files whose pages were evicted, in bytes.
type eviction struct{ cached, size int64 }

func (e *eviction) file(f *os.File) error {
	if err := pagecache.Evict(f); err != nil {
		return err
	}
	cached, size, err := pagecache.Resident(f)
	e.cached, e.size = e.cached+cached, e.size+size
	return err
}

// tree evicts all regular files of a mounted file system, none outside of it.
func (e *eviction) tree(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	top, err := root.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	if err := unix.Syncfs(int(top.Fd())); err != nil {
		return err
	}
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed in the meantime
			return nil
		case err != nil || !entry.Type().IsRegular():
			return err
		}
		// Reading the attributes must not change them, and nothing may wait for a FIFO.
		f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOATIME, 0)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) {
				return nil
			}
			return err
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			return err
		}
		return e.file(f)
	})
}
