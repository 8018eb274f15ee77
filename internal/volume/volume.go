// Package volume makes the data volumes: one file system of its own for every
// guest, of the same type and size in every arm, on a loop device whose
// counters say how many bytes really reached it.
//
// The file behind it has no name: it goes with its last user, and so does the
// loop device.
package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// Volume is a block device with a fresh file system.
type Volume struct {
	Device string // /dev/loopN
	FS     string // ext4 or xfs
	Bytes  int64
	// Direct says that the loop device bypasses the host's page cache, so that
	// what reached it reached the host's file system as well.
	Direct bool

	loop *os.File
}

const sectorBytes = 512 // of /sys/block/*/stat, whatever the device has

// Create makes a volume of size bytes in dir, a directory on the host's disk.
// The caller closes it, after everything that mounted it.
func Create(ctx context.Context, dir string, size int64, fs string) (*Volume, error) {
	f, err := os.CreateTemp(dir, "volume-*")
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	defer f.Close() // the loop device holds the file
	defer os.Remove(f.Name())
	// Allocated now, so that a full disk is an error here, not in a trial.
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EFBIG) {
			return nil, fault.WithRemedy(fault.Hostf("data volume: no room for %d MiB in %s: %w", size>>20, dir, err),
				"free space there, or make the flavor's disk smaller")
		}
		return nil, fault.Hostf("data volume: allocating %d MiB in %s: %w", size>>20, dir, err)
	}
	v, err := attach(f, size, 0)
	if err != nil {
		return nil, err
	}
	if err := v.Format(ctx, fs); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
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
			return &Volume{Device: dev, Bytes: size, Direct: direct, loop: loop}, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fault.Hostf("data volume: setting up %s: %w", dev, err)
		}
	}
	return nil, fault.Hostf("data volume: every loop device is taken as soon as it is free")
}

// Format makes a fresh file system; nobody may have the volume mounted. All
// its structures are written now: a file system that initializes itself in the
// background would write during trials.
func (v *Volume) Format(ctx context.Context, fs string) error {
	var cmd *exec.Cmd
	switch fs {
	case "ext4":
		cmd = exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", v.Device)
	case "xfs":
		cmd = exec.CommandContext(ctx, "mkfs.xfs", "-q", "-f", v.Device)
	default:
		return fault.Campaignf("data volume: file system %q: want ext4 or xfs", fs)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		err = fault.Hostf("data volume: %s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
		if errors.Is(err, exec.ErrNotFound) {
			err = fault.WithRemedy(err, "apt-get install e2fsprogs xfsprogs")
		}
		return err
	}
	v.FS = fs
	return nil
}

// Mount mounts it at dir.
func (v *Volume) Mount(dir string) error {
	if err := unix.Mount(v.Device, dir, v.FS, 0, ""); err != nil {
		return fault.Hostf("data volume: mounting %s (%s) on %s: %w", v.Device, v.FS, dir, err)
	}
	return nil
}

// Written is how many bytes have been written to the device since it was made.
func (v *Volume) Written() (int64, error) {
	file := filepath.Join("/sys/block", filepath.Base(v.Device), "stat")
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, fault.Hostf("data volume: %w", err)
	}
	// The seventh field is sectors written; see Documentation/block/stat.rst.
	fields := strings.Fields(string(b))
	if len(fields) < 7 {
		return 0, fault.Hostf("data volume: %s: %q has too few fields", file, b)
	}
	sectors, err := strconv.ParseInt(fields[6], 10, 64)
	if err != nil {
		return 0, fault.Hostf("data volume: %s: %w", file, err)
	}
	return sectors * sectorBytes, nil
}

// Close gives the device up; it detaches itself when the last mount of it and
// the last program that has it open are gone. It may be called twice.
func (v *Volume) Close() error {
	if err := v.loop.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("data volume: %w", err)
	}
	return nil
}
