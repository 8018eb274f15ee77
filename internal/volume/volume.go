// Package volume makes the data volumes: one file system of its own for every
// guest, of the same type and size in every arm. What is under it is the
// flavor's choice: a loop device whose counters say how many bytes really
// reached it, a file that a virtual machine opens itself, or a block device of
// the user's.
//
// What tare makes goes with its last user; a user's device is left with what
// the last guest wrote on it.
package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// What a volume is on.
const (
	Loop  = "loop"  // a loop device over a file
	Raw   = "raw"   // a plain file
	QCOW2 = "qcow2" // a file of QEMU's format
	Block = "block" // a block device of the user's
)

// Spec is a volume to make.
type Spec struct {
	Backing string   // "": Loop
	Dir     string   // on the host's disk, for files
	Bytes   int64    // of the file system; a user's device may be larger
	FS      string   // ext4, ext2 or xfs
	Devices []string // of the user's, for Block: the first that is free is taken
	Destroy []string // those of them that may hold something
	// Copy is the device or file of a volume of the same backing, size and file
	// system, whose contents this one begins with; "": a fresh file system.
	// Nobody may write to it meanwhile.
	Copy string
}

// Volume has a fresh file system.
type Volume struct {
	// Device is what a machine opens: /dev/loopN, a file, a user's device.
	Device string
	// Format is how what is at Device is to be read: raw or qcow2.
	Format string
	FS     string // ext4, ext2 or xfs
	Bytes  int64
	// Direct says that what reaches the device bypasses the host's page cache,
	// so that it reached the host's file system or disk as well.
	Direct bool

	close  func() error
	before int64 // sectors that were written to a user's device before
}

// ErrNotCounted is what Written returns of volumes that are files: nothing
// counts how much of a file has reached the disk under it.
var ErrNotCounted = errors.New("a file's device has no counter of its own")

const sectorBytes = 512 // of /sys/dev/block/*/stat, whatever the device has

// Create makes a volume. The caller closes it, after everything that uses it.
func Create(ctx context.Context, s Spec) (v *Volume, err error) {
	switch s.Backing {
	case Loop, "":
		v, err = newLoop(s)
	case Raw:
		v, err = newRaw(s)
	case QCOW2:
		if s.Copy == "" {
			return newQCOW2(ctx, s) // which cannot be formatted from here
		}
		v, err = newCopyFile(s)
	case Block:
		v, err = newBlock(ctx, s)
	default:
		err = fault.Campaignf("data volume: %q: want %s, %s, %s or %s", s.Backing, Loop, Raw, QCOW2, Block)
	}
	if err != nil {
		return nil, err
	}
	if s.Copy != "" {
		v.FS, err = s.FS, v.copyFrom(ctx, s.Copy)
	} else {
		err = v.format(ctx, s.FS)
	}
	if err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// format makes a fresh file system. All its structures are written now: one
// that initializes itself in the background would write during trials.
func (v *Volume) format(ctx context.Context, fs string) error {
	blocks := strconv.FormatInt(v.Bytes>>10, 10) // a user's device may be larger
	var argv []string
	switch fs {
	case "ext4":
		argv = []string{"mkfs.ext4", "-q", "-F", "-L", label, "-E", "lazy_itable_init=0,lazy_journal_init=0", v.Device, blocks + "k"}
	case "ext2":
		argv = []string{"mkfs.ext2", "-q", "-F", "-L", label, "-E", "lazy_itable_init=0", v.Device, blocks + "k"}
	case "xfs":
		argv = []string{"mkfs.xfs", "-q", "-f", "-L", label, "-d", "size=" + strconv.FormatInt(v.Bytes&^4095, 10), v.Device}
	default:
		return fault.Campaignf("data volume: file system %q: want ext4, ext2 or xfs", fs)
	}
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		err = fault.Hostf("data volume: %s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
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
	options := ""
	if v.FS == "xfs" { // of a copy it would be refused while the other is mounted
		options = "nouuid"
	}
	if err := unix.Mount(v.Device, dir, v.FS, 0, options); err != nil {
		return fault.Hostf("data volume: mounting %s (%s) on %s: %w", v.Device, v.FS, dir, err)
	}
	return nil
}

// Written is how many bytes have been written to the volume since it was made,
// or ErrNotCounted.
func (v *Volume) Written() (int64, error) {
	if !strings.HasPrefix(v.Device, "/dev/") {
		return 0, ErrNotCounted
	}
	n, err := v.sectors()
	return (n - v.before) * sectorBytes, err
}

// sectors is how many have been written to the device since it is there.
func (v *Volume) sectors() (int64, error) {
	var st unix.Stat_t
	if err := unix.Stat(v.Device, &st); err != nil {
		return 0, fault.Hostf("data volume: %s: %w", v.Device, err)
	}
	// By its number: the kernel has other names for logical volumes than LVM.
	file := fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(st.Rdev), unix.Minor(st.Rdev))
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
	return sectors, nil
}

// Close gives the volume up: a loop device detaches itself when the last mount
// of it and the last program that has it open are gone, a file is removed. It
// may be called twice.
func (v *Volume) Close() error {
	if v.close == nil {
		return nil
	}
	err := v.close()
	v.close = nil
	if err != nil {
		return fmt.Errorf("data volume: %w", err)
	}
	return nil
}
