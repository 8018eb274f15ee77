package system

import (
	"io"
	"net"
	"time"
)

// Stream makes a net.Conn of any two-way byte stream. name names the other end. Deadlines are
// ignored.
func Stream(rwc io.ReadWriteCloser, name string) net.Conn { return stream{rwc, addr(name)} }

type stream struct {
	io.ReadWriteCloser
	to addr
}

func (s stream) LocalAddr() net.Addr              { return addr("tare") }
func (s stream) RemoteAddr() net.Addr             { return s.to }
func (s stream) SetDeadline(time.Time) error      { return nil }
func (s stream) SetReadDeadline(time.Time) error  { return nil }
func (s stream) SetWriteDeadline(time.Time) error { return nil }

type addr string

func (addr) Network() string  { return "stream" }
func (a addr) String() string { return string(a) }
