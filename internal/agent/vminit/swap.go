package vminit

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// swapOn makes a swap of a whole device and uses it.
func swapOn(device string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.WriteAt(swapHeader(size, os.Getpagesize()), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("making a swap of %s: %w", device, err)
	}
	path, err := unix.BytePtrFromString(device)
	if err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(path)), 0, 0); e != 0 {
		return fmt.Errorf("using %s as swap: %w", device, e)
	}
	return nil
}

// swapHeader is the first page of a swap of this size in bytes, as mkswap(8) writes it: the kernel's union swap_header
// in include/linux/swap.h.
func swapHeader(size int64, page int) []byte {
	const info = 1024 // after room for a boot loader
	h := make([]byte, page)
	binary.NativeEndian.PutUint32(h[info:], 1)                            // version
	binary.NativeEndian.PutUint32(h[info+4:], uint32(size/int64(page)-1)) // number of the last page
	copy(h[page-len("SWAPSPACE2"):], "SWAPSPACE2")
	return h
}
