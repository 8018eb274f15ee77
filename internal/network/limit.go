package network

import (
	"fmt"
	"math"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// A token bucket lets pass at once what it has saved up: burstTime at its rate, and at least leastBurst, a
// packet of the largest size that Linux makes. Packets wait for queueTime at most.
const (
	burstTime  = 2 * time.Millisecond
	leastBurst = 64 << 10 // bytes
	queueTime  = 50 * time.Millisecond
)

// Limit caps what the guest of the port sends, and what it receives. Packets beyond the rate of bits, in which the
// headers of Ethernet count, wait, and those that wait too long are dropped. Packets beyond the rate of packets are
// dropped at once.
//
// It puts a second bridge between the guest's interface and the run's bridge, since a token bucket shapes only
// what leaves an interface, and the guest's own end may be the guest's to change:
//
//	guest ── limitN ── inN ═ veth ═ outN ── tare0
//
// They are in the run's namespace. Connections that exist go on. The port must be on a bridge and must not
// have a limit.
func (p *Port) Limit(limit model.NetCap) error {
	b := p.bridge
	if b == nil {
		return fault.Hostf("network: a guest without an interface on the bridge cannot be limited")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return wrap(p.limit(limit))
}

func (p *Port) limit(limit model.NetCap) error {
	links := p.bridge.space.links
	guest, err := links.LinkByName(p.hostEnd())
	if err != nil {
		return fmt.Errorf("%s: %w", p.hostEnd(), err)
	}
	names := p.limiters()
	between := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: names.bridge}}
	if err := links.LinkAdd(between); err != nil {
		return fmt.Errorf("a bridge: %w", err)
	}
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: names.inner, MasterIndex: between.Attrs().Index}, PeerName: names.outer,
	}
	if err := links.LinkAdd(veth); err != nil {
		return fmt.Errorf("a pair of virtual interfaces: %w", err)
	}
	outer, err := links.LinkByName(names.outer)
	if err != nil {
		return fmt.Errorf("%s: %w", names.outer, err)
	}
	if err := links.LinkSetMaster(outer, p.lan.link); err != nil {
		return fmt.Errorf("%s: %w", names.outer, err)
	}
	if limit.Rate > 0 {
		for _, link := range []netlink.Link{veth, outer} { // what the guest sends leaves veth, what it receives outer
			if err := links.QdiscAdd(bucket(link, limit.Rate)); err != nil {
				return fault.WithRemedy(fault.Hostf("network: a token bucket for %s: %w", p.hostEnd(), err), "modprobe sch_tbf")
			}
		}
	}
	if limit.Packets > 0 {
		if err := p.police(limit.Packets); err != nil {
			return err
		}
	}
	for _, link := range []netlink.Link{between, veth, outer} {
		if err := links.LinkSetUp(link); err != nil {
			return fmt.Errorf("%s: %w", link.Attrs().Name, err)
		}
	}
	for _, name := range []string{names.inner, names.outer} {
		if err := p.bridge.space.awaitUp(name); err != nil {
			return err
		}
	}
	return links.LinkSetMaster(guest, between)
}

// limiters are the names of what Limit makes.
func (p *Port) limiters() (names struct{ bridge, inner, outer string }) {
	names.bridge = fmt.Sprint("limit", p.number)
	names.inner, names.outer = fmt.Sprint("in", p.number), fmt.Sprint("out", p.number)
	return names
}

// unlimit removes what Limit made; the other end of the pair goes with the first.
func (p *Port) unlimit() error {
	names, links := p.limiters(), p.bridge.space.links
	if err := p.unpolice(); err != nil {
		return err
	}
	for _, name := range []string{names.inner, names.bridge} {
		if link, err := links.LinkByName(name); err == nil {
			if err := links.LinkDel(link); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// bucket is a token bucket for what leaves a link.
func bucket(link netlink.Link, rate int64) *netlink.Tbf {
	bytes := uint64(rate) / 8 // per second
	burst := max(leastBurst, float64(bytes)*burstTime.Seconds())
	return &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT,
		},
		Rate:   bytes,
		Buffer: netlink.Xmittime(bytes, uint32(burst)), // in ticks
		Limit:  uint32(min(2*burst+float64(bytes)*queueTime.Seconds(), math.MaxUint32)),
	}
}
