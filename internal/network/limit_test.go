package network

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// TestLimit: data take at least as long as the cap and the burst allow, in each direction, and the ports work as
// before. Upper bounds would depend on what else the host does.
func TestLimit(t *testing.T) {
	b := newBridge(t)
	limited, plain := namespacePort(t, b, model.NetworkBridged), namespacePort(t, b, model.NetworkBridged)
	const rate, megabyte = 20_000_000, 1 << 20 // bit/s, and the bytes of an exchange
	if err := limited.Limit(model.NetCap{Rate: rate}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ server, client *Port }{{plain, limited}, {limited, plain}} {
		begin := time.Now()
		from := exchange(t, c.server.space.do, c.server.Address.Addr(), c.client.space.do)
		if from != c.client.Address.Addr() {
			t.Errorf("it came from %v", from)
		}
		// Both directions are capped by themselves, and data are sent back as they arrive.
		least := time.Duration(8 * (megabyte - 4*leastBurst) / float64(rate) * float64(time.Second))
		if took := time.Since(begin); took < least {
			t.Errorf("%d bytes at %d bit/s took %v, less than %v", megabyte, rate, took, least)
		}
	}
	if err := plain.Close(); err != nil {
		t.Error(err)
	}
	if err := limited.Close(); err != nil {
		t.Error(err)
	}
	links, err := b.space.links.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if name := l.Attrs().Name; name != "lo" && name != bridgeName {
			t.Errorf("%s is left", name)
		}
	}
	user, err := b.UserPort()
	if err != nil {
		t.Fatal(err)
	}
	if err := user.Limit(model.NetCap{Rate: rate}); fault.KindOf(err) != fault.Host {
		t.Errorf("a port without an interface: %v", err)
	}
}

// TestForwarding: a port with a limit forwards packets from the start.
func TestForwarding(t *testing.T) {
	b := newBridge(t)
	for range 20 {
		p := namespacePort(t, b, model.NetworkBridged)
		if err := p.Limit(model.NetCap{Rate: 1_000_000_000}); err != nil {
			t.Fatal(err)
		}
		names := p.limiters()
		for _, name := range []string{names.inner, names.outer} {
			link, err := b.space.links.LinkByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if state := link.Attrs().OperState; state != netlink.OperUp {
				t.Errorf("%s is %v", name, state)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPackets: of many packets, those that the cap and its burst allow in the time arrive, in each direction, and no
// more, also beside a cap of bits. Without the cap all do.
func TestPackets(t *testing.T) {
	b := newBridge(t)
	plain := namespacePort(t, b, model.NetworkBridged)
	const many, rate = 20_000, 1000
	for range 2 { // the second port has the number of the first, whose rules must be gone
		limited := namespacePort(t, b, model.NetworkBridged)
		flood(t, limited, plain, 100, true)
		if err := limited.Limit(model.NetCap{Packets: rate, Rate: 1_000_000_000}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ from, to *Port }{{limited, plain}, {plain, limited}} {
			begin := time.Now()
			passed := flood(t, c.from, c.to, many, false)
			// Twice, for packets that arrive while the last ones are awaited, and that are no part of the flood.
			most := 2 * (packetBurst(rate) + int64(rate*time.Since(begin).Seconds()))
			t.Logf("%d of %d packets arrived in %v, at most %d may", passed, many, time.Since(begin), most)
			if passed < leastPackets/2 || passed > most {
				t.Errorf("%d of %d packets arrived, of %d to %d", passed, many, leastPackets/2, most)
			}
		}
		if err := limited.Close(); err != nil {
			t.Fatal(err)
		}
	}
	limited := namespacePort(t, b, model.NetworkBridged)
	if err := limited.Limit(model.NetCap{Rate: 1_000_000_000}); err != nil {
		t.Fatal(err)
	}
	flood(t, limited, plain, 2000, true)
}

// TestSegments: a policer gets each packet of TCP by itself, although Linux passes on many as one.
func TestSegments(t *testing.T) {
	b := newBridge(t)
	limited, plain := namespacePort(t, b, model.NetworkBridged), namespacePort(t, b, model.NetworkBridged)
	if err := limited.Limit(model.NetCap{Packets: 10_000_000}); err != nil {
		t.Fatal(err)
	}
	exchange(t, plain.space.do, plain.Address.Addr(), limited.space.do)
	const segments = (1 << 20) / 1448 // of an exchange, in each direction
	names := limited.limiters()
	for _, name := range []string{names.inner, names.outer} {
		link, err := b.space.links.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := link.Attrs().Statistics.RxPackets; got < segments {
			t.Errorf("%s got 1 MiB in %d packets, not in %d", name, got, segments)
		}
	}
}

// flood sends packets from one port to another and returns how many have arrived when no more do. If all must arrive,
// it waits for every tenth before it sends more, since queues of the kernel hold few.
func flood(t *testing.T, from, to *Port, packets int64, all bool) (arrived int64) {
	t.Helper()
	var in net.PacketConn
	var out net.Conn
	roomy := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) { // for all packets
		err2 := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20)
		})
		return errors.Join(err, err2)
	}}
	err := to.space.do(func() (err error) {
		in, err = roomy.ListenPacket(t.Context(), "udp4", netip.AddrPortFrom(to.Address.Addr(), 0).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	err = from.space.do(func() (err error) {
		out, err = net.Dial("udp4", in.LocalAddr().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// await counts packets until so many have arrived, or none for a while.
	packet := make([]byte, 64)
	await := func(most int64, patience time.Duration) {
		for arrived < most {
			in.SetReadDeadline(time.Now().Add(patience))
			if _, _, err := in.ReadFrom(packet); err != nil {
				return
			}
			arrived++
		}
	}
	for n := range packets {
		if _, err := out.Write(packet[:20]); err != nil {
			t.Fatal(err)
		}
		if all && n%10 == 9 {
			await(n+1, time.Minute)
		}
	}
	await(packets, 200*time.Millisecond)
	if all && arrived < packets {
		t.Errorf("%d of %d packets arrived without a cap", arrived, packets)
	}
	return arrived
}
