package systemtest

import (
	"testing"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// RawDevice launches a guest whose data volume has no file system: it writes to the device and reads it again, and the
// host counts the bytes. A driver's test calls it if its guests can do that.
func RawDevice(t *testing.T, d system.Driver) {
	f := Request()
	f.DiskFS, f.DiskBytes = model.NoFS, 16<<20
	m := Launch(t, d, "raw", f)
	s := suite{d: d, m: m}
	before := written(t, m)
	s.sh(t, `test -b device || { ls -l; exit 1; }
head -c 4M /dev/urandom >mine
dd if=mine of=device bs=1M oflag=direct conv=notrunc status=none
dd if=device bs=1M count=4 iflag=direct status=none | cmp - mine
sync device`)
	if got := written(t, m) - before; got < 4<<20 {
		t.Errorf("4 MiB were written to the device, %d bytes counted", got)
	}
}
