package volume

import (
	"context"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/tools"
)

// newRaw creates a volume that is a plain file, for machines that open files.
func newRaw(s Spec) (*Volume, error) {
	f, err := newFile(s)
	if err != nil {
		return nil, err
	}
	f.Close()
	return &Volume{Device: f.Name(), Format: "raw", Bytes: s.Bytes, close: func() error { return os.Remove(f.Name()) }},
		nil
}

// newQCOW2 creates a volume in QEMU's format, which grows as the guest writes. It
// creates the file system in a plain file and converts that.
func newQCOW2(ctx context.Context, s Spec) (*Volume, error) {
	raw, err := os.CreateTemp(s.Dir, "volume-raw-*")
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	defer os.Remove(raw.Name())
	defer raw.Close()
	if err := room(s); err != nil {
		return nil, err
	}
	if err := raw.Truncate(s.Bytes); err != nil { // a sparse file
		return nil, fault.Hostf("data volume: %w", err)
	}
	plain := &Volume{Device: raw.Name(), Bytes: s.Bytes}
	if err := plain.format(ctx, s.FS); err != nil {
		return nil, err
	}
	name := raw.Name() + ".qcow2"
	convert, err := tools.Command(ctx, "qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw.Name(), name)
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	if out, err := convert.CombinedOutput(); err != nil {
		os.Remove(name)
		return nil, fault.Hostf("data volume: qemu-img: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return &Volume{Device: name, Format: "qcow2", FS: s.FS, Bytes: s.Bytes,
		close: func() error { return os.Remove(name) }}, nil
}

// room returns an error if there is no space for a file that grows to the volume's
// size.
func room(s Spec) error {
	var st unix.Statfs_t
	if err := unix.Statfs(s.Dir, &st); err != nil {
		return fault.Hostf("data volume: %w", err)
	}
	if free := st.Bavail * uint64(st.Bsize); uint64(s.Bytes) > free {
		return fault.WithRemedy(fault.Hostf("data volume: no room for %d MiB in %s: %d MiB are free", s.Bytes>>20, s.Dir,
			free>>20),
			"free space there, or make the flavor's disk smaller")
	}
	return nil
}
