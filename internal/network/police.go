package network

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/tare-bench/tare/internal/fault"
)

// A policer lets pass at once what it has saved up: the packets of policeTime at its rate, and at least
// leastPackets, more than the ten that TCP begins with.
const (
	policeTime   = 20 * time.Millisecond
	leastPackets = 16
)

// packetBurst is how many packets a policer lets pass at once.
func packetBurst(rate int64) int64 {
	return max(leastPackets, rate*int64(policeTime)/int64(time.Second))
}

// police drops what the guest sends and receives beyond a rate of packets per second, each direction by itself. It does
// so where packets arrive at either end of the pair of limit: there, a token bucket has already held them back.
func (p *Port) police(rate int64) error {
	names, space := p.limiters(), p.bridge.space
	for _, name := range []string{names.inner, names.outer} {
		if err := space.do(func() error { return singly(name) }); err != nil {
			return fmt.Errorf("%s: packets one by one: %w", name, err)
		}
	}
	conn, err := nftables.New(nftables.WithNetNSFd(space.fd()))
	if err != nil {
		return err
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyNetdev, Name: names.bridge})
	for _, name := range []string{names.inner, names.outer} {
		chain := conn.AddChain(&nftables.Chain{Name: name, Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookIngress, Priority: nftables.ChainPriorityFilter, Device: name})
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Limit{Type: expr.LimitTypePkts, Rate: uint64(rate), Unit: expr.LimitTimeSecond, Over: true,
				Burst: uint32(packetBurst(rate))},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	if err := conn.Flush(); err != nil {
		return fault.WithRemedy(fault.Hostf("network: a policer for %s: %w", p.hostEnd(), err),
			"a kernel with nftables: modprobe -a nf_tables nft_limit")
	}
	p.policed = true
	return nil
}

// unpolice removes the rules of police. Newer kernels keep them when their interfaces are gone, and apply them to the
// next ones of the same name.
func (p *Port) unpolice() error {
	if !p.policed {
		return nil
	}
	conn, err := nftables.New(nftables.WithNetNSFd(p.bridge.space.fd()))
	if err != nil {
		return err
	}
	conn.DelTable(&nftables.Table{Family: nftables.TableFamilyNetdev, Name: p.limiters().bridge})
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("the policer of %s: %w", p.hostEnd(), err)
	}
	p.policed = false
	return nil
}

// singly has an interface of this thread's namespace send each packet by itself. Otherwise Linux passes on up to 64 KiB
// of a connection as one, to have it cut into packets where it leaves the host, and a policer counts one. It does not
// do so on an interface without checksums of its own.
func singly(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	value := struct{ command, on uint32 }{command: unix.ETHTOOL_STXCSUM}
	request := struct { // struct ifreq
		name  [unix.IFNAMSIZ]byte
		value unsafe.Pointer
		_     [16]byte
	}{value: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); e != 0 {
		return e
	}
	return nil
}
