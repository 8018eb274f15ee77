package network

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/fault"
)

// pools are the private networks that tare takes guests' networks from, least used ones first.
var pools = []netip.Prefix{
	netip.MustParsePrefix("10.213.0.0/16"), netip.MustParsePrefix("172.29.0.0/16"),
	netip.MustParsePrefix("192.168.0.0/16"),
}

// freePrefix returns a private network that this host has neither an address in nor a route to, and
// that overlaps none of not.
func freePrefix(not ...netip.Prefix) (netip.Prefix, error) {
	used, err := routed()
	if err != nil {
		return netip.Prefix{}, err
	}
	return choose(append(used, not...))
}

// choose returns the first network of the pools that overlaps none of used.
func choose(used []netip.Prefix) (netip.Prefix, error) {
	for _, pool := range pools {
		base := pool.Addr().As4()
		for n := range 256 {
			base[2] = byte(n)
			p := netip.PrefixFrom(netip.AddrFrom4(base), 24)
			if !slices.ContainsFunc(used, p.Overlaps) {
				return p, nil
			}
		}
	}
	return netip.Prefix{}, fault.Hostf("network: guests get addresses from %v, but this host uses or has routes to all "+
		"of them", pools)
}

// routed lists the networks that this host has addresses in or routes to, without the default
// route.
func routed() ([]netip.Prefix, error) {
	var used []netip.Prefix
	routes, err := whole(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return nil, err
	}
	addresses, err := whole(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		if p, ok := prefixOf(r.Dst); ok && p.Bits() > 0 {
			used = append(used, p)
		}
	}
	for _, a := range addresses {
		if p, ok := prefixOf(a.IPNet); ok {
			used = append(used, p)
		}
	}
	return used, nil
}

// whole repeats a listing for some seconds if the kernel says that something changed meanwhile, since the list may be
// incomplete then. Other programs change interfaces, addresses and routes of this host at any time.
func whole[T any](list func() ([]T, error)) (all []T, err error) {
	for range 500 {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return all, err
}
