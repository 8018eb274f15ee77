// Package volume creates the data volumes: a separate file system for every guest,
// of the same type and size in every arm. The flavor chooses its backing: a loop
// device with counters of the bytes that reached it, a file that a virtual machine
// opens itself, or a block device of the user.
//
// Files and loop devices of tare disappear with their last user. A user's device
// keeps what the last guest wrote to it.
package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/tools"
)

// Spec describes a volume to create.
type Spec struct {
	Backing string   // "": model.BackingLoop
	Dir     string   // directory for files, on the host's disk
	Bytes   int64    // size of the file system; a user's device may be larger
	FS      string   // ext4, ext3, ext2 or xfs
	Devices []string // for model.BackingBlock: the user's devices, of which the first free one is used
	Destroy []string // those of Devices that may be overwritten
	// Copy is the device or file of a volume with the same backing, size and file
	// system, to copy the contents from; "": create a new file system. Nothing may
	// write to it during Create.
	Copy string
}

// Volume is a data volume. The caller of Create closes it.
type Volume struct {
	// Device is the path that a machine opens: /dev/loopN, a file, a user's device.
	Device string
	// Format is the image format of Device: raw or qcow2.
	Format string
	FS     string // ext4, ext3, ext2, xfs or model.NoFS
	Bytes  int64  // size of the file system
	// Direct: writes to the device bypass the host's page cache, so that they
	// have reached the host's file system or disk as well.
	Direct bool

	close  func() error
	before model.Traffic // of a user's device before this volume
}

// ErrNotCounted is the error of Written for volumes that are files: no counter
// shows how much of a file has reached the disk.
var ErrNotCounted = errors.New("a file's device has no counter of its own")

const sectorBytes = 512 // unit of /sys/dev/block/*/stat, whatever the device's sector size

// Create creates a volume. The caller closes it after everything that uses it.
func Create(ctx context.Context, s Spec) (v *Volume, err error) {
	switch s.Backing {
	case model.BackingLoop, "":
		v, err = newLoop(s)
	case model.BackingRaw:
		v, err = newRaw(s)
	case model.BackingQCOW2:
		if s.Copy == "" {
			return newQCOW2(ctx, s) // mkfs cannot write to it, so newQCOW2 formats it
		}
		v, err = newCopyFile(s)
	case model.BackingBlock:
		v, err = newBlock(ctx, s)
	default:
		err = fault.Campaignf("data volume: %q: want %s, %s, %s or %s", s.Backing,
			model.BackingLoop, model.BackingRaw, model.BackingQCOW2, model.BackingBlock)
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

// CheckFS returns an error unless this host has what makes data volumes with a file system.
func CheckFS(fs string) error {
	if fs == model.NoFS {
		return nil
	}
	return needs("mkfs." + fs)
}

// CheckBacking returns an error unless this host has what makes data volumes with a backing. CheckDevice checks the
// devices of model.BackingBlock.
func CheckBacking(backing string) error {
	if backing != model.BackingQCOW2 {
		return nil
	}
	return needs("qemu-img")
}

func needs(program string) error {
	_, err := tools.Find(program, "")
	return err
}

// format creates the file system and writes all its structures at once: with lazy
// initialization, the kernel would write them during trials.
func (v *Volume) format(ctx context.Context, fs string) error {
	if fs == model.NoFS {
		v.FS = fs
		return nil
	}
	blocks := strconv.FormatInt(v.Bytes>>10, 10) // a user's device may be larger
	var argv []string
	switch fs {
	case "ext4", "ext3":
		argv = []string{"mkfs." + fs, "-q", "-F", "-L", label, "-E", "lazy_itable_init=0,lazy_journal_init=0", v.Device,
			blocks + "k"}
	case "ext2":
		argv = []string{"mkfs.ext2", "-q", "-F", "-L", label, "-E", "lazy_itable_init=0", v.Device, blocks + "k"}
	case "xfs":
		argv = []string{"mkfs.xfs", "-q", "-f", "-L", label, "-d", "size=" + strconv.FormatInt(v.Bytes&^4095, 10), v.Device}
	default:
		return fault.Campaignf("data volume: file system %q: want ext4, ext3, ext2 or xfs", fs)
	}
	mkfs, err := tools.Command(ctx, argv[0], argv[1:]...)
	if err != nil {
		return fault.Hostf("data volume: %w", err)
	}
	if out, err := mkfs.CombinedOutput(); err != nil {
		return fault.Hostf("data volume: %s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	v.FS = fs
	return nil
}

// Mount mounts the volume at dir, or if it has no file system, a directory in memory with its device. The caller
// unmounts it.
func (v *Volume) Mount(dir string) error {
	if v.FS == model.NoFS {
		return v.expose(dir)
	}
	options := ""
	if v.FS == "xfs" { // the kernel refuses to mount a copy beside the original otherwise
		options = "nouuid"
	}
	if err := unix.Mount(v.Device, dir, v.FS, 0, options); err != nil {
		return fault.Hostf("data volume: mounting %s (%s) on %s: %w", v.Device, v.FS, dir, err)
	}
	return nil
}

// expose mounts a directory in memory at dir that has the volume's device.
func (v *Volume) expose(dir string) error {
	major, minor, err := v.Number()
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=755"); err != nil {
		return fault.Hostf("data volume: a directory in memory on %s: %w", dir, err)
	}
	node := filepath.Join(dir, model.RawDevice)
	if err := unix.Mknod(node, unix.S_IFBLK|0o600, int(unix.Mkdev(major, minor))); err != nil {
		return errors.Join(fault.Hostf("data volume: a node of %s: %w", v.Device, err), unix.Unmount(dir, 0))
	}
	return nil
}

// Written returns how many bytes have been written to the volume since it was
// created, or ErrNotCounted.
func (v *Volume) Written() (int64, error) {
	t, err := v.Traffic()
	return t.Written, err
}

// Traffic returns what the device has counted since the volume was created, or
// ErrNotCounted.
func (v *Volume) Traffic() (model.Traffic, error) {
	if !strings.HasPrefix(v.Device, "/dev/") {
		return model.Traffic{}, ErrNotCounted
	}
	t, err := v.counters()
	return t.Since(v.before), err
}

// Number returns the device's number, or an error if the volume is a file.
func (v *Volume) Number() (major, minor uint32, err error) {
	var st unix.Stat_t
	if err := unix.Stat(v.Device, &st); err != nil {
		return 0, 0, fault.Hostf("data volume: %s: %w", v.Device, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, 0, fault.Hostf("data volume: %s is not a block device", v.Device)
	}
	return unix.Major(st.Rdev), unix.Minor(st.Rdev), nil
}

// counters are those of the device since it exists.
func (v *Volume) counters() (t model.Traffic, err error) {
	major, minor, err := v.Number()
	if err != nil {
		return t, err
	}
	// Use the device number: the kernel's names of logical volumes differ from LVM's.
	file := fmt.Sprintf("/sys/dev/block/%d:%d/stat", major, minor)
	b, err := os.ReadFile(file)
	if err != nil {
		return t, fault.Hostf("data volume: %w", err)
	}
	// See Documentation/block/stat.rst: requests, merges, sectors and ms of reads, then of writes. Flushes come last,
	// since Linux 5.5.
	fields := strings.Fields(string(b))
	if len(fields) < 7 {
		return t, fault.Hostf("data volume: %s: %q has too few fields", file, b)
	}
	for field, value := range map[int]*int64{0: &t.Reads, 2: &t.Read, 4: &t.Writes, 6: &t.Written, 15: &t.Flushes} {
		if field >= len(fields) {
			continue
		}
		if *value, err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return t, fault.Hostf("data volume: %s: %w", file, err)
		}
	}
	t.Read *= sectorBytes
	t.Written *= sectorBytes
	return t, nil
}

// Close releases the volume. A loop device detaches itself when it is no longer
// mounted or open anywhere; a file is removed. Close may be called twice.
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
