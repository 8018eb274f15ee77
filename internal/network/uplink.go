package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// uplinkName is the uplink's interface in the bridge's namespace.
const uplinkName = "up"

// hostInterface is the uplink's interface on the host.
func (b *Bridge) hostInterface() string { return b.id + "-up" }

// masquerade is the ruleset of the bridge's namespace: guests' packets leave over the uplink with
// its address as the source.
const masquerade = `table ip tare {
	chain out {
		type nat hook postrouting priority srcnat
		oifname "` + uplinkName + `" masquerade
	}
}
`

// addUplink makes the bridge's namespace a router between the guests and the host. It adds nothing
// to the host but an interface with an address: packets for destinations beyond the host depend on
// the host's own forwarding.
func (b *Bridge) addUplink() error {
	net, err := freePrefix(b.net)
	if err != nil {
		return err
	}
	host, ours := address(net, 1), address(net, 2)
	bits := 30
	here, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer here.Close()
	cable := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: b.hostInterface()},
		PeerName:  uplinkName, PeerNamespace: netlink.NsFd(b.space.fd()),
	}
	if err := here.LinkAdd(cable); err != nil {
		return fmt.Errorf("uplink: %w", err)
	}
	err = (&space{links: here}).configure(b.hostInterface(), netip.PrefixFrom(host, bits), netip.Addr{})
	if err == nil {
		err = b.space.configure(uplinkName, netip.PrefixFrom(ours, bits), host)
	}
	if err == nil {
		err = b.space.do(forward)
	}
	if err != nil {
		return errors.Join(err, b.removeUplink())
	}
	b.host = host
	return nil
}

// forward makes the namespace that it is called in a router with NAT.
func forward() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(masquerade)
	out, err := nft.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fault.WithRemedy(fault.Hostf("network: NAT needs nft: %w", err), "apt-get install nftables")
	case err != nil:
		return fault.WithRemedy(fault.Hostf("network: NAT: nft: %w: %s", err, strings.TrimSpace(string(out))),
			"a kernel with nftables and NAT: modprobe nft_masq; or network: %s", model.NetworkBridged)
	}
	return nil
}

// removeUplink removes the host's end of the uplink, if it exists, and thereby the other end.
func (b *Bridge) removeUplink() error {
	link, err := netlink.LinkByName(b.hostInterface())
	if err != nil {
		return nil // it does not exist
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return err
	}
	return nil
}
