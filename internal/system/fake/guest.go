package fake

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tare-bench/tare/internal/agent"
	"github.com/tare-bench/tare/internal/cgroup"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
)

// guest is a goroutine that answers at the other end of a stream.
type guest struct {
	driver *Driver
	site   *system.Site
	conn   net.Conn
	wire   *gate           // the guest's end of conn
	moves  *agent.Handover // below wire
	began  int64           // by the guest's clock
	stop   context.CancelFunc
	exited chan struct{}

	mu      sync.Mutex
	cpu     time.Duration
	written int64
	counts  map[string]int64 // of its kernel, by package wire's names
	clock   time.Duration    // the guest's clock minus the host's
	frozen  time.Time        // since when; zero: not frozen
}

var _ system.Meter = (*guest)(nil)

func newGuest(d *Driver, s *system.Site, ours, theirs net.Conn) *guest {
	g := &guest{driver: d, site: s, conn: ours, exited: make(chan struct{}), clock: d.ClockOffset,
		counts: map[string]int64{}}
	g.began = agent.Monotonic() + int64(d.ClockOffset)
	g.moves = agent.NewHandover(theirs)
	g.wire = &gate{Conn: g.moves, open: make(chan struct{}), closed: make(chan struct{})}
	close(g.wire.open)
	g.wire.early = func() { d.event("talked to while frozen", s.ID) }
	return g
}

func (g *guest) Conn() net.Conn          { return g.conn }
func (g *guest) Exited() <-chan struct{} { return g.exited }
func (g *guest) Log() string             { return fmt.Sprintf("fake guest %s\n", g.site.ID) }
func (g *guest) CommandLine() []string   { return []string{"fake", g.site.ID} }

func (g *guest) Freeze(context.Context) error { return g.freeze("freeze", true) }
func (g *guest) Thaw(context.Context) error   { return g.freeze("thaw", false) }

func (g *guest) freeze(what string, freeze bool) error {
	g.driver.event(what, g.site.ID)
	select {
	case <-g.exited:
		return fault.Guestf("%s: the guest has ended", what)
	default:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if freeze != g.frozen.IsZero() {
		return fmt.Errorf("%s of guest %s, which is already in that state", what, g.site.ID)
	}
	if freeze {
		g.frozen = time.Now()
		g.wire.shut()
		return nil
	}
	if g.driver.Capabilities().StopsClock {
		g.clock -= time.Since(g.frozen)
	}
	g.frozen = time.Time{}
	g.wire.reopen()
	return nil
}

// Kill ends the guest as a crash would.
func (g *guest) Kill() error {
	if g.stop != nil { // otherwise its agent never ran
		g.stop()
	}
	g.wire.Close()
	<-g.exited
	return nil
}

func (g *guest) Close() error {
	g.conn.Close()
	g.Kill()
	d := g.driver
	d.mu.Lock()
	i := slices.Index(d.live, g.site.ID)
	if i >= 0 {
		d.live = slices.Delete(d.live, i, i+1)
	}
	d.mu.Unlock()
	if i >= 0 {
		d.event("close", g.site.ID)
	}
	return nil
}

// Save leaves the guest's goroutine without a connection, and a file that stands for its state.
func (g *guest) Save(_ context.Context, dir string) error {
	g.driver.event("save", g.site.ID)
	g.moves.Leave()
	g.conn.Close()
	if err := os.WriteFile(filepath.Join(dir, "guest"), []byte(g.site.ID), 0o600); err != nil {
		return fault.Hostf("%w", err)
	}
	g.driver.mu.Lock()
	defer g.driver.mu.Unlock()
	g.driver.saved = append(g.driver.saved, g)
	return nil
}

// Restore connects the saved guest again, unless the driver's Anew plants another one.
func (d *Driver) Restore(ctx context.Context, s *system.Site, dir string) (system.Guest, error) {
	d.event("restore", s.ID)
	d.mu.Lock()
	i := slices.IndexFunc(d.saved, func(g *guest) bool { return g.site == s })
	g := d.saved[i]
	d.saved = slices.Delete(d.saved, i, i+1)
	d.mu.Unlock()
	if d.Anew {
		if err := g.Close(); err != nil {
			return nil, err
		}
		return d.Create(ctx, s)
	}
	if _, err := os.Stat(filepath.Join(dir, "guest")); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	ours, theirs, err := system.ConnPair()
	if err != nil {
		return nil, err
	}
	g.conn = ours
	g.moves.Arrive(theirs)
	return g, nil
}

// Memory is the same for every guest.
func (g *guest) Memory() (cgroup.Memory, error) {
	return cgroup.Memory{PSS: 8 << 20, Charged: 12 << 20}, nil
}

// Usage is the sum of what the behaviours cost.
func (g *guest) Usage() (cgroup.Usage, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cgroup.Usage{CPU: g.cpu}, nil
}

func (g *guest) Written() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written, nil
}

// gate is a connection that passes nothing while it is shut.
type gate struct {
	net.Conn
	early func() // called when data arrives while it is shut

	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

func (c *gate) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = make(chan struct{})
}

func (c *gate) reopen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.open)
}

// pass returns when the gate is open or the connection closed. It calls waiting first if it has to
// wait.
func (c *gate) pass(waiting func()) {
	c.mu.Lock()
	open := c.open
	c.mu.Unlock()
	select {
	case <-open:
		return
	default:
	}
	waiting()
	select {
	case <-open:
	case <-c.closed:
	}
}

func (c *gate) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.pass(c.early)
	}
	return n, err
}

func (c *gate) Write(p []byte) (int, error) {
	c.pass(func() {})
	return c.Conn.Write(p)
}

func (c *gate) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
