package xen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/xenctl"
)

// console is a guest's second console, /dev/hvc1 in the guest; its other end is this process. It
// carries the agent's stream. The first console, which xenconsoled serves, is limited to 300 kB a
// second and drops what is not read in time; a toolstack's channels need a QEMU for each guest.
// Here nothing is lost and no other process is involved: data stays in the ring until it is read,
// and the guest waits.
type console struct {
	store  *xenctl.Store
	domain int

	mu     sync.RWMutex // held for writing to unmap the page
	page   []byte
	ring   *ring
	events *events

	readable, writable chan struct{} // the guest has changed the ring
	closed             chan struct{}
	closing            sync.Once
	failed             error // set before closed is; nil: closed by us
}

// States of a device, by which its two ends connect; from public/io/xenbus.h.
const (
	stateInitialising = "1"
	stateInitialised  = "3"
	stateConnected    = "4"
	stateClosing      = "5"
	stateClosed       = "6"
)

func (c *console) frontend() string {
	return fmt.Sprintf("/local/domain/%d/device/console/1", c.domain)
}
func (c *console) backend() string {
	return fmt.Sprintf("/local/domain/0/backend/console/%d/1", c.domain)
}

// newConsole adds a console to a domain; connect waits until the guest uses it. The caller closes
// it.
func newConsole(store *xenctl.Store, domain int) (*console, error) {
	c := &console{store: store, domain: domain, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1),
		closed: make(chan struct{})}
	front, back := c.frontend(), c.backend()
	for _, n := range []struct {
		path, value   string
		owner, reader int
	}{
		{back, "", 0, domain},
		{back + "/frontend", front, 0, domain},
		{back + "/frontend-id", strconv.Itoa(domain), 0, domain},
		{back + "/online", "1", 0, domain},
		{back + "/state", stateInitialising, 0, domain},
		{back + "/protocol", "vt100", 0, domain},
		{front, "", domain, 0},
		{front + "/backend", back, domain, 0},
		{front + "/backend-id", "0", domain, 0},
		{front + "/type", "tare", domain, 0},
		// Last: the guest probes the device when it has a state.
		{front + "/state", stateInitialising, domain, 0},
	} {
		err := store.Write(n.path, n.value)
		if err == nil {
			err = store.Grant(n.path, n.owner, n.reader)
		}
		if err != nil {
			c.removeNodes()
			return nil, err
		}
	}
	return c, nil
}

func (c *console) removeNodes() error {
	return errors.Join(c.store.Remove(c.frontend()),
		c.store.Remove(fmt.Sprintf("/local/domain/0/backend/console/%d", c.domain)))
}

// connect waits until the guest's kernel has set up its end, and then connects ours. The kernel of a restored guest
// learns of a device only from changes that it sees, not of those before it runs, so connect makes some.
func (c *console) connect(ctx context.Context, ended <-chan struct{}, restored bool) error {
	gone := fault.Guestf("it ended before its console was connected")
	ready := holds(c.store, c.frontend()+"/state", stateInitialised)
	if err := poll(ctx, ended, gone, func() (bool, error) {
		if ok, err := ready(); ok || err != nil || !restored {
			return ok, err
		}
		return false, c.store.Write(c.frontend()+"/knock", "")
	}); err != nil {
		return err
	}
	var numbers [2]uint32
	for i, name := range []string{"ring-ref", "port"} {
		text, err := c.store.Read(c.frontend() + "/" + name)
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fault.Guestf("its console's %s is %q", name, text)
		}
		numbers[i] = uint32(n)
	}
	var err error
	if c.ring, c.page, err = mapRing(uint32(c.domain), numbers[0]); err != nil {
		return err
	}
	if c.events, err = bindEvents(uint32(c.domain), numbers[1]); err != nil {
		return err
	}
	go func() {
		<-c.closed
		c.events.close()
	}()
	go c.listen()
	return c.store.Write(c.backend()+"/state", stateConnected)
}

// listen forwards the guest's notifications to Read and Write.
func (c *console) listen() {
	for {
		wake(c.readable)
		wake(c.writable)
		if err := c.events.wait(); err != nil {
			c.hangUp(err)
			return
		}
	}
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (c *console) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := c.try(func() (int, error) { return c.ring.take(p) })
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-c.readable:
		case <-c.closed:
		}
	}
}

func (c *console) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := c.try(func() (int, error) { return c.ring.put(p[done:]) })
		done += n
		if err != nil {
			return done, err
		}
		if n > 0 {
			continue
		}
		select {
		case <-c.writable:
		case <-c.closed:
		}
	}
	return done, nil
}

// try moves bytes through the ring, and notifies the guest if it moved any.
func (c *console) try(move func() (int, error)) (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	select {
	case <-c.closed:
		if c.failed == nil {
			return 0, net.ErrClosed
		}
		return 0, io.EOF
	default:
	}
	n, err := move()
	if n > 0 && err == nil {
		err = c.events.notify()
	}
	if err != nil {
		c.hangUp(err)
	}
	return n, err
}

// hangUp ends all reading and writing; the page stays mapped until Close.
func (c *console) hangUp(why error) {
	c.closing.Do(func() {
		c.failed = why
		close(c.closed)
	})
}

// Close unmaps the page, since Xen keeps a dead domain as long as it is mapped, and removes the
// console's nodes from the store.
func (c *console) Close() error {
	c.hangUp(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page != nil {
		if err := unix.Munmap(c.page); err != nil {
			return fault.Hostf("the console's page: %w", err)
		}
		c.page, c.ring = nil, nil
	}
	return c.removeNodes()
}

// unplug has the guest's kernel hang up its end, waits until all that came has been read, and closes the console.
func (c *console) unplug(ctx context.Context) error {
	if err := c.store.Write(c.backend()+"/state", stateClosing); err != nil {
		return err
	}
	err := poll(ctx, nil, nil, holds(c.store, c.frontend()+"/state", stateClosed))
	if err == nil {
		err = poll(ctx, nil, nil, func() (bool, error) { return c.ring.drained(), nil })
	}
	if err != nil {
		return err
	}
	return c.Close()
}

// conn returns the console as the agent's stream. Closing the stream leaves the page mapped; the
// guest's Close unmaps it.
func (c *console) conn() net.Conn { return system.Stream(hangUpCloser{c}, "xen console") }

type hangUpCloser struct{ *console }

func (h hangUpCloser) Close() error {
	h.hangUp(nil)
	return nil
}
