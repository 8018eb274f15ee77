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

// uplinkName is the uplink's interface in the bridge's namespace.
const uplinkName = "up"

// masquerade is the ruleset of the bridge's namespace: guests' packets leave over the uplink with
// its address as the source.
const masquerade = `table ip tare {
	chain out {
		type nat hook postrouting priority srcnat
		oifname "` + uplinkName + `" masquerade
	}
}
`

// addUplink makes the bridge's namespace a router between the guests and what they take for the
// world outside: another namespace, where only the host's end of the run listens. The route goes no
// farther, since guests are not trusted.
func (b *Bridge) addUplink() error {
	net, err := freePrefix(b.net)
	if err != nil {
		return err
	}
	host, ours := address(net, 1), address(net, 2)
	bits := 30
	outside, err := newSpace()
	if err != nil {
		return err
	}
	err = b.space.links.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: uplinkName},
		PeerName:  GuestInterface, PeerNamespace: netlink.NsFd(outside.fd()),
	})
	if err != nil {
		err = fmt.Errorf("uplink: %w", err)
	}
	if err == nil {
		err = outside.configure(GuestInterface, netip.PrefixFrom(host, bits), netip.Addr{})
	}
	if err == nil {
		err = b.space.configure(uplinkName, netip.PrefixFrom(ours, bits), host)
	}
	if err == nil {
		err = b.space.do(forward)
	}
	if err != nil {
		return errors.Join(err, b.removeUplink(), outside.close())
	}
	b.outside, b.host = outside, host
	return nil
}

// forward makes the namespace that it is called in a router with NAT.
func forward() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	nft, err := tools.Command(context.Background(), "nft", "-f", "-")
	if err != nil {
		return fault.Hostf("network: NAT: %w", err)
	}
	nft.Stdin = strings.NewReader(masquerade)
	if out, err := nft.CombinedOutput(); err != nil {
		return fault.WithRemedy(fault.Hostf("network: NAT: nft: %w: %s", err, strings.TrimSpace(string(out))),
			"a kernel with nftables and NAT: modprobe nft_masq; or network: %s", model.NetworkBridged)
	}
	return nil
}

// removeUplink removes the uplink, if it exists, so that another attempt can make it.
func (b *Bridge) removeUplink() error {
	link, err := b.space.links.LinkByName(uplinkName)
	if err != nil {
		return nil // it does not exist
	}
	return b.space.links.LinkDel(link)
}
