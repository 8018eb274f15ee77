package volume

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// newLoop creates a volume on a loop device over an unlinked file, so that both
// disappear with their last user.
func newLoop(s Spec) (*Volume, error) {
	f, err := newFile(s)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the loop device holds the file
	defer os.Remove(f.Name())
	return attach(f, s.Bytes, 0)
}

// NewSwap creates a volume of this size in bytes, in directory dir, on which a guest's kernel makes its swap. It is on
// a loop device, whatever the guest's data is on. The caller closes it.
func NewSwap(dir string, bytes int64) (*Volume, error) { return newLoop(Spec{Dir: dir, Bytes: bytes}) }

// ReadOnly attaches a file to a read-only loop device, for systems that do not
// accept files as disks. The caller closes it.
func ReadOnly(file string) (*Volume, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	defer f.Close() // the loop device holds the file
	st, err := f.Stat()
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return attach(f, st.Size(), unix.LO_FLAGS_READ_ONLY)
}

// newFile creates a file of the volume's size in its directory. The caller closes
// and removes it.
func newFile(s Spec) (*os.File, error) {
	f, err := os.CreateTemp(s.Dir, "volume-*")
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	// Allocate it now, so that a full disk is an error here and not in a trial.
	if err := unix.Fallocate(int(f.Fd()), 0, 0, s.Bytes); err != nil {
		f.Close()
		os.Remove(f.Name())
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EFBIG) {
			return nil, fault.WithRemedy(fault.Hostf("data volume: no room for %d MiB in %s: %w", s.Bytes>>20, s.Dir, err),
				"free space there, or make the flavor's disk smaller")
		}
		return nil, fault.Hostf("data volume: allocating %d MiB in %s: %w", s.Bytes>>20, s.Dir, err)
	}
	return f, nil
}

func attach(f *os.File, size int64, flags uint32) (*Volume, error) {
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fault.WithRemedy(fault.Hostf("data volume: %w", err), "modprobe loop")
	}
	defer ctl.Close()
	// Another process may take the free device between the two calls.
	for range 64 {
		n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fault.Hostf("data volume: no free loop device: %w", err)
		}
		dev := "/dev/loop" + strconv.Itoa(n)
		loop, err := os.OpenFile(dev, os.O_RDWR, 0)
		if err != nil {
			return nil, fault.Hostf("data volume: %w", err)
		}
		direct := true
		config := func() error {
			c := &unix.LoopConfig{Fd: uint32(f.Fd())}
			c.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | flags
			if direct {
				c.Info.Flags |= unix.LO_FLAGS_DIRECT_IO
			}
			return unix.IoctlLoopConfigure(int(loop.Fd()), c)
		}
		err = config()
		if errors.Is(err, unix.EINVAL) { // the file system lacks direct I/O
			direct = false
			err = config()
		}
		if err == nil {
			return &Volume{Device: dev, Format: "raw", Bytes: size, Direct: direct, close: loop.Close}, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fault.Hostf("data volume: setting up %s: %w", dev, err)
		}
	}
	return nil, fault.Hostf("data volume: other processes took every free loop device")
}
