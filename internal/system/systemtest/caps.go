package systemtest

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
)

// capped reports whether the suite tests caps of I/O and the network. An emulated host may lack the kernel's
// modules for them, and remote machines and guests in memory have none.
func capped(d system.Driver, h *system.Host, emulated bool) bool {
	means := d.Capabilities().IOCap
	if means == system.GroupIOCap && h.Cgroups.CheckIO() != nil {
		return false
	}
	return means.By != "" && !emulated
}

// testCaps starts a guest with caps. What it writes and flushes, and what it exchanges with the host, must take
// at least as long as the caps and their bursts allow. How much longer depends on what else the host does.
func testCaps(t *testing.T, d system.Driver, h *system.Host) {
	const rate, bits, packets = 2 << 20, 20_000_000, 2500 // per second; so many bits are fewer full packets
	f := networked(d)
	f.IO = model.IOCaps{Read: rate, Write: rate, ReadOps: 5000, WriteOps: 5000}
	if f.OnBridge() && d.Capabilities().NetCap.By != "" {
		f.Net = model.NetCap{Rate: bits, Packets: packets}
	}
	s := suite{d: d, m: launch(t, d, h, "caps", f), size: wholeOutput}
	s.writeCapped(t, rate)
	if d.Capabilities().Save != "" { // a restored guest has the caps, too
		if _, err := s.m.Save(timeout(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.m.Restore(timeout(t)); err != nil {
			t.Fatal(err)
		}
		s.writeCapped(t, rate)
	}
	if f.Net.Rate == 0 {
		return
	}
	// Beside other load, one of a hundred connections to gVisor stalls for as long as one waits, for an unknown reason.
	if err := s.exchangeCapped(t, h, bits/8); err != nil {
		t.Logf("once more: %v", err)
		if err := s.exchangeCapped(t, h, bits/8); err != nil {
			t.Error(err)
		}
	}
	s.flood(t, h, packets)
}

// exchangeCapped sends bytes to the guest, which come back. rate is in bytes per second.
func (s suite) exchangeCapped(t *testing.T, h *system.Host, rate int) error {
	t.Helper()
	served := s.serve(t)
	begin := time.Now()
	err := h.Network.OnHost(model.NetworkBridged, func() error { return echoed(s.m.Address(), s.exchanged()) })
	if err == nil {
		atLeast(t, begin, s.exchanged(), rate)
	}
	served()
	return err
}

// flood sends the guest packets, of which at most those may arrive that a cap of packets per second lets pass. Without
// it, the queue of the cap of bits alone would hold thousands.
func (s suite) flood(t *testing.T, h *system.Host, rate int) {
	t.Helper()
	const sent = 20_000
	arrived := s.receive(t)
	begin := time.Now()
	err := h.Network.OnHost(model.NetworkBridged, func() error {
		c, err := net.Dial("udp4", netip.AddrPortFrom(s.m.Address(), udpPort).String())
		if err != nil {
			return err
		}
		defer c.Close()
		for range sent {
			c.Write([]byte("tare")) // what is dropped on the way may be refused here
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The bucket's queue takes a tenth of a second, and the policer's burst less.
	most := 2 * float64(rate) * (time.Since(begin).Seconds() + 0.2)
	got := arrived()
	t.Logf("%d of %d packets arrived", got, sent)
	if got < 1 || float64(got) > most {
		t.Errorf("%d of %d packets arrived, not 1 to %.0f", got, sent, most)
	}
}

// writeCapped writes 6 MiB and flushes them.
func (s suite) writeCapped(t *testing.T, rate int) {
	t.Helper()
	begin := time.Now()
	if r := s.sh(t, "dd if=/dev/zero of=capped bs=64k count=96 conv=fsync"); r.ExitCode != 0 {
		t.Fatalf("%s", r.Stderr)
	}
	atLeast(t, begin, 6<<20, rate)
}

// atLeast fails if bytes took less than two thirds of the time that they take at rate, in bytes per second: the
// rest may be a burst.
func atLeast(t *testing.T, begin time.Time, bytes, rate int) {
	t.Helper()
	took, least := time.Since(begin).Seconds(), float64(bytes)/float64(rate)*2/3
	t.Logf("%d bytes took %.3g s", bytes, took)
	if took < least {
		t.Errorf("%d bytes at %d bytes per second took %.3g s, less than %.3g s", bytes, rate, took, least)
	}
}
