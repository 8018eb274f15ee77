package vminit

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tty is a terminal whose other end is the host. Xen's consoles come back: the host unplugs one before it saves the
// machine, since Linux hangs up a console when it resumes, and plugs another in when it has restored the machine. tty
// then opens the new one and continues.
type tty struct {
	name   string
	device string // directory of the device below /sys, which is another one when the terminal is back; "": never

	mu     sync.Mutex
	file   *os.File
	inode  uint64 // of the device
	closed bool
}

// openTTY opens the terminal with this name, as open does.
func openTTY(name string) (*tty, error) {
	t := &tty{name: name}
	if number, xen := strings.CutPrefix(name, "hvc"); xen {
		t.device = "/sys/devices/console-" + number
	}
	return t, t.open()
}

// open opens the terminal as soon as it is there, puts it into raw mode, and then sends a zero byte. The host must
// send nothing before it has read that byte, since the terminal would echo and edit it.
func (t *tty) open() error {
	for end := time.Now().Add(deviceWait); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile("/dev/"+t.name, os.O_RDWR|unix.O_NOCTTY, 0)
		if err == nil {
			t.inode = inode(t.device)
			if err = prepareTTY(f); err == nil {
				t.file = f
				return nil
			}
			f.Close()
		}
		// The file of a Xen console exists before the console is connected.
		if !errors.Is(err, unix.ENODEV) || time.Now().After(end) {
			return err
		}
	}
}

// inode identifies a file; 0: it is not there.
func inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

func prepareTTY(f *os.File) error {
	if err := makeRaw(f); err != nil {
		return fmt.Errorf("making %s raw: %w", f.Name(), err)
	}
	_, err := f.Write([]byte{0})
	return err
}

// current returns the file in use. If that is the one which failed, it opens the terminal again, or returns why it
// failed if the terminal does not come back.
func (t *tty) current(failed *os.File, why error) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, os.ErrClosed
	case t.file != failed:
		return t.file, nil
	case t.device == "":
		return nil, why
	}
	failed.Close()
	for !t.isBack() {
		time.Sleep(5 * time.Millisecond)
	}
	err := t.open()
	return t.file, err
}

// isBack reports whether there is another device, and it is connected: the kernel lets a console that it has hung up be
// opened for a while, and throws away what is written to one that it still sets up.
func (t *tty) isBack() bool {
	if now := inode(t.device); now == t.inode || now == 0 {
		return false
	}
	state, err := os.ReadFile(t.device + "/state")
	return err == nil && strings.TrimSpace(string(state)) == "Connected"
}

func (t *tty) Read(p []byte) (n int, err error) {
	f, err := t.current(nil, nil)
	for err == nil {
		if n, err = f.Read(p); err == nil {
			return n, nil
		}
		f, err = t.current(f, err)
	}
	return 0, err
}

func (t *tty) Write(p []byte) (done int, err error) {
	f, err := t.current(nil, nil)
	for err == nil {
		var n int
		n, err = f.Write(p[done:])
		if done += n; err == nil {
			break
		}
		f, err = t.current(f, err)
	}
	return done, err
}

func (t *tty) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return t.file.Close()
}

func (*tty) LocalAddr() net.Addr              { return portAddr{} }
func (*tty) RemoteAddr() net.Addr             { return portAddr{} }
func (*tty) SetDeadline(time.Time) error      { return nil }
func (*tty) SetReadDeadline(time.Time) error  { return nil }
func (*tty) SetWriteDeadline(time.Time) error { return nil }

// makeRaw disables all processing by the terminal.
func makeRaw(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	ctl := raw.Control(func(fd uintptr) { // File.Fd would set it to blocking mode
		var t *unix.Termios
		if t, err = unix.IoctlGetTermios(int(fd), unix.TCGETS); err != nil {
			return
		}
		t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
		t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8 | unix.CREAD | unix.CLOCAL
		t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
		err = unix.IoctlSetTermios(int(fd), unix.TCSETS, t)
	})
	return errors.Join(ctl, err)
}
