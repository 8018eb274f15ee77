package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/fault"
)

// Uplink is an interface of the host that leads guests to other machines.
type Uplink struct {
	Interface string
	// Address is this end's address on that network, with the length of its prefix. Guests have the addresses that
	// follow.
	Address netip.Prefix
}

// Given reports whether there is an uplink.
func (u Uplink) Given() bool { return u.Interface != "" }

// Check returns an error if this host has no such interface, or needs it.
func (u Uplink) Check() error {
	if _, err := u.find(); err != nil {
		return err
	}
	used, err := routed()
	if err != nil {
		return wrap(err)
	}
	for _, p := range used {
		if p.Overlaps(u.Address.Masked()) {
			return fault.Campaignf("uplink: guests would have addresses of %s, but this host uses or has a route to %s",
				u.Address.Masked(), p)
		}
	}
	return nil
}

// find returns the interface if the host can do without it: it has no address but the one that IPv6 gives to every
// interface, and is part of no bridge or bond. The host could lose its own network otherwise.
func (u Uplink) find() (netlink.Link, error) {
	link, err := netlink.LinkByName(u.Interface)
	if err != nil {
		return nil, fault.Campaignf("uplink: interface %s: %w", u.Interface, err)
	}
	if link.Attrs().Flags&net.FlagLoopback != 0 {
		return nil, fault.Campaignf("uplink: interface %s leads nowhere", u.Interface)
	}
	if link.Attrs().MasterIndex != 0 {
		return nil, fault.Campaignf("uplink: interface %s belongs to a bridge or bond of this host", u.Interface)
	}
	addresses, err := whole(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, wrap(err)
	}
	for _, a := range addresses {
		if !a.IP.IsLinkLocalUnicast() || a.IP.To4() != nil {
			return nil, fault.WithRemedy(fault.Campaignf("uplink: this host has the address %s on interface %s, and would "+
				"lose it for as long as tare runs", a.IPNet, u.Interface),
				"name an interface that the host does not use; or, if the host can do without: ip address flush dev %s",
				u.Interface)
		}
	}
	return link, nil
}

// SetUplink puts the interface on the bridge, with everything that is reached over it, as soon as the bridge exists.
// The interface is the bridge's until Close. If tare is killed, Linux returns a physical interface to the host, down.
func (b *Bridge) SetUplink(u Uplink) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.space != nil {
		return fmt.Errorf("the bridge exists already")
	}
	if err := u.Check(); err != nil {
		return err
	}
	b.uplink = u
	return nil
}

// plugUplink moves the interface into the bridge's namespace s.
func (b *Bridge) plugUplink(s *space) error {
	name := b.uplink.Interface
	link, err := b.uplink.find()
	if err != nil {
		return err
	}
	if err := netlink.LinkSetNsFd(link, s.fd()); err != nil {
		return fmt.Errorf("uplink %s: %w", name, err)
	}
	moved, err := s.links.LinkByName(name) // its index may differ there
	if err == nil {
		err = s.links.LinkSetMaster(moved, b.wire.link)
	}
	if err == nil {
		err = s.links.LinkSetUp(moved)
	}
	if err == nil {
		err = s.awaitUp(name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("uplink %s: %w", name, err), returnUplink(s, name))
	}
	return nil
}

// unplugUplink returns the interface to the host.
func (b *Bridge) unplugUplink() error {
	if !b.uplink.Given() {
		return nil
	}
	return returnUplink(b.space, b.uplink.Interface)
}

// returnUplink moves an interface from the namespace to the one of this process, where it is down.
func returnUplink(s *space, name string) error {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	link, err := s.links.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil // unplugged, or its other end is gone
	}
	if err == nil {
		err = s.links.LinkSetNoMaster(link)
	}
	if err == nil {
		err = s.links.LinkSetNsFd(link, int(home.Fd()))
	}
	if err != nil {
		return fmt.Errorf("returning the uplink %s to the host: %w", name, err)
	}
	return nil
}
