package network

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/model"
)

// TestListingsInterrupted: other programs change the host's addresses while tare lists what is in use.
func TestListingsInterrupted(t *testing.T) {
	b := newBridge(t)
	if err := b.OnHost(model.NetworkBridged, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	address := func(n int) *netlink.Addr {
		a := netip.AddrFrom4([4]byte{10, 98, byte(n >> 8), byte(n)})
		return &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(a, 32))}
	}
	const many = 400 // more than the kernel lists at once
	for n := range many {
		if err := b.space.links.AddrAdd(b.wire.link, address(n)); err != nil {
			t.Fatal(err)
		}
	}
	var changes sync.WaitGroup
	defer changes.Wait()
	changed := make(chan struct{})
	changes.Go(func() {
		defer close(changed)
		for range 300 {
			if err := b.space.links.AddrAdd(b.wire.link, address(many)); err != nil {
				t.Error(err)
			}
			if err := b.space.links.AddrDel(b.wire.link, address(many)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	for changing := true; changing; {
		err := b.space.do(func() error {
			used, err := routed()
			if err == nil && len(used) < many {
				t.Errorf("of %d addresses, %d are listed", many, len(used))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
			changing = false
		default:
		}
	}
}
