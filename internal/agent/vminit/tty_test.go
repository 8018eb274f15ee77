package vminit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenTTY: every byte passes in both directions, unchanged and only once.
func TestOpenTTY(t *testing.T) {
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer host.Close()
	raw, err := host.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	guest, err := openTTY(fmt.Sprint("pts/", n))
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, way := range map[string]struct {
		from io.Writer
		to   io.Reader
		want []byte
	}{
		"to the guest": {host, guest, all},
		"to the host":  {guest, host, append([]byte{0}, all...)},
	} {
		if _, err := way.from.Write(all); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(way.want))
		if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, way.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
