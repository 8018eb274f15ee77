// Package network puts guests on a network: one bridge for each run, and a port on it for every
// guest, with an address that tare chooses.
//
// The bridge is in an unnamed network namespace of its own. It is invisible on the host and cannot
// collide with anything there. It disappears when the last process in it has ended and tare has
// closed it or ended, for whatever reason. Guests with NAT are on a second bridge, behind the first:
// the namespace is the router between them. With an uplink, an interface of the host is on the first
// bridge, and leads to other machines. No guest can send a packet to the host's own network.
//
//	guest ── eth0 ═ veth or tap ── tare0 ── uplink ── other machines
//	                                 │
//	guest ── eth0 ═ veth or tap ── nat0
//	└ own namespace ┘              └ the run's ┘
package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

const (
	bridgeName = "tare0"
	insideName = "nat0" // the bridge of guests with NAT
	// GuestInterface is the name of a port's interface in a guest's namespace.
	GuestInterface = "eth0"
)

// QEMU's own stack uses the same addresses for every guest. UserHost leads to the loopback address of the namespace
// that QEMU runs in.
var (
	UserAddress = netip.MustParsePrefix("10.0.2.15/24")
	UserHost    = netip.MustParseAddr("10.0.2.2")
)

// Bridge is the network of one run. It is created with its first port.
type Bridge struct {
	mu     sync.Mutex
	space  *space       // nil before the first port and after Close
	wire   lan          // of bridged guests, and what guests with NAT take for the world outside
	inside lan          // of guests with NAT; without a link while there are none
	uplink Uplink       // zero: the wire leads nowhere
	taken  map[int]bool // numbers of ports, which have addresses on both bridges, from 2
}

// lan is a bridge and the addresses on it.
type lan struct {
	link netlink.Link
	host netip.Prefix // of this end; guests have the addresses that follow
}

// at returns the n-th address, of which the first is this end's; invalid if the network has no more.
func (l lan) at(n int) netip.Prefix {
	first := l.host.Addr().As4()
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(first[:])+uint32(n-1))
	p := netip.PrefixFrom(netip.AddrFrom4(a), l.host.Bits())
	if next := p.Addr().Next(); !l.host.Masked().Contains(next) { // p is beyond the network, or broadcasts to it
		return netip.Prefix{}
	}
	return p
}

// NewBridge returns the bridge of a run. It creates nothing yet. The caller closes the bridge when
// the guests have ended.
func NewBridge() *Bridge { return &Bridge{taken: map[int]bool{}} }

// Port is a guest's attachment to the bridge. No other port has its address until it is closed. In
// tests, a port may be just an Address.
type Port struct {
	// Address is the guest's address, with the length of the network's prefix.
	Address netip.Prefix
	// Gateway is the gateway of the guest's default route; invalid: the guest has none.
	Gateway netip.Addr
	// Host is the address at which the guest reaches the host: the bridge's own address, or UserHost. See
	// Bridge.OnHost.
	Host netip.Addr
	// MAC is the hardware address for the guest's interface, for VMMs that set one.
	MAC net.HardwareAddr
	// Namespace is the path of the guest's network namespace, for processes in this sandbox; "" if
	// the port is not a namespace.
	Namespace string
	// Tap is the tap device for a machine; "" if the port is not a tap device.
	Tap string
	// VMMNamespace is the path of the namespace in which the machine's process must be started.
	VMMNamespace string

	bridge  *Bridge // nil: not on a bridge
	lan     lan     // of the bridge, that the port is on
	space   *space  // the guest's, if it has one
	number  int
	plugged string       // the interface given to Plug
	policed bool         // the bridge's namespace has rules for the port
	outer   netip.Prefix // the address that Forward returned
	once    sync.Once
	err     error
}

// NamespacePort makes a port that is a network namespace containing a configured interface, for
// guests that are processes of this host. The caller closes it.
func (b *Bridge) NamespacePort(mode string) (*Port, error) {
	return b.port(mode, func(p *Port) error {
		var err error
		if p.space, err = newSpace(); err != nil {
			return err
		}
		p.Namespace = p.space.path()
		veth := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: p.hostEnd(), MasterIndex: p.lan.link.Attrs().Index},
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

// Reset gives the interface of a port by NamespacePort its address and its route again, which a guest with a network
// stack of its own takes away.
func (p *Port) Reset() error {
	return wrap(p.space.configure(GuestInterface, p.Address, p.Gateway))
}

// Alone makes a port for a guest without a network: a namespace which contains only loopback. It is
// for guests that would otherwise use the host's network and collide on its ports. The caller
// closes it.
func Alone() (*Port, error) {
	s, err := newSpace()
	if err != nil {
		return nil, wrap(err)
	}
	return &Port{Namespace: s.path(), space: s}, nil
}

// TapPort makes a port that is a tap device, for guests that are machines. The user and group owner may open
// it: once, or with several queues once for each of them. The machine must configure the port's address itself.
// The caller closes the port.
func (b *Bridge) TapPort(mode string, owner uint32, queues int) (*Port, error) {
	return b.port(mode, func(p *Port) error {
		tap := &netlink.Tuntap{
			LinkAttrs: netlink.LinkAttrs{Name: p.hostEnd()},
			Mode:      netlink.TUNTAP_MODE_TAP, Owner: owner, Group: owner,
			Flags: netlink.TUNTAP_DEFAULTS | netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR,
		}
		if queues > 1 {
			tap.Flags |= netlink.TUNTAP_MULTI_QUEUE
		}
		// A tap device is created in the namespace of the calling thread.
		if err := b.space.do(func() error { return b.space.links.LinkAdd(tap) }); err != nil {
			return fmt.Errorf("a tap device: %w", err)
		}
		if err := b.space.links.LinkSetMaster(tap, p.lan.link); err != nil {
			return err
		}
		p.Tap, p.VMMNamespace = p.hostEnd(), b.space.path()
		return b.space.links.LinkSetUp(tap)
	})
}

// UserPort makes a port for a machine whose VMM has a network stack of its own: only the namespace
// in which the VMM must be started, so that its sockets reach the run's network and not the host's.
// The guest has no address that others could reach. The caller closes the port.
func (b *Bridge) UserPort() (*Port, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.ensure(model.NetworkUser); err != nil {
		return nil, wrap(err)
	}
	return &Port{Host: UserHost, VMMNamespace: b.space.path()}, nil
}

// EmptyPort makes a port that is only an address, for guests whose interface another program
// creates; Plug attaches the interface when it exists. The caller closes the port.
func (b *Bridge) EmptyPort(mode string) (*Port, error) {
	return b.port(mode, func(*Port) error { return nil })
}

// Plug attaches an interface of the host, which must be down, to the bridge. The interface keeps
// its name, since it returns to the host if tare is killed. It disappears with the guest; Close
// only waits for that.
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
	if link, err = b.space.links.LinkByName(name); err != nil { // its index may differ there
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := b.space.links.LinkSetMaster(link, p.lan.link); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return b.space.links.LinkSetUp(link)
}

// hostEnd is the name of the port's interface on the bridge, if tare made it.
func (p *Port) hostEnd() string { return fmt.Sprint("guest", p.number) }

func (b *Bridge) port(mode string, plug func(*Port) error) (*Port, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.ensure(mode); err != nil {
		return nil, wrap(err)
	}
	p := &Port{bridge: b, lan: b.wire}
	if mode == model.NetworkNAT {
		p.lan = b.inside
	}
	if p.number = b.free(p.lan); p.number == 0 {
		return nil, fault.Hostf("network: no address of %s is left for another guest", p.lan.host.Masked())
	}
	p.Address, p.Host = p.lan.at(p.number), b.wire.host.Addr()
	if mode == model.NetworkNAT {
		p.Gateway = p.lan.host.Addr()
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

// maxPorts is how many ports a bridge can have.
const maxPorts = 253

// free returns the number of an unused address of a bridge, 0 when there is none.
func (b *Bridge) free(on lan) int {
	for n := 2; n < maxPorts+2 && on.at(n).IsValid(); n++ {
		if !b.taken[n] {
			return n
		}
	}
	return 0
}

// ensure creates the bridge, and what the mode needs in addition, unless it exists.
func (b *Bridge) ensure(mode string) error {
	switch mode {
	case model.NetworkBridged, model.NetworkNAT, model.NetworkUser:
	default:
		return fault.Campaignf("network %q: want %s, %s or %s",
			mode, model.NetworkBridged, model.NetworkNAT, model.NetworkUser)
	}
	if b.space == nil {
		if err := b.make(); err != nil {
			return err
		}
	}
	if mode == model.NetworkNAT && b.inside.link == nil {
		return b.route()
	}
	return nil
}

func (b *Bridge) make() (err error) {
	host := b.uplink.Address
	if !b.uplink.Given() {
		free, err := freePrefix()
		if err != nil {
			return err
		}
		host = netip.PrefixFrom(free.Addr().Next(), free.Bits())
	}
	s, err := newSpace()
	if err != nil {
		return err
	}
	b.wire, err = s.bridge(bridgeName, host)
	if err == nil && b.uplink.Given() {
		err = b.plugUplink(s)
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	b.space = s
	return nil
}

// bridge makes a bridge in the namespace, with this end's address.
func (s *space) bridge(name string, host netip.Prefix) (lan, error) {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}
	if err := s.links.LinkAdd(bridge); err != nil {
		return lan{}, fault.WithRemedy(fault.Hostf("network: a bridge: %w", err), "modprobe bridge")
	}
	return lan{bridge, host}, s.configure(name, host, netip.Addr{})
}

// OnHost calls f in the network namespace in which guests of this mode reach the host: the run's. Nothing there is
// reachable from the host's own network. Sockets that f opens stay there, and so do processes that f starts directly;
// goroutines do not.
func (b *Bridge) OnHost(mode string, f func() error) error {
	b.mu.Lock()
	err := b.ensure(mode)
	s := b.space
	b.mu.Unlock()
	if err != nil {
		return wrap(err)
	}
	return s.do(f)
}

// Interfaces returns the names of the interfaces of all ports that are not closed.
func (b *Bridge) Interfaces() ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.space == nil {
		return nil, nil
	}
	links, err := whole(b.space.links.LinkList)
	if err != nil {
		return nil, wrap(err)
	}
	var names []string
	for _, l := range links {
		on := l.Attrs().MasterIndex
		wired := on == b.wire.link.Attrs().Index && l.Attrs().Name != b.uplink.Interface
		if wired || b.inside.link != nil && on == b.inside.link.Attrs().Index {
			names = append(names, l.Attrs().Name)
		}
	}
	return names, nil
}

// Close detaches the port from the bridge and releases its address. The guest must have ended.
// Later calls do nothing.
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
		// A namespace, and with it its end of the veth pair, disappears some time after its last
		// user. Therefore remove the end on the bridge first.
		if link, err := b.space.links.LinkByName(p.hostEnd()); err == nil {
			if err := b.space.links.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
				errs = append(errs, err)
			}
		}
		errs = append(errs, p.unlimit(), p.unforward())
		if p.plugged != "" {
			errs = append(errs, p.awaitUnplugged())
		}
	}
	if p.space != nil {
		errs = append(errs, p.space.close())
	}
	return errors.Join(errs...)
}

// unplugTimeout is how long the interface of a guest that has ended may continue to exist: the
// program that created it removes it with a delay.
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
			return fmt.Errorf("%s still exists after the end of its guest", p.plugged)
		}
	}
}

// Close removes the bridge. Its ports must be closed. Later calls do nothing, and a later port
// creates the bridge again.
func (b *Bridge) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.space == nil {
		return nil
	}
	err := errors.Join(b.unplugUplink(), b.space.close())
	b.space, b.wire, b.inside = nil, lan{}, lan{}
	return wrap(err)
}

// wrap marks an error as one of the network, and as the host's fault unless it already has another
// kind.
func wrap(err error) error {
	if err == nil || fault.KindOf(err) != fault.Internal {
		return err
	}
	return fault.Hostf("network: %w", err)
}
