package network

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// newBridge returns a bridge, and closes it when the test ends.
func newBridge(t *testing.T) *Bridge {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	b := NewBridge()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func namespacePort(t *testing.T, b *Bridge, mode string) *Port {
	t.Helper()
	p, err := b.NamespacePort(mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// exchange sends bytes from the client's namespace to an address in the server's and back, and
// returns the address that they came from.
func exchange(t *testing.T, server func(func() error) error, at netip.Addr,
	client func(func() error) error) netip.Addr {
	t.Helper()
	var l net.Listener
	err := server(func() (err error) {
		l, err = net.Listen("tcp4", netip.AddrPortFrom(at, 0).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from := make(chan netip.Addr, 1)
	go func() {
		defer close(from)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(c, io.LimitReader(c, 1<<20))
		from <- netip.MustParseAddrPort(c.RemoteAddr().String()).Addr()
	}()
	sent, got := make([]byte, 1<<20), make([]byte, 1<<20)
	rand.Read(sent)
	err = client(func() error {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		go c.Write(sent)
		_, err = io.ReadFull(c, got)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sent, got) {
		t.Error("the bytes received differ from those sent")
	}
	return <-from
}

// TestAlone: guests without a network can use the same port and reach nothing.
func TestAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	for range 2 {
		p, err := Alone()
		if err != nil {
			t.Fatal(err)
		}
		err = p.space.do(func() error {
			l, err := net.Listen("tcp4", "127.0.0.1:28080")
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := net.Dial("tcp4", l.Addr().String())
			if err != nil {
				return err
			}
			c.Close()
			if c, err := net.Dial("udp4", "192.0.2.1:9"); err == nil { // looks up a route and sends nothing
				c.Close()
				return errors.New("there is a way out")
			}
			return nil
		})
		if err != nil || p.Address.IsValid() {
			t.Errorf("%v, %v", err, p.Address)
		}
		t.Cleanup(func() {
			if err := errors.Join(p.Close(), p.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBridged(t *testing.T) {
	b := newBridge(t)
	one, two := namespacePort(t, b, model.NetworkBridged), namespacePort(t, b, model.NetworkBridged)
	if one.Address == two.Address || one.Gateway.IsValid() {
		t.Errorf("ports %+v and %+v", one, two)
	}
	host := func(f func() error) error { return b.OnHost(model.NetworkBridged, f) }
	if from := exchange(t, two.space.do, two.Address.Addr(), one.space.do); from != one.Address.Addr() {
		t.Errorf("%v came as %v", one.Address, from)
	}
	exchange(t, host, one.Host, one.space.do)
	exchange(t, two.space.do, two.Address.Addr(), host)
	err := one.space.do(func() error {
		c, err := net.Dial("udp4", "192.0.2.1:9") // looks up a route and sends nothing
		if err == nil {
			c.Close()
			return errors.New("there is a way out")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNAT(t *testing.T) {
	b := newBridge(t)
	if err := Check(model.NetworkNAT); err != nil {
		t.Skipf("this host has no NAT: %v", err)
	}
	plain, p := namespacePort(t, b, model.NetworkBridged), namespacePort(t, b, model.NetworkNAT)
	host := func(f func() error) error { return b.OnHost(model.NetworkNAT, f) }
	exchange(t, host, p.Host, p.space.do)
	if from := exchange(t, plain.space.do, plain.Address.Addr(), p.space.do); from != b.wire.host.Addr() {
		t.Errorf("it came from %v, not from the router %v", from, b.wire.host)
	}
	if at, err := plain.Forward(); err != nil || at != plain.Address.Addr() {
		t.Errorf("a guest on the wire is at %v there, %v", at, err)
	}
	for range 2 {
		at, err := p.Forward()
		if err != nil || !b.wire.host.Contains(at) || at == p.Address.Addr() {
			t.Fatalf("a guest with NAT is at %v, %v", at, err)
		}
		if from := forwarded(t, p, at, plain); from != plain.Address.Addr() {
			t.Errorf("%v came as %v", plain.Address, from)
		}
	}
	at := p.outer.Addr()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	err := plain.space.do(func() error {
		if c, err := net.DialTimeout("tcp4", netip.AddrPortFrom(at, 9).String(), 200*time.Millisecond); err == nil {
			c.Close()
			return fmt.Errorf("something answers at %v", at)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// forwarded has the client connect to an address at which a guest with NAT is reached, and returns the address that
// the guest sees.
func forwarded(t *testing.T, guest *Port, at netip.Addr, client *Port) netip.Addr {
	t.Helper()
	var l net.Listener
	err := guest.space.do(func() (err error) {
		l, err = net.Listen("tcp4", netip.AddrPortFrom(guest.Address.Addr(), 0).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	var c net.Conn
	err = client.space.do(func() (err error) {
		c, err = net.Dial("tcp4", netip.AddrPortFrom(at, port).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	came, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer came.Close()
	return netip.MustParseAddrPort(came.RemoteAddr().String()).Addr()
}

// TestHostUnreachable: what listens on the host, on whatever address, cannot be reached from any network.
func TestHostUnreachable(t *testing.T) {
	b := newBridge(t)
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	targets := []string{"127.0.0.1"}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			targets = append(targets, p.Addr().String())
		}
	}
	for _, mode := range []string{model.NetworkBridged, model.NetworkNAT, model.NetworkUser} {
		if err := Check(mode); err != nil {
			t.Logf("this host has no network %q: %v", mode, err)
			continue
		}
		// User-mode stacks connect from where OnHost calls its function.
		from, targets := func(f func() error) error { return b.OnHost(mode, f) }, targets
		if mode != model.NetworkUser {
			p := namespacePort(t, b, mode)
			from, targets = p.space.do, append(slices.Clone(targets), p.Host.String())
		}
		err := from(func() error {
			for _, target := range targets {
				// The timeout bounds the test: a connection that is dropped is not made, either.
				if c, err := net.DialTimeout("tcp4", net.JoinHostPort(target, port), time.Second); err == nil {
					c.Close()
					t.Errorf("%s: the host is reached at %s", mode, target)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestTaps creates and closes taps; addresses are reused.
func TestTaps(t *testing.T) {
	b := newBridge(t)
	seen := map[string]bool{}
	for queues := 1; queues <= 3; queues++ {
		p, err := b.TapPort(model.NetworkBridged, 0, queues)
		if err != nil {
			t.Fatal(err)
		}
		seen[p.Address.String()+p.MAC.String()] = true
		if names, err := b.Interfaces(); err != nil || !slices.Equal(names, []string{p.Tap}) {
			t.Errorf("interfaces %v, %v, not %s", names, err, p.Tap)
		}
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if names, err := b.Interfaces(); err != nil || len(names) > 0 || len(seen) != 1 {
		t.Errorf("interfaces %v, %v; addresses %v", names, err, seen)
	}
}

// TestPlug attaches an interface that another program has created and later removes.
func TestPlug(t *testing.T) {
	b := newBridge(t)
	p, err := b.EmptyPort(model.NetworkBridged)
	if err != nil {
		t.Fatal(err)
	}
	id := "t" + strings.ToLower(rand.Text()[:10])
	if err := p.Plug(id + "-no"); fault.KindOf(err) != fault.Host {
		t.Errorf("an interface that is not there: %v", err)
	}
	guest, err := newSpace()
	if err != nil {
		t.Fatal(err)
	}
	defer guest.close()
	name := id + "-v"
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: GuestInterface,
		PeerNamespace: netlink.NsFd(guest.fd())}
	if err := netlink.LinkAdd(cable); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(guest.configure(GuestInterface, p.Address, netip.Addr{}), p.Plug(name)); err != nil {
		t.Fatal(err)
	}
	if names, err := b.Interfaces(); err != nil || !slices.Equal(names, []string{name}) {
		t.Errorf("interfaces %v, %v", names, err)
	}
	exchange(t, guest.do, p.Address.Addr(), func(f func() error) error { return b.OnHost(model.NetworkBridged, f) })
	gone := make(chan struct{})
	go func() { // the creator removes it with a delay
		defer close(gone)
		time.Sleep(50 * time.Millisecond)
		link, err := guest.links.LinkByName(GuestInterface)
		if err == nil {
			err = guest.links.LinkDel(link)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	<-gone
	if names, err := b.Interfaces(); err != nil || len(names) > 0 {
		t.Errorf("after closing, interfaces %v, %v", names, err)
	}
}

// TestFull: no address is left for a guest.
func TestFull(t *testing.T) {
	b := newBridge(t)
	if err := b.OnHost(model.NetworkBridged, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for n := 2; n < 255; n++ {
		b.taken[n] = true
	}
	if _, err := b.TapPort(model.NetworkBridged, 0, 1); fault.KindOf(err) != fault.Host {
		t.Errorf("a guest too many: %v", err)
	}
	if _, err := b.TapPort("wireless", 0, 1); fault.KindOf(err) != fault.Campaign {
		t.Errorf("a mode that there is not: %v", err)
	}
}

func TestCheck(t *testing.T) {
	newBridge(t) // skips the test without root
	for _, mode := range []string{model.NetworkNone, model.NetworkUser, model.NetworkBridged} {
		if err := Check(mode); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if err := Check("wireless"); err == nil {
		t.Error("a mode that there is not")
	}
}

func TestChoose(t *testing.T) {
	for used, want := range map[string]string{
		"":                                   "10.213.0.0/24",
		"10.213.0.0/30":                      "10.213.1.0/24",
		"10.213.0.128/25 10.213.1.7/32":      "10.213.2.0/24",
		"10.0.0.0/8":                         "172.29.0.0/24",
		"10.0.0.0/8 172.16.0.0/12":           "192.168.0.0/24",
		"10.0.0.0/8 172.16.0.0/12 0.0.0.0/1": "192.168.0.0/24",
		"10.0.0.0/8 172.16.0.0/12 192.168.0.0/17": "192.168.128.0/24",
		"0.0.0.0/1 128.0.0.0/1":                   "",
	} {
		var prefixes []netip.Prefix
		for _, p := range strings.Fields(used) {
			prefixes = append(prefixes, netip.MustParsePrefix(p))
		}
		got, err := choose(prefixes)
		if want == "" {
			if fault.KindOf(err) != fault.Host {
				t.Errorf("%s: %v, %v", used, got, err)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, not %s", used, got, err, want)
		}
	}
}
