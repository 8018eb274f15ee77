package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// space is a network namespace.
type space struct {
	file  *os.File
	links *netlink.Handle // for netlink requests in the namespace
}

func (s *space) fd() int      { return int(s.file.Fd()) }
func (s *space) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), s.fd()) }

func (s *space) close() error {
	s.links.Close()
	return s.file.Close()
}

// newSpace makes a network namespace and brings up its loopback interface. The caller closes it.
func newSpace() (*space, error) {
	var file *os.File
	err := aside(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("a network namespace: %w", err)
		}
		file, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return nil, err
	}
	links, err := netlink.NewHandleAt(netns.NsHandle(file.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		file.Close()
		return nil, err
	}
	s := &space{file: file, links: links}
	lo, err := links.LinkByName("lo")
	if err == nil {
		err = links.LinkSetUp(lo)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// configure gives an interface its address and brings it up; gateway, if valid, becomes the default
// route.
func (s *space) configure(name string, address netip.Prefix, gateway netip.Addr) error {
	link, err := s.links.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := s.links.AddrAdd(link, &netlink.Addr{IPNet: ipNet(address)}); err != nil {
		return fmt.Errorf("%s: address %s: %w", name, address, err)
	}
	if err := s.links.LinkSetUp(link); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !gateway.IsValid() {
		return nil
	}
	// The route of a port that is reset may still be there.
	if err := s.links.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: gateway.AsSlice()}); err != nil {
		return fmt.Errorf("%s: route over %s: %w", name, gateway, err)
	}
	return nil
}

// upTimeout bounds the wait for a thread of the kernel's, which a busy host runs late.
const upTimeout = time.Minute

// awaitUp waits until the kernel has taken note that an interface which was brought up has a link. Until then, a bridge
// forwards nothing that comes from it, or is for it.
func (s *space) awaitUp(name string) error {
	for end := time.Now().Add(upTimeout); ; time.Sleep(time.Millisecond) {
		link, err := s.links.LinkByName(name)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case link.Attrs().OperState == netlink.OperUp:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s does not come up: it is %v", name, link.Attrs().OperState)
		}
	}
}

// prefixOf is the reverse of ipNet; it returns the network that the address is in.
func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits).Masked(), ok
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

// do calls f on a thread that is in the namespace.
func (s *space) do(f func() error) error {
	return aside(func() error {
		if err := unix.Setns(s.fd(), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering a network namespace: %w", err)
		}
		return f()
	})
}

// aside calls f, which may change the network namespace of its thread, and then restores it. If
// that fails, the thread is never used again.
func aside(f func() error) error {
	runtime.LockOSThread()
	before, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer before.Close()
	err = f()
	if back := unix.Setns(int(before.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, fmt.Errorf("leaving a network namespace: %w", back))
	}
	runtime.UnlockOSThread()
	return err
}
