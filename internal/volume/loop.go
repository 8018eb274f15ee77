package volume

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// newLoop makes a volume on a loop device over a file without a name: it goes
// with its last user, and so does the device.
func newLoop(s Spec) (*Volume, error) {
	f, err := newFile(s)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the loop device holds the file
	defer os.Remove(f.Name())
	return attach(f, s.Bytes, 0)
}

// ReadOnly makes a block device of a file that is used as it is, for systems that
// take no files for disks. The caller closes it.
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

// newFile makes a file of the volume's size in its directory, which the caller
// closes and removes.
func newFile(s Spec) (*os.File, error) {
	f, err := os.CreateTemp(s.Dir, "volume-*")
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	// Allocated now, so that a full disk is an error here, not in a trial.
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
	// Somebody else may take the free device between the two calls.
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
		if errors.Is(err, unix.EINVAL) { // a file system without direct I/O
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
	return nil, fault.Hostf("data volume: every loop device is taken as soon as it is free")
}
