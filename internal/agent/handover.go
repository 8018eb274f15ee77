package agent

import (
	"net"
	"sync"
)

// Handover is a connection whose other end moves: a guest that is saved and restored is served by another
// process afterwards, through another connection. Both ends keep what they know of each other, so calls that
// were in progress continue.
type Handover struct {
	net.Conn // the first one, for its addresses

	mu     sync.Mutex
	now    net.Conn
	back   chan struct{} // closed unless the guest is away
	closed bool
}

// NewHandover returns one that begins with conn, which it owns.
func NewHandover(conn net.Conn) *Handover {
	h := &Handover{Conn: conn, now: conn, back: make(chan struct{})}
	close(h.back)
	return h
}

// Leave says that the guest is about to go: until it returns, the end of its connection is not its own.
func (h *Handover) Leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.back:
		if !h.closed {
			h.back = make(chan struct{})
		}
	default: // it is away already
	}
}

// Arrive continues on conn, which h owns from then on.
func (h *Handover) Arrive(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		conn.Close()
		return
	}
	h.now.Close()
	h.now = conn
	h.release()
}

// release lets those go on that wait for the guest; the caller holds h.mu.
func (h *Handover) release() {
	select {
	case <-h.back:
	default:
		close(h.back)
	}
}

// there waits while the guest is away, and returns its connection; ok is false if it was closed.
func (h *Handover) there() (conn net.Conn, ok bool) {
	h.mu.Lock()
	back := h.back
	h.mu.Unlock()
	<-back
	return h.current()
}

func (h *Handover) current() (net.Conn, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, !h.closed
}

// Read reads on from the old connection while the guest is away, and what it had sent before is read first.
func (h *Handover) Read(p []byte) (int, error) {
	conn, _ := h.current()
	for {
		n, err := conn.Read(p)
		if n > 0 || err == nil {
			return n, nil // an error comes again
		}
		next, ok := h.there()
		if !ok || next == conn {
			return 0, err
		}
		conn = next
	}
}

// Write waits while the guest is away.
func (h *Handover) Write(p []byte) (int, error) {
	conn, ok := h.there()
	if !ok {
		return 0, net.ErrClosed
	}
	return conn.Write(p)
}

func (h *Handover) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.release()
	return h.now.Close()
}

// Detach prepares for a guest that is saved: the end of its connection is then not its death, and calls
// in progress, such as Run, wait until it is back. No call may begin before Attach.
func (c *Client) Detach() { c.moves.Leave() }

// Attach continues on conn, at whose other end the agent is as it was at Detach. The client owns conn.
func (c *Client) Attach(conn net.Conn) { c.moves.Arrive(conn) }
