package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/tools"
)

// ruleset is that of the router: what guests inside send to the wire leaves with the router's address, and what comes
// for an address of the map goes to the guest inside that it names.
const ruleset = `table ip tare {
	map forwards {
		type ipv4_addr : ipv4_addr
	}
	chain in {
		type nat hook prerouting priority dstnat
		dnat to ip daddr map @forwards
	}
	chain out {
		type nat hook postrouting priority srcnat
		ip saddr %s oifname "` + bridgeName + `" masquerade
	}
}
`

// route makes the bridge for guests with NAT, and the bridges' namespace a router between it and the wire.
func (b *Bridge) route() error {
	free, err := freePrefix(b.wire.host.Masked())
	if err != nil {
		return err
	}
	inside, err := b.space.bridge(insideName, netip.PrefixFrom(free.Addr().Next(), free.Bits()))
	if err == nil {
		err = b.space.do(func() error {
			if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
				return err
			}
			return nft(fmt.Sprintf(ruleset, free))
		})
	}
	if err != nil {
		if inside.link != nil { // another attempt makes it again
			err = errors.Join(err, b.space.links.LinkDel(inside.link))
		}
		return err
	}
	b.inside = inside
	return nil
}

// nft has the rules of this thread's namespace changed.
func nft(commands string) error {
	nft, err := tools.Command(context.Background(), "nft", "-f", "-")
	if err != nil {
		return fault.Hostf("network: NAT: %w", err)
	}
	nft.Stdin = strings.NewReader(commands)
	if out, err := nft.CombinedOutput(); err != nil {
		return fault.WithRemedy(fault.Hostf("network: NAT: nft: %w: %s", err, strings.TrimSpace(string(out))),
			"a kernel with nftables and NAT: modprobe -a nft_masq nft_nat; or network: %s", model.NetworkBridged)
	}
	return nil
}

// Forward returns the address at which whatever is on the wire reaches the guest of the port: with NAT one of the
// router, which forwards everything that arrives there, on every port of TCP and UDP, until the port is closed. Other
// guests have their own address on the wire.
func (p *Port) Forward() (netip.Addr, error) {
	b := p.bridge
	if b == nil || !p.Gateway.IsValid() {
		return p.Address.Addr(), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.outer.IsValid() {
		return p.outer.Addr(), nil
	}
	outer := b.wire.at(p.number)
	if !outer.IsValid() {
		return netip.Addr{}, fault.Hostf("network: no address of %s is left at which a guest with NAT can be reached",
			b.wire.host.Masked())
	}
	own := netip.PrefixFrom(outer.Addr(), outer.Addr().BitLen())
	if err := b.space.links.AddrAdd(b.wire.link, &netlink.Addr{IPNet: ipNet(own)}); err != nil {
		return netip.Addr{}, wrap(fmt.Errorf("%s: address %s: %w", bridgeName, own, err))
	}
	p.outer = own
	err := b.space.do(func() error {
		return nft(fmt.Sprintf("add element ip tare forwards { %s : %s }\n", own.Addr(), p.Address.Addr()))
	})
	if err != nil {
		return netip.Addr{}, wrap(errors.Join(err, b.space.links.AddrDel(b.wire.link, &netlink.Addr{IPNet: ipNet(own)})))
	}
	return own.Addr(), nil
}

// unforward ends what Forward began.
func (p *Port) unforward() error {
	if !p.outer.IsValid() {
		return nil
	}
	s, outer := p.bridge.space, p.outer
	p.outer = netip.Prefix{}
	return errors.Join(
		s.do(func() error {
			return nft(fmt.Sprintf("delete element ip tare forwards { %s : %s }\n", outer.Addr(), p.Address.Addr()))
		}),
		s.links.AddrDel(p.bridge.wire.link, &netlink.Addr{IPNet: ipNet(outer)}))
}
