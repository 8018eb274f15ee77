package findingstest

import (
	"context"
	"os/exec"
	"testing"

	"github.com/tare-bench/tare/internal/analyze"
	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
	"github.com/tare-bench/tare/internal/system"
	"github.com/tare-bench/tare/internal/system/native"
	"github.com/tare-bench/tare/internal/workload"
)

// badNetwork is a driver whose guests have a command run in their network namespace, which spoils it.
type badNetwork struct {
	system.Driver
	command []string
}

func (d badNetwork) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	spoil := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + s.Port.Namespace, "--"}, d.command...)...)
	if out, err := spoil.CombinedOutput(); err != nil {
		return nil, fault.Hostf("%v: %s", d.command, out)
	}
	return d.Driver.Create(ctx, s)
}

// wired are pairs of guests with a good and a bad network.
const wired = `
flavors:
  one: {vcpus: 1, memory: 256MiB, disk: 192MiB, network: bridged}
arms:
  - {system: native, flavor: one}
  - {name: bad, system: bad, flavor: one}
scenarios: [{name: pair, pairs: 1}]
blocks: 2
`

// unlimited is a driver whose guests are under no cap of the network, whatever their flavor says.
type unlimited struct{ system.Driver }

func (d unlimited) Create(ctx context.Context, s *system.Site) (system.Guest, error) {
	s.Flavor.Net = model.NetCap{}
	return d.Driver.Create(ctx, s)
}

// TestNetworkCapLeaks: of two arms with the same cap of the network, one is not held to it.
func TestNetworkCapLeaks(t *testing.T) {
	r := measure(t, `
flavors:
  capped: {vcpus: 1, memory: 256MiB, disk: 192MiB, network: bridged, net: 20Mbit/s}
arms:
  - {system: native, flavor: capped}
  - {name: leaky, system: leaky, flavor: capped}
scenarios: [{name: pair, pairs: 1}]
blocks: 4
`+sized(map[string]int{"iperf3": 8}),
		drivers{"native": native.Driver{}, "leaky": unlimited{native.Driver{}}}, networkWorkloads(t)...)
	expectLeak(t, r, "net", "native@pair", want{"cap-leaks", "iperf3", "leaky@pair"})
}

// TestPacketCapLeaks: of two arms with the same cap of packets, one is not held to it.
func TestPacketCapLeaks(t *testing.T) {
	r := measure(t, `
flavors:
  capped: {vcpus: 1, memory: 256MiB, disk: 192MiB, network: bridged, net: {packets: 1000/s}}
arms:
  - {system: native, flavor: capped}
  - {name: leaky, system: leaky, flavor: capped}
scenarios: [{name: pair, pairs: 1}]
blocks: 4
`+sized(map[string]int{"udp-loss": 20_000}),
		drivers{"native": native.Driver{}, "leaky": unlimited{native.Driver{}}}, networkWorkloads(t)...)
	expectLeak(t, r, "packets", "native@pair", want{"cap-leaks", "udp-loss", "leaky@pair"})
}

// networkWorkloads are those of all tests here, which thus share a userland.
func networkWorkloads(t *testing.T) []*workload.Workload {
	return []*workload.Workload{real(t, "udp-loss"), real(t, "udp-rtt"), real(t, "iperf3")}
}

// TestLoss: guests in which one of twenty packets of 64 bytes is dropped before it reaches a socket. Packets that a
// busy host has no time to read are lost, too, but at the socket.
func TestLoss(t *testing.T) {
	drop := []string{"nft", "add table ip planted; " +
		"add chain ip planted in { type filter hook input priority 0; }; " +
		"add rule ip planted in udp dport 25202 ip length 92 numgen random mod 20 0 drop"}
	r := measure(t, wired+sized(map[string]int{"udp-loss": 20_000}),
		drivers{"native": native.Driver{}, "bad": badNetwork{native.Driver{}, drop}}, networkWorkloads(t)...)
	seen := 0
	for _, p := range r.Packets {
		t.Logf("%+v", p)
		if p.Socket == nil {
			t.Fatalf("%s: the loss at the socket is not known", p.Arm)
		}
		onTheWay := p.Loss - *p.Socket
		if bad := p.Arm == "bad@pair"; bad != (onTheWay > 0.02) || onTheWay > 0.09 {
			t.Errorf("%s: %.3g of the packets are lost on the way", p.Arm, onTheWay)
		}
		if p.Sent <= 0 || p.Received <= 0 || p.GroupsCPU <= 0 || p.HostCPU <= 0 {
			t.Errorf("%s: something is missing: %+v", p.Arm, p)
		}
		seen++
	}
	if seen != 3 {
		t.Errorf("%d arms have packets", seen)
	}
}

// TestDelay: guests that send 50 kbit/s at most, so that a packet of 106 bytes waits for 17 ms.
func TestDelay(t *testing.T) {
	limit := []string{"tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "50kbit", "burst", "1600", "limit",
		"100kb"}
	r := measure(t, wired+sized(map[string]int{"udp-rtt": 6}),
		drivers{"native": native.Driver{}, "bad": badNetwork{native.Driver{}, limit}}, networkWorkloads(t)...)
	var median *analyze.Latency
	for i, l := range r.Latencies {
		t.Logf("%s %v: %.3g s, %s %.3g s", l.Arm, l.Percentile, l.Value, l.Baseline, l.BaselineValue)
		if l.Arm == "bad@pair" && l.Percentile == 0.5 {
			median = &r.Latencies[i]
		}
	}
	if median == nil || median.Value < 14e-3 || median.Value < 2*median.BaselineValue {
		t.Errorf("the median of the delayed round trips: %+v", median)
	}
}
