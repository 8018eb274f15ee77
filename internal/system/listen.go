package system

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// Listener accepts the connection of an agent that dials the host itself, for systems which cannot
// pass a descriptor down to it.
type Listener struct {
	Path string // the socket, on the site
	l    *net.UnixListener
}

// ListenAgent listens for the agent of the guest that will be created on the site. The caller
// closes the listener once the agent has connected.
func (s *Site) ListenAgent() (*Listener, error) {
	path := filepath.Join(s.Dir, "agent.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return &Listener{path, l}, nil
}

// Accept waits for the agent to connect until ctx is done or the guest has ended.
func (l *Listener) Accept(ctx context.Context, exited <-chan struct{}) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-exited:
			cancel(fault.Guestf("it ended before its agent connected"))
		case <-ctx.Done():
		}
		l.l.SetDeadline(time.Unix(1, 0))
	}()
	conn, err := l.l.Accept()
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fault.Hostf("waiting for the guest's agent: %w", err)
	}
	return conn, nil
}

// Close stops listening and removes the socket.
func (l *Listener) Close() error { return l.l.Close() }
