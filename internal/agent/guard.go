package agent

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// sendTimeout is how long a guest may take to read what the host sends; a capped, emulated
	// machine is slow.
	sendTimeout = 30 * time.Second
	// idleBudget is how many bytes a guest may send unasked, and in answer to a call without a
	// stream.
	idleBudget = 64 << 10
	// outputOverhead bounds the bytes on the wire for each byte of output: an agent that reads
	// single bytes sends 17.
	outputOverhead = 32
)

var (
	errFlood  = errors.New("it sends more than it was asked for")
	errUnread = errors.New("it does not read what it is sent")
)

// guard hangs up on a guest that would stall or flood the host. ttRPC alone would write without a
// time limit, and would read and discard unexpected messages without end.
type guard struct {
	net.Conn
	sendTimeout time.Duration
	budget      atomic.Int64 // bytes that the guest may still send

	mu    sync.Mutex
	calls int   // in progress
	why   error // why it hung up
}

func newGuard(conn net.Conn) *guard {
	g := &guard{Conn: conn, sendTimeout: sendTimeout}
	g.budget.Store(idleBudget)
	return g
}

// begin raises the budget by n bytes for the answer to a call; end takes that back when no call is
// in progress any more.
func (g *guard) begin(n int64) (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	g.budget.Add(n)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.calls--; g.calls == 0 {
			g.budget.Store(idleBudget)
		}
	}
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if g.budget.Add(-int64(n)) < 0 {
		g.hangUp(errFlood)
		return 0, errFlood
	}
	return n, err
}

func (g *guard) Write(p []byte) (int, error) {
	late := time.AfterFunc(g.sendTimeout, func() { g.hangUp(errUnread) })
	defer late.Stop()
	return g.Conn.Write(p)
}

// hangUp closes the connection for good and keeps the first reason.
func (g *guard) hangUp(why error) {
	g.mu.Lock()
	if g.why == nil {
		g.why = why
	}
	g.mu.Unlock()
	g.Conn.Close()
}

// reason returns why the host hung up, or nil.
func (g *guard) reason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.why
}
