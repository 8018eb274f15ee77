package network

import (
	"crypto/rand"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// machine stands for another machine: a namespace at the other end of a cable. It returns the name of this host's end.
func machine(t *testing.T, address string) (*space, string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	other, err := newSpace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.close() })
	name := "t" + strings.ToLower(rand.Text()[:10])
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "wire",
		PeerNamespace: netlink.NsFd(other.fd())}
	if err := netlink.LinkAdd(cable); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { netlink.LinkDel(cable) })
	if err := other.configure("wire", netip.MustParsePrefix(address), netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	return other, name
}

// TestUplink: guests reach another machine over an interface of the host, with NAT and without, and it reaches them.
// The host has its interface back afterwards.
func TestUplink(t *testing.T) {
	there := netip.MustParsePrefix("198.18.7.2/28")
	other, name := machine(t, there.String())
	b := newBridge(t)
	if err := b.SetUplink(Uplink{Interface: name, Address: netip.MustParsePrefix("198.18.7.9/28")}); err != nil {
		t.Fatal(err)
	}
	plain := namespacePort(t, b, model.NetworkBridged)
	if plain.Address != netip.MustParsePrefix("198.18.7.10/28") {
		t.Errorf("the first guest has %v", plain.Address)
	}
	if from := exchange(t, other.do, there.Addr(), plain.space.do); from != plain.Address.Addr() {
		t.Errorf("%v came as %v", plain.Address, from)
	}
	exchange(t, plain.space.do, plain.Address.Addr(), other.do)
	if names, err := b.Interfaces(); err != nil || len(names) != 1 || names[0] == name {
		t.Errorf("guests have %v, %v", names, err)
	}
	if err := Check(model.NetworkNAT); err != nil {
		t.Logf("this host has no NAT: %v", err)
	} else {
		p := namespacePort(t, b, model.NetworkNAT)
		if from := exchange(t, other.do, there.Addr(), p.space.do); from != b.wire.host.Addr() {
			t.Errorf("%v came as %v", p.Address, from)
		}
		at, err := p.Forward()
		if err != nil {
			t.Fatal(err)
		}
		if from := forwarded(t, p, at, &Port{space: other}); from != there.Addr() {
			t.Errorf("%v came as %v", there, from)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for n := 11; n < 15; n++ { // what is left of the network, without its last address
		namespacePort(t, b, model.NetworkBridged)
	}
	if p, err := b.NamespacePort(model.NetworkBridged); fault.KindOf(err) != fault.Host {
		t.Errorf("a guest too many: %v, %v", p, err)
	}
	if _, err := netlink.LinkByName(name); err == nil {
		t.Error("the host still has the interface")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := netlink.LinkByName(name); err != nil {
		t.Errorf("the host has lost its interface: %v", err)
	}
}

// TestUplinkRefused: the host keeps the interfaces that it uses.
func TestUplinkRefused(t *testing.T) {
	_, name := machine(t, "198.18.8.2/24")
	link, err := netlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	own := &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("198.18.9.1/24"))}
	if err := netlink.AddrAdd(link, own); err != nil {
		t.Fatal(err)
	}
	for want, u := range map[string]Uplink{
		"has the address 198.18.9.1/24": {name, netip.MustParsePrefix("198.18.8.1/24")},
		"leads nowhere":                 {"lo", netip.MustParsePrefix("198.18.8.1/24")},
		"interface tare-none":           {"tare-none", netip.MustParsePrefix("198.18.8.1/24")},
	} {
		err := NewBridge().SetUplink(u)
		if fault.KindOf(err) != fault.Campaign || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", u, err)
		}
	}
	if err := netlink.AddrDel(link, own); err != nil {
		t.Fatal(err)
	}
	err = NewBridge().SetUplink(Uplink{name, netip.MustParsePrefix("127.0.0.5/24")})
	if fault.KindOf(err) != fault.Campaign {
		t.Errorf("addresses of the host's own: %v", err)
	}
}
