package vminit

import (
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func TestParseNetwork(t *testing.T) {
	for parameter, want := range map[string]ipNetwork{
		"eth0,10.213.0.2/24":            {iface: "eth0", address: netip.MustParsePrefix("10.213.0.2/24")},
		"eth0,10.213.0.2/24,10.213.0.1": {"eth0", netip.MustParsePrefix("10.213.0.2/24"), netip.MustParseAddr("10.213.0.1")},
	} {
		if got, err := parseNetwork(parameter); err != nil || got != want {
			t.Errorf("%q: %+v, %v", parameter, got, err)
		}
	}
	for _, parameter := range []string{"eth0", "eth0,10.213.0.2/24,10.213.0.1,extra", "eth0,10.213.0.2", "eth0,fd00::1/64",
		"eth0,10.213.0.2/24,fd00::1", "eth0,10.213.0.2/24,gateway"} {
		if got, err := parseNetwork(parameter); err == nil {
			t.Errorf("%q: %+v", parameter, got)
		}
	}
}

// TestSetUpNetwork: in a network namespace with a bridge, the kernel has what the parameter says.
func TestSetUpNetwork(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make network namespaces")
	}
	done := make(chan struct{})
	go func() { // the thread ends with the goroutine, and its namespace with it
		defer close(done)
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		h, err := netlink.NewHandle()
		if err != nil {
			t.Error(err)
			return
		}
		defer h.Close()
		if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "test0"}}); err != nil {
			t.Error(err)
			return
		}
		n, err := parseNetwork("test0,10.213.7.2/20,10.213.0.1")
		if err == nil {
			err = up("lo")
		}
		if err == nil {
			err = n.setUp()
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range []string{"lo", "test0"} {
			if l, err := h.LinkByName(name); err != nil || l.Attrs().Flags&1 == 0 {
				t.Errorf("%s is not up: %v", name, err)
			}
		}
		link, err := h.LinkByName("test0")
		if err != nil {
			t.Error(err)
			return
		}
		addresses, err := h.AddrList(link, netlink.FAMILY_V4)
		if err != nil || len(addresses) != 1 || addresses[0].IPNet.String() != "10.213.7.2/20" {
			t.Errorf("addresses %v, %v", addresses, err)
		}
		routes, err := h.RouteList(link, netlink.FAMILY_V4)
		found := false
		for _, r := range routes {
			found = found || r.Gw.String() == "10.213.0.1" && (r.Dst == nil || r.Dst.IP.IsUnspecified())
		}
		if err != nil || !found {
			t.Errorf("routes %v, %v", routes, err)
		}
		if err := n.setUp(); err == nil {
			t.Error("a second default route is no error")
		}
	}()
	<-done
}
