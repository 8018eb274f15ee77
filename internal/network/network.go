// Package network puts guests on a network: one bridge a run, and a port of it
// for every guest, with an address that tare chooses.
//
// The bridge is in a network namespace of its own that has no name: nothing of
// it can be seen on the host or collide with anything there, and all of it goes
// when the last process in it ends and tare gives it up, however tare ends.
// Only a network with NAT has an interface on the host: one end of a cable,
// which goes with the other end in the namespace.
//
//	guest ── eth0 ═ veth or tap ── bridge ──(NAT)── uplink ═ veth ── host
//	         └ own namespace ┘     └──── the run's namespace ────┘
package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// The modes of a guest's network, as flavors name them.
const (
	None    = "none"    // loopback alone
	Bridged = "bridged" // on the run's bridge, with the other guests and the host's end of it
	NAT     = "nat"     // that, and masqueraded towards the host
	User    = "user"    // QEMU's own stack: out by the host's sockets, in by nothing
)

const (
	bridgeName = "tare0"
	// GuestInterface is what a port's interface is called in a guest's namespace.
	GuestInterface = "eth0"
)

// QEMU's own stack has the same addresses for every guest.
var (
	UserAddress = netip.MustParsePrefix("10.0.2.15/24")
	UserHost    = netip.MustParseAddr("10.0.2.2")
)

// Bridge is the network of one run. It is made with its first port.
type Bridge struct {
	id string

	mu    sync.Mutex
	space *space       // nil before the first port and after Close
	link  netlink.Link // the bridge itself
	net   netip.Prefix // of the guests; the bridge has the first address
	taken map[int]bool // which of the addresses ports have, by their last byte
	host  netip.Addr   // of the host's end of the uplink; invalid without NAT
}

// NewBridge returns the bridge of the run called id, which must be unique on
// the host and at most eleven bytes long. Nothing is made yet. The caller
// closes it when the guests are gone.
func NewBridge(id string) *Bridge { return &Bridge{id: id, taken: map[int]bool{}} }

// Port is a guest's place on the bridge. Its address is not in use by anyone
// else until it is closed. One that is only an Address is nobody's, for tests.
type Port struct {
	// Address is the guest's own, with the length of the network's prefix.
	Address netip.Prefix
	// Gateway is where the guest's default route leads; invalid: it has none.
	Gateway netip.Addr
	// Host is where the guest finds the host: the bridge's own address or,
	// with NAT, that of the host's end of the uplink. See Bridge.OnHost.
	Host netip.Addr
	// MAC is the address of the guest's interface, where it is for the guest's
	// machine to have one.
	MAC net.HardwareAddr
	// Namespace is the guest's own network namespace, as a path that a process
	// of this sandbox can open; "" for a port that is none.
	Namespace string
	// Tap is the interface that a machine is plugged into; "" for a port that
	// is none. It is in the namespace TapNamespace, where the machine's
	// process must be started.
	Tap, TapNamespace string

	bridge  *Bridge // nil: it is on none
	space   *space  // the guest's, if it has one
	number  int
	plugged string // the interface that Plug took
	once    sync.Once
	err     error
}

// NamespacePort makes a port that is a network namespace with its end of a
// cable in it, ready to be used: for guests that are processes of this host.
func (b *Bridge) NamespacePort(mode string) (*Port, error) {
	return b.port(mode, func(p *Port) error {
		var err error
		if p.space, err = newSpace(); err != nil {
			return err
		}
		p.Namespace = p.space.path()
		veth := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: p.hostEnd(), MasterIndex: b.link.Attrs().Index},
			PeerName:  GuestInterface, PeerNamespace: netlink.NsFd(p.space.fd()),
		}
		if err := b.space.links.LinkAdd(veth); err != nil {
			return fmt.Errorf("a pair of virtual interfaces: %w", err)
		}
		if err := b.space.links.LinkSetUp(veth); err != nil {
			return err
		}
		return p.space.configure(GuestInterface, p.Address, p.Gateway)
	})
}

// Alone is the place of a guest on no network: a namespace where nothing but
// loopback is. It is for guests that would have the host's network otherwise,
// and each other's ports with it.
func Alone() (*Port, error) {
	s, err := newSpace()
	if err != nil {
		return nil, wrap(err)
	}
	return &Port{Namespace: s.path(), space: s}, nil
}

// TapPort makes a port that is a tap device, for guests that are machines: what
// is plugged in has to give itself the port's addresses.
func (b *Bridge) TapPort(mode string) (*Port, error) {
	return b.port(mode, func(p *Port) error {
		tap := &netlink.Tuntap{
			LinkAttrs: netlink.LinkAttrs{Name: p.hostEnd()},
			Mode:      netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_DEFAULTS | netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR,
		}
		// A tap is made where the thread is that asks for it.
		if err := b.space.do(func() error { return b.space.links.LinkAdd(tap) }); err != nil {
			return fmt.Errorf("a tap device: %w", err)
		}
		if err := b.space.links.LinkSetMaster(tap, b.link); err != nil {
			return err
		}
		p.Tap, p.TapNamespace = p.hostEnd(), b.space.path()
		return b.space.links.LinkSetUp(tap)
	})
}

// EmptyPort makes a port that is an address alone, for guests whose interface
// somebody else makes: it is plugged in when it is there.
func (b *Bridge) EmptyPort(mode string) (*Port, error) {
	return b.port(mode, func(*Port) error { return nil })
}

// Plug takes an interface of the host, which is down, onto the bridge. It keeps
// its name, since it is the host's again when tare is killed, and it goes with
// the guest: Close only waits for that.
func (p *Port) Plug(name string) error {
	b := p.bridge
	b.mu.Lock()
	defer b.mu.Unlock()
	return wrap(p.plug(name))
}

func (p *Port) plug(name string) error {
	b := p.bridge
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := netlink.LinkSetNsFd(link, b.space.fd()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.plugged = name
	if link, err = b.space.links.LinkByName(name); err != nil { // it may have another number there
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := b.space.links.LinkSetMaster(link, b.link); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return b.space.links.LinkSetUp(link)
}

// hostEnd is the name of the port's interface on the bridge, if we made it.
func (p *Port) hostEnd() string { return fmt.Sprint("guest", p.number) }

func (b *Bridge) port(mode string, plug func(*Port) error) (*Port, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.ensure(mode); err != nil {
		return nil, wrap(err)
	}
	p := &Port{bridge: b, number: b.free()}
	if p.number == 0 {
		return nil, fault.Hostf("network: every address of %s is a guest's", b.net)
	}
	p.Address = netip.PrefixFrom(address(b.net, p.number), b.net.Bits())
	p.Host = address(b.net, 1)
	if mode == NAT {
		p.Gateway, p.Host = p.Host, b.host
	}
	a := p.Address.Addr().As4()
	p.MAC = net.HardwareAddr{0x52, 0x54, a[0], a[1], a[2], a[3]} // locally administered
	b.taken[p.number] = true
	if err := plug(p); err != nil {
		p.close()
		return nil, wrap(err)
	}
	return p, nil
}

// free is the last byte of an address that no port has, 0 when there is none.
func (b *Bridge) free() int {
	for n := 2; n < 255; n++ {
		if !b.taken[n] {
			return n
		}
	}
	return 0
}

// address is the n-th of a prefix of 24 bits.
func address(p netip.Prefix, n int) netip.Addr {
	a := p.Masked().Addr().As4()
	a[3] = byte(n)
	return netip.AddrFrom4(a)
}

// ensure makes the bridge, and what the mode needs beside it, if it is not there.
func (b *Bridge) ensure(mode string) error {
	switch mode {
	case Bridged, NAT:
	default:
		return fault.Campaignf("network %q: only %s and %s are a place on a bridge", mode, Bridged, NAT)
	}
	if b.space == nil {
		if err := b.make(); err != nil {
			return err
		}
	}
	if mode == NAT && !b.host.IsValid() {
		return b.addUplink()
	}
	return nil
}

func (b *Bridge) make() (err error) {
	if b.net, err = freePrefix(); err != nil {
		return err
	}
	s, err := newSpace()
	if err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}
	if err = s.links.LinkAdd(bridge); err != nil {
		err = fault.WithRemedy(fault.Hostf("network: a bridge: %w", err), "modprobe bridge")
	} else {
		err = s.configure(bridgeName, netip.PrefixFrom(address(b.net, 1), b.net.Bits()), netip.Addr{})
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	b.space, b.link = s, bridge
	return nil
}

// OnHost calls f where guests of this mode find the host: in the bridge's
// namespace, or with NAT on the host itself. Sockets that f opens stay there,
// and so do processes that it starts itself; goroutines do not.
func (b *Bridge) OnHost(mode string, f func() error) error {
	b.mu.Lock()
	err := b.ensure(mode)
	s := b.space
	b.mu.Unlock()
	if err != nil {
		return wrap(err)
	}
	if mode == NAT {
		return f()
	}
	return s.do(f)
}

// Interfaces are the names of all interfaces of ports that are not closed.
func (b *Bridge) Interfaces() ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.space == nil {
		return nil, nil
	}
	links, err := b.space.links.LinkList()
	if err != nil {
		return nil, wrap(err)
	}
	var names []string
	for _, l := range links {
		if l.Attrs().MasterIndex == b.link.Attrs().Index {
			names = append(names, l.Attrs().Name)
		}
	}
	return names, nil
}

// Close takes the port off the bridge and gives its address back. The guest
// must have ended. Later calls do nothing.
func (p *Port) Close() error {
	p.once.Do(func() {
		if p.bridge == nil {
			if p.space != nil {
				p.err = wrap(p.space.close())
			}
			return
		}
		p.bridge.mu.Lock()
		defer p.bridge.mu.Unlock()
		p.err = wrap(p.close())
	})
	return p.err
}

func (p *Port) close() error {
	b := p.bridge
	delete(b.taken, p.number)
	var errs []error
	if b.space != nil {
		// A namespace goes a while after its last user, and its cable with
		// it: the end on the bridge is taken away first.
		if link, err := b.space.links.LinkByName(p.hostEnd()); err == nil {
			if err := b.space.links.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
				errs = append(errs, err)
			}
		}
	}
	if p.plugged != "" && b.space != nil {
		errs = append(errs, p.awaitUnplugged())
	}
	if p.space != nil {
		errs = append(errs, p.space.close())
	}
	return errors.Join(errs...)
}

// unplugTimeout is how long the interface of a guest that is gone may stay: its
// maker takes it away a moment later.
const unplugTimeout = 10 * time.Second

func (p *Port) awaitUnplugged() error {
	for end := time.Now().Add(unplugTimeout); ; time.Sleep(10 * time.Millisecond) {
		_, err := p.bridge.space.links.LinkByName(p.plugged)
		switch {
		case errors.As(err, new(netlink.LinkNotFoundError)):
			return nil
		case err != nil:
			return err
		case time.Now().After(end):
			return fmt.Errorf("%s is still there, and its guest is gone", p.plugged)
		}
	}
}

// Close gives the bridge up. Its ports must be closed. Later calls do nothing,
// and a later port makes it anew.
func (b *Bridge) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.space == nil {
		return nil
	}
	err := errors.Join(b.removeUplink(), b.space.close())
	b.space, b.link, b.host = nil, nil, netip.Addr{}
	return wrap(err)
}

// wrap says that an error is about the network, and the host's fault unless it
// is known whose it is.
func wrap(err error) error {
	if err == nil || fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Hostf("network: %w", err)
}
