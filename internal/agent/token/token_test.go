package token

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestAccept: a silent connection, one with a wrong token and one that is closed immediately do not
// keep the host out.
func TestAccept(t *testing.T) {
	l, secret := listen(t), New()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := Accept(l, secret, time.Minute)
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	dial(t, l)
	dial(t, l).Close()
	if err := Host(dial(t, l), New()); !errors.Is(err, ErrWrong) {
		t.Errorf("a wrong token: %v", err)
	}
	host := dial(t, l)
	if err := Host(host, secret); err != nil {
		t.Fatal(err)
	}
	guest := <-accepted
	if guest == nil {
		return
	}
	defer guest.Close()
	go host.Write([]byte("hello"))
	b := make([]byte, 5)
	if _, err := io.ReadFull(guest, b); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the agent still listens")
	}
}

// TestImpostor: Host detects a guest that does not know the token.
func TestImpostor(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		theirs.Write(make([]byte, Size))
		io.ReadFull(theirs, make([]byte, 2*Size))
		theirs.Write(make([]byte, Size))
	}()
	if err := Host(ours, New()); !errors.Is(err, ErrWrong) {
		t.Error(err)
	}
}

func TestPatience(t *testing.T) {
	if c, err := Accept(listen(t), New(), 10*time.Millisecond); err == nil {
		c.Close()
		t.Error("nobody came")
	}
}

func TestStrangers(t *testing.T) {
	l := listen(t)
	go func() {
		for {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return
			}
			defer c.Close()
		}
	}()
	if c, err := Accept(l, New(), time.Minute); err == nil {
		c.Close()
		t.Error("a stranger was let in")
	}
}
