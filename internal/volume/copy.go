package volume

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// newCopyFile creates the empty file for a copy of another.
func newCopyFile(s Spec) (*Volume, error) {
	if err := room(s); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(s.Dir, "volume-*.qcow2")
	if err != nil {
		return nil, fault.Hostf("data volume: %w", err)
	}
	f.Close()
	return &Volume{Device: f.Name(), Format: "qcow2", Bytes: s.Bytes, close: func() error { return os.Remove(f.Name()) }},
		nil
}

// copyFrom copies the contents of another volume.
func (v *Volume) copyFrom(ctx context.Context, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return fault.Hostf("copying the data volume: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(v.Device, os.O_WRONLY, 0)
	if err != nil {
		return fault.Hostf("copying the data volume: %w", err)
	}
	size := v.Bytes
	if strings.HasPrefix(from, "/dev/") {
		// A machine bypasses the host's page cache, which may hold stale blocks.
		err = unix.IoctlSetInt(int(in.Fd()), unix.BLKFLSBUF, 0)
	} else if st, e := in.Stat(); e == nil {
		size = st.Size()
	}
	if err == nil {
		_, err = io.Copy(out, reader{ctx, io.LimitReader(in, size)})
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fault.Hostf("copying the data volume: %w", err)
	}
	return nil
}

// reader fails when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
