package system

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/fault"
)

// Listener waits for an agent that comes to the host by itself, where no
// descriptor can be handed down to it.
type Listener struct {
	Path string // the socket, on the site
	l    *net.UnixListener
}

// ListenAgent listens for the agent of the guest that will be made on the site.
// The caller closes it when the agent has come.
func (s *Site) ListenAgent() (*Listener, error) {
	path := filepath.Join(s.Dir, "agent.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return &Listener{path, l}, nil
}

// Accept waits for the agent until ctx is done or the guest has ended.
func (l *Listener) Accept(ctx context.Context, exited <-chan struct{}) (net.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-exited:
			cancel(fault.Guestf("it ended before its agent called"))
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
