package probe

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
)

// PageCache is what the host's page cache held at an instant, and what its disks had read until then.
type PageCache struct {
	share   float64 // of some files, 0..1
	known   bool
	read    int64 // bytes
	counted bool
}

// ReadPageCache looks which share of these files is in the page cache. Files that do not exist do not count.
func ReadPageCache(files []string) (c PageCache, err error) {
	var cached, all int64
	for _, file := range files {
		n, size, err := resident(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, fault.Hostf("what the page cache holds of %s: %w", file, err)
		}
		cached, all = cached+n, all+size
	}
	if all > 0 {
		c.share, c.known = float64(cached)/float64(all), true
	}
	c.read, c.counted = diskRead()
	return c, nil
}

// Add adds the probes about the page cache to the values of a trial that began then and is over.
func (c PageCache) Add(v map[string]float64) {
	if c.known {
		v[model.ProbeCached] = c.share
	}
	if now, ok := diskRead(); ok && c.counted {
		v[model.ProbeDiskRead] = float64(now - c.read)
	}
}

// diskRead is how much the host has read from its disks since it was booted, in bytes.
func diskRead() (bytes int64, ok bool) {
	b, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, false
	}
	kib, ok := procfs.Counters(string(b))["pgpgin"]
	return kib << 10, ok
}

// resident returns how much of a file is in the page cache, and its size, in bytes. A file in memory has
// neither, since it cannot be dropped.
func resident(path string) (cached, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var at unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &at); err != nil || at.Type == unix.TMPFS_MAGIC {
		return 0, 0, err
	}
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return 0, 0, err
	}
	pages, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Munmap(pages)
	page := int64(os.Getpagesize())
	state := make([]byte, (st.Size()+page-1)/page)
	if err := mincore(pages, state); err != nil {
		return 0, 0, err
	}
	for _, s := range state {
		cached += int64(s&1) * page
	}
	return min(cached, st.Size()), st.Size(), nil
}

// mincore sets the lowest bit of each byte of state whose page is in memory.
func mincore(pages, state []byte) error {
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)),
		uintptr(unsafe.Pointer(&state[0])))
	if e != 0 {
		return e
	}
	return nil
}
