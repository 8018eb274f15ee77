package vminit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// newPTY returns the host's end of a new terminal, and the terminal's path.
func newPTY(t *testing.T) (host *os.File, path string) {
	t.Helper()
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { host.Close() })
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
	return host, fmt.Sprint("/dev/pts/", n)
}

// pass writes bytes to one end of a terminal, which must arrive at the other.
func pass(t *testing.T, what string, from io.Writer, to io.Reader, sent, want []byte) {
	t.Helper()
	if _, err := from.Write(sent); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %q, %v", what, got, err)
	}
}

// TestOpenTTY: every byte passes in both directions, unchanged and only once. A terminal that is hung up ends the
// stream.
func TestOpenTTY(t *testing.T) {
	host, path := newPTY(t)
	guest, err := openTTY("../" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	pass(t, "to the guest", host, guest, all, all)
	pass(t, "to the host", guest, host, all, append([]byte{0}, all...))
	host.Close()
	if n, err := guest.Read(all); n != 0 || err == nil {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if n, err := guest.Write(all); n != 0 || err == nil {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

// TestTTYComesBack: the stream continues on the terminal that is there after one was hung up, also for those who wait
// for it, until the guest closes it.
func TestTTYComesBack(t *testing.T) {
	dir := t.TempDir()
	link, device := filepath.Join(dir, "tty"), filepath.Join(dir, "device")
	if err := os.Mkdir(device, 0o755); err != nil {
		t.Fatal(err)
	}
	host, path := newPTY(t)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	guest := &tty{name: "../" + link, device: device}
	if err := guest.open(); err != nil {
		t.Fatal(err)
	}
	pass(t, "to the host", guest, host, []byte("before"), []byte("\x00before"))
	got := make(chan string)
	go func() {
		b := make([]byte, 5)
		n, err := guest.Read(b)
		got <- fmt.Sprint(string(b[:n]), err)
	}()
	again, path := newPTY(t)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	host.Close()
	// Meanwhile there is no device.
	if err := os.Mkdir(device+"-new", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(device+"-new/state", []byte("Connected\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(device); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(device+"-new", device); err != nil {
		t.Fatal(err)
	}
	pass(t, "to the host again", guest, again, []byte("after"), []byte("\x00after"))
	if _, err := again.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := <-got; got != "hello<nil>" {
		t.Errorf("to the guest: %q", got)
	}
	guest.Close()
	if n, err := guest.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("after the end: %d, %v", n, err)
	}
}
