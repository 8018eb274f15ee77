// Package pagecache looks into the host's page cache and empties it: of single files, which nobody else notices, or
// as a whole, which everybody does.
package pagecache

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Evict removes what the page cache holds of a file or block device, except for dirty pages and those that a
// process has mapped.
func Evict(f *os.File) error {
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// DropAll removes everything from the page cache, of all files of the host, and its caches of names and inodes.
// Dirty pages stay. Every program of the host then reads its files from the disks anew.
func DropAll() error { return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0) }

// Resident returns how much of a file is in the page cache, and its size, in bytes. A file in memory has neither,
// since it cannot be evicted.
func Resident(f *os.File) (cached, size int64, err error) {
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
