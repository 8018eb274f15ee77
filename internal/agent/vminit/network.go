package vminit

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// setUpNetwork brings up the loopback interface, which workloads expect, and the machine's network interface, if it has
// one. It uses no program: the userland need not have one.
func setUpNetwork(parameter string) error {
	err := up("lo")
	if err == nil && parameter != "" {
		var n ipNetwork
		if n, err = parseNetwork(parameter); err == nil {
			if err := waitFor("/sys/class/net/" + n.iface); err != nil {
				return err
			}
			err = n.setUp()
		}
	}
	if err != nil {
		return fmt.Errorf("setting up the network: %w", err)
	}
	return nil
}

// ipNetwork is what an interface needs to reach others.
type ipNetwork struct {
	iface   string
	address netip.Prefix // IPv4
	gateway netip.Addr   // invalid: none
}

// parseNetwork reads a parameter INTERFACE,ADDRESS/BITS[,GATEWAY].
func parseNetwork(parameter string) (n ipNetwork, err error) {
	words := strings.Split(parameter, ",")
	if len(words) < 2 || len(words) > 3 {
		return n, fmt.Errorf("tare.net=%s: want an interface, an address, and perhaps a gateway", parameter)
	}
	n.iface = words[0]
	n.address, err = netip.ParsePrefix(words[1])
	if err == nil && len(words) == 3 {
		n.gateway, err = netip.ParseAddr(words[2])
	}
	if err == nil && (!n.address.Addr().Is4() || n.gateway.IsValid() && !n.gateway.Is4()) {
		err = fmt.Errorf("only IPv4 is supported")
	}
	if err != nil {
		return n, fmt.Errorf("tare.net=%s: %w", parameter, err)
	}
	return n, nil
}

// setUp gives the interface its address, brings it up, and sets the default route.
func (n ipNetwork) setUp() error {
	mask := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-n.address.Bits())))).AsSlice()
	for _, set := range []struct {
		request uint
		value   []byte
	}{{unix.SIOCSIFADDR, n.address.Addr().AsSlice()}, {unix.SIOCSIFNETMASK, mask}} {
		err := onInterface(n.iface, func(fd int, i *unix.Ifreq) error {
			if err := i.SetInet4Addr(set.value); err != nil {
				return err
			}
			return unix.IoctlIfreq(fd, set.request, i)
		})
		if err != nil {
			return fmt.Errorf("address %s: %w", n.address, err)
		}
	}
	if err := up(n.iface); err != nil || !n.gateway.IsValid() {
		return err
	}
	if err := addDefaultRoute(n.gateway); err != nil {
		return fmt.Errorf("default route to %s: %w", n.gateway, err)
	}
	return nil
}

// onInterface makes requests about an interface, see netdevice(7).
func onInterface(name string, request func(fd int, i *unix.Ifreq) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	i, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	return request(fd, i)
}

// up brings an interface up.
func up(name string) error {
	err := onInterface(name, func(fd int, i *unix.Ifreq) error {
		if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, i); err != nil {
			return err
		}
		i.SetUint16(i.Uint16() | unix.IFF_UP)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, i)
	})
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return nil
}

// addDefaultRoute adds a route for everything, see rtnetlink(7).
func addDefaultRoute(gateway netip.Addr) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	message := routeMessage(gateway)
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, os.Getpagesize())
	got, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	// The acknowledgement is a message of the type NLMSG_ERROR with the error, or 0, after its header.
	if got < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("the kernel answered %x", answer[:got])
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// routeMessage asks the kernel for a default route: a header, a struct rtmsg, and the gateway as attribute.
func routeMessage(gateway netip.Addr) []byte {
	e := binary.NativeEndian
	b := make([]byte, 0, 64)
	b = e.AppendUint32(b, 0) // its length, below
	b = e.AppendUint16(b, unix.RTM_NEWROUTE)
	b = e.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = e.AppendUint32(b, 1) // number of the message
	b = e.AppendUint32(b, 0) // to the kernel
	b = append(b, unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST)
	b = e.AppendUint32(b, 0) // flags
	b = e.AppendUint16(b, unix.SizeofRtAttr+4)
	b = e.AppendUint16(b, unix.RTA_GATEWAY)
	b = append(b, gateway.AsSlice()...)
	e.PutUint32(b, uint32(len(b)))
	return b
}
