package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/host/procfs"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// cacheState is what the host's page cache held before a start, and what its disks had read until then.
type cacheState struct {
	share   float64 // of the files that the start reads
	known   bool
	read    int64 // bytes
	counted bool
}

// readCache looks which share of the files that a start of these guests reads is in the page cache.
func (r *runner) readCache(members []*member) (c cacheState, err error) {
	u := r.Host.Userland
	if u == nil {
		return c, nil
	}
	files := programFiles(u)
	if machine := members[0].guest.machine; machine != nil && !machine.Driver.Capabilities().HostMount {
		files = []string{u.Kernel, u.Initramfs, u.BareInitramfs}
	}
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

// add adds the probes about the page cache to the values of a trial that is over.
func (c cacheState) add(v map[string]float64) {
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

// programFiles are the files of the userland that the program of a start is loaded from.
func programFiles(u *system.Userland) []string {
	files := []string{filepath.Join(u.Tree, "usr/bin/true")}
	for _, pattern := range []string{"ld-linux*.so*", "libc.so.6"} {
		found, _ := filepath.Glob(filepath.Join(u.Tree, "usr/lib/*-linux-gnu", pattern)) // the pattern is well formed
		files = append(files, found...)
	}
	return files
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
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)), uintptr(unsafe.Pointer(&state[0])))
	if e != 0 {
		return e
	}
	return nil
}
